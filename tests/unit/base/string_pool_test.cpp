#include "base/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace accel {
namespace {

TEST(StringPool, GivesEqualStringsOneIdAndKeepsBytesAsTheyAre) {
  StringPool pool;
  const std::string odd("a\0b\xff", 4);
  const StringId first = pool.intern(odd);
  EXPECT_EQ(pool.intern(odd), first);
  EXPECT_NE(pool.intern("a"), first);
  EXPECT_EQ(pool.view(first), odd);
  EXPECT_EQ(pool.find(odd), first);
  EXPECT_FALSE(pool.find("never seen").valid());
}

TEST(StringPool, HasTheEmptyStringAsIdZero) {
  StringPool pool;
  EXPECT_EQ(pool.intern("").value, 0U);
  EXPECT_EQ(pool.view(StringId()), "");
}

TEST(StringPool, KeepsViewsValidWhileItGrows) {
  StringPool pool;
  const std::string_view early = pool.view(pool.intern("early"));
  const std::string huge(1 << 20, 'x');
  EXPECT_EQ(pool.view(pool.intern(huge)), huge);
  for (int i = 0; i < 300000; ++i) pool.intern("name " + std::to_string(i));
  EXPECT_EQ(early, "early");
  EXPECT_EQ(pool.size(), 300003U);
  for (int i = 0; i < 300000; i += 997) {
    const std::string name = "name " + std::to_string(i);
    EXPECT_EQ(pool.view(pool.find(name)), name);
  }
}

TEST(StringPool, ForgetsAllButTheEmptyStringOnClear) {
  StringPool pool;
  pool.intern("gone");
  pool.clear();
  EXPECT_EQ(pool.size(), 1U);
  EXPECT_FALSE(pool.find("gone").valid());
  EXPECT_EQ(pool.view(pool.intern("new")), "new");
}

}  // namespace
}  // namespace accel
