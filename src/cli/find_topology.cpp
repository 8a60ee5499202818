#include "cli/find_topology.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/ascii.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 8;

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > fusion::kLargestTopologyText)
    return Error{ErrorCode::out_of_range, "the file is too large to be a topology of nvidia-smi", path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::io, "the topology cannot be read", path};
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Result<void> add(const std::string& path, std::optional<fusion::Topology>& topology) {
  const auto text = read_text(path);
  if (!text) return text.error();
  fusion::Topology grown = topology.value_or(fusion::Topology{});
  if (auto added = fusion::add_to_topology(grown, *text, path); !added) return added;
  topology = std::move(grown);
  return {};
}

std::vector<std::string> beside(const std::vector<std::string>& traces) {
  std::set<fs::path> folders;
  for (const std::string& trace : traces)
    if (trace != "-") folders.insert(fs::path(trace).parent_path());
  std::vector<std::string> files;
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      const std::string name = ascii_lower(it->path().filename().string());
      if (name.ends_with(".txt") &&
          (name.find("topo") != std::string::npos || name.find("nvlink") != std::string::npos))
        files.push_back(it->path().string());
    }
  }
  // The matrix first: it gives the devices their order.
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    const bool matrix_a = ascii_lower(a).find("topo") != std::string::npos;
    const bool matrix_b = ascii_lower(b).find("topo") != std::string::npos;
    return matrix_a != matrix_b ? matrix_a : a < b;
  });
  if (files.size() > kMostFiles) files.resize(kMostFiles);
  return files;
}

}  // namespace

void add_topology(CLI::App& app, std::vector<std::string>& files) {
  app.add_option("--topology", files,
                 "output of nvidia-smi topo -m, nvlink -s or --query-gpu, for the paths between ranks [*topo*.txt and "
                 "*nvlink*.txt beside the traces, else what a native capture holds]")
      ->type_name("FILE");
}

Result<std::optional<fusion::Topology>> find_topology(const std::vector<std::string>& named,
                                                      const std::vector<std::string>& traces) {
  std::optional<fusion::Topology> topology;
  for (const std::string& path : named) {
    if (auto added = add(path, topology); !added) return added.error();
  }
  if (!named.empty()) return topology;
  for (const std::string& path : beside(traces)) {
    const auto added = add(path, topology);
    if (!added && added.error().code == ErrorCode::io) return added.error();
  }
  return topology;
}

std::optional<fusion::Topology> recorded_topology(const TraceStore& store) {
  const auto text = store.process.options.find("topology");
  if (text == store.process.options.end() || store.input.format != "native_binary") return std::nullopt;
  auto topology = fusion::read_topology(text->second, store.input.path);
  if (!topology) return std::nullopt;  // the capture is whole without it
  return std::move(*topology);
}

}  // namespace accel::cli
