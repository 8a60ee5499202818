#include "report/writer.h"

namespace accel::report {

// Each entry of the catalogue defines its descriptor in a file of its own name.
#define FRAMEWORK(name)
#define WRITER(name) extern const WriterDescriptor name##_writer;
#include "report/catalog.def"
#undef WRITER

std::span<const WriterDescriptor> writers() {
  static const WriterDescriptor all[] = {
#define WRITER(name) name##_writer,
#include "report/catalog.def"
#undef WRITER
  };
  return all;
}
#undef FRAMEWORK

bool is_available(const WriterDescriptor& writer) {
  return writer.unavailable == nullptr || writer.unavailable().empty();
}

const WriterDescriptor* find_writer(std::string_view name) {
  for (const WriterDescriptor& writer : writers()) {
    if (writer.id == name || (!writer.alias.empty() && writer.alias == name)) return &writer;
  }
  return nullptr;
}

}  // namespace accel::report
