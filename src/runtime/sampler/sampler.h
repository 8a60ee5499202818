// What a sampler is: plain data that says which numbers it gives, how often they are true, and three functions.
// Samplers are listed in catalog.def and run on the sampler thread alone; a value that could not be taken is NaN, never
// 0. C library only, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/trigger/numbers.h"

namespace accel::runtime {

enum class FieldKind : std::uint8_t { level = 0, total = 1, bits = 2 };  // as in the file: total: a sum that grows

struct SampleField {
  const char* name;  // of the number; a built-in one or its own
  const char* unit;
  FieldKind kind = FieldKind::level;
  std::int64_t refresh_ns = 0;  // where this one field is taken less often than the sampler's others
};

inline constexpr std::size_t kMaxSampleFields = 24;

struct SamplerDescriptor {
  const char* id;
  NumberSource source;
  const SampleField* fields;
  std::size_t field_count;
  std::int64_t interval_ns;         // while rules need it
  std::int64_t window_interval_ns;  // while a window is open
  std::int64_t refresh_ns;          // the source itself changes no faster
  // Null when it can give something; else why not and what helps.
  const char* (*open)();
  void (*sample)(std::int64_t now_ns, double* values);
  void (*close)();
};

// All samplers, in the order of catalog.def.
const SamplerDescriptor* const* samplers(std::size_t& count);
// The sampler that gives the number, null for a number of the program's own.
const SamplerDescriptor* sampler_of(std::string_view number, const SampleField** field);

// Tests put a folder of their own, which outlives the samplers, in front of /proc and /sys. Before the first one runs.
void set_system_root(const char* folder);
void system_path(const char* path, char* out, std::size_t size);

// Reads a small file of the system (procfs, sysfs, cgroupfs) again and again through one descriptor.
class SystemFile {
 public:
  bool open(const char* path);
  // The text with a zero at its end; empty when it cannot be read.
  const char* read();
  void close();

 private:
  int fd_ = -1;
  char text_[4096] = {};  // /proc/net/dev of a machine with many interfaces
};

}  // namespace accel::runtime
