#include "runtime/session/python_window.h"

#include <cstdio>

#include "runtime/python/python_sampler.h"
#include "runtime/session/capture.h"

namespace accel::runtime {

using format::NativeTable;
namespace native = format::native;
using python::python_sampler;

void PythonWindow::open() { open_ = python_sampler().start(); }

// What rows refer to stands before them in the file: functions, then frames, then stacks.
void PythonWindow::write_tree(Capture& capture) {
  const python::StackTree& tree = python_sampler().tree();
  const std::uint32_t frames = tree.frame_count();
  const std::uint32_t functions = tree.function_count();  // those of these frames, at least
  ChunkFile& file = capture.file();
  while (functions_written_ < functions) {
    const python::StackTree::Function& function = tree.function(++functions_written_);
    const std::string_view name = function.name;
    const std::string_view path = function.file;
    file.make_room(NativeTable::Function, name.size() + path.size());
    put_row(file.rows(NativeTable::Function), native::FunctionRow{functions_written_, name, path});
  }
  while (frames_written_ < frames) {
    const python::StackTree::Frame& frame = tree.frame(++frames_written_);
    if (!file.has_room(NativeTable::Frame, 0)) file.write(NativeTable::Function);
    file.make_room(NativeTable::Frame, 0);
    put_row(file.rows(NativeTable::Frame), native::FrameRow{frames_written_, frame.caller, frame.function, frame.line});
  }
}

void PythonWindow::drain(Capture& capture, std::uint64_t keep_from) {
  if (!open_) return;
  ChunkFile& file = capture.file();
  python::StackRecord record;
  while (python_sampler().take(record)) {
    if (record.time < keep_from) continue;
    if (record.frame > frames_written_) write_tree(capture);
    if (!file.has_room(NativeTable::Stack, 0)) {
      file.write(NativeTable::Function);
      file.write(NativeTable::Frame);
    }
    file.make_room(NativeTable::Stack, 0);
    put_row(file.rows(NativeTable::Stack),
            native::StackRow{record.time, record.frame, record.pid, record.tid, record.state});
  }
}

void PythonWindow::close(Capture& capture, std::uint64_t keep_from) {
  if (!open_) return;
  python_sampler().stop();
  drain(capture, keep_from);
  const python::PythonSampler::Figures figures = python_sampler().figures();
  ChunkFile& file = capture.file();
  file.meta("stack_samples", static_cast<std::int64_t>(figures.samples));
  file.meta("stack_looks_missed", static_cast<std::int64_t>(figures.missed));
  file.meta("stack_workers", static_cast<std::int64_t>(figures.workers));
  file.meta("stack_cost_us", figures.cost_ns / 1000);
  file.meta("stack_looked_us", figures.seconds_ns / 1000);
  if (figures.own_refused)
    capture.note("stacks_absent", 0, 1, "the system does not let this process read its own memory as a debugger would",
                 "allow process_vm_readv in the container's seccomp profile");
  if (figures.refused > 0)
    capture.note("stacks_absent", 0, figures.refused,
                 "the Python code of data loader workers could not be seen: the system does not show their memory",
                 "docker run --cap-add SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=1");
  if (figures.dropped > 0)
    capture.note("dropped_records", 1, figures.dropped, "sampled stacks came faster than they were written",
                 "nothing to do: shares of time stay true");
  abandon();
}

void PythonWindow::abandon() {
  if (!open_) return;
  open_ = false;
  python_sampler().stop();
  python_sampler().done();
  functions_written_ = frames_written_ = 0;
}

}  // namespace accel::runtime
