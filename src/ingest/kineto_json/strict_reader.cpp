#include "ingest/kineto_json/strict_reader.h"

#include <simdjson.h>

namespace accel::kineto_json {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\t' || token.back() == '\r')) token.remove_suffix(1);
  return token;
}

std::string_view key_text(const ondemand::raw_json_string& key) {
  const char* const begin = key.raw();
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<std::size_t>(end - begin)};
}

// The raw text of a value; a container is walked past.
bool raw_value(ondemand::value value, std::string_view& out) {
  out = value.raw_json_token();
  const char c = out.empty() ? '\0' : out[0];
  if (c == '[') {
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS || array.raw_json().get(out) != simdjson::SUCCESS) return false;
  } else if (c == '{') {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS || object.raw_json().get(out) != simdjson::SUCCESS) return false;
  }
  out = trimmed(out);
  return true;
}

}  // namespace

struct StrictReader::State {
  ondemand::parser parser;
  RawEvent event;
  KeyFinder<Key, kKeys> keys{kKeyTexts};
  KeyFinder<Arg, kArgs> args{kArgTexts};

  bool read_args(ondemand::object object);
  bool read_event(ondemand::object object);
};

bool StrictReader::State::read_args(ondemand::object object) {
  args.start();
  const std::string_view ph = event[Key::ph];
  const bool keep_all = ph.empty() || ph == "\"C\"";
  for (auto member : object) {
    ondemand::field field;
    std::string_view value;
    if (std::move(member).get(field) != simdjson::SUCCESS || !raw_value(field.value(), value)) return false;
    const std::string_view key = key_text(field.key());
    const Arg arg = args.find(key);
    if (arg != Arg::unknown) event.args[static_cast<std::size_t>(arg)] = value;
    if (keep_all) event.all_args.emplace_back(key, value);
  }
  return true;
}

bool StrictReader::State::read_event(ondemand::object object) {
  event.clear();
  keys.start();
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return false;
    const Key key = keys.find(key_text(field.key()));
    if (key == Key::args) {
      ondemand::object inner;
      if (field.value().get_object().get(inner) == simdjson::SUCCESS) {
        if (!read_args(inner)) return false;
        continue;
      }
    }
    std::string_view value;
    if (!raw_value(field.value(), value)) return false;
    if (key != Key::unknown) event.fields[static_cast<std::size_t>(key)] = value;
  }
  return true;
}

StrictReader::StrictReader() : state_(std::make_unique<State>()) {}
StrictReader::~StrictReader() = default;

bool StrictReader::read(std::span<const char> text, std::size_t capacity, std::uint64_t offset, EventSink& sink) {
  ondemand::document document;
  const simdjson::padded_string_view view(text.data(), text.size(), capacity);
  if (state_->parser.iterate(view).get(document) != simdjson::SUCCESS) return false;
  ondemand::array array;
  if (document.get_array().get(array) != simdjson::SUCCESS) return false;
  for (auto element : array) {
    ondemand::value value;
    if (std::move(element).get(value) != simdjson::SUCCESS) return false;
    const std::string_view start = value.raw_json_token();
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS || !state_->read_event(object)) return false;
    state_->event.offset = offset + static_cast<std::uint64_t>(start.data() - text.data());
    sink.add(state_->event);
  }
  const char* rest = nullptr;
  return document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;  // nothing after the array
}

}  // namespace accel::kineto_json
