#include "runtime/sampler/sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace accel::runtime {

#define SAMPLER(name)                      \
  namespace name {                         \
  extern const SamplerDescriptor kSampler; \
  }
#include "runtime/sampler/catalog.def"
#undef SAMPLER

namespace {

const SamplerDescriptor* const kAll[] = {
#define SAMPLER(name) &name::kSampler,
#include "runtime/sampler/catalog.def"
#undef SAMPLER
};

const char* g_system_root = "";

}  // namespace

void set_system_root(const char* folder) { g_system_root = folder; }

const SamplerDescriptor* const* samplers(std::size_t& count) {
  count = sizeof kAll / sizeof kAll[0];
  return kAll;
}

const SamplerDescriptor* sampler_of(std::string_view number, const SampleField** field) {
  for (const SamplerDescriptor* sampler : kAll) {
    for (std::size_t f = 0; f < sampler->field_count; ++f) {
      if (number != sampler->fields[f].name) continue;
      if (field != nullptr) *field = &sampler->fields[f];
      return sampler;
    }
  }
  return nullptr;
}

void system_path(const char* path, char* out, std::size_t size) {
  std::snprintf(out, size, "%s%s", g_system_root, path);
}

bool SystemFile::open(const char* path) {
  close();
  char full[512];
  system_path(path, full, sizeof full);
  fd_ = ::open(full, O_RDONLY | O_CLOEXEC);
  return fd_ >= 0;
}

const char* SystemFile::read() {
  const ssize_t got = fd_ < 0 ? -1 : ::pread(fd_, text_, sizeof text_ - 1, 0);
  text_[got < 0 ? 0 : got] = 0;
  return text_;
}

void SystemFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace accel::runtime
