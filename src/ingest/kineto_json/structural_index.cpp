#include "ingest/kineto_json/structural_index.h"

#include <simdjson.h>

namespace accel::kineto_json {

struct StructuralIndex::State {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  std::size_t capacity = 0;
};

StructuralIndex::StructuralIndex() : state_(std::make_unique<State>()) {}
StructuralIndex::~StructuralIndex() = default;

bool StructuralIndex::build(std::span<const char> text) {
  State& s = *state_;
  count_ = 0;
  if (text.empty()) return true;
  if (s.parser == nullptr || s.capacity < text.size()) {
    constexpr std::size_t kStep = 64 * 1024;
    constexpr std::size_t kDepth = 1;  // stage 2 is never run
    s.capacity = (text.size() + kStep) / kStep * kStep;
    s.parser.reset();
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(s.capacity, kDepth, s.parser) !=
        simdjson::SUCCESS) {
      s.parser.reset();
      return false;
    }
  }
  const simdjson::error_code error =
      s.parser->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), simdjson::stage1_mode::regular);
  if (error == simdjson::EMPTY) return true;  // nothing but white space
  if (error != simdjson::SUCCESS) return false;
  positions_ = s.parser->structural_indexes.get();
  count_ = s.parser->n_structural_indexes;
  return true;
}

}  // namespace accel::kineto_json
