// What kernel names say about the part that a kernel plays in a call. Pure functions.
#pragma once

#include <string_view>

namespace accel {

// Rearranges a tensor for another kernel (nchwToNhwcKernel and kin); computes nothing.
bool changes_layout(std::string_view kernel_name);

// The alignment, in elements, that a matrix kernel was built for ("..._align1"); 0 = its name does not say.
int stated_alignment(std::string_view kernel_name);

}  // namespace accel
