// The parts that findings about a job have in common. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "diagnosis/rule.h"
#include "fusion/job.h"

namespace accel {

// Cost, share and severity set, and the claim on the communication that it explains.
Finding new_job_finding(const JobInput& input, std::string_view rule, double cost_ns);

// The step less what is saved: expected, least and most.
void set_job_gain(Finding& finding, const JobInput& input, const fusion::TimeBand& saved);

// "rank 3 on host node7", "rank 3".
std::string rank_text(const fusion::Job& job, std::uint32_t row);
// Where in the job it is, with the device on which it communicates.
Location rank_location(const fusion::Job& job, std::uint32_t row, std::string_view kind, std::string_view name);
// "All-reduce" of the operation that most of its group's time goes to; "Communication" without one.
std::string operation_text(const std::string& canonical);

// The value of evidence whose text says it all.
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// Over which path a group of CollectiveMatching::groups communicates, what that carries and what is reached of it; that
// it is not known, and why, where it is not.
std::string path_text(const fusion::Job& job, std::size_t group);

// The shortest exposed communication of any rank, per step: what is left when nobody waits.
double transfer_exposed_ns(const fusion::Job& job);

}  // namespace accel
