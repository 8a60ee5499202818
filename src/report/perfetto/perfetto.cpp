#include "report/perfetto/perfetto.h"

#include <utility>

#include "report/html/views.h"
#include "report/perfetto/packet_stream.h"
#include "report/perfetto/rank_tracks.h"
#include "report/writer.h"

namespace accel::report {

// A time before that is no time of a wall clock.
constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;

struct PerfettoTrace::State {
  explicit State(ByteSink sink)
      : deflater(Deflater::Format::gzip, std::move(sink)),
        packets([this](std::string_view bytes) { deflater.append(bytes); }) {}

  Deflater deflater;
  perfetto::PacketStream packets;
  std::uint64_t ranks = 0;
};

PerfettoTrace::PerfettoTrace(ByteSink sink) : state_(std::make_unique<State>(std::move(sink))) {}
PerfettoTrace::~PerfettoTrace() = default;

void PerfettoTrace::add(const TraceStore& store, const AnalysisResults& results, const RankOnAxis* axis) {
  const std::int64_t start = store.time_range.start_ns;
  if (state_->ranks == 0 && start >= kYear2000)
    state_->packets.add_wall_clock(axis != nullptr ? axis->common_ns(start) : start);
  perfetto::add_rank(state_->packets, state_->ranks++, store, results, axis);
}

void PerfettoTrace::finish() {
  state_->packets.finish();
  state_->deflater.finish();
}

std::string perfetto_trace(const TraceStore& store, const AnalysisResults& results) {
  std::string bytes;
  PerfettoTrace trace([&](std::string_view piece) { bytes += piece; });
  trace.add(store, results);
  trace.finish();
  return bytes;
}

namespace {

std::string write(const Document&, const WriterOptions& options) {
  return options.views != nullptr ? options.views->perfetto : std::string();
}

}  // namespace

extern const WriterDescriptor perfetto_writer;
const WriterDescriptor perfetto_writer = {
    "perfetto",
    "the trace for ui.perfetto.dev and trace_processor, with steps and the causes of idle",
    "供 ui.perfetto.dev 与 trace_processor 打开的 trace，含训练步与空闲原因",
    "",
    "trace.perfetto",
    write,
    nullptr,
    true,
};

}  // namespace accel::report
