// Real jobs for the tests of fusion: their digests, and the same with every rank's clock moved in the text of its file.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "fusion/digest/make_digest.h"
#include "fusion/job.h"
#include "ingest/importer.h"
#include "unit/ingest/stores.h"

namespace accel::fusion {

inline std::string shared_folder() { return std::string(ACCEL_SOURCE_DIR) + "/../shared/traces/"; }

inline std::vector<std::string> nccl2(const std::string& scenario) {
  const std::string path = shared_folder() + "h200/nccl2/" + scenario;
  return {path + ".rank0.json.gz", path + ".rank1.json.gz"};
}
inline std::vector<std::string> ddp(const std::string& scenario) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank)
    files.push_back(shared_folder() + "h200/ddp/ddp_" + scenario + ".rank" + std::to_string(rank) + ".json.gz");
  return files;
}
inline std::vector<std::string> dlrm() {
  std::vector<std::string> files;
  const std::string folder = shared_folder() + "public/facebookresearch__param/dlrm_8rank";
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// A clock that is wrong: `offset_ns` ahead at the first time of the file, and gaining `drift_ppm`.
struct WrongClock {
  std::int64_t offset_ns = 0;
  double drift_ppm = 0;
};

// Every "ts" of a trace as a wrong clock would have recorded it. Durations stay: they are off by parts per million.
inline std::string with_clock(const std::string& text, WrongClock clock) {
  constexpr std::string_view kKey = "\"ts\":";
  std::string out;
  out.reserve(text.size());
  bool begun = false;
  double first = 0;
  std::size_t done = 0;
  for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
    std::size_t from = at + kKey.size();
    while (from < text.size() && text[from] == ' ') ++from;
    std::size_t to = from;
    while (to < text.size() && (std::isdigit(static_cast<unsigned char>(text[to])) != 0 || text[to] == '.')) ++to;
    if (to == from) continue;
    // Whole microseconds and their decimals apart: a double would lose the nanoseconds.
    const std::string number = text.substr(from, to - from);
    const std::size_t dot = std::min(number.find('.'), number.size());
    std::int64_t ns = std::stoll(number.substr(0, dot)) * 1000;
    std::string decimals = dot < number.size() ? number.substr(dot + 1, 3) : "";
    decimals.resize(3, '0');
    ns += std::stoll(decimals);
    if (!begun) {
      begun = true;
      first = static_cast<double>(ns);
    }
    const double drift = (static_cast<double>(ns) - first) * clock.drift_ppm * 1e-6;
    ns += clock.offset_ns + std::llround(drift);
    out.append(text, done, from - done);
    const std::string rest = std::to_string(ns % 1000 + 1000).substr(1);
    out += std::to_string(ns / 1000) + "." + rest;
    done = to;
  }
  out.append(text, done, std::string::npos);
  return out;
}

inline RankDigest digest_of_text(const std::string& name, const std::string& text) {
  const auto store = import_source(memory_source(name, text), {});
  EXPECT_TRUE(store.ok()) << name;
  if (!store) return {};
  const auto results = run_analyses(*store, {});
  EXPECT_TRUE(results.ok());
  return make_digest(*store, *results);
}

inline std::vector<RankDigest> digests_of(const std::vector<std::string>& files,
                                          const std::vector<WrongClock>& clocks = {}) {
  std::vector<RankDigest> digests;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string text = testing::unpacked(files[i]);
    digests.push_back(digest_of_text(files[i], i < clocks.size() ? with_clock(text, clocks[i]) : text));
  }
  return digests;
}

inline bool absent(const std::vector<std::string>& files) {
  return files.empty() || !std::filesystem::exists(files.front());
}

}  // namespace accel::fusion
