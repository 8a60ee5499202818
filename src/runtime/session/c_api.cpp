// The C ABI over the session: checks what comes in, passes it on. Nothing here throws, prints, or ends the process.
#include <cstddef>
#include <cstring>

#include "accel/profiler/runtime_c.h"
#include "runtime/cupti/activity.h"
#include "runtime/python/python_sampler.h"
#include "runtime/session/session.h"

using accel::runtime::session;

namespace {

// A caller built against an older header passes a shorter struct: what it does not know keeps its default.
template <typename T>
bool read_struct(const T* given, T& out) {
  if (given == nullptr) return true;
  if (given->struct_size < sizeof(std::uint32_t) * 2 || given->struct_size > 4096) return false;
  std::memcpy(&out, given, given->struct_size < sizeof(T) ? given->struct_size : sizeof(T));
  return true;
}

}  // namespace

extern "C" {

uint32_t accel_runtime_abi_version(void) { return ACCEL_RUNTIME_ABI_VERSION; }

accel_status accel_enable(const accel_options* options) {
  accel_options read = ACCEL_OPTIONS_INIT;
  return read_struct(options, read) ? session().enable(read) : ACCEL_INVALID_ARGUMENT;
}

accel_status accel_disable(void) { return session().disable(); }
accel_state accel_runtime_state(void) { return session().state(); }
accel_status accel_wait(uint32_t timeout_ms) { return session().wait(timeout_ms); }

accel_status accel_step(const accel_step_info* info) {
  accel_step_info read = ACCEL_STEP_INFO_INIT;
  return read_struct(info, read) ? session().step(read) : ACCEL_INVALID_ARGUMENT;
}

accel_name accel_name_of(const char* category, const char* name) {
  return session().name_of(category == nullptr ? "annotation" : category, name == nullptr ? "" : name);
}

accel_args accel_args_of(const char* shape, const char* dtype) {
  return session().args_of(shape == nullptr ? "" : shape, dtype == nullptr ? "" : dtype);
}

accel_scope accel_scope_begin_active(accel_name name) {
  const accel::runtime::OpenScope open = session().recorder().begin(name);
  return {open.begin, open.name, open.depth};
}

void accel_scope_end_active(accel_scope scope, accel_args args, uint64_t bytes) {
  session().recorder().end({scope.begin, scope.name, scope.depth}, args, bytes);
}

accel_number accel_number_of(const char* name) { return name == nullptr ? ACCEL_NO_NUMBER : session().number_of(name); }
accel_status accel_record(accel_number number, double value) { return session().record(number, value); }
accel_status accel_mark(const char* text) { return text == nullptr ? ACCEL_INVALID_ARGUMENT : session().mark(text); }

accel_status accel_rule_add(const char* text, accel_rule_error* error) {
  return text == nullptr ? ACCEL_INVALID_ARGUMENT : session().rule_add(text, error);
}
accel_status accel_rules_clear(void) { return session().rules_clear(); }
accel_status accel_on_action(accel_action_handler handler, void* context) {
  return session().on_action(handler, context);
}

accel_status accel_on_agreement(accel_agreement_handler handler, void* context) {
  return session().on_agreement(handler, context);
}
accel_status accel_notify(const char* target, const char* message) {
  return target == nullptr ? ACCEL_INVALID_ARGUMENT : session().notify_now(target, message == nullptr ? "" : message);
}

accel_status accel_capture(const accel_schedule* schedule) {
  accel_schedule read = ACCEL_SCHEDULE_INIT;
  if (!read_struct(schedule, read)) return ACCEL_INVALID_ARGUMENT;
  const bool in_range = read.active >= 1 && read.active <= 1000000 && read.repeat >= 1 && read.warmup <= 1000000 &&
                        read.level >= 1 && read.level <= 3 && read.device <= ACCEL_DEVICE_RICH;
  if (!in_range) return ACCEL_INVALID_ARGUMENT;
  return session().capture(
      {read.wait, read.warmup, read.active, read.repeat, read.level, read.steady_wait, read.start_step, read.device},
      "program");
}

accel_status accel_capture_stop(void) { return session().capture_stop(); }
accel_window accel_window_now(void) { return session().window_now(); }
accel_status accel_capture_path(char* path, size_t size) { return session().capture_path(path, size); }

accel_status accel_device_pause(void) {
  accel::runtime::cupti::activity().pause();
  return ACCEL_OK;
}
accel_status accel_device_resume(void) {
  accel::runtime::cupti::activity().resume();
  return ACCEL_OK;
}

accel_status accel_python_use(const accel_python* python) {
  accel_python read = {sizeof(accel_python), 0, nullptr, nullptr};
  if (!read_struct(python, read)) return ACCEL_INVALID_ARGUMENT;
  const bool known = accel::runtime::python::layout_of(read.version) != nullptr && read.interpreter != nullptr &&
                     read.code_type != nullptr;
  if (read.version != 0 && !known) return ACCEL_INVALID_ARGUMENT;
  accel::runtime::python::python_sampler().use({read.version, reinterpret_cast<std::uintptr_t>(read.interpreter),
                                                reinterpret_cast<std::uintptr_t>(read.code_type)});
  return ACCEL_OK;
}

accel_status accel_python_stack(int64_t tid, char* text, size_t size) {
  const accel::runtime::python::Interpreter interpreter = accel::runtime::python::python_sampler().interpreter();
  if (text == nullptr || size < 2) return ACCEL_INVALID_ARGUMENT;
  text[0] = 0;
  if (interpreter.version == 0) return ACCEL_DISABLED;
  return accel::runtime::python::stack_as_text(interpreter, tid, text, size) ? ACCEL_OK : ACCEL_INVALID_ARGUMENT;
}

accel_status accel_python_worker(int32_t pid) {
  if (pid <= 0) return ACCEL_INVALID_ARGUMENT;
  accel::runtime::python::python_sampler().add_worker(pid);
  return ACCEL_OK;
}

// A window that is open when the process ends in order is closed and written.
__attribute__((destructor)) static void accel_runtime_process_ends(void) { session().process_ends(); }

}  // extern "C"
