// Which events of different ranks are one and the same collective. By process group (name and ranks), then by sequence
// number where the recorded ones agree with everything else, otherwise by step and order of issue within it. Never the
// n-th kernel of one file with the n-th of another: ranks of one job record different numbers of them. A send meets the
// receive of its step that is as far down the list of those two ranks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusion/rank_set/rank_set.h"

namespace accel::fusion {

enum class MatchMethod : std::uint8_t { none, sequence, step_order };
std::string_view to_string(MatchMethod method);

struct Member {
  std::uint32_t rank = 0;   // row of RankSet::ranks
  std::uint32_t event = 0;  // row of its events
  // Of that event, on the rank's own clock. They stand here too: in the order of collectives the events themselves lie
  // as far apart as the digests of a thousand ranks.
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t overlapped_ns = 0;

  double length_ns() const { return static_cast<double>(end_ns - start_ns); }
};

struct MatchedCollective {
  std::string name;  // canonical
  std::uint32_t group = 0;
  std::int64_t step = kNotRecorded;      // number of the step
  std::uint32_t index = 0;               // in its group and step
  std::int64_t sequence = kNotRecorded;  // as recorded
  std::int64_t bytes = kNotRecorded;     // of the largest member
  std::string dtype;
  bool complete = true;           // every rank of the group that is here took part
  bool in_complete_step = true;   // of all members
  std::uint32_t sender = kNoRow;  // of a send and the receive that it meets ("send_recv"): row of RankSet::ranks
  std::vector<Member> members;    // ascending by rank; at least two

  // The event `row` of `digest`, which is row `rank` of the set and comes after the ranks that are in already.
  void add(const RankDigest& digest, std::uint32_t rank, std::uint32_t row);
};

// Ranks meet in it: none leaves before all have come. Broadcasts and their like let the first go early; a send and its
// receive meet.
bool is_meeting(const MatchedCollective& collective);

struct MatchedGroup {
  std::string name;
  std::string description;
  std::vector<std::int64_t> ranks;     // global; empty: not recorded
  std::vector<std::uint32_t> present;  // rows of RankSet::ranks that have events of the group
  MatchMethod method = MatchMethod::none;
  std::string why;  // why not by sequence number; empty when it is
  std::uint64_t matched = 0;
  std::uint64_t unmatched = 0;  // events without a partner
};

// Ranks that did not issue the same operations: where they part, first place of each group.
struct Divergence {
  std::uint32_t group = 0;
  std::int64_t step = kNotRecorded;
  std::uint32_t index = 0;
  std::vector<std::int64_t> ranks;  // those that differ from most
  std::string they_issue;           // "all_gather of 64 bytes", "nothing"
  std::string others_issue;
  bool records_lost = false;  // their recording lost records: the job itself may be in order
};

struct CollectiveMatching {
  std::vector<MatchedGroup> groups;
  std::vector<MatchedCollective> collectives;  // by step, group, index
  std::vector<Divergence> divergences;
};

CollectiveMatching match_collectives(const RankSet& set);

}  // namespace accel::fusion
