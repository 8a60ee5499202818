#include "runtime/session/zstd_loader.h"

#include <dlfcn.h>

namespace accel::runtime {
namespace {

struct Zstd {
  void* (*create)() = nullptr;
  std::size_t (*compress)(void*, void*, std::size_t, const void*, std::size_t, int) = nullptr;
  unsigned (*is_error)(std::size_t) = nullptr;
  void* context = nullptr;
};
Zstd g_zstd;
bool g_looked = false;

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::size_t pack(void* context, char* out, std::size_t capacity, const char* in, std::size_t bytes) {
  constexpr int kFastLevel = 1;
  const std::size_t packed = g_zstd.compress(context, out, capacity, in, bytes, kFastLevel);
  return g_zstd.is_error(packed) != 0 ? 0 : packed;
}

}  // namespace

format::Packer zstd_packer() {
  if (!g_looked) {
    g_looked = true;
    void* library = ::dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr && find(library, "ZSTD_createCCtx", g_zstd.create) &&
        find(library, "ZSTD_compressCCtx", g_zstd.compress) && find(library, "ZSTD_isError", g_zstd.is_error)) {
      g_zstd.context = g_zstd.create();
    }
  }
  return g_zstd.context == nullptr ? format::Packer{} : format::Packer{pack, g_zstd.context};
}

}  // namespace accel::runtime
