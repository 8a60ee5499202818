// Where PCI devices sit, from sysfs: the bridges above a device, its processors, the network cards of the host. The
// words are those of `nvidia-smi topo -m`. C library only.
#pragma once

#include <cstddef>

namespace accel::runtime {

struct PciPlace {
  char path[256] = {};       // /sys/devices/pci0000:15/0000:15:01.0/...; empty: not there
  char processors[64] = {};  // "0-31"; empty: not stated
  int numa_node = -1;
};

// `address`: 0000:18:00.0 in any case, with a domain of 4 or 8 digits.
PciPlace place_of(const char* address);

// PIX, PXB, PHB, NODE or SYS; null where one of the places is not known.
const char* path_word(const PciPlace& a, const PciPlace& b);

struct NetworkCard {
  char name[32] = {};  // mlx5_0, eth0
  PciPlace place;
};

// Cards with a PCI address: those of InfiniBand and RoCE by their verbs name, the others by their interface. By name.
std::size_t network_cards(NetworkCard* cards, std::size_t most);

}  // namespace accel::runtime
