// The report of a job: a Document from the fused ranks. Pure; any thread.
#pragma once

#include "diagnosis/diagnosis.h"
#include "fusion/job.h"
#include "report/build_document.h"
#include "report/document.h"

namespace accel::report {

Document build_job_document(const fusion::Job& job, const Diagnosis& diagnosis, const BuildOptions& options);

}  // namespace accel::report
