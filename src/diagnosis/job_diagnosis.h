// The diagnosis of a fused job: the rules about many ranks, the plan and the sentence a person would say. Pure.
#pragma once

#include "diagnosis/diagnosis.h"
#include "fusion/job.h"

namespace accel {

Diagnosis diagnose_job(const fusion::Job& job);

}  // namespace accel
