#include "diagnosis/loader_work.h"

#include <algorithm>
#include <map>
#include <optional>

#include "diagnosis/source_location.h"

namespace accel {
namespace {

// A part is what the loader spends its time on when it takes this share of it.
constexpr double kMainShare = 0.4;
// A fetch waits long when it takes this share of the longest; the others find their batch ready.
constexpr double kLongFetch = 0.4;
constexpr std::size_t kFewestFetches = 4;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view function_of(std::string_view frame) {
  const std::size_t colon = frame.rfind("): ");
  return colon == std::string_view::npos ? std::string_view() : frame.substr(colon + 3);
}

std::optional<LoaderPart> part_of_frame(std::string_view name) {
  if (name.starts_with("<built-in")) {
    for (const std::string_view read : {" read of ", " readinto of ", " readline of ", " readall of ", "function open>",
                                        " recv_into of ", "function stat>", "function pread>", "function read>"}) {
      if (contains(name, read)) return LoaderPart::storage;
    }
    if (contains(name, " acquire of ")) return LoaderPart::lock;
    if (contains(name, "function loads>")) return LoaderPart::unpickle;
    if (contains(name, " pin_memory of ")) return LoaderPart::pinning;
    return std::nullopt;
  }
  const std::string_view function = function_of(name);
  if (contains(name, "/queue.py") || name.starts_with("queue.py") || contains(name, "multiprocessing/queues.py") ||
      contains(name, "multiprocessing/connection.py")) {
    return function == "get" || function == "poll" || function == "wait" ? std::optional(LoaderPart::worker_wait)
                                                                         : std::nullopt;
  }
  if (contains(name, "torch/multiprocessing/reductions.py")) return LoaderPart::unpickle;
  if (contains(name, "_utils/pin_memory.py")) return LoaderPart::pinning;
  if (contains(name, "_utils/collate.py")) return LoaderPart::collate;
  if (function == "_next_index" || contains(name, "utils/data/sampler.py")) return LoaderPart::sampler;
  if (function == "__getitem__" || function == "__getitems__") return LoaderPart::decode;
  return std::nullopt;
}

// A function of the user that the fetcher calls itself, next to __getitem__: the collate_fn.
bool is_collate_call(const TraceStore& store, std::uint32_t row) {
  const SliceId parent = store.slices.parent[row];
  if (!parent.valid() || store.slices.kind[parent.value] != SliceKind::frame) return false;
  const std::string_view caller = store.text(store.slices.name[parent.value]);
  if (!contains(caller, "_utils/fetch.py") || function_of(caller) != "fetch") return false;
  const std::string_view own = store.text(store.slices.name[row]);
  const std::string_view function = function_of(own);
  return !function.empty() && function != "__getitem__" && function != "__getitems__" && !function.starts_with("<");
}

class Walk {
 public:
  Walk(const TraceStore& store, LoaderWork& work) : store_(store), work_(work) {}

  void fetch(SliceId fetch, double steps) {
    const std::int64_t end = store_.slice_end_ns(fetch);
    const std::uint32_t last = store_.thread_ranges[store_.slices.thread[fetch.value].value].second;
    open_until_.fill(store_.slices.start_ns[fetch.value]);
    std::array<double, kLoaderParts> sums{};
    for (std::uint32_t row = fetch.value + 1; row < last && store_.slices.start_ns[row] < end; ++row) {
      const bool frame = store_.slices.kind[row] == SliceKind::frame;
      work_.frames |= frame;
      const std::optional<LoaderPart> part = frame ? frame_part(row) : op_part(row);
      if (frame) consider_user_frame(row);
      if (part) take(*part, row, sums);
    }
    // Reading and locking are done inside of __getitem__ or the collation; unpacking inside of the wait.
    const auto at = [&](LoaderPart p) -> double& { return sums[static_cast<std::size_t>(p)]; };
    at(LoaderPart::decode) = std::max(0.0, at(LoaderPart::decode) - at(LoaderPart::storage) - at(LoaderPart::lock));
    at(LoaderPart::worker_wait) = std::max(0.0, at(LoaderPart::worker_wait) - at(LoaderPart::unpickle));
    const auto total = static_cast<double>(store_.slices.dur_ns[fetch.value]);
    double known = 0;
    for (const double ns : sums) known += ns;
    at(LoaderPart::other) = std::max(0.0, total - known);
    work_.total_ns += total / steps;
    for (std::size_t p = 0; p < kLoaderParts; ++p) work_.ns[p] += sums[p] / steps;
  }

  // The user's own function in which most of the decoding happened, below __getitem__ where there is one.
  void finish() {
    const std::size_t decode = static_cast<std::size_t>(LoaderPart::decode);
    std::int64_t most = 0;
    for (const auto& [name, sum] : user_) {
      if (sum.first > most) {
        most = sum.first;
        work_.longest[decode] = sum.second;
      }
    }
  }

 private:
  std::optional<LoaderPart> frame_part(std::uint32_t row) {
    const StringId name = store_.slices.name[row];
    const auto known = parts_.find(name);
    std::optional<LoaderPart> part =
        known != parts_.end() ? known->second : parts_[name] = part_of_frame(store_.text(name));
    if (!part && is_collate_call(store_, row)) part = LoaderPart::collate;
    return part;
  }
  // Without frames the copying of samples into a batch still shows as an op.
  std::optional<LoaderPart> op_part(std::uint32_t row) const {
    if (work_.frames || store_.slices.kind[row] != SliceKind::op) return std::nullopt;
    const std::string_view name = store_.text(store_.slices.name[row]);
    if (name == "aten::stack" || name == "aten::cat") return LoaderPart::collate;
    return name == "aten::pin_memory" || name == "aten::_pin_memory" ? std::optional(LoaderPart::pinning)
                                                                     : std::nullopt;
  }
  void take(LoaderPart part, std::uint32_t row, std::array<double, kLoaderParts>& sums) {
    const std::size_t p = static_cast<std::size_t>(part);
    const std::int64_t start = store_.slices.start_ns[row];
    if (start < open_until_[p]) return;
    const auto open = [&](LoaderPart other) { return start < open_until_[static_cast<std::size_t>(other)]; };
    // The lock of a queue is the wait for a worker; a pipe that is read there is the unpacking.
    if ((part == LoaderPart::lock || part == LoaderPart::storage) &&
        (open(LoaderPart::worker_wait) || open(LoaderPart::unpickle)))
      return;
    if (part == LoaderPart::worker_wait && open(LoaderPart::unpickle)) return;
    open_until_[p] = store_.slice_end_ns(SliceId(row));
    sums[p] += static_cast<double>(store_.slices.dur_ns[row]);
    SliceId& longest = work_.longest[p];
    if (!longest.valid() || store_.slices.dur_ns[row] > store_.slices.dur_ns[longest.value]) longest = SliceId(row);
  }
  void consider_user_frame(std::uint32_t row) {
    const std::int64_t start = store_.slices.start_ns[row];
    if (start >= open_until_[static_cast<std::size_t>(LoaderPart::decode)]) return;
    const std::string_view name = store_.text(store_.slices.name[row]);
    if (function_of(name) == "__getitem__") return;
    const std::optional<SourceLine> line = parse_frame(name);
    if (!line || is_library_frame(name)) return;
    auto& [ns, example] = user_[store_.slices.name[row]];
    ns += store_.slices.dur_ns[row];
    if (!example.valid() || store_.slices.dur_ns[row] > store_.slices.dur_ns[example.value]) example = SliceId(row);
  }

  const TraceStore& store_;
  LoaderWork& work_;
  std::array<std::int64_t, kLoaderParts> open_until_{};
  std::map<StringId, std::optional<LoaderPart>> parts_;
  std::map<StringId, std::pair<std::int64_t, SliceId>> user_;
};

}  // namespace

LoaderPart LoaderWork::main() const {
  const auto largest = std::max_element(ns.begin(), ns.end());
  if (total_ns <= 0 || *largest < kMainShare * total_ns) return LoaderPart::other;
  return static_cast<LoaderPart>(largest - ns.begin());
}

LoaderWork look_into_fetches(const TraceStore& store, const StepView& view, const std::vector<SliceId>& fetches) {
  LoaderWork work;
  Walk walk(store, work);
  const double steps = std::max<double>(1, static_cast<double>(view.host_steps.size()));
  for (const SliceId fetch : fetches) walk.fetch(fetch, steps);
  walk.finish();
  return work;
}

int workers_in_turn(const TraceStore& store, const std::vector<SliceId>& fetches) {
  if (fetches.size() < kFewestFetches) return 0;
  std::int64_t longest = 0;
  for (const SliceId fetch : fetches) longest = std::max(longest, store.slices.dur_ns[fetch.value]);
  std::vector<std::size_t> waits;
  for (std::size_t k = 0; k < fetches.size(); ++k) {
    if (static_cast<double>(store.slices.dur_ns[fetches[k].value]) >= kLongFetch * static_cast<double>(longest))
      waits.push_back(k);
  }
  if (waits.size() < 2) return 0;
  const std::size_t distance = waits[1] - waits[0];
  for (std::size_t k = 2; k < waits.size(); ++k) {
    if (waits[k] - waits[k - 1] != distance) return 0;
  }
  return static_cast<int>(distance);
}

}  // namespace accel
