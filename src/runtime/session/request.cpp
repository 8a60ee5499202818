#include "runtime/session/request.h"

#include <cstring>

#include "accel/profiler/runtime_c.h"

namespace accel::runtime {
namespace {

struct Setting {
  const char* name;
  std::uint32_t Schedule::* value;
  std::uint32_t lowest;
  std::uint32_t highest;
};
constexpr Setting kSettings[] = {
    {"steps", &Schedule::active, 1, 10000},
    {"warmup", &Schedule::warmup, 0, 1000},
    {"wait", &Schedule::wait, 0, 1000000},
    {"repeat", &Schedule::repeat, 1, 100},
    {"level", &Schedule::level, 1, 2},
    {"steady", &Schedule::steady_wait, 0, 1000000},
    {"at", &Schedule::start_step, 1, 2000000000},
    {"device", &Schedule::device, ACCEL_DEVICE_BY_SESSION, ACCEL_DEVICE_RICH},
};
constexpr std::size_t kMostDigits = 10;

// "NAME=NUMBER"
bool take_setting(std::string_view word, Schedule& schedule) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, equals);
  std::string_view digits = word;
  digits.remove_prefix(equals + 1);  // substr() may throw, for which the library has no runtime
  if (digits.empty() || digits.size() > kMostDigits) return false;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  for (const Setting& setting : kSettings) {
    if (name != setting.name) continue;
    if (value < setting.lowest || value > setting.highest) return false;
    schedule.*setting.value = static_cast<std::uint32_t>(value);
    return true;
  }
  return false;
}

}  // namespace

Request parse_request(std::string_view line) {
  Request request;
  const std::string_view verb = line.substr(0, line.find(' '));
  line.remove_prefix(verb.size());
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  if (verb == "status") request.kind = Request::Kind::status;
  if (verb == "stop") request.kind = Request::Kind::stop;
  if (verb == "rule" && !line.empty()) {
    request.kind = Request::Kind::rule;
    request.text = line;
  }
  if (verb != "capture") return request;
  request.kind = Request::Kind::capture;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (take_setting(word, request.schedule)) continue;
    request.kind = Request::Kind::bad_setting;
    request.text = word;
    break;
  }
  return request;
}

}  // namespace accel::runtime
