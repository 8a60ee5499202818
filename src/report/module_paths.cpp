#include "report/module_paths.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace accel::report {
namespace {

// A report read from a file may nest its rows in a circle.
constexpr int kDeepest = 64;

struct Class {
  std::string name;
  std::int64_t number = 0;
};

// "nn.Module: Linear_3": the class, and which object of it.
Class class_of(std::string_view text) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  const std::size_t at = text.rfind('_');
  Class result{std::string(text), 0};
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return result;
  const auto [stopped, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), result.number);
  if (error == std::errc() && stopped == text.data() + text.size())
    result.name = text.substr(0, at);
  else
    result.number = 0;
  return result;
}

}  // namespace

std::vector<std::string> module_paths(const std::vector<Scope>& modules) {
  std::map<std::string, std::size_t> row_of;
  for (std::size_t i = 0; i < modules.size(); ++i) row_of.emplace(modules[i].name, i);
  // Objects of one class inside one module, in the order of their numbers.
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::int64_t, std::size_t>>> siblings;
  std::vector<Class> classes;
  classes.reserve(modules.size());
  for (std::size_t i = 0; i < modules.size(); ++i) {
    classes.push_back(class_of(modules[i].name));
    siblings[{modules[i].inside.value_or(""), classes[i].name}].emplace_back(classes[i].number, i);
  }
  std::vector<std::string> own(modules.size());
  for (auto& [key, objects] : siblings) {
    std::sort(objects.begin(), objects.end());
    for (std::size_t k = 0; k < objects.size(); ++k)
      own[objects[k].second] = key.second + (objects.size() > 1 ? "[" + std::to_string(k) + "]" : "");
  }
  std::vector<std::string> paths;
  paths.reserve(modules.size());
  for (std::size_t i = 0; i < modules.size(); ++i) {
    std::string path = own[i];
    std::size_t at = i;
    for (int depth = 0; depth < kDeepest && modules[at].inside; ++depth) {
      const auto around = row_of.find(*modules[at].inside);
      if (around == row_of.end() || around->second == at) break;
      at = around->second;
      path.insert(0, own[at] + "/");
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace accel::report
