#include <algorithm>
#include <array>

#include "analysis/efficiency/efficiency.h"

namespace accel {
namespace {

// Bytes are least bytes; a kernel that seems to beat the memory by more than clocks and rounding explain reads a cache.
constexpr double kBeyondMemory = 1.05;

}  // namespace

std::string_view to_string(RoofBound bound) {
  constexpr std::array<std::string_view, 4> kNames = {"unknown", "compute", "memory", "cache"};
  return kNames[static_cast<std::size_t>(bound)];
}

Roofline place_under_roof(const DevicePeaks* peaks, const OpWork& work, bool tensor_core, double ns) {
  Roofline place;
  if (ns <= 0) return place;
  if (work.flops && *work.flops > 0) place.tflops = *work.flops / ns / 1e3;
  if (work.bytes && *work.bytes > 0) place.tbps = *work.bytes / ns / 1e3;
  if (peaks == nullptr) return place;
  const double peak = work.is_matrix() ? peaks->matrix(work.type, tensor_core) : peaks->vector(work.type);
  const double compute_ns = work.flops && peak > 0 ? *work.flops / peak / 1e3 : 0;
  const double memory_ns = work.bytes && peaks->memory_tbps > 0 ? *work.bytes / peaks->memory_tbps / 1e3 : 0;
  // A matrix product of which one side is not known has no place.
  if (work.is_matrix() && (compute_ns <= 0 || memory_ns <= 0)) return place;
  place.roof_ns = std::max(compute_ns, memory_ns);
  if (place.roof_ns <= 0) return place;
  place.bound = compute_ns >= memory_ns ? RoofBound::compute : RoofBound::memory;
  if (place.bound == RoofBound::memory && memory_ns > kBeyondMemory * ns) place.bound = RoofBound::cache;
  place.roof_ns = std::min(place.roof_ns, ns);
  place.roof_share = place.roof_ns / ns;
  return place;
}

}  // namespace accel
