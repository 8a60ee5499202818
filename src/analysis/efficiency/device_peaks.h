// What a device could do at best, from its product name: a table of published dense peaks (device_peaks.def). A name
// that is not in the table, or only a part of such a device (MIG, laptop and vGPU variants), has no peaks: unknown is
// never guessed. Constant data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/efficiency/tensor_type.h"

namespace accel {

// TFLOP/s and TB/s; 0 = no such unit or not stated.
struct DevicePeaks {
  std::string_view product;
  double fp64 = 0;
  double fp32 = 0;
  double tf32 = 0;
  double fp16 = 0;
  double bf16 = 0;
  double fp8 = 0;
  double memory_tbps = 0;
  int multiprocessors = 0;
  std::string_view source;

  // Of matrix products in that type, with or without matrix units; 0 = unknown.
  double matrix(TensorType type, bool tensor_cores) const;
  // Of everything else: vector units. 16-bit arithmetic of element-wise kernels is done in fp32.
  double vector(TensorType type) const { return type == TensorType::f64 ? fp64 : fp32; }
};

// Null when the table does not hold the device. The number of multiprocessors, where it is known (> 0), must agree.
const DevicePeaks* find_peaks(std::string_view device_name, std::int32_t multiprocessors);
const std::vector<DevicePeaks>& all_peaks();

}  // namespace accel
