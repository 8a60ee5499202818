// What a writer is: plain data and one pure function from a Document to bytes. Writers are listed in catalog.def.
// Any thread; the bytes depend on the arguments alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"
#include "report/labels.h"

namespace accel::report {

struct Views;

// The report of one rank of a job, as a path from the job's own report.
struct RankReport {
  std::optional<std::int64_t> rank;
  std::string path;
};

// The call tree of one rank of a job, packed.
struct RankTree {
  std::optional<std::int64_t> rank;
  std::string columns;  // deflated JSON in base64
};

struct WriterOptions {
  Language language = Language::english;
  bool colour = false;                   // terminal: escape sequences allowed
  std::size_t columns = 100;             // terminal: width
  std::vector<std::string> files;        // terminal: where the report stands, to be named at the end
  std::vector<RankReport> rank_reports;  // html: of a job, where its ranks have reports of their own
  std::vector<RankTree> rank_trees;      // html: of a job, where its ranks were read from traces
  const Views* views = nullptr;          // html, perfetto: what goes beyond the Document; null: nothing
};

struct WriterDescriptor {
  std::string_view id;
  std::string_view title;
  std::string_view title_zh;
  std::string_view alias;      // short name for --format; may be empty
  std::string_view file_name;  // in the output folder; empty: goes to standard output
  std::string (*write)(const Document& document, const WriterOptions& options);
  // Why this program cannot write it; empty or no function: it can.
  std::string_view (*unavailable)() = nullptr;
  bool of_one_trace = false;  // shows the records of a trace: nothing to write of a comparison or a job
};

// All writers, in the order of catalog.def.
std::span<const WriterDescriptor> writers();
bool is_available(const WriterDescriptor& writer);
// By id or alias; null when there is none.
const WriterDescriptor* find_writer(std::string_view name);

}  // namespace accel::report
