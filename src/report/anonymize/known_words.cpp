#include "report/anonymize/known_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace accel::report {
namespace {

// clang-format off
// Sorted. Functions and types of Python 3.11's own modules; words of ranges of PyTorch 2.13; packages of the standard library.
constexpr std::array<std::string_view, 689> kFunctions = {"CMSG_LEN", "CMSG_SPACE", "POINTER", "PyObj_FromPtr", "Py_DECREF", "Py_INCREF", "S_IFMT", "S_IMODE", "S_ISBLK", "S_ISCHR", "S_ISDIR", "S_ISDOOR", "S_ISFIFO", "S_ISLNK", "S_ISPORT", "S_ISREG", "S_ISSOCK", "S_ISWHT", "WCOREDUMP", "WEXITSTATUS", "WIFCONTINUED", "WIFEXITED", "WIFSIGNALED", "WIFSTOPPED", "WSTOPSIG", "WTERMSIG", "__breakpointhook__", "__build_class__", "__displayhook__", "__excepthook__", "__import__", "__unraisablehook__", "_abc_init", "_abc_instancecheck", "_abc_register", "_abc_subclasscheck", "_clear", "_clear_type_cache", "_clearcache", "_compare_digest", "_count", "_count_elements", "_current_exceptions", "_current_frames", "_debugmallocstats", "_decode_filter_properties", "_encode_filter_properties", "_enter_task", "_excepthook", "_exit", "_fatal_error_c_thread", "_filters_mutated", "_fix_co_filename", "_frozen_module_names", "_get_dump", "_get_event_loop", "_get_object_traceback", "_get_running_loop", "_get_traces", "_getframe", "_getquickenedcount", "_heapify_max", "_heappop_max", "_heapreplace_max", "_leave_task", "_ncallbacks", "_normal_dist_inv_cdf", "_override_frozen_modules_for_tests", "_path_normpath", "_read_null", "_register_task", "_remove_dead_weakref", "_reset_caches", "_reset_registry", "_run_exitfuncs", "_set_running_loop", "_set_sentinel", "_sigabrt", "_sigfpe", "_sigsegv", "_stack_overflow", "_unpickle", "_unregister_task", "a2b_base64", "a2b_hex", "a2b_qp", "a2b_uu", "abort", "abs", "access", "acos", "acosh", "acquire_lock", "add", "addaudithook", "addressof", "adler32", "aiter", "alarm", "alignment", "all", "allocate", "allocate_lock", "and_", "anext", "any", "ascii", "ascii_decode", "ascii_encode", "ascii_iscased", "ascii_tolower", "asctime", "asin", "asinh", "atan", "atan2", "atanh", "audit", "b2a_base64", "b2a_hex", "b2a_qp", "b2a_uu", "bin", "bisect_left", "bisect_right", "breakpoint", "breakpointhook", "buffer_info", "byref", "calcsize", "call", "call_cdeclfunction", "call_function", "call_tracing", "callable", "cancel_dump_traceback_later", "cbrt", "ceil", "charmap_build", "charmap_decode", "charmap_encode", "chdir", "chmod", "chown", "chr", "chroot", "clear_traces", "clock_getres", "clock_gettime", "clock_gettime_ns", "clock_settime", "clock_settime_ns", "close", "closerange", "cmp_to_key", "collect", "comb", "compare_digest", "compile", "compress", "compressobj", "concat", "confstr", "contains", "copy_context", "copy_file_range", "copysign", "cos", "cosh", "countOf", "cpu_count", "crc32", "crc_hqx", "create_builtin", "create_dynamic", "ctermid", "ctime", "decode", "decompress", "decompressobj", "default_int_handler", "degrees", "delattr", "delitem", "device_encoding", "dir", "disable", "displayhook", "dist", "divmod", "dlclose", "dlopen", "dlsym", "dump", "dump_traceback", "dump_traceback_later", "dumps", "dup", "dup2", "enable", "encode", "encode_basestring", "encode_basestring_ascii", "eq", "erf", "erfc", "escape_decode", "escape_encode", "eval", "eventfd", "eventfd_read", "eventfd_write", "exc_info", "excepthook", "exception", "exec", "exec_builtin", "exec_dynamic", "execv", "execve", "exit", "exit_thread", "exp", "exp2", "expm1", "extension_suffixes", "fabs", "factorial", "fchdir", "fchmod", "fchown", "fcntl", "fdatasync", "field_size_limit", "filemode", "find_frozen", "flock", "floor", "floordiv", "fmod", "fork", "forkpty", "format", "formatter_field_name_split", "formatter_parser", "fpathconf", "freeze", "frexp", "fspath", "fstat", "fstatvfs", "fsum", "fsync", "ftruncate", "gamma", "gcd", "ge", "get_asyncgen_hooks", "get_blocking", "get_cache_token", "get_clock_info", "get_coroutine_origin_tracking_depth", "get_count", "get_debug", "get_dialect", "get_errno", "get_event_loop", "get_fips_mode", "get_freeze_count", "get_frozen_object", "get_ident", "get_inheritable", "get_int_max_str_digits", "get_native_id", "get_objects", "get_referents", "get_referrers", "get_running_loop", "get_stats", "get_terminal_size", "get_threshold", "get_traceback_limit", "get_traced_memory", "get_tracemalloc_memory", "getaddrinfo", "getallocatedblocks", "getattr", "getcodesize", "getcwd", "getcwdb", "getdefaultencoding", "getdefaulttimeout", "getdlopenflags", "getegid", "geteuid", "getfilesystemencodeerrors", "getfilesystemencoding", "getgid", "getgrouplist", "getgroups", "gethostbyaddr", "gethostbyname", "gethostbyname_ex", "gethostname", "getitem", "getitimer", "getloadavg", "getlogin", "getnameinfo", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getprofile", "getprotobyname", "getrandom", "getrecursionlimit", "getrefcount", "getresgid", "getresuid", "getservbyname", "getservbyport", "getsid", "getsignal", "getsizeof", "getswitchinterval", "gettrace", "getuid", "getweakrefcount", "getweakrefs", "getxattr", "globals", "gmtime", "gt", "hasattr", "hash", "heapify", "heappop", "heappush", "heappushpop", "heapreplace", "hex", "hexlify", "hmac_digest", "hmac_new", "htonl", "htons", "hypot", "iadd", "iand", "iconcat", "id", "if_indextoname", "if_nameindex", "if_nametoindex", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "index", "indexOf", "inet_aton", "inet_ntoa", "inet_ntop", "inet_pton", "init_frozen", "initgroups", "input", "insort_left", "insort_right", "intern", "interrupt_main", "inv", "invert", "ioctl", "ior", "ipow", "irshift", "is_", "is_builtin", "is_check_supported", "is_enabled", "is_finalized", "is_finalizing", "is_frozen", "is_frozen_package", "is_not", "is_tracing", "is_tracked", "isatty", "isclose", "isenabled", "isfinite", "isinf", "isinstance", "isnan", "isqrt", "issubclass", "isub", "iter", "iter_unpack", "itruediv", "ixor", "kill", "killpg", "latin_1_decode", "latin_1_encode", "lchown", "lcm", "ldexp", "le", "len", "length_hint", "lgamma", "link", "list_dialects", "listdir", "listxattr", "load", "loads", "locals", "localtime", "lock_held", "lockf", "log", "log10", "log1p", "log2", "login_tty", "lookup", "lookup_error", "lseek", "lshift", "lstat", "lt", "major", "makedev", "matmul", "max", "memfd_create", "min", "minor", "mkdir", "mkfifo", "mknod", "mktime", "mod", "modf", "monotonic", "monotonic_ns", "mul", "ne", "neg", "new", "next", "nextafter", "nice", "not_", "ntohl", "ntohs", "oct", "open", "open_code", "openpty", "openssl_md5", "openssl_sha1", "openssl_sha224", "openssl_sha256", "openssl_sha384", "openssl_sha3_224", "openssl_sha3_256", "openssl_sha3_384", "openssl_sha3_512", "openssl_sha512", "openssl_shake_128", "openssl_shake_256", "or_", "ord", "pack", "pack_into", "pathconf", "pause", "pbkdf2_hmac", "perf_counter", "perf_counter_ns", "perm", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pointer", "poll", "pos", "posix_fadvise", "posix_fallocate", "posix_spawn", "posix_spawnp", "pow", "pread", "preadv", "print", "process_time", "process_time_ns", "prod", "proxy", "pthread_getcpuclockid", "pthread_kill", "pthread_sigmask", "putenv", "pwrite", "pwritev", "radians", "raise_signal", "raw_unicode_escape_decode", "raw_unicode_escape_encode", "read", "readbuffer_encode", "reader", "readlink", "readv", "reduce", "register", "register_at_fork", "register_dialect", "register_error", "release_lock", "remainder", "remove", "removexattr", "rename", "replace", "repr", "reset_peak", "resize", "rmdir", "round", "rshift", "scandir", "scanstring", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_yield", "scrypt", "select", "sem_unlink", "sendfile", "set_asyncgen_hooks", "set_blocking", "set_coroutine_origin_tracking_depth", "set_debug", "set_errno", "set_inheritable", "set_int_max_str_digits", "set_threshold", "set_wakeup_fd", "setattr", "setdefaulttimeout", "setdlopenflags", "setegid", "seteuid", "setgid", "setgroups", "sethostname", "setitem", "setitimer", "setpgid", "setpgrp", "setpriority", "setprofile", "setrecursionlimit", "setregid", "setresgid", "setresuid", "setreuid", "setsid", "setswitchinterval", "settrace", "setuid", "setxattr", "shm_open", "shm_unlink", "siginterrupt", "signal", "sigpending", "sigtimedwait", "sigwait", "sigwaitinfo", "sin", "sinh", "sizeof", "sleep", "socketpair", "sorted", "source_hash", "splice", "sqrt", "stack_size", "start", "start_new", "start_new_thread", "stat", "statvfs", "stop", "strerror", "strftime", "strptime", "strsignal", "sub", "sum", "symlink", "sync", "sysconf", "system", "tan", "tanh", "tcgetpgrp", "tcsetpgrp", "tee", "text_encoding", "thread_time", "thread_time_ns", "time", "time_ns", "times", "truediv", "trunc", "truncate", "truth", "ttyname", "tzset", "ulp", "umask", "uname", "unfreeze", "unhexlify", "unicode_escape_decode", "unicode_escape_encode", "unicode_iscased", "unicode_tolower", "unlink", "unpack", "unpack_from", "unraisablehook", "unregister", "unregister_dialect", "unsetenv", "urandom", "utf_16_be_decode", "utf_16_be_encode", "utf_16_decode", "utf_16_encode", "utf_16_ex_decode", "utf_16_le_decode", "utf_16_le_encode", "utf_32_be_decode", "utf_32_be_encode", "utf_32_decode", "utf_32_encode", "utf_32_ex_decode", "utf_32_le_decode", "utf_32_le_encode", "utf_7_decode", "utf_7_encode", "utf_8_decode", "utf_8_encode", "utime", "valid_signals", "vars", "wait", "wait3", "wait4", "waitid", "waitpid", "waitstatus_to_exitcode", "warn", "warn_explicit", "write", "writer", "writev", "xor"};
constexpr std::array<std::string_view, 35> kTypes = {"async_generator", "bool", "bytearray", "bytes", "cell", "classmethod", "code", "complex", "coroutine", "dict", "enumerate", "filter", "float", "frozenset", "function", "generator", "int", "list", "map", "mappingproxy", "memoryview", "method", "module", "object", "property", "range", "reversed", "set", "slice", "staticmethod", "str", "super", "tuple", "type", "zip"};
constexpr std::array<std::string_view, 97> kRangeWords = {"AOTDispatcher", "AccumulateGrad", "Backward", "Cache", "Compiled", "CompiledFunction", "CompiledFunctionBackward", "DataLoader", "DistributedDataParallel", "Dynamo", "Epilogue", "Forward", "FullyShardedDataParallel", "GraphRoot", "Inductor", "Lookup", "Pregraph", "Profiler", "ProfilerStep", "Prologue", "PyTorch", "Reducer", "Region", "Runtime", "Torch", "TorchDynamo", "Wrapper", "_BaseDataLoaderIter", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter", "_StatefulMultiProcessingDataLoaderIter", "_StatefulSingleProcessDataLoaderIter", "__next__", "all", "allgather", "allreduce", "alltoall", "aten", "autograd", "avg", "backward", "barrier", "base", "bcast", "broadcast", "bytecode", "c10d", "coalesced", "collect", "collection", "compile", "compiled", "cudagraph", "dataloader", "end", "engine", "enumerate", "evaluate", "fetch", "forward", "function", "gather", "gc", "generation", "gloo", "graph", "guard", "into", "irecv", "isend", "jit", "lookup", "max", "memory", "min", "monitored", "mpi", "nccl", "next", "pin", "product", "recv", "reduce", "reducescatter", "region", "scatter", "send", "single", "start", "step", "sum", "tensor", "tensors", "to", "torch", "ucc", "worker"};
constexpr std::array<std::string_view, 56> kCounterWords = {"GPU", "active", "allocated", "bandwidth", "bits", "bytes", "c", "cgroup", "clock", "clocks", "cpu", "current", "device", "dram", "energy", "fan", "free", "gb", "gpu", "host", "io", "joule", "limit", "load", "mb", "memory", "mhz", "ms", "network", "nvlink", "pcie", "peak", "percent", "power", "process", "ratio", "read", "reasons", "reserved", "rss", "rx", "s", "sm", "speed", "swap", "temperature", "tensor", "threads", "total", "tx", "usage", "used", "utilisation", "utilization", "w", "write"};
constexpr std::array<std::string_view, 40> kUserLikeModules = {"calendar", "cgi", "chunk", "cmd", "code", "copy", "crypt", "dis", "formatter", "fractions", "glob", "imp", "keyword", "numbers", "opcode", "operator", "parser", "pipes", "platform", "profile", "queue", "random", "resource", "sched", "secrets", "select", "shelve", "signal", "site", "stat", "statistics", "string", "struct", "symtable", "test", "this", "token", "trace", "types", "uu"};
constexpr std::array<std::string_view, 36> kWidelyUsed = {"_deepcopy_atomic", "_deepcopy_dict", "_deepcopy_list", "_deepcopy_tuple", "_get", "_glob1", "_init", "_keep_alive", "_put", "_qsize", "_randbelow_with_getrandbits", "_reconstruct", "choice", "choices", "copy", "deepcopy", "empty", "full", "gauss", "get", "get_nowait", "getrandbits", "glob", "iglob", "join", "put", "put_nowait", "qsize", "randint", "random", "randrange", "sample", "seed", "shuffle", "task_done", "uniform"};
constexpr std::array<std::string_view, 32> kPackages = {"asyncio", "collections", "concurrent", "ctypes", "curses", "dbm", "distutils", "email", "encodings", "ensurepip", "html", "http", "importlib", "json", "lib2to3", "logging", "multiprocessing", "pathlib", "pydoc_data", "re", "sqlite3", "sysconfig", "tkinter", "tomllib", "unittest", "urllib", "venv", "wsgiref", "xml", "xmlrpc", "zipfile", "zoneinfo"};
constexpr std::array<std::string_view, 30> kTensorTypes = {"Device", "Generator", "GenericList", "Layout", "MemoryFormat", "None", "NoneType", "Scalar", "ScalarList", "ScalarType", "Storage", "Stream", "Tensor", "TensorList", "TensorOptional", "bool", "byte", "char", "complex", "double", "float", "half", "int", "long", "short", "signed", "str", "string", "unsigned", "void"};
// clang-format on

template <typename List>
bool holds(const List& list, std::string_view name) {
  return std::binary_search(list.begin(), list.end(), name);
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "all_gather_base": each part between underscores is a word too.
template <typename List>
bool is_known_word(const List& list, std::string_view word) {
  if (holds(list, word) || is_number(word)) return true;
  std::size_t from = 0;
  while (from <= word.size()) {
    const std::size_t end = std::min(word.find('_', from), word.size());
    const std::string_view part = word.substr(from, end - from);
    if (!part.empty() && !is_number(part) && !holds(list, part)) return false;
    from = end + 1;
  }
  return true;
}

// Calls `take` with each word and each stretch between words.
template <typename Take>
void split(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end]) == is_letter(text[at])) ++end;
    take(text.substr(at, end - at), is_letter(text[at]));
    at = end;
  }
}

}  // namespace

std::string with_known_range_words(std::string_view text, const Replace& replace) {
  std::string out;
  split(text, [&](std::string_view piece, bool is_word) {
    out += !is_word || is_known_word(kRangeWords, piece) ? std::string(piece) : replace(piece);
  });
  return out;
}

bool is_known_counter(std::string_view name) {
  bool known = true;
  split(name, [&](std::string_view piece, bool is_word) {
    known = known && (!is_word || is_known_word(kCounterWords, piece));
  });
  return known;
}

bool is_built_in_function(std::string_view name) { return holds(kFunctions, name); }
bool is_built_in_type(std::string_view name) { return holds(kTypes, name); }

bool is_tensor_type(std::string_view name) {
  if (name.starts_with("c10::") || name.starts_with("at::")) {
    return std::all_of(name.begin(), name.end(),
                       [](char c) { return is_letter(c) || c == ':' || c == '<' || c == '>'; });
  }
  bool known = true;
  split(name, [&](std::string_view piece, bool is_word) {
    known = known && (!is_word || holds(kTensorTypes, piece) || is_number(piece));
  });
  return known;
}

bool is_surely_standard(std::string_view file, std::string_view function) {
  const std::size_t slash = file.find('/');
  if (slash != std::string_view::npos) return holds(kPackages, file.substr(0, slash));
  const bool dunder = function.starts_with("__") && function.ends_with("__");
  if (file.starts_with('<') || holds(kUserLikeModules, file.substr(0, file.find('.'))))
    return dunder || function.starts_with('<') || holds(kWidelyUsed, function);
  return true;
}

}  // namespace accel::report
