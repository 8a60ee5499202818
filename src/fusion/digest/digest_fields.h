// The order of everything in a digest file, once for writing and reading. `visit` is the encoder or the decoder: it has
// number() for whole numbers, time() for times relative to the first, real(), text(), flag(), word<Enum>(last) and
// list(). Private to the digest.
#pragma once

#include "fusion/digest/digest.h"

namespace accel::fusion {

template <typename Visit, typename T>
void visit_fields(Visit& visit, T& value);

template <typename Visit>
void fields_of(Visit& v, auto& x, const ProcessGroup*) {
  v.text(x.name);
  v.text(x.description);
  v.numbers(x.ranks);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const CommunicationEvent*) {
  v.time(x.start_ns);
  v.time(x.end_ns);
  v.time(x.launch_ns);
  v.number(x.sequence);
  v.number(x.bytes);
  v.number(x.overlapped_ns);
  v.number(x.peer);
  v.number(x.name);
  v.number(x.dtype);
  v.number(x.group);
  v.number(x.step);
  v.number(x.device);
  v.number(x.stream);
  v.word(x.place, EventPlace::host);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const KernelShare*) {
  v.number(x.name);
  v.number(x.shape);
  v.number(x.count);
  v.number(x.ns);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const HostShare*) {
  v.number(x.name);
  v.word(x.kind, SliceKind::other);
  v.word(x.cause, IdleCause::unknown);
  v.number(x.count);
  v.number(x.ns);
  v.number(x.longest_ns);
  v.number(x.before);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const Segment*) {
  v.flag(x.whole);
  v.number(x.device_ns);
  v.number(x.compute_ns);
  v.number(x.memory_ns);
  for (auto& ns : x.idle) v.number(ns);
  v.number(x.host_ns);
  v.number(x.waits_ns);
  v.number(x.others_ns);
  v.number(x.records);
  v.number(x.calls);
  v.number(x.frames);
  v.list(x.kernels);
  v.list(x.host);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const DigestStep*) {
  v.number(x.number);
  v.time(x.host.start_ns);
  v.time(x.host.end_ns);
  v.time(x.device.start_ns);
  v.time(x.device.end_ns);
  v.flag(x.complete);
  v.word(x.step_class, StepClass::warmup);
  v.number(x.communication_exposed_ns);
  v.number(x.host_wait_ns);
  v.one(x.work);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const RankTiming::Band*) {
  v.real(x.expected_ns);
  v.real(x.low_ns);
  v.real(x.high_ns);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const RankTiming*) {
  v.real(x.measured_step_ns);
  v.flag(x.paced_by_device);
  v.optional(x.step);
  v.optional(x.host);
  v.optional(x.device);
  v.real(x.record_cost_ns);
  v.real(x.call_cost_ns);
  v.real(x.frame_cost_ns);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const TimeParts*) {
  v.number(x.window_ns);
  v.number(x.compute_ns);
  v.number(x.memory_exposed_ns);
  v.number(x.communication_exposed_ns);
  v.number(x.communication_overlapped_ns);
  v.number(x.idle_ns);
  for (auto& ns : x.idle_causes) v.number(ns);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const DeviceParts*) {
  v.number(x.device);
  v.number(x.count);
  v.flag(x.device_window);
  v.one(x.measured);
  v.one(x.undisturbed);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const DigestDevice*) {
  v.number(x.index);
  v.text(x.name);
  v.text(x.pci);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const CounterSummary*) {
  v.text(x.name);
  v.number(x.count);
  v.real(x.mean);
  v.real(x.min);
  v.real(x.max);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const DigestNote*) {
  v.text(x.code);
  v.number(x.count);
}

template <typename Visit>
void fields_of(Visit& v, auto& x, const RankDigest*) {
  v.time(x.time_range.start_ns);  // first: the times after it are written as differences
  v.time(x.time_range.end_ns);
  v.text(x.source);
  v.text(x.source_format);
  v.number(x.source_bytes);
  v.number(x.source_text_bytes);
  v.number(x.source_events);
  v.optional(x.rank);
  v.flag(x.rank_guessed);
  v.optional(x.world_size);
  v.text(x.host);
  v.text(x.backend);
  v.text(x.job);
  v.flag(x.absolute_time);
  v.list(x.devices);
  v.texts(x.versions);
  v.strings(x.names);
  v.list(x.groups);
  v.list(x.steps);
  v.list(x.events);
  v.list(x.segments);
  v.one(x.timing);
  v.list(x.breakdown);
  v.list(x.counters);
  v.list(x.notes);
}

}  // namespace accel::fusion
