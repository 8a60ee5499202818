// The tracks of one rank, in the order in which a reader wants them. Used by PerfettoTrace alone.
#pragma once

#include "report/perfetto/lanes.h"
#include "report/perfetto/packet_stream.h"
#include "report/perfetto/perfetto.h"

namespace accel::report::perfetto {

// `rank`: the how many-th of the file, which its tracks and flows are numbered by.
void add_rank(PacketStream& out, std::uint64_t rank, const TraceStore& store, const AnalysisResults& results,
              const RankOnAxis* axis);

}  // namespace accel::report::perfetto
