#include "cli/output_formats.h"

#include <fmt/format.h>

namespace accel::cli {

Result<std::vector<const report::WriterDescriptor*>> writers_for(const std::vector<std::string>& formats) {
  std::vector<const report::WriterDescriptor*> writers;
  if (formats.empty()) {
    for (const report::WriterDescriptor& writer : report::writers()) {
      if (report::is_available(writer)) writers.push_back(&writer);
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
    writers.push_back(writer);
  }
  return writers;
}

}  // namespace accel::cli
