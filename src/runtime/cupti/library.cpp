#include "runtime/cupti/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace accel::runtime::cupti {
namespace {

struct Search {
  const char* name;
  char path[1024];
};

int compare(dl_phdr_info* info, std::size_t /*size*/, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash == nullptr ? info->dlpi_name : slash + 1;
  if (std::strncmp(file, search.name, std::strlen(search.name)) != 0) return 0;
  std::snprintf(search.path, sizeof search.path, "%s", info->dlpi_name);
  return 1;
}

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

void* mapped_library(const char* name) {
  Search search = {name, {}};
  if (::dl_iterate_phdr(compare, &search) == 0) return nullptr;
  return ::dlopen(search.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

const char* bind(Library& library) {
  if (library.handle != nullptr) return nullptr;
  void* handle = mapped_library("libcupti.so");
  if (handle == nullptr) {
    if (mapped_library("libcuda.so") == nullptr) return "no CUDA driver is in use in this process";
    for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
      if (handle == nullptr) handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (handle == nullptr) return "libcupti is not in this process and the loader does not find it";
  Functions& f = library.functions;
  const bool found =
      find(handle, "cuptiGetVersion", f.get_version) && find(handle, "cuptiGetResultString", f.get_result_string) &&
      find(handle, "cuptiGetTimestamp", f.get_timestamp) && find(handle, "cuptiGetCallbackName", f.get_callback_name) &&
      find(handle, "cuptiActivityRegisterCallbacks", f.register_callbacks) &&
      find(handle, "cuptiActivityRegisterTimestampCallback", f.register_timestamp) &&
      find(handle, "cuptiActivityEnable", f.enable) && find(handle, "cuptiActivityDisable", f.disable) &&
      find(handle, "cuptiActivityFlushAll", f.flush_all) && find(handle, "cuptiActivityGetNextRecord", f.next_record) &&
      find(handle, "cuptiGetThreadIdType", f.get_thread_id_type) &&
      find(handle, "cuptiSetThreadIdType", f.set_thread_id_type) &&
      find(handle, "cuptiActivityGetNumDroppedRecords", f.dropped_records);
  if (!found) return "this libcupti is older than CUDA 11.6: it takes no clock of ours";
  if (f.get_version(&library.version) != 0) return "libcupti does not say its version";
  library.handle = handle;
  return nullptr;
}

}  // namespace accel::runtime::cupti
