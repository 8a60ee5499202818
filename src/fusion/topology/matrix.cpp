// The matrix of `nvidia-smi topo -m`. Columns are parted by tabs as the tool writes them, or by blanks after a terminal
// or a ticket has replaced the tabs; long rows may have been broken into lines.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "fusion/topology/lines.h"
#include "fusion/topology/readers.h"

namespace accel::fusion {
namespace {

constexpr std::int64_t kMostLanes = 64;

std::optional<Link> link_of_word(std::string_view word) {
  struct Word {
    std::string_view text;
    LinkKind kind;
  };
  // SOC is what drivers before 2017 said for SYS.
  constexpr Word kWords[] = {{"X", LinkKind::self},    {"PIX", LinkKind::pix}, {"PXB", LinkKind::pxb},
                             {"PHB", LinkKind::phb},   {"SYS", LinkKind::sys}, {"SOC", LinkKind::sys},
                             {"NODE", LinkKind::node}, {"PIXB", LinkKind::pxb}};
  for (const Word& known : kWords) {
    if (known.text == word) return Link{known.kind, 0};
  }
  if (word.starts_with("NV")) {
    const auto lanes = number_of(word.substr(2));
    if (lanes && *lanes > 0 && *lanes <= kMostLanes) return Link{LinkKind::nvlink, static_cast<std::int32_t>(*lanes)};
  }
  return std::nullopt;
}

std::optional<std::int64_t> gpu_index(std::string_view name) {
  return name.starts_with("GPU") ? number_of(name.substr(3)) : std::nullopt;
}

// A name that a device may have: letters first, no punctuation but _ and -, and no word of a link.
bool may_name_device(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  if (word.empty() || word.size() > 32 || !letter(word[0]) || link_of_word(word)) return false;
  return std::all_of(word.begin(), word.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.'; });
}

// Words before the columns that are no devices: "CPU Affinity", "NUMA Affinity", "GPU NUMA ID".
std::vector<std::string_view> header_names(std::string_view line) {
  std::vector<std::string_view> names;
  for (const std::string_view word : words_of(line)) {
    if (word == "CPU" || word == "NUMA" || word == "GPU" || !may_name_device(word)) break;
    names.push_back(word);
  }
  return names;
}

// A line that names devices and holds no link: the first of them is a GPU or a card.
bool is_header(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty() || !gpu_index(words[0])) return false;
  if (words.size() > 1 && link_of_word(words[1])) return false;
  const std::size_t names = header_names(line).size();
  return names == words.size() || words[names] == "CPU" || words[names] == "NUMA" || words[names] == "GPU";
}

class Matrix {
 public:
  Matrix(const std::vector<std::string>& lines, Topology& topology) : lines_(lines), topology_(topology) {}

  Result<bool> read() {
    std::size_t at = 0;
    while (at < lines_.size() && !is_header(lines_[at])) ++at;
    if (at == lines_.size()) return false;
    if (!topology_.devices.empty()) {
      topology_.doubts.emplace_back("a second matrix of devices was left out");
      return true;
    }
    if (auto named = header(at); !named) return named.error();
    const std::size_t count = names_.size();
    links_.resize(count * count);
    for (++at; at < lines_.size(); ++at) {
      if (is_header(lines_[at])) {
        topology_.doubts.emplace_back("a second matrix of devices was left out");
        break;
      }
      row(at);
    }
    settle();
    card_names();
    return true;
  }

 private:
  Result<void> header(std::size_t& at);
  void row(std::size_t& at);
  void cell(std::size_t from, std::size_t to, std::string_view word);
  void affinities(TopologyDevice& device, std::span<const std::string_view> rest) const;
  void settle();
  void card_names();
  void doubt(std::string text) {
    // A hostile text may hold any number of them.
    if (topology_.doubts.size() < 20) topology_.doubts.push_back(std::move(text));
  }

  const std::vector<std::string>& lines_;
  Topology& topology_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> positions_;
  std::vector<std::optional<Link>> links_;
  std::vector<bool> has_row_;
};

Result<void> Matrix::header(std::size_t& at) {
  std::vector<std::string_view> found = header_names(lines_[at]);
  bool more = found.size() == words_of(lines_[at]).size();
  // A header that was broken into lines goes on with names alone.
  while (more && at + 1 < lines_.size()) {
    const std::vector<std::string_view> words = words_of(lines_[at + 1]);
    const std::vector<std::string_view> names = header_names(lines_[at + 1]);
    const bool row = words.size() > 1 && link_of_word(words[1]);
    if (names.empty() || row || std::find(found.begin(), found.end(), names[0]) != found.end()) break;
    if (names.size() < words.size() && words[names.size()] != "CPU" && words[names.size()] != "NUMA") break;
    found.insert(found.end(), names.begin(), names.end());
    more = names.size() == words.size();
    ++at;
  }
  if (found.size() > kMostTopologyDevices)
    return Error{ErrorCode::out_of_range, fmt::format("the matrix names more than {} devices", kMostTopologyDevices),
                 ""};
  for (const std::string_view name : found) {
    if (!positions_.emplace(name, names_.size()).second) {
      doubt(fmt::format("the header names {} twice", quoted(name)));
      continue;
    }
    names_.emplace_back(name);
    TopologyDevice device;
    device.name = name;
    if (const auto index = gpu_index(name)) {
      device.is_gpu = true;
      device.index = *index;
    } else if (!name.starts_with("NIC")) {
      device.card = name;
    }
    topology_.devices.push_back(std::move(device));
  }
  has_row_.resize(names_.size());
  return {};
}

void Matrix::row(std::size_t& at) {
  std::vector<std::string_view> words = words_of(lines_[at]);
  if (words.empty()) return;
  const auto from = positions_.find(words[0]);
  if (from == positions_.end()) {
    if (words.size() > 1 && gpu_index(words[0]) && link_of_word(words[1]))
      doubt(fmt::format("the row of {} has no column", quoted(words[0])));
    return;
  }
  const std::size_t count = names_.size();
  // Without all its tabs a line is read by words: an empty cell would then show as one too few.
  const bool tabs = std::count(lines_[at].begin(), lines_[at].end(), '\t') >= static_cast<std::ptrdiff_t>(count);
  std::vector<std::string_view> cells = tabs ? cells_of(lines_[at], '\t') : words;
  // A line of the NIC legend ("NIC0: mlx5_0") starts with a name too, but holds no link.
  if (cells.size() < 2 || std::none_of(cells.begin() + 1, cells.end(), [](auto word) { return link_of_word(word); }))
    return;
  while (cells.size() < count + 1 && at + 1 < lines_.size()) {
    const std::vector<std::string_view> more = words_of(lines_[at + 1]);
    if (more.empty() || !link_of_word(more[0])) break;
    cells.insert(cells.end(), more.begin(), more.end());
    ++at;
  }
  if (has_row_[from->second]) {
    doubt(fmt::format("{} has two rows; the first counts", names_[from->second]));
    return;
  }
  has_row_[from->second] = true;
  if (cells.size() < count + 1) doubt(fmt::format("the row of {} is cut off", names_[from->second]));
  const std::size_t present = std::min(count, cells.size() - 1);
  for (std::size_t to = 0; to < present; ++to) cell(from->second, to, cells[to + 1]);
  if (cells.size() > count + 1) affinities(topology_.devices[from->second], std::span(cells).subspan(count + 1));
}

void Matrix::cell(std::size_t from, std::size_t to, std::string_view word) {
  if (word.empty()) return;
  const std::optional<Link> link = link_of_word(word);
  if (!link) {
    doubt(fmt::format("{} between {} and {} is no word for a link", quoted(word), names_[from], names_[to]));
    return;
  }
  if ((link->kind == LinkKind::self) != (from == to)) {
    doubt(fmt::format("the cell of {} and {} holds {}", names_[from], names_[to], to_string(*link)));
    return;
  }
  links_[from * names_.size() + to] = *link;
}

void Matrix::affinities(TopologyDevice& device, std::span<const std::string_view> rest) const {
  // The tool pads columns with further tabs: empty cells mean nothing.
  std::vector<std::string_view> filled;
  std::copy_if(rest.begin(), rest.end(), std::back_inserter(filled), [](auto cell) { return !cell.empty(); });
  const auto list = [](std::string_view text) {
    return !text.empty() && text.size() <= 200 && text.find_first_not_of("0123456789,-") == std::string_view::npos;
  };
  if (!filled.empty() && list(filled[0])) device.cpu_affinity = filled[0];
  if (filled.size() > 1 && list(filled[1])) device.numa = filled[1];
}

// Both directions of a pair say the same on real machines; where they do not, the slower one counts.
void Matrix::settle() {
  const std::size_t count = names_.size();
  topology_.links.assign(count * count, Link{});
  for (std::size_t a = 0; a < count; ++a) {
    if (!has_row_[a]) doubt(fmt::format("{} has a column and no row", names_[a]));
    topology_.links[a * count + a] = Link{LinkKind::self, 0};
    for (std::size_t b = a + 1; b < count; ++b) {
      const std::optional<Link>& there = links_[a * count + b];
      const std::optional<Link>& back = links_[b * count + a];
      Link link = there.value_or(back.value_or(Link{}));
      if (there && back && !(*there == *back)) {
        doubt(fmt::format("{} to {} is {} and the way back {}; the slower one counts", names_[a], names_[b],
                          to_string(*there), to_string(*back)));
        link = slower(*there, *back) ? *there : *back;
      }
      topology_.links[a * count + b] = link;
      topology_.links[b * count + a] = link;
    }
  }
}

// "  NIC0: mlx5_0"
void Matrix::card_names() {
  for (const std::string& line : lines_) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() != 2 || !words[0].ends_with(':') || !may_name_device(words[1])) continue;
    const auto found = positions_.find(words[0].substr(0, words[0].size() - 1));
    if (found != positions_.end() && !topology_.devices[found->second].is_gpu)
      topology_.devices[found->second].card = words[1];
  }
}

}  // namespace

Result<bool> read_matrix(const std::vector<std::string>& lines, Topology& topology) {
  return Matrix(lines, topology).read();
}

}  // namespace accel::fusion
