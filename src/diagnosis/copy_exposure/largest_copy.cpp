#include "diagnosis/copy_exposure/largest_copy.h"

#include "diagnosis/source_location.h"

namespace accel {

void add_place_of_largest(Finding& finding, const TraceStore& store, const StepView& view, const CopyGroup& copies) {
  if (!copies.largest.valid()) return;
  const SliceId launch = store.device_events.launch[copies.largest.value];
  if (!launch.valid()) return;
  const SliceId op = store.enclosing_op(launch);
  Location location = locate(store, op.valid() ? op : launch);
  location.device = view.device;
  finding.where.push_back(location);
}

}  // namespace accel
