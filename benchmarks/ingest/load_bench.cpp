// What benchmarks/ingest/run.py and the tests of damaged files run: loads captures with the engine's library and prints
// what it found and how long it took, as one line of JSON per file.
//
//   load_bench load FILE [--threads N] [--repeat R]   R lines; the store of each is dropped before the next
//   load_bench inflate FILE                           one core inflates FILE (gzip) and keeps nothing: the floor
//   load_bench batch [--threads N]                    a path per line on standard input, a line out for each
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#if ACCEL_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

#include "ingest/importer.h"

namespace {

using accel::DeviceEventKind;
using accel::SliceKind;
using accel::TraceStore;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr const char* kSliceKinds[] = {"op", "annotation", "frame", "runtime_call", "driver_call", "overhead", "other"};
constexpr const char* kDeviceKinds[] = {"kernel", "memcpy", "memset"};

// Of all threads of this process.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void describe_slices(const TraceStore& store, std::unordered_set<std::uint32_t>& names, Json& out) {
  std::uint64_t count[std::size(kSliceKinds)] = {};
  std::uint64_t sum[std::size(kSliceKinds)] = {};
  std::uint64_t starts = 0;
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < store.slices.size(); ++i) {
    const auto kind = static_cast<std::size_t>(store.slices.kind[i]);
    ++count[kind];
    sum[kind] += static_cast<std::uint64_t>(store.slices.dur_ns[i]);
    if (store.slices.kind[i] == SliceKind::other) continue;
    starts += static_cast<std::uint64_t>(store.slices.start_ns[i]);
    names.insert(store.slices.name[i].value);
    steps +=
        store.slices.kind[i] == SliceKind::annotation && store.text(store.slices.name[i]).starts_with("ProfilerStep#");
  }
  for (std::size_t k = 0; k < std::size(kSliceKinds); ++k) {
    if (count[k] == 0) continue;
    out["slices"][kSliceKinds[k]] = count[k];
    out["slice_ns"][kSliceKinds[k]] = sum[k];
  }
  out["slice_starts_sum"] = starts;
  out["steps"] = steps;
}

void describe_device_events(const TraceStore& store, std::unordered_set<std::uint32_t>& names, Json& out) {
  std::uint64_t count[std::size(kDeviceKinds)] = {};
  std::uint64_t sum[std::size(kDeviceKinds)] = {};
  std::uint64_t starts = 0;
  std::uint64_t links = 0;
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    const auto kind = static_cast<std::size_t>(store.device_events.kind[i]);
    ++count[kind];
    sum[kind] += static_cast<std::uint64_t>(store.device_events.dur_ns[i]);
    starts += static_cast<std::uint64_t>(store.device_events.start_ns[i]);
    names.insert(store.device_events.name[i].value);
    const accel::SliceId launch = store.device_events.launch[i];
    links += launch.value < store.slices.size();
  }
  for (std::size_t k = 0; k < std::size(kDeviceKinds); ++k) {
    if (count[k] == 0) continue;
    out["device_events"][kDeviceKinds[k]] = count[k];
    out["device_ns"][kDeviceKinds[k]] = sum[k];
  }
  out["device_starts_sum"] = starts;
  out["kernels"] = count[static_cast<std::size_t>(DeviceEventKind::kernel)];
  out["kernel_ns"] = sum[static_cast<std::size_t>(DeviceEventKind::kernel)];
  out["links"] = links;
}

Json describe(const TraceStore& store) {
  Json out;
  out["status"] = "ok";
  out["format"] = store.input.format;
  out["bytes"] = store.input.bytes;
  out["text_bytes"] = store.input.text_bytes;
  out["events"] = store.input.events;
  out["events_by_category"] = Json::object();
  for (const auto& [category, count] : store.input.events_by_category) out["events_by_category"][category] = count;
  out["slices"] = Json::object();
  out["slice_ns"] = Json::object();
  out["device_events"] = Json::object();
  out["device_ns"] = Json::object();
  std::unordered_set<std::uint32_t> names;
  describe_slices(store, names, out);
  describe_device_events(store, names, out);
  out["distinct_names"] = names.size();
  out["memory_events"] = store.memory_events.size();
  out["column_bytes"] = store.column_bytes();
  out["string_bytes"] = store.strings.memory_bytes();
  std::uint64_t text = 0;
  for (std::uint32_t i = 0; i < store.strings.size(); ++i) text += store.strings.view(accel::StringId{i}).size();
  out["string_text_bytes"] = text;
  out["strings"] = store.strings.size();
  out["notes"] = Json::object();
  for (const accel::Note& note : store.notes.notes()) out["notes"][std::string(describe(note.code).id)] = note.count;
  return out;
}

// Damaged files bring names that are not UTF-8; they must not stop the printing.
void print(const Json& line) { std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl; }

bool load(const std::string& path, unsigned threads) {
  accel::ImportOptions options;
  options.threads = threads;
  const Clock::time_point start = Clock::now();
  const double cpu_start = cpu_seconds();
  accel::Result<TraceStore> store = accel::import_trace(path, options);
  const double seconds = seconds_since(start);
  const double cpu = cpu_seconds() - cpu_start;
  Json out;
  if (store) {
    out = describe(*store);
  } else {
    out["status"] = "error";
    out["code"] = static_cast<int>(store.error().code);
    out["message"] = store.error().message;
  }
  out["seconds"] = seconds;
  out["cpu_seconds"] = cpu;
  out["threads"] = threads;
  print(out);
  return store.ok();
}

int batch(unsigned threads) {
  std::string path;
  while (std::getline(std::cin, path)) load(path, threads);
  return 0;
}

// Bytes of text, or a negative number when the stream is not whole.
long long inflate_all(int file) {
  std::vector<unsigned char> in(std::size_t{1} << 20);
  std::vector<unsigned char> out(std::size_t{1} << 20);
  long long total = 0;
#if ACCEL_HAVE_ISAL
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  bool ended = false;
  for (;;) {
    const ssize_t got = read(file, in.data(), in.size());
    if (got <= 0) return got == 0 && ended ? total : -1;
    state.next_in = in.data();
    state.avail_in = static_cast<std::uint32_t>(got);
    do {
      if (ended) {  // another member
        isal_inflate_reset(&state);
        state.crc_flag = ISAL_GZIP;
        ended = false;
      }
      state.next_out = out.data();
      state.avail_out = static_cast<std::uint32_t>(out.size());
      if (isal_inflate(&state) != ISAL_DECOMP_OK) return -1;
      total += static_cast<long long>(out.size()) - state.avail_out;
      ended = state.block_state == ISAL_BLOCK_FINISH;
    } while (state.avail_in > 0 || (state.avail_out == 0 && !ended));
  }
#else
  z_stream state{};
  inflateInit2(&state, 31);
  bool ended = false;
  for (;;) {
    const ssize_t got = read(file, in.data(), in.size());
    if (got <= 0) break;
    state.next_in = in.data();
    state.avail_in = static_cast<unsigned>(got);
    do {
      if (ended) inflateReset(&state);
      ended = false;
      state.next_out = out.data();
      state.avail_out = static_cast<unsigned>(out.size());
      const int status = inflate(&state, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) break;
      total += static_cast<long long>(out.size()) - state.avail_out;
      ended = status == Z_STREAM_END;
    } while (state.avail_in > 0 || (state.avail_out == 0 && !ended));
  }
  inflateEnd(&state);
  return ended ? total : -1;
#endif
}

int inflate_only(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    std::perror(path);
    return 3;
  }
  const Clock::time_point start = Clock::now();
  const long long bytes = inflate_all(file);
  const double seconds = seconds_since(start);
  close(file);
#if ACCEL_HAVE_ISAL
  const char* library = "isa-l";
#else
  const char* library = "zlib";
#endif
  print(
      Json{{"status", bytes < 0 ? "error" : "ok"}, {"text_bytes", bytes}, {"seconds", seconds}, {"library", library}});
  return bytes < 0 ? 3 : 0;
}

int usage() {
  std::fputs("load_bench load FILE [--threads N] [--repeat R] | inflate FILE | batch [--threads N]\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words;
  unsigned threads = 0;
  unsigned repeat = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if ((word == "--threads" || word == "--repeat") && i + 1 < argc) {
      (word == "--threads" ? threads : repeat) = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else {
      words.emplace_back(word);
    }
  }
  if (words.size() == 1 && words[0] == "batch") return batch(threads);
  if (words.size() != 2) return usage();
  if (words[0] == "inflate") return inflate_only(words[1].c_str());
  if (words[0] != "load") return usage();
  bool ok = true;
  for (unsigned i = 0; i < repeat; ++i) ok = load(words[1], threads) && ok;
  return ok ? 0 : 3;
}
