#include "analysis/efficiency/op_inputs.h"

#include <charconv>

namespace accel {
namespace {

constexpr std::size_t kMostInputs = 256;
constexpr std::size_t kMostNumbers = 1 << 16;  // of one argument list: tensor lists of an optimizer are long

void skip_blanks(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == ',' || text[at] == '\n' || text[at] == '\t')) ++at;
}

// Reads nested lists of integers: [[8192, 1024], [[3], [4, 5]], []].
class DimsReader {
 public:
  explicit DimsReader(std::string_view text) : text_(text) {}

  struct Item {
    Shape shape;
    std::vector<Shape> list;
  };

  std::vector<Item> read() {
    std::vector<Item> items;
    if (!open()) return items;
    while (!close() && good_ && items.size() < kMostInputs) items.push_back(item());
    if (!good_) items.clear();
    return items;
  }

 private:
  bool open() { return take('['); }
  bool close() { return take(']'); }

  bool take(char c) {
    skip_blanks(text_, at_);
    if (at_ >= text_.size()) {
      good_ = false;
      return true;
    }
    if (text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || ++numbers_ > kMostNumbers) {
      good_ = false;
      return 0;
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  Item item() {
    Item result;
    if (!open()) {
      good_ = false;
      return result;
    }
    while (good_ && !close()) {
      skip_blanks(text_, at_);
      if (at_ < text_.size() && text_[at_] == '[') {
        ++at_;
        Shape& inner = result.list.emplace_back();
        while (good_ && !close()) inner.push_back(number());
      } else {
        result.shape.push_back(number());
      }
    }
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t numbers_ = 0;
  bool good_ = true;
};

// ["float", "", "Scalar"]: the strings as they stand, escapes and all.
std::vector<std::string_view> read_strings(std::string_view text) {
  std::vector<std::string_view> strings;
  for (std::size_t at = 0; strings.size() < kMostInputs;) {
    const std::size_t open = text.find('"', at);
    if (open == std::string_view::npos) break;
    std::size_t close = open + 1;
    while (close < text.size() && text[close] != '"') close += text[close] == '\\' ? 2 : 1;
    if (close >= text.size()) break;
    strings.push_back(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return strings;
}

}  // namespace

const OpInput* OpInputs::tensor(std::size_t index) const {
  const OpInput* input = at(index);
  return input != nullptr && input->is_tensor() ? input : nullptr;
}

std::string_view OpInputs::concrete(std::size_t index) const {
  const OpInput* input = at(index);
  return input != nullptr ? input->concrete : std::string_view();
}

std::vector<std::int64_t> OpInputs::integers(std::size_t index) const {
  std::vector<std::int64_t> values;
  const std::string_view text = concrete(index);
  if (!text.starts_with('[')) return values;
  for (std::size_t at = 1; at < text.size() && values.size() < 16;) {
    skip_blanks(text, at);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) break;
    values.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
  }
  return values;
}

std::optional<std::int64_t> OpInputs::integer(std::size_t index) const {
  const std::string_view text = concrete(index);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

OpInputs read_inputs(const TraceStore& store, ArgsId args) {
  OpInputs result;
  if (!args.valid()) return result;
  const auto text = [&](const std::vector<StringId>& column) {
    const StringId id = column[args.value];
    return id.valid() ? store.text(id) : std::string_view();
  };
  const auto dims = DimsReader(text(store.op_args.dims)).read();
  const auto strides = DimsReader(text(store.op_args.strides)).read();
  const auto types = read_strings(text(store.op_args.types));
  const auto concrete = read_strings(text(store.op_args.concrete));
  result.has_concrete = !concrete.empty();
  result.inputs.resize(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    OpInput& input = result.inputs[i];
    input.shape = dims[i].shape;
    input.list = dims[i].list;
    if (i < strides.size() && strides[i].shape.size() == input.shape.size()) input.strides = strides[i].shape;
    if (i < types.size()) {
      input.recorded_type = types[i];
      input.type = parse_tensor_type(types[i]);
    }
    if (i < concrete.size()) input.concrete = concrete[i];
  }
  return result;
}

double elements(const Shape& shape) {
  double product = 1;
  for (const std::int64_t size : shape) product *= size > 0 ? static_cast<double>(size) : 0;
  return product;
}

}  // namespace accel
