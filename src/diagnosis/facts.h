// What several rules need to know and no analysis says in their words; computed once per diagnosis, then constant.
#pragma once

#include "diagnosis/allocator_calls.h"
#include "diagnosis/copy_exposure.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/host_work.h"
#include "diagnosis/step_view.h"

namespace accel {

struct Facts {
  StepView view;
  CopyExposure copies;
  HostWork host_work;
  AllocatorCalls allocator_calls;
  HostIdle host_idle;
};

Facts gather_facts(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel
