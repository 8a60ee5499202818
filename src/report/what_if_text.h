// The critical path and the answers to --what-if in one line each, for the readable reports. Pure.
#pragma once

#include <string>

#include "report/document.h"
#include "report/labels.h"

namespace accel::report {

// host 61 % (aten::mm), kernels 25 %, ...; replayed within 0.1 %. Empty without a replay.
std::string path_text(const Document& document, Language language);
// 17.9 -> 2.2 ms (2.1 to 4.0), 8.1x
std::string answer_text(const WhatIf& answer, const Document& document, Language language);

}  // namespace accel::report
