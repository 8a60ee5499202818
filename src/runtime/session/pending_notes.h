// What the control thread has to tell while no file is open: the last few notes, for the next capture. Fixed size.
#pragma once

#include <cstdint>
#include <cstdio>

namespace accel::runtime {

class PendingNotes {
 public:
  void add(const char* code, const char* message, const char* remedy) {
    Entry& entry = entries_[count_ % kEntries];
    std::snprintf(entry.code, sizeof entry.code, "%s", code);
    std::snprintf(entry.message, sizeof entry.message, "%s", message);
    std::snprintf(entry.remedy, sizeof entry.remedy, "%s", remedy);
    ++count_;
  }
  // Hands them out, oldest first, and forgets them.
  template <typename Take>
  void take(Take&& take) {
    for (std::uint32_t i = count_ > kEntries ? count_ - kEntries : 0; i < count_; ++i) {
      const Entry& entry = entries_[i % kEntries];
      take(entry.code, entry.message, entry.remedy);
    }
    count_ = 0;
  }

 private:
  static constexpr std::uint32_t kEntries = 8;
  struct Entry {
    char code[24];
    char message[400];
    char remedy[240];
  };
  std::uint32_t count_ = 0;
  Entry entries_[kEntries] = {};
};

}  // namespace accel::runtime
