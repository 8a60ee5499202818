#include "fusion/rank_set/rank_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fusion/digest/plausible.h"
#include "fusion/rank_set/pipeline_stages.h"

namespace accel::fusion {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;  // larger world sizes are damage

// Ranks of one recording begin within this, clocks that disagree by 10 s both ways included.
constexpr double kOneRecording = 40e9;  // ns
constexpr double kTogether = 1e9;       // ns; files of one rank that begin so near to each other are of one recording

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

  // Of several recordings of one rank the one that fits the others: nearest in time to where most ranks have a file; of
  // those that begin together the one that holds most.
  void keep_one_each() {
    const std::int64_t anchor = where_most_are();
    const auto distance = [&](const RankDigest& file) {
      const double apart = static_cast<double>(file.time_range.start_ns) - static_cast<double>(anchor);
      return apart < 0 ? -apart : apart;
    };
    const auto rating = [&](const RankDigest& file) {
      return std::pair(std::floor(distance(file) / kTogether), -static_cast<double>(file.source_events));
    };
    for (auto& [rank, files] : by_rank_) {
      const auto best = std::min_element(
          files.begin(), files.end(), [&](const RankDigest& a, const RankDigest& b) { return rating(a) < rating(b); });
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

  // The middle of the stretch of time in which most ranks have a file; of several such the one with most events, then
  // the earliest.
  std::int64_t where_most_are() const {
    struct File {
      std::int64_t start = 0;
      std::int64_t rank = 0;
      std::uint64_t events = 0;
    };
    std::vector<File> files;
    for (const auto& [rank, of_rank] : by_rank_)
      for (const RankDigest& file : of_rank) files.push_back({file.time_range.start_ns, rank, file.source_events});
    if (files.empty()) return 0;
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
      return std::tie(a.start, a.rank, a.events) < std::tie(b.start, b.rank, b.events);
    });
    std::map<std::int64_t, std::size_t> count;  // by rank, of the files from `first` to the one at work
    std::uint64_t events = 0;
    std::pair<std::size_t, std::uint64_t> most{0, 0};
    std::int64_t middle = 0;
    std::size_t first = 0;
    for (std::size_t last = 0; last < files.size(); ++last) {
      ++count[files[last].rank];
      events += files[last].events;
      while (static_cast<double>(files[last].start) - static_cast<double>(files[first].start) > kOneRecording) {
        if (--count[files[first].rank] == 0) count.erase(files[first].rank);
        events -= files[first++].events;
      }
      if (std::pair(count.size(), events) <= most) continue;
      most = {count.size(), events};
      middle = files[first + (last - first) / 2].start;
    }
    return middle;
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
