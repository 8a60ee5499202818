// The readers of single outputs, for read_topology() alone. Each takes the lines of a file, uses those that are its own
// and says whether there were any. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "fusion/topology/topology.h"

namespace accel::fusion {

// `nvidia-smi topo -m`: devices, links, affinities, names of the network cards.
Result<bool> read_matrix(const std::vector<std::string>& lines, Topology& topology);
// `nvidia-smi nvlink -s`: links of each GPU and their speeds, product, UUID.
Result<bool> read_nvlink_status(const std::vector<std::string>& lines, Topology& topology);
// `nvidia-smi --query-gpu=index,name,pci.bus_id,pcie.link.gen.current,pcie.link.width.current --format=csv`.
Result<bool> read_gpu_query(const std::vector<std::string>& lines, Topology& topology);

// The GPU of that index, added without links where the matrix has none.
Result<TopologyDevice*> gpu_of_index(Topology& topology, std::int64_t index);

}  // namespace accel::fusion
