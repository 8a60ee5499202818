// What counters of devices, hosts and networks say about a late rank: where it runs, and in which of them it differs
// from its peers. Pure.
#pragma once

#include "diagnosis/rule.h"
#include "fusion/job.h"

namespace accel {

// Adds where the rank runs (host, device with its bus address, nearest network card), then each counter in which it
// differs; without counters, that the cause is unknown beyond what the trace shows.
void add_counter_evidence(const fusion::Job& job, const fusion::Straggler& straggler, Finding& finding);

}  // namespace accel
