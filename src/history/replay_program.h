// A PyTorch program that runs the op of one recorded kernel alone, with its shapes, types, strides and scalar
// arguments, and says whether the same kernel ran. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "history/database.h"

namespace accel::history {

// ErrorCode::invalid_argument with the reason where the op cannot be called again: no op, no shapes, no op of ATen.
Result<std::string> replay_program(const KernelRow& kernel);

// The function's own name without namespaces and templates, as Nsight Compute's --kernel-name takes it.
std::string function_name(const std::string& kernel);

}  // namespace accel::history
