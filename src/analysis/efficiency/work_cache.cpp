#include "analysis/efficiency/work_cache.h"

#include <algorithm>

namespace accel {

ArgsId WorkCache::args_of(SliceId slice) const {
  if (!slice.valid() || store_.slices.kind[slice.value] != SliceKind::op || !store_.slices.detail[slice.value].valid())
    return {};
  const ArgsId args = store_.op_details.args[store_.slices.detail[slice.value].value];
  return args.valid() && store_.op_args.dims[args.value].valid() ? args : ArgsId();
}

const WorkCache::Entry* WorkCache::of_slice(SliceId slice) {
  const ArgsId args = args_of(slice);
  if (!args.valid()) return nullptr;
  const StringId name = store_.slices.name[slice.value];
  Last& last = last_[args.value];
  if (last.entry != nullptr && last.name == name) return last.entry;
  const std::uint64_t key = (std::uint64_t{name.value} << 32U) | args.value;
  const Entry*& known = others_[key];
  if (known == nullptr) {
    Entry& entry = entries_.emplace_back();
    const OpInputs inputs = read_inputs(store_, args);
    entry.work = work_of(store_.text(name), inputs);
    for (const OpInput& input : inputs.inputs) {
      if (input.is_tensor()) entry.largest_elements = std::max(entry.largest_elements, elements(input.shape));
      for (const Shape& shape : input.list) entry.largest_elements = std::max(entry.largest_elements, elements(shape));
    }
    if (entry.work.type == TensorType::unknown) {
      for (const OpInput& input : inputs.inputs) {
        if (!input.is_tensor()) continue;
        entry.work.type = input.type;
        break;
      }
    }
    known = &entry;
  }
  last = {name, known};
  return known;
}

}  // namespace accel
