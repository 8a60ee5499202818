// What stays readable in an anonymized report: the words of PyTorch, of CUDA and of well-known libraries. Everything
// else that a program can name is its owner's. Pure functions, any thread.
#pragma once

#include <string_view>

namespace accel::report {

bool is_known_module_class(std::string_view name);  // "Linear": of torch.nn
bool is_known_optimizer(std::string_view name);     // "AdamW": of torch.optim
bool is_known_operator(std::string_view name);      // "aten::mm", "AddmmBackward0", "triton_poi_fused_add_0"
bool is_known_range(std::string_view name);         // "ProfilerStep#4", "enumerate(DataLoader)#..."
bool is_stage(std::string_view name);               // "forward": what everybody calls it
bool is_known_thread(std::string_view name);        // "stream 7", "thread 12 (pt_autograd_0)"
bool is_known_group(std::string_view name);         // "default_pg", "0"

}  // namespace accel::report
