// The topology of a job's hosts: files that were named, what lies beside the traces, or what a capture holds of its own
// host. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fusion/topology/topology.h"
#include "trace/trace_store.h"

namespace CLI {
class App;
}

namespace accel::cli {

// Adds --topology, which may be repeated.
void add_topology(CLI::App& app, std::vector<std::string>& files);

// Outputs of nvidia-smi (topo -m, nvlink -s, --query-gpu), one after the other. Without any named, text files whose
// name holds "topo" or "nvlink" in the folders of the traces; such a file that is something else is passed over.
Result<std::optional<fusion::Topology>> find_topology(const std::vector<std::string>& named,
                                                      const std::vector<std::string>& traces);

// What the recorder of a native capture wrote of its host; nothing where it wrote none.
std::optional<fusion::Topology> recorded_topology(const TraceStore& store);

}  // namespace accel::cli
