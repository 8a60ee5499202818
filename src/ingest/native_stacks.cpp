#include "ingest/native_stacks.h"

#include <sys/stat.h>

#include <string_view>
#include <utility>

#include "base/byte_source.h"
#include "ingest/importer.h"

namespace accel::native_binary {
namespace {

using format::NativeRows;

// As torch.profiler names frames: packages without the folder in which they are installed.
std::string frame_name(std::string_view file, std::uint64_t line, std::string_view function) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = file.rfind(folder); at != std::string_view::npos) file = file.substr(at + folder.size());
  }
  return std::string(file) + '(' + std::to_string(line) + "): " + std::string(function);
}

}  // namespace

void StackImport::functions(const NativeRows& rows) {
  const auto id = rows.column("id");
  const auto name = rows.column("name");
  const auto file = rows.column("file");
  for (std::uint32_t row = 0; row < rows.size(); ++row)
    functions_[id.u64(row)] = {std::string(name.text(row)), std::string(file.text(row))};
}

void StackImport::frames(const NativeRows& rows) {
  const auto id = rows.column("id");
  const auto caller = rows.column("caller");
  const auto function = rows.column("function");
  const auto line = rows.column("line");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const auto known = functions_.find(function.u64(row));
    std::string name = known == functions_.end() ? std::string("(function lost)")
                                                 : frame_name(known->second.file, line.u64(row), known->second.name);
    const auto outer = frames_.find(caller.u64(row));  // before it in the file, so that callers never go in a circle
    frames_[id.u64(row)] = static_cast<std::uint32_t>(stacks_.frames.size());
    stacks_.frames.push_back({outer == frames_.end() ? PythonStacks::kNone : outer->second, std::move(name)});
  }
}

void StackImport::stacks(const NativeRows& rows) {
  const auto time = rows.column("time");
  const auto frame = rows.column("frame");
  const auto pid = rows.column("pid");
  const auto tid = rows.column("tid");
  const auto state = rows.column("state");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const auto known = frames_.find(frame.u64(row));
    if (known == frames_.end()) continue;
    stacks_.samples.push_back({static_cast<std::int64_t>(time.u64(row)), pid.i64(row), tid.i64(row), known->second,
                               static_cast<std::uint8_t>(state.u64(row) <= 2 ? state.u64(row) : 0)});
  }
}

std::string StackImport::settle(const format::TickClock& clock) {
  for (PythonStacks::Sample& sample : stacks_.samples)
    sample.time_ns = clock.to_ns(static_cast<std::uint64_t>(sample.time_ns));
  return stacks_.samples.empty() ? std::string() : stacks_.to_text();
}

void add_stacks_of_capture(TraceStore& store, const std::string& path, ReadCapture* read) {
  constexpr std::string_view kOps = ".pt.trace.json.gz";
  if (!path.ends_with(kOps) || !store.process.base_time_ns ||
      store.process.options.contains(std::string(kPythonStacks)))
    return;
  const std::string capture = path.substr(0, path.size() - kOps.size()) + ".accel";
  struct stat status{};
  if (stat(capture.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  auto source = open_file(capture);
  if (!source) return;
  ImportOptions options;
  options.threads = 1;
  const Result<TraceStore> other = read(**source, options);
  if (!other || other->process.main_pid != store.process.main_pid) return;
  for (const auto& [key, value] : other->process.options) {
    if (key.starts_with("stack_") || key == kPythonStacks) store.process.options[key] = value;
  }
}

}  // namespace accel::native_binary
