// The page as web/ builds it, in two parts: the data stand between them. Empty in a program built with ACCEL_WEB=OFF.
#pragma once

#include <string_view>

namespace accel::report {

extern const std::string_view kPageHead;
extern const std::string_view kPageTail;

}  // namespace accel::report
