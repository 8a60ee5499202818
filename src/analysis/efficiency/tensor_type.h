// Element types of tensors as profilers write them ("c10::BFloat16", "float", "long int"), and what kernel names say
// about the type that a kernel works in. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace accel {

enum class TensorType : std::uint8_t { unknown, f64, f32, f16, bf16, f8, i64, i32, i16, i8, boolean, c64, c128 };

TensorType parse_tensor_type(std::string_view recorded);
std::string_view short_type_name(TensorType type);  // "bf16"; "" for unknown
int bytes_of(TensorType type);                      // of one element; 0 for unknown
bool is_floating(TensorType type);

// The type that a kernel's name states, unknown when it states none or several that differ.
TensorType type_in_kernel_name(std::string_view name);

}  // namespace accel
