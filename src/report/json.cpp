// report.json: the Document, key by key in the order of document.def.
#include "report/document_json.h"
#include "report/writer.h"

namespace accel::report {
namespace {

std::string write(const Document& document, const WriterOptions&) {
  std::string text = to_json(document).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text += '\n';
  return text;
}

}  // namespace

extern const WriterDescriptor json_writer;
const WriterDescriptor json_writer = {
    "json",
    "JSON, the whole report for programs; its schema: accel-profiler list schema",
    "JSON：供程序读取的完整报告",
    "",
    "report.json",
    write,
};

}  // namespace accel::report
