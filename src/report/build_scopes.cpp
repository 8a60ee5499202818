// Modules, annotations and Python frames.
#include "analysis/python_frame.h"
#include "analysis/scope_tables/scope_tables.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

// Modules are the skeleton by which two runs are compared: few models have more.
constexpr std::size_t kModules = 1000;
constexpr std::size_t kScopes = 200;

void build_table(Build& build, const std::vector<ScopeRow>& rows, std::size_t limit, const char* key,
                 std::vector<Scope>& list) {
  const ScopeTables& tables = *build.results.scope_tables;
  const auto per_step = [&](std::int64_t ns) { return ms_of(static_cast<double>(ns) / tables.steps); };
  const std::size_t shown = build.shown(rows.size(), limit, key);
  for (std::size_t i = 0; i < shown; ++i) {
    const ScopeRow& row = rows[i];
    Scope entry;
    entry.name = valid_utf8(row.name);
    if (row.inside >= 0) entry.inside = valid_utf8(rows[static_cast<std::size_t>(row.inside)].name);
    if (const auto line = parse_frame(row.name)) {
      entry.file = valid_utf8(line->file);
      entry.line = line->line;
    }
    entry.library = row.library;
    entry.count = number_or(static_cast<double>(row.count) / tables.steps, 0);
    entry.host_self_ms = per_step(row.host_self_ns);
    entry.host_ms = per_step(row.host_ns);
    entry.device_self_ms = per_step(row.device_self_ns);
    entry.device_ms = per_step(row.device_ns);
    if (tables.backward_known) {
      entry.backward_self_ms = per_step(row.backward_self_ns);
      entry.backward_device_ms = per_step(row.backward_device_ns);
    }
    entry.dtype = joined_types(build, row.types);
    list.push_back(std::move(entry));
  }
}

}  // namespace

void build_scopes(Build& build) {
  for (const std::string key : {"modules[]", "annotations[]", "frames[]"}) {
    build.reasons[key + ".inside"] = "no other row encloses it, or not the same one at every call";
    build.reasons[key + ".file"] = "the recording names no file for it";
    build.reasons[key + ".line"] = "the recording names no file for it";
    build.reasons[key + ".backward_self_ms"] = "the recording has no backward nodes with sequence numbers";
    build.reasons[key + ".backward_device_ms"] = "the recording has no backward nodes with sequence numbers";
    build.reasons[key + ".dtype"] = "no device work of its own, or recorded without record_shapes=True";
  }
  if (!build.results.scope_tables || build.results.scope_tables->steps == 0) return;
  const ScopeTables& tables = *build.results.scope_tables;
  build_table(build, tables.modules, kModules, "modules", build.document.modules);
  build_table(build, tables.annotations, kScopes, "annotations", build.document.annotations);
  build_table(build, tables.frames, kScopes, "frames", build.document.frames);
}

}  // namespace accel::report
