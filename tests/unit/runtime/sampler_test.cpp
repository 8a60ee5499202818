#include "runtime/sampler/sampler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/buffer/clock.h"
#include "unit/format/native_files.h"

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
                            number.source == NumberSource::nvml || number.source == NumberSource::network;
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

// Values by name after `times` samples a second apart.
std::map<std::string, double> named(const SamplerDescriptor& of, int times) {
  std::map<std::string, double> values;
  for (int i = 0; i < times; ++i) {
    std::vector<double> sample(kMaxSampleFields, std::nan(""));
    of.sample(1'000'000'000 + std::int64_t{i} * 100'000'000, sample.data());
    for (std::size_t f = 0; f < of.field_count; ++f) {
      if (!std::isnan(sample[f])) values[of.fields[f].name] = sample[f];
    }
  }
  return values;
}

TEST(Sampler, the_device_gives_clocks_reasons_errors_and_link_and_throws_pairs_without_a_refresh_away) {
  const format::TemporaryFolder folder;
  ::setenv("ACCEL_PROFILER_RUNTIME_DIR", folder.path().c_str(), 1);
  const std::string library =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so").string();
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) GTEST_SKIP() << ::dlerror();
  const SamplerDescriptor& nvml = sampler("nvml");
  ASSERT_EQ(nvml.open(), nullptr);
  std::vector<double> sm_active;
  for (int i = 0; i < 8; ++i) {
    std::vector<double> values(kMaxSampleFields, std::nan(""));
    nvml.sample(std::int64_t{i} * 100'000'000, values.data());
    for (std::size_t f = 0; f < nvml.field_count; ++f) {
      if (nvml.fields[f].name == std::string("sm_active")) sm_active.push_back(values[f]);
    }
  }
  EXPECT_TRUE(std::isnan(sm_active[0])) << "one sample is no interval";
  EXPECT_GE(std::count_if(sm_active.begin(), sm_active.end(), [](double v) { return std::isnan(v); }), 3);
  for (const double value : sm_active) EXPECT_TRUE(std::isnan(value) || std::fabs(value - 0.949) < 1e-9) << value;
  const auto values = named(nvml, 3);
  EXPECT_EQ(values.at("gpu_memory_usage"), 0.25);
  EXPECT_EQ(values.at("gpu_utilization"), 0.5);
  EXPECT_EQ(values.at("sm_clock_mhz"), 1455);
  EXPECT_EQ(values.at("memory_clock_mhz"), 2619);
  EXPECT_EQ(values.at("gpu_power_w"), 700);
  EXPECT_EQ(values.at("gpu_temperature_c"), 61);
  EXPECT_EQ(values.at("gpu_clock_reasons"), 4);
  EXPECT_EQ(values.at("ecc_corrected"), 3);
  EXPECT_EQ(values.at("ecc_uncorrected"), 0);
  EXPECT_EQ(values.at("pcie_generation"), 5);
  EXPECT_EQ(values.at("pcie_width"), 8);
  EXPECT_EQ(values.count("pcie_replays"), 0U) << "what the device does not have is not 0";
  EXPECT_EQ(values.count("nvlink_sent_mib_s"), 0U);
  EXPECT_EQ(values.at("pcie_sent_mib_s"), 20);
  EXPECT_EQ(values.at("gpu_xid"), 79);
  EXPECT_EQ(values.at("gpu_xid_events"), 1);
  const pid_t other = ::fork();
  if (other == 0) {  // the lock belongs to the parent's open file, so another one is needed to ask
    const int lock = ::open((folder / "nvml-GPU-fake.lock").c_str(), O_RDWR | O_CLOEXEC);
    ::_exit(lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0 ? 0 : 1);
  }
  int status = 1;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0) << "one poller per device";
  nvml.close();
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(Sampler, the_network_is_summed_over_interfaces_and_ports_without_the_loopback) {
  const format::TemporaryFolder root;
  write_file(
      root / "proc/self/net/dev",
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
      "carrier compressed\n"
      "    lo: 999999   10    9    9    0     0          0         0   999999   10    9    9    0     0       0 0\n"
      "  eth0: 1000     10    1    2    0     0          0         0     2000   10    3    4    0     0       0 0\n"
      "  eth1: 500      10    0    0    0     0          0         0      500   10    0    0    0     0       0 0\n");
  write_file(root / "proc/self/net/snmp",
             "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails "
             "EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"
             "Tcp: 1 200 120000 -1 10 11 12 13 14 15 16 77 18 19 20\nUdp: InDatagrams\nUdp: 5\n");
  const std::filesystem::path port = root / "sys/class/infiniband/mlx5_0/ports/1/counters";
  write_file(port / "port_rcv_data", "1000\n");
  write_file(port / "port_xmit_data", "2000\n");
  write_file(port / "symbol_error", "2\n");
  write_file(port / "port_rcv_errors", "3\n");
  write_file(port / "link_downed", "1\n");
  const std::string path = root.path();
  set_system_root(path.c_str());
  const SamplerDescriptor& network = sampler("network");
  ASSERT_EQ(network.open(), nullptr);
  const auto values = named(network, 2);
  network.close();
  EXPECT_EQ(values.at("net_received_bytes"), 1500);
  EXPECT_EQ(values.at("net_sent_bytes"), 2500);
  EXPECT_EQ(values.at("net_errors"), 4);
  EXPECT_EQ(values.at("net_dropped"), 6);
  EXPECT_EQ(values.at("tcp_retransmits"), 77);
  EXPECT_EQ(values.at("ib_received_bytes"), 4000);
  EXPECT_EQ(values.at("ib_sent_bytes"), 8000);
  EXPECT_EQ(values.at("ib_errors"), 5);
  EXPECT_EQ(values.at("ib_link_downs"), 1);
  EXPECT_EQ(values.count("ib_discards"), 0U) << "a file that is not there is not 0";
  const format::TemporaryFolder empty;
  const std::string nothing = empty.path();
  set_system_root(nothing.c_str());
  EXPECT_NE(network.open(), nullptr);
  set_system_root("");
}

TEST(Sampler, the_frequency_of_the_cores_is_read_where_the_machine_has_it) {
  const format::TemporaryFolder root;
  for (int cpu = 0; cpu < 64; ++cpu)
    write_file(root / ("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq"), "2400000\n");
  const std::string path = root.path();
  set_system_root(path.c_str());
  const SamplerDescriptor& process = sampler("process");
  ASSERT_EQ(process.open(), nullptr);
  const auto values = named(process, 1);
  process.close();
  set_system_root("");
  EXPECT_EQ(values.at("cpu_frequency_mhz"), 2400);
  EXPECT_EQ(values.count("rss_bytes"), 0U) << "no /proc here: unknown, not 0";
}

}  // namespace
}  // namespace accel::runtime
