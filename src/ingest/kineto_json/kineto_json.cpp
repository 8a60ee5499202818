#include <simdjson.h>

#include "base/byte_source.h"
#include "base/task_pool.h"
#include "ingest/catalog.h"
#include "ingest/importer.h"
#include "ingest/kineto_json/header.h"
#include "ingest/kineto_json/strict_reader.h"

namespace accel::kineto_json {
namespace {

int sniff(std::span<const char> head, std::string_view /*path*/) {
  const std::string_view text(head.data(), head.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return 0;
  if (text[first] == '[') return text.find("\"ph\"") != std::string_view::npos ? 80 : 0;
  if (text[first] != '{') return 0;
  if (text.find("\"traceEvents\"") != std::string_view::npos || text.find("\"schemaVersion\"") != std::string_view::npos) return 90;
  return 0;
}

Result<TraceStore> read(ByteSource& source, const ImportOptions& options) {
  std::string text;
  for (std::size_t had = 0;; had = text.size()) {
    text.resize(had + (std::size_t{4} << 20));
    const Result<std::size_t> n = source.read(std::span(text).subspan(had));
    if (!n) return n.error();
    text.resize(had + *n);
    if (*n < std::size_t{4} << 20) break;
  }
  const std::size_t size = text.size();
  text.resize(size + kTextPadding);

  TraceBuilder builder(usable_threads(options.threads));
  TraceBatch batch;
  EventSink sink(batch);
  StrictReader reader;
  namespace ondemand = simdjson::ondemand;
  std::string_view events;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first < size && text[first] == '[') {
    events = std::string_view(text).substr(first, size - first);
  } else {
    ondemand::parser parser;
    ondemand::document document;
    ondemand::object object;
    if (parser.iterate(simdjson::padded_string_view(text.data(), size, text.size())).get(document) != simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS) {
      return Error{ErrorCode::unreadable, "The file is damaged.", source.name()};
    }
    for (auto member : object) {
      ondemand::field field;
      if (std::move(member).get(field) != simdjson::SUCCESS) break;
      const std::string_view key = field.unescaped_key().value();
      ondemand::value value = field.value();
      std::string_view raw = value.raw_json_token();
      if (raw.starts_with("[")) raw = value.get_array().value().raw_json().value();
      if (raw.starts_with("{")) raw = value.get_object().value().raw_json().value();
      while (!raw.empty() && std::string_view(" \t\r\n").find(raw.back()) != std::string_view::npos) raw.remove_suffix(1);
      if (key == "traceEvents") {
        events = raw;
      } else {
        take_header_member(key, raw, builder.process(), builder.notes());
      }
    }
  }
  const std::size_t at = static_cast<std::size_t>(events.data() - text.data());
  if (!events.empty() && !reader.read(events, text.size() - at, at, sink)) {
    return Error{ErrorCode::unreadable, "The file is damaged.", source.name()};
  }
  sink.flush();
  builder.commit(batch, 0);
  builder.input().path = source.name();
  builder.input().format = "kineto_json";
  builder.input().bytes = source.total_bytes();
  builder.input().text_bytes = size;
  ProcessInfo& process = builder.process();
  if (options.rank) process.rank = options.rank;
  return builder.finish();
}

}  // namespace

const ImporterDescriptor kImporter = {
    "kineto_json", "PyTorch profiler (Kineto) Chrome trace", "PyTorch profiler（Kineto）Chrome 跟踪", ".json .json.gz .json.zst",
    sniff,         read,
};

}  // namespace accel::kineto_json
