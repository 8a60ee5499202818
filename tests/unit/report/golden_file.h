// Compares with a file beside the tests; ACCEL_UPDATE_GOLDEN=1 in the environment writes it instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace accel::report {

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(ACCEL_SOURCE_DIR) + "/tests/unit/report/golden/" + name;
  if (std::getenv("ACCEL_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, expected) << "to accept: ACCEL_UPDATE_GOLDEN=1";
}

}  // namespace accel::report
