#include "runtime/sampler/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/buffer/clock.h"

namespace accel::runtime {
namespace {

const SamplerDescriptor& sampler(const char* id) {
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strcmp(all[i]->id, id) == 0) return *all[i];
  }
  ADD_FAILURE() << id;
  return *all[0];
}

std::vector<double> sampled(const SamplerDescriptor& of) {
  std::vector<double> values(kMaxSampleFields, std::nan(""));
  of.sample(monotonic_ns(), values.data());
  return values;
}

TEST(Sampler, every_sampled_built_in_number_has_a_sampler_and_every_name_is_one) {
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_LE(all[i]->field_count, kMaxSampleFields);
    for (std::size_t f = 0; f < all[i]->field_count; ++f) {
      EXPECT_TRUE(is_identifier(all[i]->fields[f].name));
      EXPECT_TRUE(names.insert(all[i]->fields[f].name).second) << all[i]->fields[f].name;
    }
  }
  for (std::uint16_t n = 0; n < kBuiltInCount; ++n) {
    const NumberDescriptor& number = describe(static_cast<BuiltIn>(n));
    const bool by_sampler = number.source == NumberSource::process || number.source == NumberSource::cgroup ||
                            number.source == NumberSource::nvml;
    const SampleField* field = nullptr;
    const SamplerDescriptor* found = sampler_of(std::string(number.name).c_str(), &field);
    EXPECT_EQ(found != nullptr, by_sampler) << number.name;
    if (found != nullptr) {
      EXPECT_EQ(found->source, number.source);
      EXPECT_EQ(field->unit, number.unit);
    }
  }
}

TEST(Sampler, the_process_sees_its_own_memory_and_processor_time) {
  const SamplerDescriptor& process = sampler("process");
  ASSERT_EQ(process.open(), nullptr);
  const std::vector<double> first = sampled(process);
  EXPECT_TRUE(std::isnan(first[0])) << "a share needs two samples";
  std::vector<char> memory(64 << 20, 1);
  volatile double sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
  const std::vector<double> second = sampled(process);
  EXPECT_GT(second[0], 0);
  EXPECT_LE(second[0], 1.5);
  EXPECT_GT(second[1] - first[1], 50e6);
  EXPECT_GT(second[2] + second[3], first[2] + first[3]);
  EXPECT_GT(second[5], first[5]);
  process.close();
  EXPECT_GT(memory[1000], 0);
}

TEST(Sampler, what_is_not_here_says_why_and_what_is_here_gives_sane_figures) {
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* why = all[i]->open();
    if (why != nullptr) {
      EXPECT_GT(std::strlen(why), 20U);
      continue;
    }
    const std::vector<double> values = sampled(*all[i]);
    for (std::size_t f = 0; f < all[i]->field_count; ++f) {
      if (std::isnan(values[f])) continue;
      EXPECT_GE(values[f], 0) << all[i]->fields[f].name;
      const std::string name = all[i]->fields[f].name;
      const bool share =
          name == "memory_usage" || name == "gpu_memory_usage" || name == "gpu_utilization" || name == "sm_active";
      EXPECT_TRUE(!share || values[f] <= 1.05) << name << " " << values[f];
    }
    all[i]->close();
  }
}

TEST(Sampler, the_documentation_lists_every_sampled_number) {
  std::ifstream in(std::string(ACCEL_SOURCE_DIR) + "/docs/formats/trigger.md");
  std::stringstream text;
  text << in.rdbuf();
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t f = 0; f < all[i]->field_count; ++f) {
      const std::string row =
          "| `" + std::string(all[i]->fields[f].name) + "` | " + all[i]->fields[f].unit + " | " + all[i]->id + " |";
      EXPECT_NE(text.str().find(row), std::string::npos) << row;
    }
  }
}

}  // namespace
}  // namespace accel::runtime
