#include "report/anonymize/vocabulary.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace accel::report {
namespace {

// clang-format off
// Sorted. torch.nn and torch.optim of PyTorch 2.13.
constexpr std::array<std::string_view, 169> kModuleClasses = {"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "CELU", "CTCLoss", "ChannelShuffle", "CheckpointWrapper", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Container", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "CrossMapLRN2d", "DataParallel", "DistributedDataParallel", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU", "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Float8Linear", "Fold", "FractionalMaxPool2d", "FractionalMaxPool3d", "FullyShardedDataParallel", "GELU", "GLU", "GRU", "GRUCell", "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "KLDivLoss", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d", "LSTM", "LSTMCell", "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "LeakyReLU", "Linear", "LinearCrossEntropyLoss", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Mish", "Module", "ModuleDict", "ModuleList", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultiheadAttention", "NLLLoss", "NLLLoss2d", "NonDynamicallyQuantizableLinear", "OptimizedModule", "PReLU", "PairwiseDistance", "ParameterDict", "ParameterList", "PixelShuffle", "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "RNN", "RNNBase", "RNNCell", "RNNCellBase", "RReLU", "ReLU", "ReLU6", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "SELU", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "SyncBatchNorm", "Tanh", "Tanhshrink", "Threshold", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"};
constexpr std::array<std::string_view, 16> kOptimizers = {"ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"};
// clang-format on
constexpr std::string_view kNamespaces[] = {"aten::",
                                            "prim::",
                                            "prims::",
                                            "c10::",
                                            "c10d::",
                                            "c10d_functional::",
                                            "_c10d_functional::",
                                            "quantized::",
                                            "torch::",
                                            "torchvision::",
                                            "autograd::",
                                            "inductor::",
                                            "triton_",
                                            "fbgemm::",
                                            "xformers::",
                                            "flash_attn::",
                                            "nccl:",
                                            "gloo:"};
// Ops without a namespace that PyTorch records itself.
constexpr std::string_view kPlainOperators[] = {"detach",
                                                "detach_",
                                                "record_param_comms",
                                                "CompiledFunction",
                                                "CompiledFunctionBackward",
                                                "AccumulateGrad",
                                                "CheckpointFunction",
                                                "CheckpointFunctionBackward",
                                                "cudaGraphLaunch",
                                                "Memcpy",
                                                "_Broadcast",
                                                "Broadcast",
                                                "Gather",
                                                "Scatter",
                                                "_DDPSink",
                                                "_DDPSinkBackward",
                                                "[memory]",
                                                "graph_task"};
constexpr std::string_view kRanges[] = {
    "ProfilerStep#",
    "PyTorch Profiler",
    "enumerate(DataLoader)#",
    "dataloader",
    "DataLoader",
    "nccl:",
    "gloo:",
    "mpi:",
    "ucc:",
    "c10d::",
    "DistributedDataParallel.forward",
    "Torch-Compiled Region",
    "torch::",
    "aten::",
    "autograd::",
    "TorchDynamo",
    "Torch-Compiled",
    "CompiledFunction",
    "Inductor",
    "Pregraph bytecode",
    "AOTDispatcher",
    "gc:",
};
constexpr std::string_view kStages[] = {"forward",    "backward", "loss",  "optimizer", "optimizer_step", "zero_grad",
                                        "h2d",        "d2h",      "train", "eval",      "step",           "validation",
                                        "evaluation", "data",     "batch", "epoch"};
constexpr std::string_view kGroups[] = {"default_pg", "undefined", "default", "WORLD"};
constexpr std::string_view kThreads[] = {"pt_autograd_", "pt_data_worker", "pt_data_pin", "pt_main_thread", "pt_nccl_",
                                         "pt_tcpstore",  "python",         "python3",     "cuda-EvtHandlr", "stream ",
                                         "main",         "jemalloc",       "gloo",        "nccl",           "NCCL"};

template <typename List>
bool sorted_holds(const List& list, std::string_view name) {
  return std::binary_search(list.begin(), list.end(), name);
}

template <typename List>
bool any_prefix(const List& list, std::string_view name) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "AddmmBackward0": a node that PyTorch generates. A function of the user's ends in "Backward".
bool is_generated_node(std::string_view name) {
  const std::size_t at = name.rfind("Backward");
  return at != std::string_view::npos && at > 0 && is_number(name.substr(at + 8)) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

bool is_known_module_class(std::string_view name) { return sorted_holds(kModuleClasses, name); }
bool is_known_optimizer(std::string_view name) { return sorted_holds(kOptimizers, name); }

bool is_known_operator(std::string_view name) {
  return any_prefix(kNamespaces, name) || is_generated_node(name) ||
         std::find(std::begin(kPlainOperators), std::end(kPlainOperators), name) != std::end(kPlainOperators);
}

bool is_known_range(std::string_view name) { return any_prefix(kRanges, name); }

bool is_stage(std::string_view name) {
  return std::find(std::begin(kStages), std::end(kStages), name) != std::end(kStages);
}

bool is_known_thread(std::string_view name) {
  // "thread 682 (python3)": what stands in the brackets is the name.
  const std::size_t open = name.find(" (");
  if (name.starts_with("thread ") && open != std::string_view::npos && name.ends_with(')')) {
    return is_number(name.substr(7, open - 7)) && is_known_thread(name.substr(open + 2, name.size() - open - 3));
  }
  return any_prefix(kThreads, name) || is_number(name) || (name.starts_with("thread ") && is_number(name.substr(7)));
}

bool is_known_group(std::string_view name) {
  return is_number(name) || std::find(std::begin(kGroups), std::end(kGroups), name) != std::end(kGroups);
}

}  // namespace accel::report
