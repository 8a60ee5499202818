// The sentences of findings, verdict, plan and notes in Chinese, where the catalogue knows them; the others stay
// English. report.json is always English. Any thread; pure.
#pragma once

#include <map>
#include <string>

#include "report/document.h"

namespace accel::report {

Document in_chinese(Document document);

// English sentence -> Chinese, of everything that this document says and the catalogue knows.
std::map<std::string, std::string> chinese_sentences(const Document& document);

}  // namespace accel::report
