#include "analysis/event_index.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "analysis/analysis.h"
#include "analysis/kernel_table.h"

namespace accel {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_call(SliceKind kind) { return kind == SliceKind::runtime_call || kind == SliceKind::driver_call; }

NameClass classify_call(std::string_view name) {
  if (contains(name, "LaunchKernel") || contains(name, "LaunchCooperativeKernel")) return NameClass::kernel_launch;
  if (contains(name, "GraphLaunch")) return NameClass::graph_launch;
  if (contains(name, "Synchronize")) return NameClass::synchronize;
  if (contains(name, "Memcpy")) return NameClass::copy_call;
  if (contains(name, "Memset")) return NameClass::set_call;
  if (contains(name, "StreamBeginCapture")) return NameClass::begin_capture;
  if (contains(name, "StreamEndCapture")) return NameClass::end_capture;
  if (contains(name, "HostAlloc") || contains(name, "MallocHost") || contains(name, "HostMalloc") ||
      contains(name, "FreeHost") || contains(name, "HostFree") || contains(name, "MemAllocHost") ||
      contains(name, "MemHostAlloc") || contains(name, "HostRegister") || contains(name, "HostUnregister")) {
    return NameClass::host_memory;
  }
  if (contains(name, "Malloc") || contains(name, "MemAlloc") || contains(name, "MemFree") ||
      contains(name, "MemCreate") || contains(name, "MemMap") || contains(name, "MemUnmap") ||
      contains(name, "MemRelease") || contains(name, "MemAddress") || name == "cudaFree" || name == "cudaFreeAsync" ||
      name == "hipFree" || name == "hipFreeAsync") {
    return NameClass::device_memory;
  }
  for (const std::string_view part : {"ModuleLoad", "LibraryLoad", "LinkAdd", "LinkCreate"}) {
    if (contains(name, part)) return NameClass::module_load;
  }
  return NameClass::plain;
}

// What compilers of models call their stages, as ranges ("entire_frame_compile") ...
bool names_compile_range(std::string_view name) {
  if (name.ends_with("_data") || contains(name, "_data: ")) return false;  // marks of no length beside the stage
  for (const std::string_view part :
       {"compile_inner", "entire_frame_compile", "entire_backward_compile", "backend_compile", "compile_fx",
        "inductor_compile", "fx_codegen_and_compile", "async_compile.wait", "triton_compile", "_compile.compile"}) {
    if (contains(name, part)) return true;
  }
  return name == "dynamo" || name.ends_with("(dynamo_timed)");
}

// ... and as frames: "path(line): function", where the compiler's own files also hold what runs on every call.
bool is_compile_frame(std::string_view name) {
  const std::size_t colon = name.rfind("): ");
  if (colon == std::string_view::npos || !contains(name.substr(colon), "compile")) return false;
  for (const std::string_view file :
       {"torch/_dynamo/convert_frame.py", "torch/_inductor/compile_fx.py", "torch/_inductor/async_compile.py",
        "torch/_inductor/codecache.py", "triton/compiler/compiler.py", "numba/core/dispatcher.py"}) {
    if (contains(name, file)) return true;
  }
  return false;
}

// Saving a state: the frames of the libraries that do it and the names that people give it. Recomputation in the
// backward pass is called a checkpoint too and is none.
bool is_checkpoint_frame(std::string_view name) {
  const std::size_t colon = name.rfind("): ");
  if (colon == std::string_view::npos) return false;
  const std::string_view function = name.substr(colon + 3);
  if (contains(name, "torch/serialization.py")) return function == "save" || function == "_save";
  if (contains(name, "safetensors/torch.py")) return function.starts_with("save");
  if (contains(name, "torch/distributed/checkpoint/")) return function == "save" || function == "async_save";
  return function == "save_checkpoint" || function == "save_pretrained" || function == "_save_checkpoint";
}

bool names_checkpoint_range(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  if (name.size() > kLongest) return false;
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') plain += c;
  }
  return contains(plain, "savecheckpoint") || contains(plain, "checkpointsave") || contains(plain, "writecheckpoint") ||
         contains(plain, "savemodel") || contains(plain, "torchsave") || plain == "checkpoint" ||
         plain == "checkpointing";
}

// Ranges that people put around the fetching of a batch, lower case without separators.
constexpr std::string_view kDataRanges[] = {"dataload",      "loaddata",        "datafetch", "fetchdata", "datawait",
                                            "waitdata",      "waitfordata",     "nextbatch", "getbatch",  "fetchbatch",
                                            "loadbatch",     "batchfetch",      "batchload", "readbatch", "datareader",
                                            "inputpipeline", "iteratorgetnext", "datatime"};

bool names_data_range(std::string_view name) {
  constexpr std::size_t kLongest = 64;  // longer ones are shapes and sentences, not names of stages
  if (name.size() > kLongest) return false;
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') plain += c;
  }
  return std::any_of(std::begin(kDataRanges), std::end(kDataRanges),
                     [&](std::string_view word) { return contains(plain, word); });
}

// "path(line): __next__" in a file of a loader: loaders other than torch's make no range of their own.
bool is_loader_frame(std::string_view name) {
  if (!name.ends_with(": __next__")) return false;
  for (const std::string_view part : {"loader", "dali", "webdataset", "ffcv", "datasets/", "streaming/"}) {
    if (contains(name, part)) return true;
  }
  return false;
}

NameClass classify_frame(std::string_view name) {
  if (is_loader_frame(name)) return NameClass::data_range;
  // torch writes C functions as "<built-in method collect of module object at 0x...>" or "<built-in function collect>".
  if (contains(name, "built-in method collect of") || contains(name, "built-in function collect>"))
    return NameClass::garbage_collection;
  if (contains(name, "gc.collect")) return NameClass::garbage_collection;
  if (is_compile_frame(name)) return NameClass::compilation;
  if (is_checkpoint_frame(name)) return NameClass::checkpoint;
  return NameClass::plain;
}

NameClass classify_overhead(std::string_view name) {
  if (contains(name, "Command Buffer Full")) return NameClass::command_buffer_full;
  // Loading of a module is work that the job does without a recorder too.
  if (contains(name, "Loading")) return NameClass::module_load;
  return NameClass::recorder_overhead;
}

NameClass classify_range(std::string_view name) {
  if (name.starts_with("ProfilerStep#")) return NameClass::profiler_step;
  if (name.starts_with("Optimizer.step#")) return NameClass::optimizer_step;
  if (name == "Python garbage collection") return NameClass::garbage_collection;  // a scope of our recorder
  if (name.starts_with("enumerate(DataLoader)") && contains(name, "__next__")) return NameClass::dataloader_next;
  if (name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:") || name == "c10d::barrier" ||
      name == "_c10d_functional::wait_tensor") {
    return NameClass::host_communication;
  }
  if (names_compile_range(name)) return NameClass::compilation;  // of the backward too
  if (contains(name, "ackward") || contains(name, "AccumulateGrad") || contains(name, "_fused_adam") ||
      contains(name, "_fused_sgd")) {
    return NameClass::backward;
  }
  return NameClass::plain;
}

// Which kinds of slices bear each name; a name used by kernels alone has no bit.
std::vector<std::uint8_t> kinds_by_name(const TraceStore& store) {
  std::vector<std::uint8_t> kinds(store.strings.size(), 0);
  for (std::size_t i = 0; i < store.slices.size(); ++i) {
    kinds[store.slices.name[i].value] |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(store.slices.kind[i]));
  }
  return kinds;
}

void classify_names(const TraceStore& store, EventIndex& index) {
  index.name_class.assign(store.strings.size(), NameClass::plain);
  const std::vector<std::uint8_t> kinds = kinds_by_name(store);
  for (std::uint32_t name = 0; name < kinds.size(); ++name) {
    for (unsigned kind = 0; kinds[name] >> kind != 0 && index.name_class[name] == NameClass::plain; ++kind) {
      if ((kinds[name] >> kind & 1U) == 0) continue;
      index.name_class[name] = classify_name(store.text(StringId(name)), static_cast<SliceKind>(kind));
    }
  }
  index.communication_name.assign(store.strings.size(), 0);
  std::vector<std::uint8_t> seen(store.strings.size(), 0);
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    const StringId name = store.device_events.name[i];
    if (store.device_events.kind[i] != DeviceEventKind::kernel || seen[name.value] != 0) continue;
    seen[name.value] = 1;
    index.communication_name[name.value] = is_communication_kernel(store.text(name)) ? 1 : 0;
  }
}

void link_calls(const TraceStore& store, EventIndex& index) {
  const DeviceEventTable& events = store.device_events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const SliceId launch = events.launch[i];
    if (!launch.valid()) continue;
    std::uint8_t flags = kCallHasDevice;
    if (events.kind[i] == DeviceEventKind::memcpy && events.detail[i].valid()) {
      const std::uint32_t detail = events.detail[i].value;
      const CopyDirection direction = store.copy_details.direction[detail];
      const bool pageable = store.copy_details.source[detail] == MemoryKind::pageable ||
                            store.copy_details.destination[detail] == MemoryKind::pageable;
      if (pageable) flags |= kCallPageable;
      if (direction == CopyDirection::host_to_device) flags |= kCallToDevice;
      if (direction == CopyDirection::device_to_host) flags |= kCallFromDevice;
    }
    index.slice_flags[launch.value] |= flags;
  }
}

// Launches that a thread makes while it captures a graph have no device record, and none is lost.
void mark_captured(const TraceStore& store, EventIndex& index) {
  const bool any =
      std::find(index.name_class.begin(), index.name_class.end(), NameClass::begin_capture) != index.name_class.end();
  if (!any) return;
  for (const auto& [first, last] : store.thread_ranges) {
    bool capturing = false;
    for (std::uint32_t i = first; i < last; ++i) {
      if (!is_call(store.slices.kind[i])) continue;
      const NameClass c = index.class_of(store, i);
      if (c == NameClass::begin_capture) capturing = true;
      if (c == NameClass::end_capture) capturing = false;
      if (capturing && (index.slice_flags[i] & kCallHasDevice) == 0) index.slice_flags[i] |= kCallCaptured;
    }
  }
}

void mark_launching(const TraceStore& store, EventIndex& index) {
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    if (!is_call(store.slices.kind[i]) || !index.launches(store, i)) continue;
    if (index.class_of(store, i) == NameClass::kernel_launch && (index.slice_flags[i] & kCallCaptured) == 0)
      ++index.kernel_launch_calls;
    for (SliceId at(i); at.valid() && (index.slice_flags[at.value] & kLaunchesInside) == 0;
         at = store.slices.parent[at.value]) {
      index.slice_flags[at.value] |= kLaunchesInside;
    }
  }
}

void find_threads(const TraceStore& store, EventIndex& index) {
  std::array<std::uint64_t, 4> best{};  // steps, first thread of the process, ops, slices
  bool found = false;
  std::vector<ThreadIndex> launching;
  std::vector<ThreadIndex> communicating;
  const auto threads = static_cast<std::uint16_t>(store.thread_ranges.size());  // the builder takes no more
  for (std::uint16_t thread = 0; thread < threads; ++thread) {
    const auto [first, last] = store.thread_ranges[thread];
    std::array<std::uint64_t, 4> score{};
    bool overhead = false;
    bool launches = false;
    bool communicates = false;
    for (std::uint32_t i = first; i < last; ++i) {
      const SliceKind kind = store.slices.kind[i];
      if (kind == SliceKind::overhead) {
        overhead = true;
        continue;
      }
      ++score[3];
      if (kind == SliceKind::op) ++score[2];
      if ((kind == SliceKind::annotation || kind == SliceKind::op) &&
          index.class_of(store, i) == NameClass::profiler_step)
        ++score[0];
      communicates |= index.class_of(store, i) == NameClass::host_communication;
      launches |= is_call(kind) && (index.slice_flags[i] & kLaunchesInside) != 0;
    }
    index.has_ops |= score[2] > 0;
    // On Linux the first thread of a process bears its number.
    score[1] = score[2] > 0 && store.threads.tid[thread] == store.threads.pid[thread] ? 1 : 0;
    if (overhead) index.overhead_threads.push_back(ThreadIndex(thread));
    if (launches) launching.push_back(ThreadIndex(thread));
    if (communicates) communicating.push_back(ThreadIndex(thread));
    if (score[3] > 0 && (!found || score > best)) {
      found = true;
      best = score;
      index.main_thread = ThreadIndex(thread);
    }
  }
  if (index.main_thread.valid()) index.launching_threads.push_back(index.main_thread);
  for (const ThreadIndex thread : launching) {
    if (thread != index.main_thread) index.launching_threads.push_back(thread);
  }
  for (const ThreadIndex thread : communicating) {
    const auto& known = index.launching_threads;
    if (std::find(known.begin(), known.end(), thread) == known.end()) index.communicating_threads.push_back(thread);
  }
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto index = std::make_shared<EventIndex>();
  index->slice_flags.assign(store.slices.size(), 0);
  classify_names(store, *index);
  link_calls(store, *index);
  mark_captured(store, *index);
  mark_launching(store, *index);
  find_threads(store, *index);
  results.event_index = std::move(index);
  return {};
}

}  // namespace

NameClass classify_name(std::string_view name, SliceKind kind) {
  if (kind == SliceKind::annotation && classify_range(name) == NameClass::plain && names_data_range(name))
    return NameClass::data_range;
  if (kind == SliceKind::annotation && classify_range(name) == NameClass::plain && names_checkpoint_range(name))
    return NameClass::checkpoint;
  switch (kind) {
    case SliceKind::runtime_call:
    case SliceKind::driver_call:
      return classify_call(name);
    case SliceKind::frame:
      return classify_frame(name);
    case SliceKind::overhead:
      return classify_overhead(name);
    case SliceKind::op:
    case SliceKind::annotation:
    case SliceKind::other:
      return classify_range(name);
  }
  return NameClass::plain;
}

AnalysisDescriptor describe_event_index() {
  return {"event_index",
          "Event index",
          "事件索引",
          {},
          "The class of each name (launch, copy, synchronisation, step mark, loader, ...), what each call has to do "
          "with the "
          "device, and which threads launch work. A link between a call and device events is a matter of correlation; "
          "names "
          "only say what kind of call it is.",
          run};
}

}  // namespace accel
