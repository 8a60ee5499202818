// The session as the thread that marks steps sees it: no lock, no system call but a write to the eventfd when the state
// has moved.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/mapped.h"
#include "runtime/session/rule_set.h"
#include "runtime/session/session.h"

namespace accel::runtime {

accel_status Session::step(const accel_step_info& info) {
  const Word now = word();
  if (now.state == State::off) return ACCEL_DISABLED;
  // Held by rule_add and rules_clear for some microseconds; longer means that two threads mark steps.
  constexpr int kPatience = 1000;
  for (int tries = 0; stepping_.exchange(true); ++tries) {
    if (tries == kPatience) return ACCEL_BUSY;
    ::sched_yield();
  }
  const std::uint64_t mark = ticks();
  const std::uint64_t before = last_step_.load(std::memory_order_relaxed);
  const std::int64_t index = steps_.fetch_add(1, std::memory_order_relaxed);
  last_step_.store(mark, std::memory_order_relaxed);
  if (before != 0) {
    history_.add(mark - before);
    usual_step_time_.store(mark - before, std::memory_order_relaxed);
    if (now.state != State::idle) {
      StepRecord record{
          index, before, mark, info.loss, info.samples, info.loader_wait_ns, info.epoch, 0, WindowPlan::Phase::outside};
      window_step(mark, record);
      if (now.rules) {
        RunRecord* run = run_.load(std::memory_order_acquire);
        if (run != nullptr && run->push(record)) wake();
        feed_rules(record);
      }
    }
  }
  stepping_.store(false, std::memory_order_release);
  return ACCEL_OK;
}

void Session::window_step(std::uint64_t now, const StepRecord& record) {
  const Word at = word();
  if (at.state == State::armed && at.ready) {
    if (plan_.armed_step(history_, record.step + 1) != WindowPlan::Move::open) return;
    const bool warm = plan_.phase() == WindowPlan::Phase::warmup;
    keep_from_.store(warm ? ~std::uint64_t{0} : now, std::memory_order_release);
    window_begin_ = now;
    usual_step_ = history_.usual();
    opened_at_ns_ = monotonic_ns();
    opened_.store(true, std::memory_order_release);
    if (take(Event::window_opens).taken) {
      __atomic_store_n(&accel_runtime_active, 1U, __ATOMIC_RELEASE);
      wake();
    } else {
      opened_.store(false, std::memory_order_release);
    }
    return;
  }
  if (at.state != State::active) return;
  StepRecord inside = record;
  inside.phase = plan_.phase();
  inside.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  Capture* capture = capture_.load();
  if (capture != nullptr) capture->steps().push(inside);
  switch (plan_.window_step()) {
    case WindowPlan::Move::keep_from_here:
      window_begin_ = now;
      keep_from_.store(now, std::memory_order_release);
      break;
    case WindowPlan::Move::close:
      if (take(Event::window_ends).taken) end_window("steps", now);
      break;
    default:
      break;
  }
}

void Session::feed_rules(const StepRecord& record) {
  RuleSet* set = rules();
  if (set == nullptr) return;
  const double step_ms = static_cast<double>(record.end - record.begin) * 1e3 / ticks_per_second();
  const std::uint32_t fired = set->step(record, step_ms, monotonic_ns());
  if (fired == 0) return;
  fired_.fetch_or(fired, std::memory_order_acq_rel);
  wake();
}

accel_args Session::args_of(std::string_view shape, std::string_view dtype) {
  ArgsCache* cache = args_.load(std::memory_order_acquire);
  return cache == nullptr || __atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) == 0
             ? 0
             : cache->intern(shape, dtype);
}

bool Session::make_numbers() {
  if (numbers() != nullptr) return true;
  auto* made = make_mapped<NumberTable>();
  if (made == nullptr) return false;
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  for (std::size_t i = 0; i < count; ++i) {  // so that a rule that names one of them starts its sampler
    for (std::size_t f = 0; f < all[i]->field_count; ++f) made->slot(all[i]->fields[f].name, all[i]->source);
  }
  NumberTable* none = nullptr;
  if (!numbers_.compare_exchange_strong(none, made, std::memory_order_acq_rel)) ::munmap(made, sizeof(NumberTable));
  return true;
}

accel_number Session::number_of(std::string_view name) {
  if (word().dead || !make_numbers()) return ACCEL_NO_NUMBER;
  const std::uint16_t slot = numbers()->slot(name);
  return slot == NumberTable::kNoSlot ? ACCEL_NO_NUMBER : slot;
}

accel_status Session::record(accel_number number, double value) {
  const Word now = word();
  if (now.state == State::off) return ACCEL_DISABLED;
  NumberTable* table = numbers();
  if (table == nullptr || number >= table->size()) return ACCEL_INVALID_ARGUMENT;
  if (now.rules) table->set(static_cast<std::uint16_t>(number), value);
  if (__atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) != 0) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    recorder_.instant(kNumberRecord | number, bits);
  }
  return ACCEL_OK;
}

accel_status Session::mark(std::string_view text) {
  if (word().state == State::off) return ACCEL_DISABLED;
  if (__atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) != 0)
    recorder_.instant(kMarkRecord | names_.intern("mark", text.substr(0, 255)), 0);
  return ACCEL_OK;
}

}  // namespace accel::runtime
