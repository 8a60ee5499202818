#include "diagnosis/verdict/processor_sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/facts.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::string between_phrase(const Facts& facts) {
  const StepParts& parts = facts.view.undisturbed;
  const double between = parts.idle(IdleCause::host_compute) + parts.idle(IdleCause::launch_latency);
  if (parts.idle(IdleCause::garbage_collection) > between) return "collects garbage";
  return facts.host_work.ns_per_step * 2 > between ? "runs other code" : "prepares the next one";
}

}  // namespace

BoundBy bound_of_processor(BoundBy bound_by) {
  return bound_by == BoundBy::gpu_compute || bound_by == BoundBy::gpu_memory ? BoundBy::cpu_compute : bound_by;
}

std::string processor_sentence(const DiagnosisInput& input, std::span<const Finding> findings, BoundBy bound_by,
                               const StepShares& shares, double health_kernel_share) {
  const StepView& view = input.facts.view;
  const std::string step = ms_text(view.step_ns);
  const double in_ops = shares.compute + shares.memory;
  const std::string ops = ms_text(in_ops * view.step_ns);
  const auto time = [&](double share) { return ms_text(share * view.step_ns); };
  switch (bound_by) {
    case BoundBy::data_loading:
      return fmt::format(
          "Loading data sets the pace: for {} of {} of {} ({}) the program waits for the data loader, and ops take {}",
          time(shares.data()), view.a_unit, step, percent_text(shares.data()), ops);
    case BoundBy::host:
      return fmt::format(
          "What runs between the ops sets the pace: for {} of {} of {} ({}) no op runs while the program {}, and ops "
          "take {}",
          time(shares.host), view.a_unit, step, percent_text(shares.host), between_phrase(input.facts), ops);
    case BoundBy::communication:
      return fmt::format(
          "Communication sets the pace: for {} of {} of {} ({}) the program communicates or waits for other ranks, and "
          "ops take {}",
          time(shares.communication), view.a_unit, step, percent_text(shares.communication), ops);
    case BoundBy::cpu_compute: {
      const bool nothing =
          in_ops >= health_kernel_share && std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
            return finding.severity == FindingSeverity::info;
          });
      return fmt::format(
          "The processor sets the pace: ops take {} of {} of {} ({}){}", ops, view.a_unit, step, percent_text(in_ops),
          nothing ? fmt::format("; the rules found nothing worth fixing above {}", percent_text(kWarningShare))
                  : std::string());
    }
    case BoundBy::mixed: {
      std::string text = fmt::format("No single thing sets the pace: of {} of {} ops take {} ({})", view.a_unit, step,
                                     ops, percent_text(in_ops));
      const auto part = [&](double share, std::string_view what) {
        if (share >= kWarningShare) text += fmt::format(", {} {}", time(share), what);
      };
      part(shares.host, "pass between them");
      part(shares.data(), "waiting for the data loader");
      part(shares.communication, "in communication that nothing hides");
      part(shares.other, "idle for reasons that the capture does not show");
      return text;
    }
    case BoundBy::gpu_compute:
    case BoundBy::gpu_memory:
    case BoundBy::unknown:
      break;
  }
  return fmt::format(
      "What sets the pace cannot be told: no op runs for {} of {} of {} ({}) and the capture does not show why",
      time(shares.other), view.a_unit, step, percent_text(shares.other));
}

}  // namespace accel
