#include "compare/tree_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace accel::compare {
namespace {

constexpr std::size_t kNamed = 100;

// A tree by hand; times of one step in ns. Totals are those of the parts.
class Tree {
 public:
  Tree() {
    tree_.steps = 1;
    tree_.names = {""};
    tree_.nodes.resize(1);
  }
  std::uint32_t add(std::uint32_t parent, CallKind kind, std::string_view name, std::int64_t host,
                    std::int64_t device = 0) {
    CallNode node;
    node.parent = parent;
    node.kind = kind;
    node.count = 1;
    node.host_self_ns = host;
    node.device_self_ns = device;
    const auto known = std::find(tree_.names.begin(), tree_.names.end(), name);
    node.name = static_cast<std::uint32_t>(known - tree_.names.begin());
    if (known == tree_.names.end()) tree_.names.emplace_back(name);
    tree_.nodes.push_back(node);
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }
  CallTree done() const {
    CallTree out = tree_;
    for (std::size_t i = out.nodes.size(); i-- > 0;) {
      out.nodes[i].host_total_ns += out.nodes[i].host_self_ns;
      out.nodes[i].device_total_ns += out.nodes[i].device_self_ns;
      if (i == 0) continue;
      out.nodes[out.nodes[i].parent].host_total_ns += out.nodes[i].host_total_ns;
      out.nodes[out.nodes[i].parent].device_total_ns += out.nodes[i].device_total_ns;
    }
    return out;
  }

 private:
  CallTree tree_;
};

const TreeChange* row_of(const TreeSplit& split, std::string_view name) {
  const auto at = std::find_if(split.rows.begin(), split.rows.end(),
                               [&](const TreeChange& row) { return row.path.back() == name; });
  return at == split.rows.end() ? nullptr : &*at;
}

void expect_sums(const TreeSplit& split) {
  std::int64_t host = split.host_rest_ns;
  std::int64_t device = split.device_rest_ns;
  for (const TreeChange& row : split.rows) {
    host += row.host_delta_ns();
    device += row.device_delta_ns();
  }
  EXPECT_EQ(host, split.host_delta_ns);
  EXPECT_EQ(device, split.device_delta_ns);
}

TEST(TreeAlignment, AModuleIsTheSameByItsPlaceWhateverItsNumber) {
  Tree before;
  auto main = before.add(0, CallKind::thread, "thread 10", 5);
  auto net = before.add(main, CallKind::module, "nn.Module: Net_0", 10);
  before.add(net, CallKind::module, "nn.Module: Linear_0", 100);
  before.add(net, CallKind::module, "nn.Module: Linear_1", 200);
  Tree after;
  main = after.add(0, CallKind::thread, "thread 77", 5);
  net = after.add(main, CallKind::module, "nn.Module: Net_0", 10);
  after.add(net, CallKind::module, "nn.Module: Embedding_0", 7);
  after.add(net, CallKind::module, "nn.Module: Linear_4", 100);
  after.add(net, CallKind::module, "nn.Module: Linear_5", 260);
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  expect_sums(split);
  ASSERT_EQ(split.rows.size(), 2U);
  EXPECT_EQ(split.rows[0].path.back(), "nn.Module: Linear_5");
  EXPECT_EQ(split.rows[0].before_name, "nn.Module: Linear_1");
  EXPECT_EQ(split.rows[0].host_delta_ns(), 60);
  EXPECT_EQ(split.rows[1].status, Status::appeared);
  EXPECT_EQ(split.host_delta_ns, 67);
}

TEST(TreeAlignment, AThreadIsTheSameWhateverTheSystemNumbersAndCallsIt) {
  Tree before;
  before.add(before.add(0, CallKind::thread, "thread 1557 (python3)", 0), CallKind::op, "AddmmBackward0", 50);
  Tree after;
  after.add(after.add(0, CallKind::thread, "thread 2104 (pt_autograd_0)", 0), CallKind::op, "AddmmBackward0", 20);
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  ASSERT_EQ(split.rows.size(), 1U);
  EXPECT_EQ(split.rows[0].status, Status::both);
  EXPECT_EQ(split.rows[0].host_delta_ns(), -30);
  EXPECT_EQ(split.same, 1U);
  EXPECT_EQ(split.renamed, 1U);
}

TEST(TreeAlignment, AFunctionThatMovedInItsFileIsTheSame) {
  Tree before;
  before.add(before.add(0, CallKind::thread, "main", 0), CallKind::frame, "train.py(12): step", 50);
  Tree after;
  after.add(after.add(0, CallKind::thread, "main", 0), CallKind::frame, "train.py(19): step", 80);
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  ASSERT_EQ(split.rows.size(), 1U);
  EXPECT_EQ(split.rows[0].status, Status::both);
  EXPECT_EQ(split.rows[0].host_delta_ns(), 30);
  EXPECT_EQ(split.renamed, 1U);
}

TEST(TreeAlignment, AnotherKernelOfTheSameOpIsAChangeOfName) {
  Tree before;
  auto mm = before.add(before.add(0, CallKind::thread, "main", 0), CallKind::op, "aten::mm", 10);
  before.add(before.add(mm, CallKind::call, "cudaLaunchKernel", 5), CallKind::kernel, "ampere_sgemm", 0, 900);
  Tree after;
  mm = after.add(after.add(0, CallKind::thread, "main", 0), CallKind::op, "aten::mm", 10);
  after.add(after.add(mm, CallKind::call, "cuLaunchKernelEx", 5), CallKind::kernel, "nvjet_sm90", 0, 300);
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  expect_sums(split);
  ASSERT_EQ(split.rows.size(), 1U);
  EXPECT_EQ(split.rows[0].before_name, "ampere_sgemm");
  EXPECT_EQ(split.rows[0].device_delta_ns(), -600);
}

TEST(TreeAlignment, ARangePutAroundWhatWasThereMovesNothing) {
  Tree before;
  auto main = before.add(0, CallKind::thread, "main", 0);
  before.add(main, CallKind::op, "aten::mm", 100);
  before.add(main, CallKind::op, "aten::add", 50);
  Tree after;
  main = after.add(0, CallKind::thread, "main", 0);
  const auto range = after.add(main, CallKind::annotation, "forward", 8);
  after.add(range, CallKind::op, "aten::mm", 100);
  after.add(range, CallKind::op, "aten::add", 55);
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  expect_sums(split);
  ASSERT_EQ(split.rows.size(), 2U);
  EXPECT_EQ(row_of(split, "forward")->status, Status::appeared);
  EXPECT_EQ(row_of(split, "aten::add")->status, Status::both);
  EXPECT_EQ(split.vanished, 0U);
}

TEST(TreeAlignment, ARangeAroundEachOfManyMovesNothing) {
  Tree before;
  Tree after;
  const auto old_main = before.add(0, CallKind::thread, "main", 0);
  const auto new_main = after.add(0, CallKind::thread, "main", 0);
  for (int i = 0; i < 100; ++i) {
    const std::string name = "aten::op" + std::to_string(i);
    before.add(old_main, CallKind::op, name, 10);
    after.add(after.add(new_main, CallKind::annotation, "range " + name, 3), CallKind::op, name, 10);
  }
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  expect_sums(split);
  EXPECT_EQ(split.rows.size(), 100U);
  EXPECT_EQ(split.appeared, 100U);
  EXPECT_EQ(split.same, 101U);
}

TEST(TreeAlignment, OnlyTheFirstRowsOfADeepTreeGetTheirPath) {
  Tree before;
  before.add(0, CallKind::thread, "main", 0);
  Tree after;
  auto node = after.add(0, CallKind::thread, "main", 0);
  for (int i = 0; i < 3000; ++i) node = after.add(node, CallKind::frame, "deep.py(1): f" + std::to_string(i), 3000 - i);
  before.add(1, CallKind::frame, "deep.py(1): g", 1);
  const TreeSplit split = compare_trees(before.done(), after.done(), 2);
  expect_sums(split);
  ASSERT_EQ(split.rows.size(), 3001U);
  EXPECT_EQ(split.rows[1].path.size(), 3U);
  EXPECT_TRUE(split.rows[2].path.empty());
}

TEST(TreeAlignment, FramesOfOneRunAloneAreLeftOut) {
  Tree before;
  auto main = before.add(0, CallKind::thread, "main", 0);
  before.add(before.add(main, CallKind::frame, "a.py(1): f", 30), CallKind::op, "aten::mm", 100);
  before.add(before.add(main, CallKind::frame, "a.py(9): g", 20), CallKind::op, "aten::mm", 100);
  Tree after;
  main = after.add(0, CallKind::thread, "main", 40);
  after.add(main, CallKind::op, "aten::mm", 190);
  const TreeSplit split = compare_trees(before.done(), after.done(), kNamed);
  expect_sums(split);
  EXPECT_TRUE(split.without_frames);
  EXPECT_EQ(row_of(split, "main")->host_delta_ns(), -10);
  EXPECT_EQ(row_of(split, "aten::mm")->host_delta_ns(), -10);
}

TEST(TreeAlignment, ATreeIsItselfToTheLastNode) {
  Tree tree;
  const auto main = tree.add(0, CallKind::thread, "main", 1);
  for (int i = 0; i < 50; ++i) tree.add(main, CallKind::op, "aten::op" + std::to_string(i), i, i);
  const TreeSplit split = compare_trees(tree.done(), tree.done(), kNamed);
  EXPECT_TRUE(split.rows.empty());
  EXPECT_EQ(split.same, 51U);
  EXPECT_EQ(split.host_rest_ns, 0);
}

}  // namespace
}  // namespace accel::compare
