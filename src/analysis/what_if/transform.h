// Applies transformations to a step graph. Pure: the graph that comes in stays as it is. Linear in the trace's names
// and the graph for each transformation.
#pragma once

#include <span>

#include "analysis/event_index.h"
#include "analysis/step_graph/step_graph.h"
#include "analysis/transformation.h"
#include "trace/trace_store.h"

namespace accel {

struct Efficiency;

// Which of a transformation's shares applies.
enum class Outcome : std::uint8_t { expected, best, worst };

struct TransformContext {
  const TraceStore& store;
  const EventIndex& index;
  const Efficiency* efficiency = nullptr;  // for roofline; null: it changes nothing
};

StepGraph transformed(const StepGraph& graph, const TransformContext& context,
                      std::span<const Transformation> transformations, Outcome outcome);

}  // namespace accel
