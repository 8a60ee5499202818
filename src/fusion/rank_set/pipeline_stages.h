// Which stage of a pipeline each rank is, from whom it sends to and receives from. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/digest/digest.h"

namespace accel::fusion {

// By row of `ranks`: its position among the ranks that sends and receives connect, in the order of their numbers. All 0
// where nothing is sent, or where every send goes with a receive in one operation: that is an exchange among equals
// (a ring of attention or of halos), not a pipeline.
std::vector<std::uint32_t> pipeline_stages(const std::vector<RankDigest>& ranks);

// The rank of the job that a send or receive of `digest` names, if it is read as a rank of the job, or as a position
// in its group; kNotRecorded where that is impossible. Producers write the one or the other.
std::int64_t peer_as_rank(const CommunicationEvent& event);
std::int64_t peer_as_position(const RankDigest& digest, const CommunicationEvent& event);

// Which of the two readings makes more sends meet their receive, over all ranks and groups of one name.
class PeerReading {
 public:
  explicit PeerReading(const std::vector<RankDigest>& ranks);
  std::int64_t peer(const RankDigest& digest, const CommunicationEvent& event) const {
    return positions_ ? peer_as_position(digest, event) : peer_as_rank(event);
  }

 private:
  bool positions_ = false;
};

}  // namespace accel::fusion
