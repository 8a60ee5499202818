// Real traces of other people, each with the anomalies that an independent reader found in it: every anomaly shows up
// as a note. Skipped where the traces are not at hand. How ids and flows are written (pid_types, tid_types, flow_s_f)
// is no fault: ids of any width and kind are read, and links go by correlation, not by flows.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/analysis.h"
#include "analysis/step_segmentation.h"
#include "analysis/time_breakdown.h"
#include "ingest/importer.h"

namespace accel {
namespace {

using nlohmann::json;

const std::string kFolder = std::string(ACCEL_SOURCE_DIR) + "/../shared/traces/";

// The anomalies stand inside prose, as a JSON object after "anomalies=".
json anomalies_of(const std::string& notes) {
  const std::size_t at = notes.find("anomalies=");
  if (at == std::string::npos) return json::object();
  const std::size_t open = notes.find('{', at);
  int depth = 0;
  for (std::size_t i = open; i < notes.size(); ++i) {
    depth += notes[i] == '{' ? 1 : notes[i] == '}' ? -1 : 0;
    if (depth == 0) return json::parse(notes.substr(open, i - open + 1), nullptr, false);
  }
  return json::object();
}

struct PublicTrace {
  std::string file;
  std::uint64_t events = 0;
  json anomalies;
};

std::vector<PublicTrace> public_traces() {
  std::vector<PublicTrace> traces;
  std::ifstream index(kFolder + "public/INDEX.tsv");
  std::string line;
  std::getline(index, line);
  while (std::getline(index, line)) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    if (cells.size() < 11 || cells[4] != "trace" || cells[0].find("speedscope") != std::string::npos) continue;
    std::string notes = cells[10];
    // Cells of a spreadsheet double their quotes.
    for (std::size_t at = notes.find("\"\""); at != std::string::npos; at = notes.find("\"\"", at + 1))
      notes.erase(at, 1);
    traces.push_back({cells[0], std::stoull(cells[5]), anomalies_of(notes)});
  }
  return traces;
}

TEST(PublicTraces, EveryAnomalyIsANoteAndEveryBreakdownAddsUp) {
  const std::vector<PublicTrace> traces = public_traces();
  if (traces.empty()) GTEST_SKIP() << "no shared traces";
  const std::map<std::string, std::vector<NoteCode>> expected = {
      {"max_gpu_events_per_launch", {NoteCode::graph_replay}},
      {"same_stream_overlap", {NoteCode::same_stream_overlap}},
      {"cpu_crossing_ranges", {NoteCode::crossing_ranges, NoteCode::unclosed_frames}},
      {"gpu_without_launch", {NoteCode::device_without_launch}},
      {"gpu_no_external_id", {NoteCode::external_id_missing}},
      {"gpu_no_correlation", {NoteCode::correlation_missing}},
      {"id_out_of_uint32", {NoteCode::wide_ids}},
      {"zero_dur", {NoteCode::zero_duration_host, NoteCode::zero_duration_device}},
  };
  std::size_t checked = 0;
  for (const PublicTrace& trace : traces) {
    SCOPED_TRACE(trace.file);
    Result<TraceStore> store = import_trace(kFolder + trace.file, {});
    ASSERT_TRUE(store.ok()) << store.error().message;
    if (store->input.events < trace.events / 2)
      continue;  // two lines of the index name one path; the file is the other's
    const Result<AnalysisResults> results = run_analyses(*store, {});
    ASSERT_TRUE(results.ok());
    NoteList notes = store->notes;
    notes.add_all(results->notes);
    for (const auto& [anomaly, figures] : trace.anomalies.items()) {
      const auto codes = expected.find(anomaly);
      if (codes == expected.end()) continue;
      // Process -1 is where the recorder keeps its own rows, and a synchronisation of all streams is on stream -1.
      const bool conventional = figures == json{"pid"} || !store->device_syncs.empty();
      if (anomaly == "id_out_of_uint32" && conventional) continue;
      ++checked;
      EXPECT_TRUE(std::any_of(codes->second.begin(), codes->second.end(), [&](NoteCode code) {
        return notes.find(code) != nullptr;
      })) << anomaly;
    }
    for (const DeviceBreakdown& device : results->time_breakdown->devices) {
      for (const TimeParts* parts : {&device.measured, &device.undisturbed}) {
        std::int64_t causes = 0;
        for (const std::int64_t cause : parts->idle_causes) {
          EXPECT_GE(cause, 0);
          causes += cause;
        }
        EXPECT_EQ(causes, parts->idle_ns);
      }
    }
  }
  EXPECT_GT(checked, 30U);
}

}  // namespace
}  // namespace accel
