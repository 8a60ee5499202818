#include "runtime/session/capture.h"

#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>

#include "runtime/python/python_sampler.h"
#include "runtime/sampler/sampler.h"
#include "runtime/topology/topology.h"

namespace accel::runtime {
namespace {

using format::NativeTable;
namespace native = format::native;

constexpr ChunkFile::Room kRooms[] = {{NativeTable::Meta, 64, 4096},   {NativeTable::Name, 512, 32768},
                                      {NativeTable::Clock, 64, 0},     {NativeTable::Thread, 256, 4096},
                                      {NativeTable::Scope, 8192, 0},   {NativeTable::Args, 256, 32768},
                                      {NativeTable::Step, 512, 0},     {NativeTable::CounterInfo, 64, 4096},
                                      {NativeTable::Counter, 2048, 0}, {NativeTable::Curve, 1024, 0},
                                      {NativeTable::Cost, 4, 0},       {NativeTable::Note, 32, 8192},
                                      {NativeTable::Mark, 64, 8192},   {NativeTable::Window, 4, 1024},
                                      {NativeTable::End, 1, 64},       {NativeTable::Function, 256, 32768},
                                      {NativeTable::Frame, 512, 0},    {NativeTable::Stack, 1024, 0}};
constexpr std::size_t kRoomCount = sizeof kRooms / sizeof kRooms[0];

}  // namespace

Capture* Capture::make(const CaptureIdentity& identity, const Sources& sources, int& error) {
  const std::size_t head = (sizeof(Capture) + 63) & ~std::size_t{63};
  const std::size_t bytes = head + ChunkFile::bytes_needed(kRooms, kRoomCount);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    error = ENOMEM;
    return nullptr;
  }
  auto* capture = new (memory) Capture();
  capture->block_bytes_ = bytes;
  capture->identity_ = identity;
  capture->sources_ = sources;
  capture->file_.init(kRooms, kRoomCount, static_cast<char*>(memory) + head);
  error = capture->file_.open(identity.process, "", identity.number, ".accel", 0);
  if (error != 0) {
    destroy(capture);
    return nullptr;
  }
  capture->file_.meta("level", identity.level);
  capture->file_.meta("asked_by", identity.asked_by);
  sources.args->rewind();
  if (identity.device && identity.level >= 2) capture->device_.open(*capture, *sources.names, identity.device_calls);
  capture->python_.open();
  capture->nccl_.open(*capture, identity.device && identity.level >= 2);
  capture->flush(false);
  return capture;
}

void Capture::destroy(Capture* capture) {
  capture->device_.abandon();
  capture->python_.abandon();
  capture->nccl_.abandon();
  const std::size_t bytes = capture->block_bytes_;
  capture->~Capture();
  ::munmap(capture, bytes);
}

void Capture::write_rows(format::RowBuffer& rows) {
  write_names();
  file_.write(NativeTable::Name);
  file_.write(rows);
}

// What rows refer to stands before them in the file.
void Capture::make_room(NativeTable table, std::size_t text_bytes) {
  if (file_.has_room(table, text_bytes)) return;
  if (table == NativeTable::Scope || table == NativeTable::Counter) {
    write_names();
    write_args();
    for (const NativeTable before :
         {NativeTable::Name, NativeTable::Args, NativeTable::Thread, NativeTable::CounterInfo})
      file_.write(before);
  }
  file_.write(table);
}

// Names are written before the scopes that use them: a scope's name was interned before the scope began.
void Capture::write_names() {
  const std::uint32_t count = sources_.names->count();
  while (names_written_ < count) {
    const NameRegistry::Entry& entry = sources_.names->entry(++names_written_);
    make_room(NativeTable::Name, entry.category().size() + entry.text().size());
    put_row(rows(NativeTable::Name), native::NameRow{names_written_, entry.category(), entry.text()});
  }
}

void Capture::write_args() {
  ArgsCache::Args args;
  while (sources_.args->next_unwritten(args)) {
    make_room(NativeTable::Args, std::size_t{args.shape_bytes} + args.dtype_bytes);
    put_row(rows(NativeTable::Args),
            native::ArgsRow{args.id, {args.shape, args.shape_bytes}, {args.dtype, args.dtype_bytes}});
  }
}

void Capture::write_steps() {
  StepRecord step;
  while (steps_.pop(step)) {
    if (step.tid != training_tid_) python::python_sampler().training_thread(training_tid_ = step.tid);
    if (step.phase == WindowPlan::Phase::warmup) continue;
    cost_.step_in_window(step.end - step.begin);
    make_room(NativeTable::Step, 0);
    put_row(
        rows(NativeTable::Step),
        native::StepRow{step.step, step.begin, step.end, step.loader_wait_ns < 0 ? format::kNoI64 : step.loader_wait_ns,
                        step.loss, step.samples, step.epoch < 0 ? format::kNoI64 : step.epoch, step.tid,
                        static_cast<std::uint8_t>(step.phase)});
  }
}

void Capture::number_info(std::uint32_t slot) {
  std::uint64_t& word = numbers_written_[slot / 64];
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  if ((word & bit) != 0 || sources_.numbers == nullptr) return;
  word |= bit;
  const std::string_view name = sources_.numbers->name(static_cast<std::uint16_t>(slot));
  const bool built_in = slot < kBuiltInCount;
  std::string_view unit = built_in ? describe(static_cast<BuiltIn>(slot)).unit : std::string_view();
  std::string_view source = to_string(built_in ? describe(static_cast<BuiltIn>(slot)).source : NumberSource::user);
  std::int64_t refresh_ns = 0;
  FieldKind kind = FieldKind::level;
  const SampleField* field = nullptr;
  const SamplerDescriptor* sampler = sampler_of(name, &field);
  if (sampler != nullptr) {
    unit = field->unit;
    source = sampler->id;
    kind = field->kind;
    refresh_ns = sampler->refresh_ns > sampler->window_interval_ns ? sampler->refresh_ns : sampler->window_interval_ns;
    if (field->refresh_ns > refresh_ns) refresh_ns = field->refresh_ns;
  }
  make_room(NativeTable::CounterInfo, name.size() + unit.size() + source.size());
  put_row(rows(NativeTable::CounterInfo),
          native::CounterInfoRow{slot, name, unit, source, refresh_ns, static_cast<std::uint8_t>(kind)});
}

void Capture::on_scope(std::uint32_t thread, const ScopeRecord& record) {
  if (record.begin < keep_from_) return;
  if ((record.name & kNumberRecord) != 0) {
    const std::uint32_t slot = record.name & ~kNumberRecord;
    double value;
    std::memcpy(&value, &record.bytes, sizeof value);
    number_info(slot);
    make_room(NativeTable::Counter, 0);
    put_row(rows(NativeTable::Counter), native::CounterRow{record.begin, value, slot});
    return;
  }
  if ((record.name & kMarkRecord) != 0) {
    const std::string_view text = sources_.names->entry(record.name & ~kMarkRecord).text();
    make_room(NativeTable::Mark, text.size());
    put_row(rows(NativeTable::Mark), native::MarkRow{record.begin, text});
    return;
  }
  Tally& tally = tallies_[record.name % kTallies];
  if (tally.name == record.name) {
    ++tally.count;
  } else if (tally.count > 0) {
    --tally.count;
  } else {
    tally = {record.name, 1};
  }
  make_room(NativeTable::Scope, 0);
  put_row(rows(NativeTable::Scope),
          native::ScopeRow{record.begin, record.end, record.bytes, record.name, record.args, thread});
}

std::uint32_t Capture::busiest_name() {
  Tally most{0, 0};
  for (Tally& tally : tallies_) {
    if (tally.count > most.count) most = tally;
    tally = {0, 0};
  }
  return most.name;
}

FrameRecorder::Sink Capture::sink() {
  return {this,
          [](void* context, std::uint32_t thread, std::uint32_t tid, const char* name) {
            auto& capture = *static_cast<Capture*>(context);
            capture.make_room(NativeTable::Thread, 16);
            put_row(capture.rows(NativeTable::Thread), native::ThreadRow{thread, tid, name});
          },
          [](void* context, std::uint32_t thread, const ScopeRecord& record) {
            static_cast<Capture*>(context)->on_scope(thread, record);
          }};
}

bool Capture::drain(std::uint64_t keep_from) {
  keep_from_ = keep_from;
  const bool full = sources_.recorder->drain(sink());
  write_steps();
  device_.drain(keep_from);
  python_.drain(*this, keep_from);
  nccl_.drain(keep_from);
  return full;
}

// In parts that a buffer of text holds, cut between lines, so that each is text of its own.
void Capture::write_topology() {
  constexpr std::size_t kPart = 2048;
  const std::string_view text = topology_text();
  if (topology_written_ || text.empty()) return;
  topology_written_ = true;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    std::size_t length = text.size() - at < kPart ? text.size() - at : kPart;
    const std::size_t line = text.substr(at, length).rfind('\n');
    if (line != std::string_view::npos) length = line + 1;
    char key[24];
    std::snprintf(key, sizeof key, "topology.%zu", number);
    make_room(NativeTable::Meta, length + sizeof key);
    put_row(rows(NativeTable::Meta), native::MetaRow{key, text.substr(at, length)});
    at += length;
  }
  struct Fact {
    const char* key;
    std::int64_t value;
  };
  const DeviceLink& link = device_link();
  const Fact facts[] = {{"gpu_index", link.index},
                        {"pcie_generation_at_start", link.pcie_generation},
                        {"pcie_generation_max", link.pcie_generation_max},
                        {"pcie_generation_of_device", link.pcie_generation_of_device},
                        {"pcie_width_at_start", link.pcie_width},
                        {"pcie_width_max", link.pcie_width_max},
                        {"nvlinks_active", link.nvlinks},
                        {"nvlink_version", link.nvlink_version},
                        {"gpu_numa_node", link.numa_node}};
  for (const Fact& fact : facts) {
    if (fact.value >= 0) file_.meta(fact.key, fact.value);
  }
}

void Capture::flush(bool sync) {
  file_.clock_pair();
  write_topology();
  write_names();
  write_args();
  file_.write_all();
  if (sync) file_.sync_sometimes();
}

void Capture::write_cost(std::uint64_t begin, std::uint64_t end) {
  const CostMeter::Figures figures = cost_.figures();
  if (std::isnan(figures.percent)) return;
  char text[200];
  int length =
      std::snprintf(text, sizeof text, "cost %.2f %% here: records %.2f %%, the recorder's own threads %.2f %%",
                    figures.percent, figures.record_percent, figures.background_percent);
  if (!std::isnan(figures.step_percent))
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length),
                            "; steps %+.1f %% against those before the window", figures.step_percent);
  if (!std::isnan(figures.limit_percent))
    std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "; the level promises below %.0f %%",
                  figures.limit_percent);
  note("cost", 0, 1, text, "record fewer scopes where this is too much");
  make_room(NativeTable::Cost, 0);
  put_row(rows(NativeTable::Cost),
          native::CostRow{begin, end, figures.percent, figures.record_percent, figures.background_percent,
                          figures.step_percent, figures.limit_percent});
}

void Capture::finish(std::uint64_t begin, std::uint64_t end, const WindowPlan& plan, std::uint32_t warmup,
                     const char* ended_by, RunCurve* curve) {
  device_.close(*this, keep_from_, std::strcmp(ended_by, "hang") == 0);
  python_.close(*this, keep_from_);
  nccl_.close(*this, keep_from_);
  if (std::strcmp(ended_by, "hang") == 0) {
    sources_.recorder->open_scopes(sink());
    note("hang", 2, 1,
         "no step ended within the time limit: the window was closed with what there was, open scopes have no end",
         "look at the open scopes of each thread");
  }
  if (!plan.was_steady())
    note("not_steady", 0, 1, "the step times had not settled when the window opened", "ask for a longer wait");
  if (plan.was_late())
    note("no_agreement", 0, 1, "the step on which the ranks agreed had already begun here",
         "agree on a step further ahead");
  if (plan.cycle() > 1)
    note("cycle", 0, plan.cycle(), "the steps repeat in a cycle of this length",
         "nothing to do: the window covers two of them where it could");
  const std::uint64_t dropped = sources_.recorder->dropped();
  if (dropped > 0)
    note("dropped_records", 1, dropped, "rings were full and records were dropped",
         "raise max_ring_bytes, or record fewer scopes");
  if (sources_.recorder->refused_threads() > 0)
    note("refused_threads", 1, sources_.recorder->refused_threads(), "threads found no room for a ring",
         "raise max_ring_bytes");
  if (sources_.names->refused() > 0)
    note("too_many_names", 1, sources_.names->refused(), "scopes beyond 65,536 names are called (other names)",
         "put numbers into arguments, not into names");
  if (sources_.args->refused() > 0)
    note("shapes_lost", 0, sources_.args->refused(),
         "shapes came faster than they were written; their scopes have none", "nothing to do");
  if (steps_.dropped() > 0) note("dropped_steps", 1, steps_.dropped(), "step records were dropped", "nothing to do");
  if (file_.lost_rows() > 0)
    note("write_failed", 1, file_.lost_rows(), "records could not be written (disk full or folder gone)",
         "free space in the output folder");
  write_cost(begin, end);
  make_room(NativeTable::Window, 512);
  put_row(rows(NativeTable::Window),
          native::WindowRow{begin, end, plan.kept_steps(), warmup, static_cast<std::uint8_t>(identity_.level),
                            identity_.asked_by, ended_by});
  if (curve != nullptr) curve->each([this](const RunRow& row) { put_row(file_, row); });
  flush(false);
  file_.end(ended_by);
}

}  // namespace accel::runtime
