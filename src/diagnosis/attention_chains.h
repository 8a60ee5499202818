// Attention written out as separate ops: batched product, softmax, batched product, with what stands between them.
// Found by that order of the kernels on the device, forward and backward, with or without recorded shapes. ns per
// complete step of the verdict's device.
#pragma once

#include <cstdint>

#include "analysis/efficiency/tensor_type.h"
#include "diagnosis/rule.h"
#include "diagnosis/step_view.h"

namespace accel {

struct AttentionChains {
  double forward_count = 0;  // per step
  double backward_count = 0;
  double ns = 0;          // all kernels of the chains
  double copy_ns = 0;     // copies and sets on the device between them, such as clones of the scores; not part of ns
  double product_ns = 0;  // of it, the batched products
  double kernels = 0;     // per step
  bool masked = false;    // something in a chain masks scores
  TensorType type = TensorType::unknown;  // of the products
  double fused_flops = 0;                 // what fused kernels would have to do; 0 = shapes not recorded
  DeviceEventId example;                  // a softmax kernel
  SliceId product;                        // the product before it
  SliceId softmax;
  double score_bytes = 0;  // of one matrix of scores, which a fused kernel never stores; 0 = not recorded
};

AttentionChains find_attention_chains(const DiagnosisInput& input);

}  // namespace accel
