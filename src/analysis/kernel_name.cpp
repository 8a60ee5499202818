#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "analysis/kernel_table.h"
#include "base/ascii.h"

namespace accel {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  int status = 0;
  const std::string copy(name);
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(copy.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : copy;
}

// End of the bracketed part that opens at `open`; npos when it never closes.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(' || text[i] == '{') ++depth;
    // "operator()" closes at once; "->" and ">=" do not occur in names of types.
    if (text[i] == '>' || text[i] == ')' || text[i] == '}') --depth;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

void remove_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

// "void f<A, B>(C)" -> "f" and "A, B".
struct Signature {
  std::string function;   // qualified, without template and arguments
  std::string arguments;  // of the template
};

Signature split(std::string text) {
  remove_all(text, "(anonymous namespace)::");
  if (text.starts_with("void ")) text.erase(0, 5);
  if (text.ends_with(".kd")) text.erase(text.size() - 3);  // ROCm
  const std::size_t open = text.find_first_of("<(");
  Signature signature;
  if (open == std::string::npos) {
    signature.function = text;
    return signature;
  }
  signature.function = text.substr(0, open);
  if (text[open] == '<') {
    const std::size_t close = closing(text, open);
    signature.arguments = text.substr(open + 1, close == std::string::npos ? std::string::npos : close - open - 1);
    // "cutlass::device_kernel<...>::operator()": what follows the template is part of the name only when it names
    // something.
  }
  return signature;
}

std::string last_part(std::string_view qualified) {
  const std::size_t at = qualified.rfind("::");
  return std::string(at == std::string_view::npos ? qualified : qualified.substr(at + 2));
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string without_suffix(std::string name, std::string_view suffix) {
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.erase(name.size() - suffix.size());
  return name;
}

// Wrappers that say how a kernel goes about it, not what it computes.
bool is_wrapper(std::string_view word) {
  constexpr std::array<std::string_view, 9> kParts = {"UnaryFunctor", "BinaryFunctor",   "UnaryOp",
                                                      "BinaryOp",     "TernaryOp",       "PointwiseOp",
                                                      "ListMetadata", "gpu_kernel_impl", "gpu_kernel_impl_nocast"};
  if (word == "func_wrapper_t" || word == "ReduceOp" || word == "TensorListMetadata") return true;
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return contains(word, part); });
}

bool names_an_operation(std::string_view word, std::string_view qualified) {
  constexpr std::array<std::string_view, 8> kSigns = {"Functor",     "functor",      "KernelImpl", "_kernel_cuda",
                                                      "kernel_cuda", "_kernel_impl", "_cuda",      "launch_"};
  if (std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) { return contains(word, sign); }))
    return true;
  if (word.ends_with("Ops") || (word.ends_with("Op") && word.size() > 2) || word.ends_with("_kernel")) return true;
  // std::multiplies, at::native::Sqrt: what a wrapper of multi_tensor_apply applies.
  return qualified.starts_with("std::multiplies") || qualified.starts_with("std::plus") ||
         qualified.starts_with("std::divides") || qualified.starts_with("std::minus") ||
         qualified == "at::native::Sqrt" || qualified == "at::native::Square";
}

std::string trimmed(std::string word) {
  for (const std::string_view prefix : {"CUDAFunctorOnSelf_", "CUDAFunctorOnOther_", "CUDAFunctor_", "launch_"}) {
    if (word.starts_with(prefix) && word.size() > prefix.size()) word.erase(0, prefix.size());
  }
  for (const std::string_view suffix : {"KernelImpl", "_kernel_cuda", "_kernel_impl", "_cuda", "_kernel", "CUDA",
                                        "MathFunctor", "Functor", "_functor", "Ops"}) {
    word = without_suffix(word, suffix);
  }
  return word;
}

// What the template says the kernel does: "GeluCUDAKernelImpl", "CUDAFunctor_add", "direct_copy_kernel_cuda",
// "MeanOps".
std::string operation(std::string_view arguments) {
  const auto in_name = [](char c) { return is_word(c) || c == ':'; };
  for (std::size_t i = 0; i < arguments.size();) {
    if (!in_name(arguments[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < arguments.size() && in_name(arguments[end])) ++end;
    const std::string_view qualified = arguments.substr(i, end - i);
    const std::string word = last_part(qualified);
    if (!is_wrapper(word) && names_an_operation(word, qualified)) return trimmed(word);
    i = end;
  }
  return {};
}

// Names that the demangler gives up on: the identifiers stand in the text with their lengths before them.
std::vector<std::string> mangled_identifiers(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t i = 2; i < text.size() && found.size() < 12;) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0 || text[i] == '0') {
      ++i;
      continue;
    }
    std::size_t length = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0 && length < 1000; ++i)
      length = length * 10 + static_cast<std::size_t>(text[i] - '0');
    if (length == 0 || i + length > text.size() || is_word(text[i]) == false) continue;
    found.emplace_back(text.substr(i, length));
    i += length;
  }
  return found;
}

std::string short_mangled_name(std::string_view text) {
  const std::vector<std::string> identifiers = mangled_identifiers(text);
  for (const std::string& identifier : identifiers) {
    if (contains(identifier, "Gemm") || contains(identifier, "Conv")) return identifier;
  }
  return identifiers.empty() ? std::string(text) : identifiers.back();
}

// The first type named in the template that says which kernel of a family this is.
std::string cutlass_name(const Signature& signature) {
  std::string_view rest = signature.arguments;
  const std::size_t end = rest.find_first_of("<,>(");
  std::string first = last_part(rest.substr(0, end));
  return first.empty() ? last_part(signature.function) : first;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(text, part); });
}

}  // namespace

bool is_communication_kernel(std::string_view name) {
  const std::string text = ascii_lower(name);
  return contains(text, "nccl") || contains(text, "rccl");
}

bool uses_tensor_cores(std::string_view kernel_name) {
  const std::string name = ascii_lower(kernel_name);
  // Plain FFMA kernels of cuBLAS and CUTLASS say simt, sgemm or ffma.
  if (has_any(name, {"simt", "_ffma", "ffma_", "sgemm_largek", "gemv", "dot_kernel", "splitkreduce", "splitk_reduce",
                     "init_device_workspace"}))
    return false;
  if (has_any(name, {"tensorop", "gmma", "hmma", "imma", "_mma_", "wgmma", "umma", "16816", "1688", "884gemm", "884_",
                     "s884", "tensor_op"}))
    return true;
  if (has_any(name, {"xmma", "nvjet", "mma_", "flash_fwd", "flash_bwd", "flash::", "fmha", "tcgen05", "tf32", "mfma",
                     "cijk_"}))
    return true;
  return has_any(name, {"cutlass", "cublaslt"}) && has_any(name, {"bf16", "f16", "h16", "half", "e4m3", "e5m2"});
}

std::string short_kernel_name(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  const std::string text = demangled(name);
  if (text.starts_with("_Z")) return short_mangled_name(text);
  const Signature signature = split(text);
  std::string result = last_part(signature.function);
  if (result.empty()) result = text;
  if (contains(signature.function, "cutlass") &&
      (result == "Kernel" || result == "Kernel2" || result == "device_kernel")) {
    result = cutlass_name(signature);
  } else if (!signature.arguments.empty()) {
    const std::string what = operation(signature.arguments);
    if (!what.empty() && what != result) result += " (" + what + ")";
  }
  if (result.size() > kLongest) result = result.substr(0, kLongest - 3) + "...";
  return result;
}

}  // namespace accel
