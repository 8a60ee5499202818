#include "report/perfetto/packet_stream.h"

#include <cmath>
#include <protozero/pbf_writer.hpp>

#include "report/perfetto/fields.h"
#include "report/plain_text.h"

namespace accel::report::perfetto {
namespace {

using protozero::pbf_writer;

constexpr std::size_t kPiece = std::size_t{1} << 20;
// All packets are of one writer, whose interned strings hold to the end.
constexpr std::uint32_t kSequence = 1;

}  // namespace

Interned PacketStream::intern(Ids& ids, std::uint32_t field, std::string_view text) {
  std::string known = valid_utf8(text);
  const auto [at, is_new] = ids.try_emplace(std::move(known), ids.size() + 1);
  if (is_new) {
    packet_.clear();
    pbf_writer packet(packet_);
    {
      pbf_writer data(packet, packet::kInternedData);
      pbf_writer entry(data, field);
      entry.add_uint64(interned::kIid, at->second);
      entry.add_string(interned::kText, at->first);
    }
    put_packet();
  }
  return at->second;
}

Interned PacketStream::event_name(std::string_view text) { return intern(names_, interned::kEventNames, text); }
Interned PacketStream::category(std::string_view text) { return intern(categories_, interned::kCategories, text); }
Interned PacketStream::arg_name(std::string_view text) { return intern(arg_names_, interned::kArgNames, text); }
Interned PacketStream::arg_text(std::string_view text) { return intern(arg_texts_, interned::kArgTexts, text); }

void PacketStream::put_packet() {
  pbf_writer packet(packet_);
  packet.add_uint32(packet::kSequence, kSequence);
  packet.add_uint32(packet::kSequenceFlags, first_ ? packet::kStateCleared | packet::kNeedsState : packet::kNeedsState);
  first_ = false;
  pbf_writer(out_).add_message(trace::kPacket, packet_);
  if (out_.size() < kPiece) return;
  sink_(out_);
  out_.clear();
}

void PacketStream::add_wall_clock(std::int64_t at_ns) {
  packet_.clear();
  pbf_writer packet(packet_);
  {
    pbf_writer snapshot(packet, packet::kClockSnapshot);
    for (const std::uint32_t clock : {clocks::kBoottime, clocks::kRealtime}) {
      pbf_writer one(snapshot, clocks::kClocks);
      one.add_uint32(clocks::kId, clock);
      one.add_uint64(clocks::kTime, static_cast<std::uint64_t>(at_ns));
    }
    snapshot.add_uint32(clocks::kPrimary, clocks::kBoottime);
  }
  put_packet();
}

void PacketStream::add(const Track& track) {
  packet_.clear();
  pbf_writer packet(packet_);
  {
    pbf_writer out(packet, packet::kTrackDescriptor);
    out.add_uint64(track::kUuid, track.uuid);
    if (track.parent != 0) out.add_uint64(track::kParent, track.parent);
    out.add_string(track::kName, valid_utf8(track.name));
    if (!track.description.empty()) out.add_string(track::kDescription, valid_utf8(track.description));
    if (track.pid && track.tid) {
      pbf_writer thread(out, track::kThread);
      thread.add_int32(track::kThreadPid, *track.pid);
      thread.add_int64(track::kThreadTid, *track.tid);
      thread.add_string(track::kThreadName, valid_utf8(track.name));
    } else if (track.pid) {
      pbf_writer process(out, track::kProcess);
      process.add_int32(track::kProcessPid, *track.pid);
      process.add_string(track::kProcessName, valid_utf8(track.name));
    }
    if (track.values != Track::Values::none) {
      pbf_writer counter(out, track::kCounter);
      counter.add_enum(track::kUnit, track.values == Track::Values::bytes ? track::kBytes : track::kNoUnit);
    }
    if (track.orders_children) out.add_enum(track::kChildOrdering, track::kExplicit);
    out.add_int32(track::kOrderRank, track.order);
  }
  put_packet();
}

void PacketStream::begin(std::uint64_t track, std::int64_t time_ns, const Begin& slice) {
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(time_ns));
  {
    pbf_writer out(packet, packet::kTrackEvent);
    out.add_enum(event::kType, event::kBegin);
    out.add_uint64(event::kTrack, track);
    out.add_uint64(event::kNameIid, slice.name);
    out.add_uint64(event::kCategoryIids, slice.category);
    for (const std::uint64_t flow : slice.flows) out.add_fixed64(event::kFlows, flow);
    for (const Arg& arg : slice.args) {
      pbf_writer one(out, event::kArgs);
      one.add_uint64(arg::kNameIid, arg.name);
      switch (arg.kind) {
        case Arg::Kind::text:
          one.add_uint64(arg::kTextIid, arg.text);
          break;
        case Arg::Kind::integer:
          one.add_int64(arg::kInt, arg.integer);
          break;
        case Arg::Kind::real:
          one.add_double(arg::kDouble, arg.real);
          break;
        case Arg::Kind::yes:
          one.add_bool(arg::kBool, true);
          break;
      }
    }
  }
  put_packet();
}

void PacketStream::end(std::uint64_t track, std::int64_t time_ns) {
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(time_ns));
  {
    pbf_writer out(packet, packet::kTrackEvent);
    out.add_enum(event::kType, event::kEnd);
    out.add_uint64(event::kTrack, track);
  }
  put_packet();
}

void PacketStream::count(std::uint64_t track, std::int64_t time_ns, double value) {
  if (!std::isfinite(value)) return;
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(time_ns));
  {
    pbf_writer out(packet, packet::kTrackEvent);
    out.add_enum(event::kType, event::kCounter);
    out.add_uint64(event::kTrack, track);
    out.add_double(event::kDoubleCounterValue, value);
  }
  put_packet();
}

void PacketStream::finish() {
  if (!out_.empty()) sink_(out_);
  out_.clear();
}

}  // namespace accel::report::perfetto
