// Numbers in sentences: three significant digits at most, with the unit, so that figures read alike in every finding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace accel {

std::string ms_text(double ns);          // "83.1 ms", "0.42 ms", "7.3 us"
std::string percent_text(double share);  // "72 %", "3.4 %"
std::string count_text(double count);    // "741", "36.5", "0.25"
std::string bytes_text(double bytes);    // "805 MB"
std::string short_name(std::string_view name, std::size_t length = 80);

// "slices:12" and "device_events:5", the row ids of evidence.
std::string slice_ref(std::uint32_t row);
std::string device_event_ref(std::uint32_t row);

}  // namespace accel
