#include "report/not_measured.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace accel::report {
namespace {

class Collector {
 public:
  template <typename T>
  void visit(const T& value) {
    if constexpr (Described<const T>) {
      bool any = false;
      T::fields(value, [&](std::string_view key, const auto& member, std::string_view) {
        any = true;
        const std::size_t length = path_.size();
        if (length != 0) path_ += '.';
        path_ += key;
        visit(member);
        path_.resize(length);
      });
      if (!any) add();
    } else if constexpr (kIsOptional<T>) {
      if (value) {
        visit(*value);
      } else {
        add();
      }
    } else if constexpr (kIsList<T>) {
      visit_list(value);
    }
  }

  std::vector<std::string> take() { return std::move(paths_); }

 private:
  template <typename T>
  void visit_list(const std::vector<T>& list) {
    if constexpr (std::is_same_v<T, Section>) {
      if (list.empty()) add();
    } else if constexpr (Described<const T>) {
      const std::size_t length = path_.size();
      path_ += "[]";
      for (const T& element : list) visit(element);
      path_.resize(length);
    }
  }

  void add() {
    if (seen_.insert(path_).second) paths_.push_back(path_);
  }

  std::string path_;
  std::vector<std::string> paths_;
  std::unordered_set<std::string> seen_;
};

// "a.b" begins "a.b", "a.b.c" and "a.b[].c".
bool begins(std::string_view prefix, std::string_view path) {
  return path.starts_with(prefix) &&
         (path.size() == prefix.size() || path[prefix.size()] == '.' || path[prefix.size()] == '[');
}

}  // namespace

std::vector<std::string> unmeasured_paths(const Document& document) {
  Collector collector;
  collector.visit(document);
  return collector.take();
}

std::vector<NotMeasured> explain_unmeasured(const Document& document,
                                            const std::map<std::string, std::string>& reasons) {
  std::vector<NotMeasured> list;
  for (std::string& path : unmeasured_paths(document)) {
    std::string_view reason = "not in this capture";
    std::size_t longest = 0;
    for (const auto& [prefix, text] : reasons) {
      if (prefix.size() >= longest && begins(prefix, path)) {
        longest = prefix.size();
        reason = text;
      }
    }
    list.push_back({std::move(path), std::string(reason)});
  }
  return list;
}

}  // namespace accel::report
