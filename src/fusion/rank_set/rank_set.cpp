#include "fusion/rank_set/rank_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fusion/digest/plausible.h"
#include "fusion/rank_set/pipeline_stages.h"

namespace accel::fusion {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;  // larger world sizes are damage

// What all files of one job agree on.
using JobKey = std::pair<std::int64_t, std::string>;

JobKey key_of(const RankDigest& digest) { return {digest.world_size.value_or(0), digest.job}; }

std::string span_text(std::int64_t ns) {
  return ns < 120'000'000'000 ? fmt::format("{:.0f} s", static_cast<double>(ns) / 1e9)
                              : fmt::format("{:.0f} min", static_cast<double>(ns) / 6e10);
}

class Sorter {
 public:
  explicit Sorter(std::vector<RankDigest> digests) : digests_(std::move(digests)) {
    // The order of the files must not matter.
    std::stable_sort(digests_.begin(), digests_.end(), [](const RankDigest& a, const RankDigest& b) {
      return std::tie(a.rank, a.source) < std::tie(b.rank, b.source);
    });
  }

  RankSet sort() {
    leave_out_absurd();
    leave_out_foreign();
    keep_one_each();
    name_missing();
    find_steps();
    set_.stage = pipeline_stages(set_.ranks);
    return std::move(set_);
  }

 private:
  void leave_out(const RankDigest& digest, std::string reason) {
    set_.left_out.push_back({digest.source, digest.rank, std::move(reason)});
  }

  void leave_out_absurd() {
    std::erase_if(digests_, [&](const RankDigest& digest) {
      if (is_plausible(digest)) return false;
      leave_out(digest, "its times or sizes cannot be those of a recording");
      return true;
    });
  }

  // The job is the one that most files are of.
  void leave_out_foreign() {
    std::map<JobKey, std::size_t> votes;
    for (const RankDigest& digest : digests_)
      if (digest.rank) ++votes[key_of(digest)];
    JobKey job{0, ""};
    std::size_t most = 0;
    for (const auto& [key, count] : votes) {
      if (count < most || (count == most && key.first <= job.first)) continue;
      most = count;
      job = key;
    }
    set_.world_size = job.first > kMostRanks ? 0 : job.first;
    for (RankDigest& digest : digests_) {
      const auto [world, name] = key_of(digest);
      if (!digest.rank) {
        leave_out(digest, "it does not say its rank");
      } else if (world != job.first) {
        leave_out(digest, fmt::format("it is of a job of {} ranks, the others are of {}", world, job.first));
      } else if (name != job.second) {
        leave_out(digest, "it is of another job");
      } else if (*digest.rank < 0 || (set_.world_size > 0 && *digest.rank >= set_.world_size)) {
        leave_out(digest, fmt::format("rank {} cannot be in a job of {}", *digest.rank, set_.world_size));
      } else {
        by_rank_[*digest.rank].push_back(std::move(digest));
      }
    }
  }

  // Of several recordings of one rank the one that fits the others: nearest in time to the files of ranks that have
  // only one; without such, to the earliest recording.
  void keep_one_each() {
    std::vector<std::int64_t> starts;
    std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, files] : by_rank_) {
      if (files.size() == 1) starts.push_back(files.front().time_range.start_ns);
      for (const RankDigest& file : files) earliest = std::min(earliest, file.time_range.start_ns);
    }
    std::sort(starts.begin(), starts.end());
    const std::int64_t anchor = starts.empty() ? earliest : starts[starts.size() / 2];
    const auto distance = [&](const RankDigest& file) {
      const double apart = static_cast<double>(file.time_range.start_ns) - static_cast<double>(anchor);
      return apart < 0 ? -apart : apart;
    };
    for (auto& [rank, files] : by_rank_) {
      const auto best = std::min_element(files.begin(), files.end(), [&](const RankDigest& a, const RankDigest& b) {
        return distance(a) < distance(b);
      });
      for (auto file = files.begin(); file != files.end(); ++file) {
        if (file == best) continue;
        const auto apart = static_cast<std::int64_t>(std::min(9e18, distance(*file)));
        leave_out(*file, fmt::format("a second file of rank {}{}", rank,
                                     apart > 1'000'000'000 ? ", recorded " + span_text(apart) + " from the others"
                                                           : std::string()));
      }
      set_.ranks.push_back(std::move(*best));
    }
  }

  void name_missing() {
    std::size_t next = 0;
    for (std::int64_t rank = 0; rank < set_.world_size; ++rank) {
      if (next < set_.ranks.size() && set_.ranks[next].rank == rank) {
        ++next;
      } else {
        set_.missing.push_back(rank);
      }
    }
  }

  void find_steps() {
    std::map<std::int64_t, std::size_t> ranks_of_step;
    for (const RankDigest& digest : set_.ranks) {
      std::set<std::int64_t> own;
      for (const DigestStep& step : digest.steps) own.insert(step.number);
      for (const std::int64_t number : own) ++ranks_of_step[number];
    }
    for (const auto& [number, ranks] : ranks_of_step)
      if (ranks > 1) set_.step_numbers.push_back(number);
    for (const RankDigest& digest : set_.ranks) {
      const bool shares = std::any_of(digest.steps.begin(), digest.steps.end(),
                                      [&](const DigestStep& step) { return ranks_of_step[step.number] > 1; });
      if (!shares) set_.apart.push_back(*digest.rank);
    }
  }

  std::vector<RankDigest> digests_;
  std::map<std::int64_t, std::vector<RankDigest>> by_rank_;
  RankSet set_;
};

}  // namespace

RankSet make_rank_set(std::vector<RankDigest> digests) { return Sorter(std::move(digests)).sort(); }

bool is_job(const RankSet& set) { return set.ranks.size() > 1; }

}  // namespace accel::fusion
