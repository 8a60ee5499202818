#include "analysis/efficiency/tensor_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/ascii.h"

namespace accel {
namespace {

struct Name {
  std::string_view recorded;
  TensorType type;
};

constexpr std::array<Name, 27> kNames = {{{"c10::BFloat16", TensorType::bf16},
                                          {"bfloat16", TensorType::bf16},
                                          {"float", TensorType::f32},
                                          {"float32", TensorType::f32},
                                          {"double", TensorType::f64},
                                          {"c10::Half", TensorType::f16},
                                          {"half", TensorType::f16},
                                          {"float16", TensorType::f16},
                                          {"long int", TensorType::i64},
                                          {"long", TensorType::i64},
                                          {"long long", TensorType::i64},
                                          {"int64", TensorType::i64},
                                          {"__int64", TensorType::i64},
                                          {"int", TensorType::i32},
                                          {"short int", TensorType::i16},
                                          {"short", TensorType::i16},
                                          {"signed char", TensorType::i8},
                                          {"unsigned char", TensorType::i8},
                                          {"char", TensorType::i8},
                                          {"bool", TensorType::boolean},
                                          {"c10::Float8_e4m3fn", TensorType::f8},
                                          {"c10::Float8_e5m2", TensorType::f8},
                                          {"c10::Float8_e4m3fnuz", TensorType::f8},
                                          {"c10::Float8_e5m2fnuz", TensorType::f8},
                                          {"c10::complex<float>", TensorType::c64},
                                          {"c10::complex<double>", TensorType::c128},
                                          {"c10::Float8_e8m0fnu", TensorType::f8}}};

struct Sign {
  std::string_view text;  // in lower case
  TensorType type;
};

// Longer signs first: "bfloat16" holds "float", "bf16" holds "f16".
constexpr std::array<Sign, 19> kSigns = {{{"bfloat16", TensorType::bf16},
                                          {"bf16", TensorType::bf16},
                                          {"e4m3", TensorType::f8},
                                          {"e5m2", TensorType::f8},
                                          {"float8", TensorType::f8},
                                          {"tf32", TensorType::f32},
                                          {"float16", TensorType::f16},
                                          {"half", TensorType::f16},
                                          {"fp16", TensorType::f16},
                                          {"f16f16", TensorType::f16},
                                          {"_f16_", TensorType::f16},
                                          {"hgemm", TensorType::f16},
                                          {"h884", TensorType::f16},
                                          {"h1688", TensorType::f16},
                                          {"h16816", TensorType::f16},
                                          {"sgemm", TensorType::f32},
                                          {"f32f32", TensorType::f32},
                                          {"_f32_", TensorType::f32},
                                          {"dgemm", TensorType::f64}}};

}  // namespace

TensorType parse_tensor_type(std::string_view recorded) {
  for (const Name& name : kNames) {
    if (recorded == name.recorded) return name.type;
  }
  return TensorType::unknown;
}

std::string_view short_type_name(TensorType type) {
  constexpr std::array<std::string_view, 13> kShort = {"",    "f64", "f32", "f16",  "bf16", "f8",  "i64",
                                                       "i32", "i16", "i8",  "bool", "c64",  "c128"};
  return kShort[static_cast<std::size_t>(type)];
}

int bytes_of(TensorType type) {
  constexpr std::array<int, 13> kBytes = {0, 8, 4, 2, 2, 1, 8, 4, 2, 1, 1, 8, 16};
  return kBytes[static_cast<std::size_t>(type)];
}

bool is_floating(TensorType type) { return type >= TensorType::f64 && type <= TensorType::f8; }

TensorType type_in_kernel_name(std::string_view name) {
  const std::string text = ascii_lower(name.substr(0, 2000));
  for (const Sign& sign : kSigns) {
    if (text.find(sign.text) != std::string::npos) return sign.type;
  }
  // "<float, ...>" of a template, where no 16-bit type is named; optimizers pass learning rates as double.
  if (text.find("float") != std::string::npos) return TensorType::f32;
  return text.find("double") != std::string::npos ? TensorType::f64 : TensorType::unknown;
}

}  // namespace accel
