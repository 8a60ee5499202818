#include "ingest/kineto_json/stream_import.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/task_pool.h"
#include "ingest/kineto_json/chunk_reader.h"
#include "ingest/kineto_json/document.h"

namespace accel::kineto_json {
namespace {

// More damages than this are not told apart any more.
constexpr std::size_t kMaxDamages = 64;

// Lets threads pass in the order of their numbers.
class Turnstile {
 public:
  void enter(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next_ == number; });
  }
  void leave() {
    {
      const std::scoped_lock lock(mutex_);
      ++next_;
    }
    moved_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0;
};

class Import {
 public:
  Import(ByteSource& source, TraceBuilder& builder, const StreamOptions& options)
      : builder_(builder), options_(options), chunks_(source, options.progress, options.chunk_bytes) {}

  Result<Imported> run() {
    parallel_for(options_.threads, options_.threads, [this](std::size_t) { work(); });
    if (chunks_.error()) return *chunks_.error();
    result_.text_bytes = chunks_.text_bytes();
    result_.truncated = document_.truncated();
    result_.no_trace = document_.is_no_trace();
    return std::move(result_);
  }

 private:
  // What one thread owns.
  struct Worker {
    Chunk chunk;
    TraceBatch batch;
    EventSink sink{batch};
    FastReader fast;
    ExactReader exact;
    RawEvent event;
  };

  void work();
  bool read_alone(Worker& worker, FastReader::Outcome& outcome);
  void read_in_order(Worker& worker, std::size_t from);
  void commit_here(Worker& worker);

  TraceBuilder& builder_;
  const StreamOptions& options_;
  ChunkReader chunks_;
  Turnstile turn_;

  // Only for the thread whose turn it is.
  Imported result_;
  std::uint64_t commits_ = 0;
  std::string carry_;  // text of earlier pieces that the document could not finish
  Worker* current_ = nullptr;
  Document document_{result_.process, result_.notes, [this](std::uint64_t offset) {
                       if (result_.damages.size() == kMaxDamages) return;
                       commit_here(*current_);
                       result_.damages.push_back({offset, builder_.mark()});
                     }};
};

void Import::commit_here(Worker& worker) {
  worker.sink.flush();
  result_.facts.add(worker.sink.take_facts());
  builder_.commit(worker.batch, commits_++);
}

// Reads a piece as if it lay between two events. False if it does not, or if anything in it is damaged.
bool Import::read_alone(Worker& worker, FastReader::Outcome& outcome) {
  const std::string_view text = worker.chunk.text();
  if (!options_.exact_only) {
    outcome = worker.fast.read(text, worker.chunk.offset, worker.sink);
    if (outcome.ok) return true;
    worker.sink.discard();
  }
  outcome = {false, false, text.size()};
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',') {
      ++at;
    } else if (c == ']') {
      outcome.array_ended = true;
      outcome.end = at + 1;
      break;
    } else {
      StringFaults faults;
      ExactReader::Outcome event;
      if (c == '{') event = worker.exact.read(text, at, worker.event, faults);
      if (event.status != ExactReader::Status::complete || worker.event[Key::ph].empty()) {
        worker.sink.discard();
        return false;
      }
      worker.event.offset = worker.chunk.offset + at;
      worker.sink.add(worker.event);
      worker.sink.add_faults(faults, worker.chunk.offset + at);
      at = event.end;
    }
  }
  outcome.ok = true;
  return true;
}

// The piece from `from` on, behind what earlier pieces left over, as the document finds it.
void Import::read_in_order(Worker& worker, std::size_t from) {
  const Chunk& chunk = worker.chunk;
  std::string_view text = chunk.text().substr(from);
  const bool fresh = from == 0 && !options_.exact_only;
  std::string joined;
  if (!carry_.empty()) {
    joined.swap(carry_);
    joined.append(text);
    text = joined;
  }
  const std::uint64_t offset = chunk.offset + chunk.size - text.size();
  current_ = &worker;
  const std::size_t done = document_.walk(text, offset, chunk.final, worker.sink, fresh ? &worker.fast : nullptr);
  if (!chunk.final) carry_.assign(text.substr(done));
}

void Import::work() {
  Worker worker;
  while (chunks_.next(worker.chunk)) {
    FastReader::Outcome outcome;
    const bool alone = worker.chunk.sequence != 0 && read_alone(worker, outcome);
    turn_.enter(worker.chunk.sequence);
    if (alone && carry_.empty() && document_.in_events()) {
      document_.saw(worker.chunk.text());
      if (outcome.array_ended) {
        document_.events_ended();
        read_in_order(worker, outcome.end);
      }
    } else {
      if (alone) worker.sink.discard();
      read_in_order(worker, 0);
    }
    worker.sink.flush();
    result_.facts.add(worker.sink.take_facts());
    const std::uint64_t sequence = commits_++;
    turn_.leave();
    builder_.commit(worker.batch, sequence);
  }
}

}  // namespace

Result<Imported> stream_import(ByteSource& source, TraceBuilder& builder, const StreamOptions& options) {
  return Import(source, builder, options).run();
}

}  // namespace accel::kineto_json
