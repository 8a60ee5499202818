#include "fusion/collective_matching/step_matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fusion/collective_matching/alignment.h"

namespace accel::fusion {
namespace {

std::string issue_text(const Signature& signature) {
  if (signature.bytes == kNotRecorded) return std::string(signature.name);
  return fmt::format("{} of {} bytes", signature.name, signature.bytes);
}

// Events of one rank and step that it issued one after the other.
struct Run {
  const RankEvents* events = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;
};

// What one rank issued in a step.
struct Issued {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> rows;
  std::vector<Signature> list;
};

class Matcher {
 public:
  explicit Matcher(const RankSet& set) : set_(set) {}

  // One rank after the other: its events are read once, and stand beside each other. Only of steps in which ranks
  // differ are all lists compared.
  StepMatching match(const std::vector<RankEvents>& events) {
    std::map<std::int64_t, Step> steps;
    for (const RankEvents& one : events) {
      const RankDigest& digest = set_.ranks[one.rank];
      for (std::size_t i = 0; i < one.events.size();) {
        const std::uint32_t row = digest.events[one.events[i]].step;
        const std::size_t first = i;
        while (i < one.events.size() && digest.events[one.events[i]].step == row) ++i;
        if (row == kNoRow) continue;
        Step& step = steps[digest.steps[row].number];
        step.runs.push_back({&one, first, i});
        step.alike = step.alike && add_alike(step, events.size());
      }
    }
    for (auto& [number, step] : steps) {
      if (step.alike && step.runs.size() == events.size()) {
        for (std::uint32_t i = 0; i < step.found.size(); ++i)
          keep(std::move(step.found[i]), step.reference[i], number, i);
        continue;
      }
      step.found.clear();
      issue(step.runs);
      if (issued_.size() > 1) match_step(number, events);
    }
    return std::move(out_);
  }

 private:
  struct Step {
    std::vector<Run> runs;             // ascending by rank
    bool alike = true;                 // each rank issued in one piece what the first one did
    std::vector<Signature> reference;  // of the first
    std::vector<MatchedCollective> found;
  };

  // False: the last run differs from the first.
  bool add_alike(Step& step, std::size_t ranks) const {
    const Run& run = step.runs.back();
    const RankDigest& digest = set_.ranks[run.events->rank];
    const bool is_first = step.runs.size() == 1;
    const std::size_t count = run.last - run.first;
    if (is_first) {
      step.reference.reserve(count);
      step.found.resize(count);
      for (MatchedCollective& one : step.found) one.members.reserve(ranks);
    }
    const bool again = !is_first && step.runs[step.runs.size() - 2].events == run.events;
    if (again || count != step.found.size()) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t row = run.events->events[run.first + i];
      const Signature signature = signature_of(digest, digest.events[row]);
      if (is_first) step.reference.push_back(signature);
      if (signature != step.reference[i]) return false;
      step.found[i].add(digest, run.events->rank, row);
    }
    return true;
  }

  void keep(MatchedCollective collective, const Signature& signature, std::int64_t number, std::uint32_t index) {
    if (collective.members.size() < 2) return;
    collective.name = signature.name;
    collective.step = number;
    collective.index = index;
    out_.collectives.push_back(std::move(collective));
  }

  void issue(const std::vector<Run>& runs) {
    std::size_t count = 0;
    for (const Run& run : runs) {
      if (count == 0 || issued_[count - 1].rank != run.events->rank) {
        if (count == issued_.size()) issued_.emplace_back();
        issued_[count].rank = run.events->rank;
        issued_[count].rows.clear();
        issued_[count].list.clear();
        ++count;
      }
      const RankDigest& digest = set_.ranks[run.events->rank];
      Issued& into = issued_[count - 1];
      for (std::size_t i = run.first; i < run.last; ++i) {
        into.rows.push_back(run.events->events[i]);
        into.list.push_back(signature_of(digest, digest.events[into.rows.back()]));
      }
    }
    issued_.resize(count);
  }

  // What most ranks issued; of two that are equally common, the longer.
  const std::vector<Signature>& most_common() const {
    const auto shorter = [](const std::vector<Signature>* a, const std::vector<Signature>* b) { return *a < *b; };
    std::map<const std::vector<Signature>*, std::size_t, decltype(shorter)> votes(shorter);
    for (const Issued& one : issued_) ++votes[&one.list];
    const std::vector<Signature>* most = nullptr;
    std::pair<std::size_t, std::size_t> best{0, 0};
    for (const Issued& one : issued_) {
      const auto vote = votes.find(&one.list);
      const std::pair<std::size_t, std::size_t> rating{vote->second, one.list.size()};
      if (rating <= best) continue;
      best = rating;
      most = &one.list;
    }
    return *most;
  }

  void match_step(std::int64_t number, const std::vector<RankEvents>& events) {
    const std::vector<Signature>& reference = most_common();
    std::vector<MatchedCollective> found(reference.size());
    for (MatchedCollective& one : found) one.members.reserve(issued_.size());
    for (const Issued& one : issued_) {
      if (one.list == reference) {
        for (std::size_t i = 0; i < one.rows.size(); ++i) found[i].add(set_.ranks[one.rank], one.rank, one.rows[i]);
        continue;
      }
      const std::vector<std::uint32_t> places = align(reference, one.list, !complete(one.rank, number));
      for (std::size_t i = 0; i < one.rows.size(); ++i)
        if (places[i] != kNoRow) found[places[i]].add(set_.ranks[one.rank], one.rank, one.rows[i]);
      note_divergence(number, one.rank, reference, one.list);
    }
    // A rank of the group that issued nothing at all in a step that it recorded whole.
    auto there = issued_.begin();
    for (const RankEvents& of_rank : events) {
      if (there != issued_.end() && there->rank == of_rank.rank) {
        ++there;
      } else if (complete(of_rank.rank, number)) {
        note_divergence(number, of_rank.rank, reference, {});
      }
    }
    for (std::uint32_t i = 0; i < found.size(); ++i) keep(std::move(found[i]), reference[i], number, i);
  }

  bool complete(std::uint32_t rank, std::int64_t number) const {
    const auto& steps = set_.ranks[rank].steps;
    return std::any_of(steps.begin(), steps.end(),
                       [&](const DigestStep& step) { return step.number == number && step.complete; });
  }

  void note_divergence(std::int64_t number, std::uint32_t rank, const std::vector<Signature>& reference,
                       const std::vector<Signature>& own) {
    if (!complete(rank, number)) return;
    // What has no description may be anything.
    const auto undescribed = [](const Signature& one) { return one.name == "unknown" || one.name == "send_recv"; };
    if (std::any_of(own.begin(), own.end(), undescribed) ||
        std::any_of(reference.begin(), reference.end(), undescribed))
      return;
    const std::size_t place = static_cast<std::size_t>(
        std::mismatch(reference.begin(), reference.end(), own.begin(), own.end()).first - reference.begin());
    Divergence divergence;
    divergence.step = number;
    divergence.index = static_cast<std::uint32_t>(place);
    divergence.they_issue = place < own.size() ? issue_text(own[place]) : "nothing";
    divergence.others_issue = place < reference.size() ? issue_text(reference[place]) : "nothing";
    divergence.records_lost = lost_records(set_.ranks[rank]);
    if (!out_.divergences.empty()) {
      Divergence& earlier = out_.divergences.front();
      if (earlier.step == number && earlier.index == divergence.index && earlier.they_issue == divergence.they_issue)
        earlier.ranks.push_back(set_.rank_of(rank));
      return;
    }
    divergence.ranks.push_back(set_.rank_of(rank));
    out_.divergences.push_back(std::move(divergence));
  }

  const RankSet& set_;
  std::vector<Issued> issued_;  // of the step at work, ascending by rank; kept for its memory
  StepMatching out_;
};

}  // namespace

bool lost_records(const RankDigest& digest) {
  return std::any_of(digest.notes.begin(), digest.notes.end(), [](const DigestNote& note) {
    return note.code == "launch_without_device" || note.code == "truncated" || note.code == "lost_head" ||
           note.code == "dropped_buffers" || note.code == "compressed_stream_cut" || note.code == "malformed_event";
  });
}

StepMatching match_by_step(const RankSet& set, const std::vector<RankEvents>& events) {
  return Matcher(set).match(events);
}

}  // namespace accel::fusion
