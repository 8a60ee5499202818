#include "analysis/python_frame.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace accel {
namespace {

// clang-format off
// Sorted. Packages in wide use, and the standard library of Python 3.11: folders, and single files without those whose
// name a user's own script bears as easily (profile.py, code.py, trace.py).
constexpr std::array<std::string_view, 106> kPackages = {"PIL", "absl", "accel", "accelerate", "albumentations", "apex", "av", "axolotl", "bitsandbytes", "cloudpickle", "colossalai", "composer", "cupy", "cv2", "datasets", "decord", "deepspeed", "detectron2", "diffusers", "dill", "einops", "fairscale", "fairseq", "filelock", "flash_attn", "fsspec", "functorch", "google", "grpc", "h5py", "huggingface_hub", "hydra", "ignite", "jax", "jinja2", "keras", "kornia", "librosa", "lightning", "lightning_fabric", "lightning_utilities", "matplotlib", "megatron", "mlflow", "mmcv", "mmengine", "mpmath", "multiprocess", "networkx", "numba", "numpy", "nvidia", "omegaconf", "onnx", "onnxruntime", "optuna", "packaging", "pandas", "peft", "pip", "pkg_resources", "psutil", "pyarrow", "pybind11", "pybind11_builtins", "pydantic", "pytorch_lightning", "ray", "requests", "rich", "safetensors", "scipy", "setuptools", "skimage", "sklearn", "soundfile", "streaming", "sympy", "tensorboard", "tensorflow", "timm", "tokenizers", "torch", "torch_tensorrt", "torch_xla", "torchao", "torchaudio", "torchdata", "torchmetrics", "torchrec", "torchtext", "torchtune", "torchvision", "tqdm", "transformer_engine", "transformers", "triton", "trl", "unsloth", "urllib3", "vllm", "wandb", "webdataset", "xformers", "yaml", "zarr"};
constexpr std::array<std::string_view, 32> kStandardFolders = {"asyncio", "collections", "concurrent", "ctypes", "curses", "dbm", "distutils", "email", "encodings", "ensurepip", "html", "http", "idlelib", "importlib", "json", "lib2to3", "logging", "msilib", "multiprocessing", "pydoc_data", "re", "sqlite3", "tkinter", "tomllib", "turtledemo", "unittest", "urllib", "venv", "wsgiref", "xml", "xmlrpc", "zoneinfo"};
constexpr std::array<std::string_view, 171> kStandardFiles = {"_collections_abc", "_weakrefset", "abc", "aifc", "argparse", "array", "ast", "asynchat", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile", "cgi", "cgitb", "cmath", "codecs", "codeop", "compileall", "configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "dataclasses", "datetime", "decimal", "difflib", "dis", "doctest", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "imaplib", "imghdr", "inspect", "io", "ipaddress", "itertools", "keyword", "linecache", "locale", "lzma", "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msvcrt", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "plistlib", "poplib", "posix", "posixpath", "pprint", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pyexpat", "queue", "quopri", "random", "readline", "reprlib", "resource", "rlcompleter", "runpy", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver", "spwd", "sre_compile", "sre_constants", "sre_parse", "ssl", "stat", "string", "stringprep", "struct", "subprocess", "sunau", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios", "textwrap", "threading", "time", "timeit", "tokenize", "traceback", "tracemalloc", "tty", "turtle", "types", "typing", "unicodedata", "uu", "uuid", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound", "xdrlib", "zipapp", "zipfile", "zipimport", "zlib"};
// clang-format on
constexpr std::string_view kLibraryFolders[] = {"site-packages/", "dist-packages/", "/lib/python", "torchinductor_"};
// Code that a user typed: notebooks and the interpreter's prompt.
constexpr std::string_view kTyped[] = {"<ipython-input", "<stdin>"};

template <typename List>
bool sorted_holds(const List& list, std::string_view name) {
  return std::binary_search(list.begin(), list.end(), name);
}

}  // namespace

std::optional<SourceLine> parse_frame(std::string_view frame) {
  // The path may hold parentheses of its own: the line number is the last "(digits): ".
  for (std::size_t close = frame.rfind("): "); close != std::string_view::npos && close > 0;
       close = frame.rfind("): ", close - 1)) {
    const std::size_t open = frame.rfind('(', close);
    if (open == std::string_view::npos || open == 0) continue;
    std::int64_t line = 0;
    const char* end = frame.data() + close;
    const auto [stopped, error] = std::from_chars(frame.data() + open + 1, end, line);
    if (error == std::errc() && stopped == end && open + 1 < close) {
      return SourceLine{frame.substr(0, open), line, frame.substr(close + 3)};
    }
  }
  return std::nullopt;
}

bool is_known_package(std::string_view package) { return sorted_holds(kPackages, package); }

bool is_standard_file(std::string_view file) {
  if (file.starts_with("<frozen ") || file == "<string>" || file == "<lambda>" || file == "<eval_with_key>")
    return true;
  const std::size_t slash = file.find('/');
  if (slash != std::string_view::npos) return sorted_holds(kStandardFolders, file.substr(0, slash));
  return file.ends_with(".py") && sorted_holds(kStandardFiles, file.substr(0, file.size() - 3));
}

bool is_module_frame(std::string_view name) { return name.starts_with("nn.Module: "); }

bool is_library_frame(std::string_view name) {
  if (is_module_frame(name) || name.empty()) return false;
  if (name.front() == '<') {
    return std::none_of(std::begin(kTyped), std::end(kTyped), [&](std::string_view t) { return name.starts_with(t); });
  }
  const std::optional<SourceLine> line = parse_frame(name);
  const std::string_view file = line ? line->file : name.substr(0, name.find('('));
  for (const std::string_view folder : kLibraryFolders) {
    if (file.find(folder) != std::string_view::npos) return true;
  }
  const std::size_t slash = file.find('/');
  return (slash != std::string_view::npos && is_known_package(file.substr(0, slash))) || is_standard_file(file);
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
