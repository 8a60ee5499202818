#include "analysis/efficiency/device_peaks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace accel {
namespace {

constexpr double kSameDevice = 0.1;  // models of one name differ by more units than this, or by their clock alone

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

bool holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Words that make another device of a product's name.
bool is_variant(const std::vector<std::string>& words, const std::vector<std::string>& product) {
  constexpr std::array<std::string_view, 9> kVariants = {"MIG", "LAPTOP", "MOBILE", "MAX", "SUPER",
                                                         "TI",  "D",      "GRID",   "VGPU"};
  return std::any_of(kVariants.begin(), kVariants.end(),
                     [&](std::string_view word) { return holds(words, word) && !holds(product, word); });
}

}  // namespace

const std::vector<DevicePeaks>& all_peaks() {
  static const std::vector<DevicePeaks> all{
#define PEAK(product, fp64, fp32, tf32, fp16, bf16, fp8, memory, multiprocessors, source) \
  DevicePeaks{product, fp64, fp32, tf32, fp16, bf16, fp8, memory, multiprocessors, source},
#include "analysis/efficiency/device_peaks.def"
#undef PEAK
  };
  return all;
}

const DevicePeaks* find_peaks(std::string_view device_name, std::int32_t multiprocessors) {
  const std::vector<std::string> words = words_of(device_name.substr(0, 200));
  const DevicePeaks* best = nullptr;
  std::size_t best_words = 0;
  for (const DevicePeaks& peaks : all_peaks()) {
    const std::vector<std::string> product = words_of(peaks.product);
    const bool matches =
        std::all_of(product.begin(), product.end(), [&](const std::string& word) { return holds(words, word); });
    if (!matches || product.size() <= best_words || is_variant(words, product)) continue;
    best = &peaks;
    best_words = product.size();
  }
  if (best == nullptr || multiprocessors <= 0) return best;
  // A slice of the device, or another model of the same name.
  const double ratio = static_cast<double>(multiprocessors) / best->multiprocessors;
  return ratio < 1 - kSameDevice || ratio > 1 + kSameDevice ? nullptr : best;
}

double DevicePeaks::matrix(TensorType type, bool tensor_cores) const {
  switch (type) {
    case TensorType::f64:
      return tensor_cores ? 0 : fp64;
    case TensorType::f32:
      return tensor_cores && tf32 > 0 ? tf32 : fp32;
    case TensorType::f16:
      return tensor_cores ? fp16 : fp32;
    case TensorType::bf16:
      return tensor_cores ? bf16 : fp32;
    case TensorType::f8:
      return tensor_cores ? fp8 : 0;
    default:
      return 0;
  }
}

}  // namespace accel
