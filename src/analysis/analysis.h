// What an analysis is: a descriptor (plain data) and one pure function from a TraceStore and earlier results to a typed
// result. Analyses are listed in catalog.def, in an order in which every analysis comes after those that it needs; the
// typed slots of AnalysisResults are generated from that list. run_analyses() runs them; nothing else keeps state.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/transformation.h"
#include "base/result.h"
#include "trace/trace_store.h"

namespace accel {

class Progress;

#define FRAMEWORK(name)
#define ANALYSIS(name, Type) struct Type;
#include "analysis/catalog.def"
#undef ANALYSIS

// One slot per analysis; null until it has run. Readers include the header of the type that they use.
struct AnalysisResults {
#define ANALYSIS(name, Type) std::shared_ptr<const Type> name;
#include "analysis/catalog.def"
#undef ANALYSIS
  // What the analyses found wrong or doubtful, on top of the store's own notes.
  NoteList notes;
};
#undef FRAMEWORK

struct AnalysisOptions {
  unsigned threads = 0;  // 0 = one per core
  Progress* progress = nullptr;
  std::string step_annotation;                       // a user range that marks steps, instead of ProfilerStep#N
  std::vector<std::vector<Transformation>> what_if;  // questions of the caller; each is a list that composes
  double health_kernel_share = 0.85;                 // the health line's bounds, shares of the undisturbed step
  double health_idle_share = 0.20;
};

struct AnalysisDescriptor {
  std::string_view id;
  std::string_view title;
  std::string_view title_zh;
  std::vector<std::string_view> needs;  // ids of earlier analyses
  std::string_view prose;               // what it computes, definitions and units; becomes a doc page
  Result<void> (*run)(const TraceStore& store, AnalysisResults& results, const AnalysisOptions& options);
};

// All analyses in the order of catalog.def.
const std::vector<AnalysisDescriptor>& analyses();

// Runs all analyses. The result depends on the store and the options alone, not on the number of threads.
Result<AnalysisResults> run_analyses(const TraceStore& store, const AnalysisOptions& options);

}  // namespace accel
