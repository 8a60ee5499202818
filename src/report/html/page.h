// The page as web/ builds it, in two parts: what it shows first stands between them, single
// records and the end of the page behind the second. Empty in a program built with ACCEL_WEB=OFF.
#pragma once

#include <string_view>

namespace accel::report {

extern const std::string_view kPageHead;
extern const std::string_view kPageTail;

}  // namespace accel::report
