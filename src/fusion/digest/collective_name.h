// Words of communication: the canonical name of a collective from whatever a producer calls it, element sizes, lists of
// ranks. Pure functions of texts that may hold anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accel::fusion {

// "allreduce", "_allreduce_base", "nccl:all_reduce", "c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"
// -> "all_reduce". Empty for what names no collective.
std::string_view canonical_collective(std::string_view recorded);

// Sent or received between two ranks rather than by all of a group.
bool is_point_to_point(std::string_view canonical);
// One rank sends and the others receive, or the reverse: ranks may leave before the last has arrived, so that their
// ends say nothing about each other.
bool is_one_sided(std::string_view canonical);

// Bytes over the links per byte of message and rank, as nccl-tests count it; 0 for what has no such factor.
double bus_factor(std::string_view canonical, std::size_t ranks);

// Bytes of one element of "Float", "BFloat16", "c10::Half", "float", ...; 0 = unknown.
std::int64_t element_bytes(std::string_view dtype);

// "[0, 1, 5]" ascending; empty for what is no list of whole numbers ("[0, 1, ..., 7]" is cut and says nothing).
std::vector<std::int64_t> parse_ranks(std::string_view text);

}  // namespace accel::fusion
