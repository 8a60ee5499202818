#include "analysis/call_tree/frame_name.h"

namespace accel {
namespace {

// The profiler strips the folder in which packages are installed: "torch/nn/modules/module.py(1783): _call_impl".
constexpr std::string_view kPackages[] = {
    "torch/",        "torchvision/",  "torchaudio/", "torch_xla/",    "triton/",     "numpy/",     "scipy/",
    "pandas/",       "PIL/",          "cv2/",        "transformers/", "accelerate/", "lightning/", "deepspeed/",
    "apex/",         "multiprocess/", "tqdm/",       "flash_attn/",   "einops/",     "xformers/",  "pytorch_lightning/",
    "torchmetrics/", "sympy/",        "networkx/",   "datasets/"};
// Likewise of the standard library. A file of the user's own with one of these names is folded, too, and stays
// reachable.
constexpr std::string_view kStandardFiles[] = {"threading.py(",
                                               "contextlib.py(",
                                               "runpy.py(",
                                               "queue.py(",
                                               "selectors.py(",
                                               "socket.py(",
                                               "typing.py(",
                                               "functools.py(",
                                               "enum.py(",
                                               "abc.py(",
                                               "_collections_abc.py(",
                                               "collections/",
                                               "importlib/",
                                               "concurrent/",
                                               "multiprocessing/",
                                               "asyncio/",
                                               "weakref.py(",
                                               "copy.py(",
                                               "inspect.py(",
                                               "logging/",
                                               "warnings.py(",
                                               "tempfile.py(",
                                               "pickle.py(",
                                               "json/",
                                               "random.py(",
                                               "types.py(",
                                               "re/",
                                               "os.py(",
                                               "posixpath.py(",
                                               "codecs.py(",
                                               "traceback.py(",
                                               "linecache.py(",
                                               "ast.py(",
                                               "dis.py(",
                                               "dataclasses.py(",
                                               "unittest/",
                                               "encodings/",
                                               "subprocess.py(",
                                               "signal.py(",
                                               "operator.py(",
                                               "heapq.py(",
                                               "string.py(",
                                               "<frozen ",
                                               "<string>",
                                               "<eval_with_key>",
                                               "<built-in ",
                                               "<lambda>"};
constexpr std::string_view kFolders[] = {"site-packages/", "dist-packages/", "/lib/python", "torchinductor_"};

}  // namespace

bool is_module_frame(std::string_view name) { return name.starts_with("nn.Module: "); }

bool is_library_frame_name(std::string_view name) {
  if (is_module_frame(name)) return false;
  for (const std::string_view package : kPackages) {
    if (name.starts_with(package)) return true;
  }
  for (const std::string_view file : kStandardFiles) {
    if (name.starts_with(file)) return true;
  }
  for (const std::string_view folder : kFolders) {
    if (name.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

std::string frame_without_address(std::string_view name) {
  const std::size_t at = name.rfind(" at 0x");
  if (at == std::string_view::npos) return std::string(name);
  std::size_t end = at + 6;
  while (end < name.size() && (std::string_view("0123456789abcdefABCDEF").find(name[end]) != std::string_view::npos))
    ++end;
  return std::string(name.substr(0, at)) + std::string(name.substr(end));
}

}  // namespace accel
