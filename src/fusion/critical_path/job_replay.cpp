#include "fusion/critical_path/job_replay.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// A collective that begins within this of the end of the one before it on its stream waited for that one, and not for
// the rank's own work: launches and stream dependencies take a few microseconds.
constexpr std::int64_t kBackToBackNs = 15'000;
// Stamps of two events that follow each other may contradict each other by this.
constexpr std::int64_t kJitterNs = 5'000;
// Exposed for less than this the rank did not wait in a collective, it only met it.
constexpr double kNotExposedNs = 1'000;
constexpr std::size_t kKept = 32;

class Replay {
 public:
  Replay(const RankSet& set, const CollectiveMatching& matching, const MatchIndex& index,
         const std::vector<std::uint32_t>& ranks)
      : set_(set), matching_(matching), index_(index), states_(set.ranks.size()) {
    for (const std::uint32_t rank : ranks) states_[rank].sped_up = true;
  }

  std::vector<SavedStep> run() {
    for (const std::uint32_t i : index_.order) {
      const MatchedCollective& collective = matching_.collectives[i];
      if (!is_meeting(collective)) continue;
      const double saved = meet(collective);
      if (collective.step == kNotRecorded) continue;
      double& most = saved_[collective.step];
      most = std::max(most, saved);
    }
    std::vector<SavedStep> steps;
    double before = 0;
    for (const auto& [step, saved] : saved_) {
      steps.push_back({step, std::max(0.0, saved - before)});
      before = std::max(before, saved);
    }
    return steps;
  }

 private:
  struct State {
    bool sped_up = false;
    // By which its own work runs ahead of the recording, from each time on that stands with it. What was issued while a
    // collective was still waited for does not profit from that one's earlier end.
    std::vector<std::pair<std::int64_t, double>> work_saved;
    double communication_saved = 0;  // by which the last collective ended earlier
    std::int64_t last_end = std::numeric_limits<std::int64_t>::min() / 2;
    std::int64_t last_stream = kNotRecorded;

    double work_saved_at(std::int64_t time_ns) const {
      for (auto at = work_saved.rbegin(); at != work_saved.rend(); ++at)
        if (at->first <= time_ns + kJitterNs) return at->second;
      return 0;
    }
    void save_work(std::int64_t time_ns, double saved) {
      // The latest entries are enough: collectives of a rank overlap few others.
      if (work_saved.size() >= 2 * kKept)
        work_saved.erase(work_saved.begin(), work_saved.begin() + static_cast<std::ptrdiff_t>(kKept));
      auto at = work_saved.end();
      while (at != work_saved.begin() && std::prev(at)->first > time_ns) --at;
      work_saved.insert(at, {time_ns, saved});
    }
  };

  // By how much earlier it ends.
  double meet(const MatchedCollective& collective) {
    const std::vector<Member>& members = collective.members;
    lengths_.resize(members.size());
    arrivals_.resize(members.size());
    for (std::size_t m = 0; m < members.size(); ++m) {
      const CommunicationEvent& event = set_.ranks[members[m].rank].events[members[m].event];
      const State& state = states_[members[m].rank];
      lengths_[m] = members[m].length_ns();
      const bool follows = event.stream == state.last_stream && event.start_ns >= state.last_end - kJitterNs &&
                           event.start_ns - state.last_end < kBackToBackNs;
      arrivals_[m] = follows ? state.communication_saved : state.work_saved_at(event.start_ns);
    }
    remove_delays(members);
    double shortest = lengths_[0];
    double shortest_now = lengths_[0] + arrivals_[0];
    for (std::size_t m = 1; m < members.size(); ++m) {
      shortest = std::min(shortest, lengths_[m]);
      shortest_now = std::min(shortest_now, lengths_[m] + arrivals_[m]);
    }
    const double saved = std::max(0.0, shortest_now - shortest);
    for (std::size_t m = 0; m < members.size(); ++m) leave(members[m], lengths_[m], saved);
    return saved;
  }

  // Who would still arrive after the median of the others arrives with it.
  void remove_delays(const std::vector<Member>& members) {
    others_.clear();
    for (std::size_t m = 0; m < members.size(); ++m)
      if (!states_[members[m].rank].sped_up) others_.push_back(lengths_[m] + arrivals_[m]);
    if (others_.empty() || others_.size() == members.size()) return;
    const double usual = median_of(others_);
    for (std::size_t m = 0; m < members.size(); ++m) {
      State& state = states_[members[m].rank];
      const double late = usual - (lengths_[m] + arrivals_[m]);
      if (!state.sped_up || late <= 0) continue;
      arrivals_[m] += late;
      const std::int64_t start = members[m].start_ns;
      state.save_work(start, state.work_saved_at(start) + late);
    }
  }

  void leave(const Member& member, double length, double saved) {
    State& state = states_[member.rank];
    const CommunicationEvent& event = set_.ranks[member.rank].events[member.event];
    // Its work went on when the collective was over, or when that work itself was done, whichever came later.
    const double exposed = length - static_cast<double>(event.overlapped_ns);
    if (exposed > kNotExposedNs)
      state.save_work(event.end_ns, std::min(exposed + state.work_saved_at(event.start_ns), saved));
    state.communication_saved = saved;
    state.last_end = event.end_ns;
    state.last_stream = event.stream;
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const MatchIndex& index_;
  std::vector<State> states_;
  std::map<std::int64_t, double> saved_;  // by step: since the beginning
  std::vector<double> lengths_, arrivals_, others_;
};

}  // namespace

std::vector<SavedStep> replay_without_delay(const RankSet& set, const CollectiveMatching& matching,
                                            const MatchIndex& index, const std::vector<std::uint32_t>& ranks) {
  return Replay(set, matching, index, ranks).run();
}

}  // namespace accel::fusion
