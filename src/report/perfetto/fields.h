// Numbers of the fields of Perfetto's trace format that are written here; tests/python/test_perfetto.py holds them
// against the published protos/perfetto/trace/perfetto_trace.proto.
#pragma once

#include <protozero/types.hpp>

namespace accel::report::perfetto {

using Field = protozero::pbf_tag_type;

namespace trace {
inline constexpr Field kPacket = 1;
}
namespace packet {
inline constexpr Field kClockSnapshot = 6;
inline constexpr Field kTimestamp = 8;
inline constexpr Field kSequence = 10;
inline constexpr Field kTrackEvent = 11;
inline constexpr Field kInternedData = 12;
inline constexpr Field kSequenceFlags = 13;
inline constexpr Field kTrackDescriptor = 60;
inline constexpr std::uint32_t kStateCleared = 1;
inline constexpr std::uint32_t kNeedsState = 2;
}  // namespace packet
namespace clocks {
inline constexpr Field kClocks = 1;
inline constexpr Field kPrimary = 2;
inline constexpr Field kId = 1;
inline constexpr Field kTime = 2;
inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kBoottime = 6;
}  // namespace clocks
namespace event {
inline constexpr Field kCategoryIids = 3;
inline constexpr Field kArgs = 4;
inline constexpr Field kType = 9;
inline constexpr Field kNameIid = 10;
inline constexpr Field kTrack = 11;
inline constexpr Field kCounterValue = 30;
inline constexpr Field kDoubleCounterValue = 44;
inline constexpr Field kFlows = 47;
inline constexpr std::int32_t kBegin = 1;
inline constexpr std::int32_t kEnd = 2;
inline constexpr std::int32_t kCounter = 4;
}  // namespace event
namespace arg {
inline constexpr Field kNameIid = 1;
inline constexpr Field kBool = 2;
inline constexpr Field kInt = 4;
inline constexpr Field kDouble = 5;
inline constexpr Field kTextIid = 17;
}  // namespace arg
namespace interned {
inline constexpr Field kCategories = 1;
inline constexpr Field kEventNames = 2;
inline constexpr Field kArgNames = 3;
inline constexpr Field kArgTexts = 29;
inline constexpr Field kIid = 1;
inline constexpr Field kText = 2;
}  // namespace interned
namespace track {
inline constexpr Field kUuid = 1;
inline constexpr Field kName = 2;
inline constexpr Field kProcess = 3;
inline constexpr Field kThread = 4;
inline constexpr Field kParent = 5;
inline constexpr Field kCounter = 8;
inline constexpr Field kChildOrdering = 11;
inline constexpr Field kOrderRank = 12;
inline constexpr Field kDescription = 14;
inline constexpr Field kProcessPid = 1;
inline constexpr Field kProcessName = 6;
inline constexpr Field kThreadPid = 1;
inline constexpr Field kThreadTid = 2;
inline constexpr Field kThreadName = 5;
inline constexpr Field kUnit = 3;
inline constexpr std::int32_t kExplicit = 3;
inline constexpr std::int32_t kNoUnit = 0;
inline constexpr std::int32_t kBytes = 3;
}  // namespace track

}  // namespace accel::report::perfetto
