// accel-profiler: the runtime SDK for C++, a thin header over runtime_c.h, which says what each call does, costs and
// may be called from. Header only; nothing throws.
//
//   accel::profiler::Runtime::enable();
//   static const accel::profiler::Name kLoad("load batch", accel::profiler::category::kDataLoading);
//   for (...) {
//     { accel::profiler::Scope scope(kLoad); ... }
//     accel::profiler::Runtime::step();
//   }
#pragma once

#include <cstdint>
#include <string>

#include "accel/profiler/runtime_c.h"

namespace accel::profiler {

// Categories that the engine gives a meaning to; any other text is a category of the user's own.
namespace category {
inline constexpr const char* kAnnotation = "annotation";
inline constexpr const char* kOp = "op";
// The work that steps are for. In a job without a device these scopes stand for one: time without any is idle time, and
// the engine says why.
inline constexpr const char* kCompute = "compute";
inline constexpr const char* kDataLoading = "data_loading";
inline constexpr const char* kCommunication = "communication";
inline constexpr const char* kSynchronization = "synchronization";
}  // namespace category

// A name, asked for once; make it static.
class Name {
 public:
  explicit Name(const char* text, const char* group = category::kAnnotation) : id_(accel_name_of(group, text)) {}
  accel_name id() const { return id_; }

 private:
  accel_name id_;
};

// From construction to destruction, on one thread.
class Scope {
 public:
  explicit Scope(const Name& name) : scope_(accel_scope_begin(name.id())) {}
  ~Scope() { accel_scope_end_with(scope_, args_, bytes_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Whether it is being recorded: what costs something to find out is worth it only then.
  bool recorded() const { return scope_.begin != 0; }
  void shape(const char* json, const char* dtype) {
    if (recorded()) args_ = accel_args_of(json, dtype);
  }
  void bytes(std::uint64_t count) { bytes_ = count; }

 private:
  accel_scope scope_;
  accel_args args_ = 0;
  std::uint64_t bytes_ = ACCEL_NO_BYTES;
};

// A number that rules may name.
class Number {
 public:
  explicit Number(const char* name) : id_(accel_number_of(name)) {}
  void record(double value) const { accel_record(id_, value); }

 private:
  accel_number id_;
};

struct Step : accel_step_info {
  Step() : accel_step_info(ACCEL_STEP_INFO_INIT) {}
};

struct Schedule : accel_schedule {
  Schedule() : accel_schedule(ACCEL_SCHEDULE_INIT) {}
};

struct Options : accel_options {
  Options() : accel_options(ACCEL_OPTIONS_INIT) {}
};

struct Runtime {
  static accel_status enable(const Options& options = {}) { return accel_enable(&options); }
  static accel_status disable() { return accel_disable(); }
  static accel_state state() { return accel_runtime_state(); }
  static accel_status wait(std::uint32_t timeout_ms) { return accel_wait(timeout_ms); }
  static accel_status step() { return accel_step(nullptr); }
  static accel_status step(const Step& step) { return accel_step(&step); }
  static accel_status rule(const char* text, accel_rule_error* error = nullptr) { return accel_rule_add(text, error); }
  static accel_status capture(const Schedule& schedule = {}) { return accel_capture(&schedule); }
  static accel_status stop() { return accel_capture_stop(); }
  static accel_status mark(const char* text) { return accel_mark(text); }
  // Empty: there is none yet.
  static std::string newest_capture() {
    char path[1024];
    return accel_capture_path(path, sizeof path) == ACCEL_OK ? std::string(path) : std::string();
  }
};

}  // namespace accel::profiler
