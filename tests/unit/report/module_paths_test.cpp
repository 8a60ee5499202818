#include "report/module_paths.h"

#include <gtest/gtest.h>

namespace accel::report {
namespace {

Scope module(const char* name, const char* inside) {
  Scope scope;
  scope.name = std::string("nn.Module: ") + name;
  if (*inside != 0) scope.inside = std::string("nn.Module: ") + inside;
  return scope;
}

TEST(ModulePaths, AnotherLayerRenumbersObjectsButMovesNoPath) {
  const auto before = module_paths({module("Net_0", ""), module("Linear_0", "Net_0"), module("Block_0", "Net_0"),
                                    module("Linear_1", "Block_0"), module("Linear_2", "Block_0")});
  const auto after = module_paths({module("Net_0", ""), module("Linear_0", "Net_0"), module("Head_0", "Net_0"),
                                   module("Linear_1", "Head_0"), module("Block_0", "Net_0"),
                                   module("Linear_3", "Block_0"), module("Linear_2", "Block_0")});
  EXPECT_EQ(before,
            (std::vector<std::string>{"Net", "Net/Linear", "Net/Block", "Net/Block/Linear[0]", "Net/Block/Linear[1]"}));
  EXPECT_EQ(after[5], "Net/Block/Linear[1]");
  EXPECT_EQ(after[6], "Net/Block/Linear[0]");
  EXPECT_EQ(after[3], "Net/Head/Linear");
}

TEST(ModulePaths, RowsThatNestInACircleEnd) {
  const auto paths = module_paths({module("A_0", "B_0"), module("B_0", "A_0"), module("C", "C"), module("_1", "")});
  EXPECT_EQ(paths.size(), 4U);
  EXPECT_EQ(paths[2], "C");
}

}  // namespace
}  // namespace accel::report
