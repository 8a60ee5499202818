#include "analysis/efficiency/kernel_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/ascii.h"

namespace accel {

bool changes_layout(std::string_view kernel_name) {
  const std::string text = ascii_lower(kernel_name.substr(0, 400));
  constexpr std::array<std::string_view, 8> kSigns = {"nchwtonhwc",
                                                      "nhwctonchw",
                                                      "nchwtonchw",
                                                      "batched_transpose",
                                                      "transpose_nchw",
                                                      "transpose_nhwc",
                                                      "tensortransformkernel",
                                                      "nchw2nhwc"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
}

int stated_alignment(std::string_view kernel_name) {
  const std::size_t at = kernel_name.find("align");
  if (at == std::string_view::npos || at + 5 >= kernel_name.size()) return 0;
  std::size_t digit = at + 5;
  if (kernel_name[digit] == 'a') ++digit;  // "aligna4_alignc4"
  int value = 0;
  for (;
       digit < kernel_name.size() && std::isdigit(static_cast<unsigned char>(kernel_name[digit])) != 0 && value < 1000;
       ++digit)
    value = value * 10 + (kernel_name[digit] - '0');
  return value;
}

}  // namespace accel
