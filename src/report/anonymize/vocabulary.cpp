#include "report/anonymize/vocabulary.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace accel::report {
namespace {

// clang-format off
// Sorted. torch.nn and torch.optim of PyTorch 2.13, the standard library of Python 3.11, packages in wide use.
constexpr std::array<std::string_view, 169> kModuleClasses = {"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "CELU", "CTCLoss", "ChannelShuffle", "CheckpointWrapper", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Container", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "CrossMapLRN2d", "DataParallel", "DistributedDataParallel", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU", "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Float8Linear", "Fold", "FractionalMaxPool2d", "FractionalMaxPool3d", "FullyShardedDataParallel", "GELU", "GLU", "GRU", "GRUCell", "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "KLDivLoss", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d", "LSTM", "LSTMCell", "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "LeakyReLU", "Linear", "LinearCrossEntropyLoss", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Mish", "Module", "ModuleDict", "ModuleList", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultiheadAttention", "NLLLoss", "NLLLoss2d", "NonDynamicallyQuantizableLinear", "OptimizedModule", "PReLU", "PairwiseDistance", "ParameterDict", "ParameterList", "PixelShuffle", "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "RNN", "RNNBase", "RNNCell", "RNNCellBase", "RReLU", "ReLU", "ReLU6", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "SELU", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "SyncBatchNorm", "Tanh", "Tanhshrink", "Threshold", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"};
constexpr std::array<std::string_view, 16> kOptimizers = {"ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"};
constexpr std::array<std::string_view, 219> kStandardModules = {"_collections_abc", "_weakrefset", "abc", "aifc", "antigravity", "argparse", "array", "ast", "asynchat", "asyncio", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile", "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections", "colorsys", "compileall", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils", "doctest", "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "lib2to3", "linecache", "locale", "logging", "lzma", "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb", "pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib", "resource", "rlcompleter", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants", "sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sunau", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios", "textwrap", "this", "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "tty", "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo"};
constexpr std::array<std::string_view, 105> kPackages = {"PIL", "absl", "accelerate", "albumentations", "apex", "av", "axolotl", "bitsandbytes", "cloudpickle", "colossalai", "composer", "cupy", "cv2", "datasets", "decord", "deepspeed", "detectron2", "diffusers", "dill", "einops", "fairscale", "fairseq", "filelock", "flash_attn", "fsspec", "functorch", "google", "grpc", "h5py", "huggingface_hub", "hydra", "ignite", "jax", "jinja2", "keras", "kornia", "librosa", "lightning", "lightning_fabric", "lightning_utilities", "matplotlib", "megatron", "mlflow", "mmcv", "mmengine", "mpmath", "multiprocess", "networkx", "numba", "numpy", "nvidia", "omegaconf", "onnx", "onnxruntime", "optuna", "packaging", "pandas", "peft", "pip", "pkg_resources", "psutil", "pyarrow", "pybind11", "pybind11_builtins", "pydantic", "pytorch_lightning", "ray", "requests", "rich", "safetensors", "scipy", "setuptools", "skimage", "sklearn", "soundfile", "streaming", "sympy", "tensorboard", "tensorflow", "timm", "tokenizers", "torch", "torch_tensorrt", "torch_xla", "torchao", "torchaudio", "torchdata", "torchmetrics", "torchrec", "torchtext", "torchtune", "torchvision", "tqdm", "transformer_engine", "transformers", "triton", "trl", "unsloth", "urllib3", "vllm", "wandb", "webdataset", "xformers", "yaml", "zarr"};
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

bool is_known_package(std::string_view package) { return sorted_holds(kPackages, package); }
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

bool is_standard_file(std::string_view file) {
  if (file.starts_with("<frozen ") || file == "<string>" || file == "<lambda>" || file == "<eval_with_key>")
    return true;
  const std::size_t slash = file.find('/');
  const std::string_view first = file.substr(0, slash);
  if (slash != std::string_view::npos) return sorted_holds(kStandardModules, first);
  return first.ends_with(".py") && sorted_holds(kStandardModules, first.substr(0, first.size() - 3));
}

}  // namespace accel::report
