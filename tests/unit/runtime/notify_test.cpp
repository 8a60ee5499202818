#include "runtime/session/notify.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/session/shared_memory.h"
#include "unit/format/native_files.h"

namespace accel::runtime {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Notify : public testing::Test {
 protected:
  const char* tell(const std::string& target, std::uint32_t allowed = 0) {
    return notify({output_.c_str(), 3, 8}, target.c_str(), "step 7: loss \"is\" bad", allowed);
  }
  format::TemporaryFolder folder_;
  std::string output_ = (folder_ / "out").string();
};

TEST_F(Notify, a_file_gets_a_line_a_message_and_no_path_leads_out_of_the_folder) {
  EXPECT_EQ(tell("file:alerts.txt"), nullptr);
  EXPECT_EQ(tell("file:alerts.txt"), nullptr);
  const std::string text = text_of(folder_ / "out/alerts.txt");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("rank 3: step 7: loss"), std::string::npos);
  for (const char* target : {"file:", "file:../x", "file:/etc/x", "file:.hidden", "nonsense", ""})
    EXPECT_NE(tell(target), nullptr) << target;
  std::filesystem::create_symlink("/etc/passwd", folder_ / "out/link");
  EXPECT_NE(tell("file:link"), nullptr) << "links are not followed";
}

TEST_F(Notify, a_command_runs_only_when_it_was_allowed_and_nobody_waits_for_it) {
  const std::string command = "command:printf '%s' \"$ACCEL_MESSAGE\" > " + (folder_ / "told").string() + "; sleep 20";
  EXPECT_NE(tell(command), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "told"));
  timeval before{};
  timeval after{};
  ::gettimeofday(&before, nullptr);
  EXPECT_EQ(tell(command, kAllowCommands), nullptr);
  ::gettimeofday(&after, nullptr);
  EXPECT_LT(after.tv_sec - before.tv_sec, 10);
  for (int i = 0; i < 500 && text_of(folder_ / "told").empty(); ++i) ::usleep(10000);
  EXPECT_EQ(text_of(folder_ / "told"), "step 7: loss \"is\" bad");
}

TEST_F(Notify, a_webhook_is_one_post_with_the_text_as_json) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  ASSERT_EQ(::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/hook?x=1";
  EXPECT_NE(tell(url), nullptr) << "not allowed";
  ASSERT_EQ(tell(url, kAllowWebhooks), nullptr);
  const timeval limit = {10, 0};
  ::setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const int client = ::accept(server, nullptr, nullptr);
  ASSERT_GE(client, 0);
  std::string request;
  char buffer[4096];
  while (request.find('}') == std::string::npos) {
    const ssize_t got = ::recv(client, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    request.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(client);
  ::close(server);
  EXPECT_EQ(request.rfind("POST /hook?x=1 HTTP/1.1\r\n", 0), 0U) << request;
  EXPECT_NE(request.find("\"rank\": 3"), std::string::npos);
  EXPECT_NE(request.find("loss \\\"is\\\" bad\"}"), std::string::npos) << request;
}

TEST_F(Notify, addresses_that_are_none_are_refused_before_anything_is_sent) {
  for (const char* url : {"http://", "http://host:port/", "http://host:123456789/", "http://host/a b",
                          "http://host/\r\nX: y", "https://", "https://host/a b", "https://host/\n-o x"})
    EXPECT_NE(tell(url, kAllowWebhooks), nullptr) << url;
}

// curl is looked for on the PATH that the process was started with, so the test is a process of its own.
TEST_F(Notify, an_https_webhook_is_handed_to_curl_with_nothing_of_it_as_text_of_a_shell) {
  if (const char* told = std::getenv("ACCEL_TEST_HTTPS_TOLD")) {
    const std::string url = std::string("https://hooks.example/x?$(touch%20") + told + ".bad)';'&n=1";
    EXPECT_NE(tell(url), nullptr) << "not allowed";
    EXPECT_EQ(tell(url, kAllowWebhooks), nullptr);
    for (int i = 0; i < 1000 && text_of(told).find("END") == std::string::npos; ++i) ::usleep(10000);
    return;
  }
  const std::filesystem::path folder = folder_.path();
  const std::filesystem::path told = folder / "told";
  std::ofstream(folder / "curl") << "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\" >> " << told
                                 << "; done; echo END >> " << told << "\n";
  std::filesystem::permissions(folder / "curl", std::filesystem::perms::owner_all);
  const auto run = [&](const std::string& path) {
    const std::string variables[] = {"PATH=" + path, "ACCEL_TEST_HTTPS_TOLD=" + told.string()};
    char* environment[] = {const_cast<char*>(variables[0].c_str()), const_cast<char*>(variables[1].c_str()), nullptr};
    char program[] = "/proc/self/exe";
    char filter[] = "--gtest_filter=Notify.an_https_webhook*";
    char* words[] = {program, filter, nullptr};
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(1);
      ::execve(program, words, environment);
      ::_exit(99);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  };
  EXPECT_EQ(run(folder.string() + ":/usr/bin:/bin"), 0);
  const std::string text = text_of(told);
  EXPECT_NE(text.find("\nhttps://hooks.example/x?$(touch%20"), std::string::npos) << text;
  EXPECT_NE(text.find("\n{\"rank\": 3, \"pid\": "), std::string::npos) << text;
  EXPECT_NE(text.find("loss \\\"is\\\" bad\"}\n"), std::string::npos) << text;
  EXPECT_FALSE(std::filesystem::exists(told.string() + ".bad"));
  EXPECT_NE(run((folder / "empty").string()), 0) << "without curl the reason is said";
}

TEST(SharedMemory, a_small_one_is_told_with_the_exact_remedy_and_a_large_one_is_not) {
  SharedMemoryAdvice advice;
  EXPECT_FALSE(check_shared_memory("/", 1, advice));
  EXPECT_TRUE(check_shared_memory("/dev/shm", std::uint64_t{1} << 60, advice));
  EXPECT_NE(std::strstr(advice.message, "MiB"), nullptr);
  EXPECT_NE(std::strstr(advice.remedy, "mount -o remount,size=8G /dev/shm"), nullptr) << advice.remedy;
  EXPECT_NE(std::strstr(advice.remedy, "emptyDir"), nullptr);
  EXPECT_TRUE(check_shared_memory("/no/such/place", 1, advice));
}

}  // namespace
}  // namespace accel::runtime
