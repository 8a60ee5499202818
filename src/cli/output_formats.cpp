#include "cli/output_formats.h"

#include <fmt/format.h>

namespace accel::cli {

Result<std::vector<const report::WriterDescriptor*>> writers_for(const std::vector<std::string>& formats,
                                                                 bool one_trace) {
  std::vector<const report::WriterDescriptor*> writers;
  if (formats.empty()) {
    for (const report::WriterDescriptor& writer : report::writers()) {
      if (report::is_available(writer) && (one_trace || !writer.of_one_trace)) writers.push_back(&writer);
    }
  }
  for (const std::string& format : formats) {
    const report::WriterDescriptor* writer = report::find_writer(format);
    if (writer == nullptr) {
      std::string known;
      for (const report::WriterDescriptor& one : report::writers()) {
        known += (known.empty() ? "" : ", ") + std::string(one.alias.empty() ? one.id : one.alias);
      }
      return Error{ErrorCode::invalid_argument, fmt::format("'{}' is no format; there are: {}", format, known),
                   "--format"};
    }
    if (!report::is_available(*writer))
      return Error{ErrorCode::invalid_argument, fmt::format("'{}': {}", format, writer->unavailable()), "--format"};
    if (!one_trace && writer->of_one_trace) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("'{}' shows the records of one trace: use analyze or convert for each", format),
                   "--format"};
    }
    writers.push_back(writer);
  }
  return writers;
}

}  // namespace accel::cli
