#include "runtime/topology/topology.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fusion/topology/path.h"
#include "fusion/topology/topology.h"
#include "ingest/importer.h"
#include "runtime/sampler/nvml_library.h"
#include "runtime/sampler/sampler.h"
#include "runtime/topology/pci_path.h"
#include "unit/format/native_files.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// A device below `bridges`, with the link under which the kernel also names it.
void make_device(const fs::path& root, const std::string& path, int node, const fs::path& link) {
  const fs::path folder = root / "sys/devices" / path;
  fs::create_directories(folder);
  write_file(folder / "numa_node", std::to_string(node) + "\n");
  write_file(folder / "local_cpulist", node == 0 ? "0-31\n" : "32-63\n");
  fs::create_directories((root / link).parent_path());
  fs::create_symlink(folder, root / link);
}

class RecordedTopology : public testing::Test {
 protected:
  void SetUp() override {
    library_ = fs::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so";
    if (::dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) GTEST_SKIP() << ::dlerror();
    // Two GPUs and a card below one switch; a third GPU in the same root, the fourth and another card elsewhere.
    make_device(root_.path(), "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", 0,
                "sys/bus/pci/devices/0000:18:00.0");
    make_device(root_.path(), "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0", 0,
                "sys/bus/pci/devices/0000:19:00.0");
    make_device(root_.path(), "pci0000:15/0000:15:02.0/0000:1a:00.0", 0, "sys/bus/pci/devices/0000:1a:00.0");
    make_device(root_.path(), "pci0000:80/0000:80:01.0/0000:1b:00.0", 1, "sys/bus/pci/devices/0000:1b:00.0");
    make_device(root_.path(), "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:20:00.0", 0,
                "sys/class/infiniband/mlx5_0/device");
    fs::create_directories((root_ / "sys/class/net/ib0").string());
    fs::create_symlink(root_ / "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:20:00.0",
                       root_ / "sys/class/net/ib0/device");  // the same card under its other name
    make_device(root_.path(), "pci0000:80/0000:80:02.0/0000:90:00.0", 1, "sys/class/net/eth0/device");
    make_device(root_.path(), "virtual/net/docker0", -1, "sys/class/net/docker0/device");
    path_ = root_.path();
    set_system_root(path_.c_str());
    ::setenv("FAKE_NVML_GPUS", "4", 1);
    ::setenv("LOCAL_RANK", "1", 1);
  }
  void TearDown() override {
    set_system_root("");
    ::unsetenv("FAKE_NVML_GPUS");
    ::unsetenv("LOCAL_RANK");
  }

  const format::TemporaryFolder root_;
  std::string path_;
  fs::path library_;
};

TEST_F(RecordedTopology, is_what_the_path_analysis_reads_of_nvidia_smi) {
  ASSERT_EQ(nvml::open_library(), nullptr);
  std::string text(std::size_t{1} << 16, 0);
  DeviceLink own;
  text.resize(write_topology(text.data(), text.size(), own));
  const auto read = fusion::read_topology(text, "test");
  ASSERT_TRUE(read.ok()) << read.error().message << text;
  EXPECT_TRUE(read->doubts.empty()) << read->doubts.front();
  ASSERT_EQ(read->gpu_count(), 4U) << text;
  ASSERT_EQ(read->devices.size(), 6U) << "four GPUs, two cards; one card has two names and one interface no card";
  EXPECT_EQ(fusion::to_string(read->link(0, 1)), "NV17") << "one link of eighteen is down";
  EXPECT_EQ(fusion::to_string(read->link(0, 3)), "SYS") << "by the driver's word: the last one has no NVLink";
  EXPECT_EQ(fusion::to_string(read->link(2, 3)), "NODE");
  EXPECT_EQ(read->devices[4].card, "eth0");
  EXPECT_EQ(read->devices[5].card, "mlx5_0");
  EXPECT_EQ(fusion::to_string(read->link(0, 5)), "PIX") << "by sysfs: the port of a switch between them";
  EXPECT_EQ(fusion::to_string(read->link(2, 5)), "PHB");
  EXPECT_EQ(fusion::to_string(read->link(3, 5)), "SYS");
  EXPECT_EQ(fusion::to_string(read->link(3, 4)), "PHB");
  EXPECT_EQ(read->devices[0].product, "NVIDIA H200");
  EXPECT_EQ(read->devices[0].cpu_affinity, "0-31");
  EXPECT_EQ(read->devices[3].numa, "1");
  EXPECT_EQ(read->devices[0].nvlinks_gbps.size(), 17U);
  EXPECT_EQ(read->devices[0].nvlinks_inactive, 1);
  EXPECT_EQ(read->devices[0].pcie_generation, 5);
  EXPECT_EQ(read->devices[0].pcie_width, 8);
  const fusion::Path path = fusion::path_between(&*read, {0, "h", 0, ""}, {1, "h", 1, ""});
  EXPECT_EQ(fusion::describe(path), "NVLink 4, 17 links");
  EXPECT_NEAR(path.expected_gbps.value_or(0), 17 * 26.562, 0.01);
}

TEST_F(RecordedTopology, a_text_that_does_not_fit_ends_with_a_whole_word_and_is_no_crash) {
  ASSERT_EQ(nvml::open_library(), nullptr);
  char text[300];
  DeviceLink own;
  for (std::size_t size = 1; size < sizeof text; ++size) {
    const std::size_t length = write_topology(text, size, own);
    ASSERT_LT(length, size);
    ASSERT_EQ(text[length], 0);
  }
}

TEST_F(RecordedTopology, the_bridges_between_two_devices_give_the_words_of_the_driver) {
  const PciPlace gpu = place_of("00000000:18:00.0");
  EXPECT_EQ(gpu.numa_node, 0);
  EXPECT_STREQ(gpu.processors, "0-31");
  EXPECT_STREQ(path_word(gpu, place_of("0000:19:00.0")), "PIX");
  EXPECT_STREQ(path_word(gpu, place_of("0000:1A:00.0")), "PHB");
  EXPECT_STREQ(path_word(gpu, place_of("0000:1b:00.0")), "SYS");
  EXPECT_EQ(path_word(gpu, place_of("0000:77:00.0")), nullptr) << "what is not there has no path";
  EXPECT_EQ(place_of("no address").path[0], 0);
}

TEST_F(RecordedTopology, stands_in_the_capture_of_a_program) {
  const fs::path program =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "examples/example_cpp_slow_loader";
  if (!fs::exists(program)) GTEST_SKIP() << "the example is not built";
  const format::TemporaryFolder folder;
  // Found by name, not preloaded: a sanitizer's own library has to come first.
  const format::TemporaryFolder libraries;
  fs::create_symlink(library_, libraries.path() / "libnvidia-ml.so.1");
  const std::string command = "FAKE_NVML_GPUS=2 LD_LIBRARY_PATH=" + libraries.path().string() + " " + program.string() +
                              " --output " + folder.path().string() +
                              " --load-ms 30 --seconds 60 --rule 'step > 5 => capture_next_steps(20)' > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string capture;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".accel") capture = entry.path().string();
  }
  const auto store = import_trace(capture, {});
  ASSERT_TRUE(store.ok()) << capture;
  const auto& options = store->process.options;
  ASSERT_TRUE(options.contains("topology"));
  const auto read = fusion::read_topology(options.at("topology"), capture);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->gpu_count(), 2U);
  EXPECT_EQ(fusion::to_string(read->link(0, 1)), "NV17");
  EXPECT_EQ(options.at("gpu_index"), "1");
  EXPECT_EQ(options.at("pcie_generation_max"), "5");
  EXPECT_EQ(options.at("pcie_width_max"), "16");
  EXPECT_EQ(options.at("pcie_width_at_start"), "8");
  EXPECT_EQ(options.at("nvlinks_active"), "17");
  EXPECT_EQ(options.count("topology.0"), 0U);
}

}  // namespace
}  // namespace accel::runtime
