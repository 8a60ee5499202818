#include "report/anonymize/anonymize.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/python_frame.h"
#include "report/anonymize/known_words.h"
#include "report/anonymize/vocabulary.h"

namespace accel::report {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view behind(std::string_view text, std::string_view part) {
  const std::size_t at = text.rfind(part);
  return at == kNone ? std::string_view() : text.substr(at + part.size());
}

class Names {
 public:
  // `operators`: every name of an op in the trace, sorted.
  Names(Pseudonyms& pseudonyms, std::vector<std::string_view> operators)
      : pseudonyms_(pseudonyms), operators_(std::move(operators)) {}

  std::string path(std::string_view path);
  std::string frame(std::string_view name);
  std::string op(std::string_view name);
  std::string range(std::string_view name);
  std::string counter(std::string_view name);
  std::string types(std::string_view json);
  std::string thread(std::string_view name) { return is_known_thread(name) ? std::string(name) : of("thread", name); }
  std::string group(std::string_view name) { return is_known_group(name) ? std::string(name) : of("group", name); }

 private:
  std::string of(std::string_view kind, std::string_view name) { return pseudonyms_.of(kind, name); }
  std::string file(std::string_view file, bool& known);
  std::string built_in(std::string_view name);
  std::string module(std::string_view name);
  std::string optimizer(std::string_view name);

  // Words of the framework stay, others become pseudonyms.
  std::string known_words(std::string_view text) {
    return with_known_range_words(text, [this](std::string_view word) { return of("name", word); });
  }
  bool is_framework_function(std::string_view name) const {
    return is_built_in_function(name) ||
           std::binary_search(operators_.begin(), operators_.end(), "aten::" + std::string(name));
  }

  Pseudonyms& pseudonyms_;
  std::vector<std::string_view> operators_;
};

// What is left of a source file's path; known: it is of a library, and so are the functions in it.
std::string Names::file(std::string_view file, bool& known) {
  known = true;
  std::string_view inside = file;
  for (const std::string_view folder : {"site-packages/", "dist-packages/"}) {
    if (const std::string_view rest = behind(file, folder); !rest.empty()) inside = rest;
  }
  if (is_known_package(inside.substr(0, inside.find('/'))) && inside.find('/') != kNone) return std::string(inside);
  if (inside.size() == file.size()) {
    const std::size_t library = file.rfind("/lib/python3.");
    const std::size_t rest = library == kNone ? kNone : file.find('/', library + 13);
    if (rest != kNone) inside = file.substr(rest + 1);
  }
  constexpr std::string_view kFrozen = "<frozen ";
  const std::string_view module = inside.substr(std::min(inside.size(), kFrozen.size()));
  const bool is_frozen = inside.starts_with(kFrozen);
  if (is_frozen ? is_standard_file(std::string(module.substr(0, module.find_first_of(".>"))) + ".py")
                : is_standard_file(inside) && is_surely_standard(inside, "__init__"))
    return std::string(inside);
  known = false;
  return of("file", file) + (file.ends_with(".py") ? ".py" : "");
}

std::string Names::frame(std::string_view name) {
  if (name.starts_with("nn.Module: ")) return "nn.Module: " + module(name.substr(11));
  if (name.starts_with("<built-in ")) return built_in(name);
  const auto line = parse_frame(name);
  if (!line) return of("function", name);
  bool known = false;
  const std::string where = file(line->file, known);
  if (!known && classify_name(name, SliceKind::frame) == NameClass::data_range)
    return of("loader", line->file) + '(' + std::to_string(line->line) + "): __next__";
  bool plain = line->function.starts_with('<') || line->function == "forward";
  if (!plain && known)
    plain = is_known_package(std::string_view(where).substr(0, where.find('/'))) ||
            is_surely_standard(where, line->function);
  return where + '(' + std::to_string(line->line) +
         "): " + (plain ? std::string(line->function) : of("function", line->function));
}

// "<built-in method NAME of TYPE object at 0x...>", "<built-in function NAME>": of Python, a library or an extension.
std::string Names::built_in(std::string_view name) {
  const std::size_t of_type = name.find(" of ");
  constexpr std::string_view kFunction = "<built-in function ";
  if (of_type == kNone) {
    const std::string_view function =
        name.substr(std::min(name.size(), kFunction.size()), name.size() - std::min(name.size(), kFunction.size() + 1));
    if (name.starts_with(kFunction) && name.ends_with('>') && is_framework_function(function)) return std::string(name);
    return std::string(kFunction) + of("function", function) + '>';
  }
  std::size_t end = name.find(" object", of_type);
  if (end == kNone) end = name.size();
  const std::string_view type = name.substr(of_type + 4, end - of_type - 4);
  const std::size_t dot = type.find('.');
  const std::string_view package = type.substr(0, dot);
  if (dot == kNone || is_known_package(package) || is_standard_file(std::string(package) + ".py")) {
    const bool is_user_class =
        dot == kNone && !type.empty() && type != "Tensor" && type != "Parameter" && !is_built_in_type(type);
    if (!is_user_class) return std::string(name);
  }
  return "<built-in method " + of("function", name.substr(0, of_type)) + " of " + of("class", type) + " object>";
}

// "Linear_0", "BertLayer_3".
std::string Names::module(std::string_view name) {
  const std::size_t number = name.rfind('_');
  const std::string_view type = name.substr(0, number);
  const bool numbered =
      number == kNone || std::all_of(name.begin() + static_cast<std::ptrdiff_t>(number) + 1, name.end(), is_digit);
  if (!numbered) return of("module", name);
  if (is_known_module_class(type)) return std::string(name);
  return of("module", type) + (number == kNone ? std::string() : std::string(name.substr(number)));
}

// "Optimizer.step#AdamW.step"
std::string Names::optimizer(std::string_view name) {
  const std::size_t hash = name.find('#');
  const std::size_t dot = hash == kNone ? kNone : name.find('.', hash);
  if (dot == kNone) return of("range", name);
  const std::string_view type = name.substr(hash + 1, dot - hash - 1);
  if (is_known_optimizer(type)) return std::string(name);
  return std::string(name.substr(0, hash + 1)) + of("optimizer", type) + std::string(name.substr(dot));
}

std::string Names::range(std::string_view name) {
  if (name.starts_with("Optimizer.")) return optimizer(name);
  if (name.starts_with("nn.Module: ")) return "nn.Module: " + module(name.substr(11));
  // "FSDP::pre_forward (layers.0.attention)": what stands in the brackets is the user's.
  if (name.starts_with("FSDP::") || name.starts_with("FullyShardedDataParallel.")) {
    const std::size_t open = name.find('(');
    if (open == kNone) return std::string(name);
    return std::string(name.substr(0, open + 1)) + of("module", name.substr(open + 1, name.rfind(')') - open - 1)) +
           ')';
  }
  if (name.starts_with("autograd::engine::evaluate_function: ")) return op(name);
  if (is_stage(name)) return std::string(name);
  if (is_known_range(name)) return known_words(name);
  // The analyses know some stages by their names; the pseudonym says which, or they would not be found any more.
  switch (classify_name(name, SliceKind::annotation)) {
    case NameClass::data_range:
      return of("dataload", name);
    case NameClass::backward:
      return of("backward", name);
    default:
      return of("range", name);
  }
}

std::string Names::op(std::string_view name) {
  constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
  if (name.starts_with(kEvaluate)) return std::string(kEvaluate) + op(name.substr(kEvaluate.size()));
  constexpr std::string_view kNode = "torch::autograd::CppNode<";
  if (name.starts_with(kNode)) return std::string(kNode) + of("op", name.substr(kNode.size())) + '>';
  if (name.starts_with("nccl:") || name.starts_with("gloo:")) return known_words(name);
  const bool is_one_word = std::all_of(
      name.begin(), name.end(), [](char c) { return is_word(c) || c == ':' || c == '.' || c == '[' || c == ']'; });
  if (is_one_word && is_known_operator(name)) return std::string(name);
  if (name.starts_with("Optimizer.") || name.starts_with("FSDP::") || is_known_range(name)) return range(name);
  // A node of a user's autograd function keeps the mark of a backward node.
  if (name.ends_with("Backward")) return of("op", name.substr(0, name.size() - 8)) + "Backward";
  return of("op", name);
}

// "name:series"
std::string Names::counter(std::string_view name) {
  if (is_known_counter(name)) return std::string(name);
  const std::size_t colon = name.rfind(':');
  return of("counter", name.substr(0, colon)) +
         (colon == kNone ? std::string() : ':' + of("series", name.substr(colon + 1)));
}

// ["float", "c10::BFloat16", "__torch__.my.Class"]: a list as recorded.
std::string Names::types(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t open = json.find('"', at);
    const std::size_t close = open == kNone ? kNone : json.find('"', open + 1);
    if (close == kNone) return out + std::string(json.substr(at));
    const std::string_view type = json.substr(open + 1, close - open - 1);
    out += json.substr(at, open + 1 - at);
    out += type.empty() || is_tensor_type(type) ? std::string(type) : of("type", type);
    out += '"';
    at = close + 1;
  }
  return out;
}

std::string Names::path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == kNone ? path : path.substr(slash + 1);
  std::string kind;
  for (const std::string_view suffix : {".json", ".json.gz", ".json.zst", ".zip", ".tar.gz", ".accel"}) {
    if (name.ends_with(suffix)) kind = suffix;
  }
  return of("trace", path) + kind;
}

// Each name of a column once, in the order of its first row, so that the numbers are the same for any threads.
void rename(StringPool& strings, std::vector<StringId>& column, const std::function<bool(std::size_t)>& wanted,
            const std::function<std::string(std::string_view)>& name_of) {
  std::vector<StringId> renamed(strings.size());
  std::vector<char> done(strings.size(), 0);
  for (std::size_t row = 0; row < column.size(); ++row) {
    StringId& id = column[row];
    if (!id.valid() || !wanted(row)) continue;
    const std::uint32_t old = id.value;
    if (done[old] == 0) {
      done[old] = 1;
      renamed[old] = strings.intern(name_of(strings.view(id)));
    }
    id = renamed[old];
  }
}

// Digits of a size in a shape become its symbol: "[64, 3, 128, 128]" -> "[size_1, size_2, size_3, size_3]". 0 and 1 say
// nothing of a model.
std::string symbols_for(std::string_view text, Pseudonyms& pseudonyms) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_digit(text[at]) || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.'))) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::string_view number = text.substr(at, end - at);
    out += number == "0" || number == "1" ? std::string(number) : pseudonyms.of("size", number);
    at = end;
  }
  return out;
}

// The sizes that a text may state: those of the recorded shapes, of three digits and more. A smaller one is as likely a
// count.
class Sizes {
 public:
  explicit Sizes(const TraceStore& store) {
    for (const StringId dims : store.op_args.dims) {
      const std::string_view text = store.text(dims);
      for (std::size_t at = 0; at < text.size(); ++at) {
        std::size_t end = at;
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end - at >= 3) sizes_.emplace(text.substr(at, end - at));
        at = std::max(at, end);
      }
    }
  }

  void replace(std::string& text, Pseudonyms& pseudonyms) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && is_digit(text[end])) ++end;
      if (end == at) {
        out += text[at++];
        continue;
      }
      const std::string number = text.substr(at, end - at);
      const bool alone =
          (at == 0 || (text[at - 1] != '.' && !is_letter(text[at - 1]))) && (end == text.size() || text[end] != '.');
      out += alone && sizes_.contains(number) ? pseudonyms.of("size", number) : number;
      at = end;
    }
    text = std::move(out);
  }

 private:
  // "2731x1024" states two sizes.
  static bool is_letter(char c) { return c != 'x' && is_word(c); }

  std::set<std::string, std::less<>> sizes_;
};

// What the comparison of ranks needs of a recording's word about its job: who is in which group.
std::string known_of_job(const std::string& recorded, const std::function<std::string(std::string_view)>& group_of) {
  using Json = nlohmann::ordered_json;
  const Json info = Json::parse(recorded, nullptr, false);
  if (!info.is_object()) return {};
  Json known = Json::object();
  for (const char* key : {"backend", "rank", "world_size"}) {
    const auto at = info.find(key);
    if (at == info.end() || !(at->is_number_integer() || (at->is_string() && key == std::string_view("backend"))))
      continue;
    known[key] = *at;
  }
  if (const auto groups = info.find("pg_config"); groups != info.end() && groups->is_array()) {
    Json list = Json::array();
    for (const Json& group : *groups) {
      if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
      Json one = {{"pg_name", group_of(group["pg_name"].get<std::string>())}};
      const Json ranks = group.contains("ranks") ? group["ranks"] : Json();
      const bool plain = ranks.is_array() && std::all_of(ranks.begin(), ranks.end(),
                                                         [](const Json& rank) { return rank.is_number_integer(); });
      if (plain) one["ranks"] = ranks;
      list.push_back(std::move(one));
    }
    known["pg_config"] = std::move(list);
  }
  return known.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void anonymize_digest(fusion::RankDigest& digest, Pseudonyms& pseudonyms) {
  std::vector<char> done(digest.names.size(), 0);
  const auto symbols = [&](const fusion::Segment& segment) {
    for (const fusion::KernelShare& kernel : segment.kernels) {
      if (kernel.shape >= done.size() || done[kernel.shape] != 0) continue;
      done[kernel.shape] = 1;
      digest.names[kernel.shape] = symbols_for(digest.names[kernel.shape], pseudonyms);
    }
  };
  for (const fusion::DigestStep& step : digest.steps) symbols(step.work);
  for (const fusion::Segment& segment : digest.segments) symbols(segment);
}

void anonymize_names(TraceStore& store, Pseudonyms& pseudonyms) {
  std::vector<std::string_view> operators;
  std::vector<char> seen(store.strings.size(), 0);
  for (std::size_t row = 0; row < store.slices.size(); ++row) {
    const StringId name = store.slices.name[row];
    if (store.slices.kind[row] != SliceKind::op || !name.valid() || seen[name.value] != 0) continue;
    seen[name.value] = 1;
    operators.push_back(store.text(name));
  }
  std::sort(operators.begin(), operators.end());
  Names names(pseudonyms, std::move(operators));
  const auto of_kind = [&](std::initializer_list<SliceKind> kinds) {
    return [&store, kinds = std::vector<SliceKind>(kinds)](std::size_t row) {
      return std::find(kinds.begin(), kinds.end(), store.slices.kind[row]) != kinds.end();
    };
  };
  const auto all = [](std::size_t) { return true; };
  StringPool& strings = store.strings;
  rename(strings, store.slices.name, of_kind({SliceKind::frame}),
         [&](std::string_view name) { return names.frame(name); });
  rename(strings, store.slices.name, of_kind({SliceKind::op}), [&](std::string_view name) { return names.op(name); });
  rename(strings, store.slices.name, of_kind({SliceKind::annotation, SliceKind::other}),
         [&](std::string_view name) { return names.range(name); });
  rename(strings, store.device_annotations.name, all, [&](std::string_view name) { return names.range(name); });
  rename(strings, store.op_args.types, all, [&](std::string_view text) { return names.types(text); });
  rename(strings, store.counters.name, all, [&](std::string_view name) { return names.counter(name); });
  rename(strings, store.counter_infos.name, all, [&](std::string_view name) { return names.counter(name); });
  rename(strings, store.threads.name, all, [&](std::string_view name) { return names.thread(name); });
  rename(strings, store.threads.pid_text, all, [&](std::string_view name) { return names.thread(name); });
  rename(strings, store.threads.tid_text, all, [&](std::string_view name) { return names.thread(name); });
  rename(strings, store.collectives.group_name, all, [&](std::string_view name) { return names.group(name); });
  rename(strings, store.collectives.group_description, all, [&](std::string_view name) { return names.group(name); });

  ProcessInfo& process = store.process;
  process.host = pseudonyms.of("host", process.host);
  process.distributed_info =
      known_of_job(process.distributed_info, [&](std::string_view name) { return names.group(name); });
  const auto is_figure = [](const std::string& value) {
    return std::all_of(value.begin(), value.end(), [](char c) { return is_digit(c) || c == '.' || c == '-'; }) ||
           value == "true" || value == "false" || value == "True" || value == "False";
  };
  for (auto& [key, value] : process.options) {
    if (!is_figure(value)) value = pseudonyms.of("setting", value);
  }
  store.input.path = store.input.path == "-" ? "-" : names.path(store.input.path);

  // Details are free text in which the reader of the file may have quoted it; code, count and place say enough.
  NoteList kept;
  for (const Note& note : store.notes.notes()) {
    kept.add(note.code, note.count, note.where.starts_with("byte ") ? note.where : std::string());
  }
  store.notes = std::move(kept);
}

void anonymize_shapes(TraceStore& store, Diagnosis& diagnosis, Pseudonyms& pseudonyms) {
  const Sizes sizes(store);
  const auto symbols = [&](std::string_view text) { return symbols_for(text, pseudonyms); };
  const auto all = [](std::size_t) { return true; };
  rename(store.strings, store.op_args.dims, all, symbols);
  rename(store.strings, store.op_args.strides, all, symbols);
  rename(store.strings, store.op_args.concrete, all, [](std::string_view) { return std::string(); });

  const auto replace = [&](std::string& text) { sizes.replace(text, pseudonyms); };
  replace(diagnosis.verdict.sentence);
  for (Finding& finding : diagnosis.findings) {
    replace(finding.title);
    for (Evidence& evidence : finding.evidence) replace(evidence.text);
    for (std::string* text : {&finding.action.title, &finding.action.detail, &finding.action.command,
                              &finding.action.side_effects, &finding.action.not_when})
      replace(*text);
  }
  for (PlanStep& step : diagnosis.plan) replace(step.title);
}

}  // namespace accel::report
