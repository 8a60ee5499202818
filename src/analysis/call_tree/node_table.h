// Nodes of a call tree under construction, found by parent, name and kind: a table of node numbers with open addressing
// beside the nodes themselves, since there may be a node for every event. Internal to call_tree.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/call_tree/call_tree.h"

namespace accel {

class NodeTable {
 public:
  NodeTable() : slots_(kFirstSlots, 0) {}

  // The root first; no other node is found by it.
  void add_root() { nodes.emplace_back(); }

  // The child of `parent` of this name and kind; made with `flags` when there is none.
  std::uint32_t child(std::uint32_t parent, std::uint32_t name, CallKind kind, std::uint8_t flags) {
    std::size_t slot = place(parent, name, kind);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const CallNode& node = nodes[slots_[slot]];
      if (node.parent == parent && node.name == name && node.kind == kind) return slots_[slot];
    }
    const auto made = static_cast<std::uint32_t>(nodes.size());
    slots_[slot] = made;
    CallNode& node = nodes.emplace_back();
    node.parent = parent;
    node.name = name;
    node.kind = kind;
    node.flags = flags;
    if (nodes.size() * 2 > slots_.size()) grow();
    return made;
  }

  std::vector<CallNode> nodes;

 private:
  static constexpr std::size_t kFirstSlots = 1024;  // a power of two

  std::size_t place(std::uint32_t parent, std::uint32_t name, CallKind kind) const {
    std::uint64_t key = (static_cast<std::uint64_t>(parent) << 32 | name) + static_cast<std::uint64_t>(kind);
    key *= 0x9e3779b97f4a7c15ULL;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93ULL;
    return static_cast<std::size_t>(key >> 32) & (slots_.size() - 1);
  }

  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
      std::size_t slot = place(nodes[i].parent, nodes[i].name, nodes[i].kind);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = i;
    }
  }

  std::vector<std::uint32_t> slots_;  // 0: free; the root has no slot
};

}  // namespace accel
