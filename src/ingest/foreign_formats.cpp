#include "ingest/foreign_formats.h"

#include <algorithm>
#include <cstdint>

namespace accel {
namespace {

constexpr std::string_view kRecord =
    "Give the file that torch.profiler wrote with export_chrome_trace() or tensorboard_trace_handler().";

bool has(std::string_view head, std::string_view part) { return head.find(part) != std::string_view::npos; }

std::string_view trimmed_left(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::string advice(std::string_view what, std::string_view then) { return std::string(what) + " " + std::string(then); }

struct Magic {
  std::string_view bytes;
  std::string_view what;
};

// Formats told by their first bytes alone.
constexpr Magic kMagics[] = {
    {"\x7F"
     "ELF",
     "This is a program or library (ELF)."},
    {"\xFF\xFE", "This is text in UTF-16; a trace is UTF-8."},
    {"\xFE\xFF", "This is text in UTF-16; a trace is UTF-8."},
    {"\x89HDF", "This is an HDF5 file."},
    {"\x93NUMPY", "This is a NumPy array."},
    {"PAR1", "This is a Parquet file."},
    {"\x89PNG", "This is a picture (PNG)."},
    {"%PDF", "This is a PDF document."},
    {"BZh", "This is a bzip2 archive."},
    {"\xFD"
     "7zXZ",
     "This is an xz archive."},
    {"7z\xBC\xAF\x27\x1C", "This is a 7-Zip archive."},
    {"Rar!", "This is a RAR archive."},
};

std::optional<std::string> foreign_binary(std::string_view head) {
  for (const Magic& magic : kMagics) {
    if (!head.starts_with(magic.bytes)) continue;
    if (magic.what.ends_with("archive."))
      return advice(magic.what, "Unpack it first; .gz, .zst, .zip and .tar.gz are read directly.");
    return advice(magic.what, kRecord);
  }
  if (has(head.substr(0, 1024), "NVIDIA Tegra Pro")) {
    return "This is an Nsight Systems report in its own binary form (.nsys-rep or .qdrep), which only nsys can read. "
           "Convert it with "
           "\"nsys export --type sqlite FILE\", or record with torch.profiler.";
  }
  if (head.starts_with(std::string_view("SQLite format 3\0", 16))) {
    const bool nsys =
        has(head, "CUPTI_ACTIVITY") || has(head, "StringIds") || has(head, "TARGET_INFO") || has(head, "EXPORT_META");
    return nsys ? advice("This is an Nsight Systems report in SQLite form, which this version does not read.", kRecord)
                : advice("This is an SQLite database.", kRecord);
  }
  const bool pickle = head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  if (pickle && (has(head, "pg_config") || has(head, "nccl_version") || has(head, "collective_seq_id") ||
                 has(head, "comm_lib_version"))) {
    return "This is a dump of PyTorch's NCCL flight recorder as a pickle, which is not read: it could run code. Write "
           "it "
           "as JSON, with torch._C._distributed_c10d._dump_nccl_trace_json().";
  }
  if (pickle && (has(head, "device_traces") || has(head, "segments") || has(head, "frames"))) {
    return advice(
        "This is a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot), which this version does not read.",
        kRecord);
  }
  if (pickle) return advice("This is a Python pickle.", kRecord);
  return std::nullopt;
}

std::optional<std::string> foreign_text(std::string_view text, std::string_view path) {
  std::string start(text.substr(0, 64));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head")) {
    return "This is an HTML page, not a trace: a log-in or error page that was saved in its place, or a report. "
           "Download the file itself.";
  }
  if (start.starts_with("<?xml") || start.starts_with("<svg")) return advice("This is an XML document.", kRecord);
  if (start.starts_with("version https://git-lfs")) {
    return "This is a Git LFS pointer; the file itself was not downloaded. Run \"git lfs pull\".";
  }
  if (text[0] != '{' && text[0] != '[') {
    if (path.ends_with(".csv")) return advice("This is a table of comma-separated values.", kRecord);
    return std::nullopt;
  }
  const auto key = [&](std::string_view name) { return has(text, name); };
  if (key("\"traceEvents\"")) return std::nullopt;
  if (key("speedscope.app") || (key("\"profiles\"") && key("\"shared\""))) {
    return advice("This is a speedscope profile: samples of call stacks, without device events.", kRecord);
  }
  if (key("\"schema\"") && (key("chakra") || (key("\"nodes\"") && key("\"pid\"")))) {
    return advice(
        "This is an execution trace (PyTorch's ExecutionTraceObserver, Chakra): what ran, without device times.",
        "Give the Kineto trace that was recorded beside it.");
  }
  const bool recorder =
      key("\"comm_lib_version\"") || key("\"nccl_version\"") || key("\"pg_config\"") || key("\"collective_seq_id\"");
  if (key("\"nccl_comm_state\"") || (recorder && key("\"entries\""))) {
    return advice(
        "This is a dump of PyTorch's NCCL flight recorder, not a trace; analyze reads it, alone or beside traces.",
        kRecord);
  }
  if (key("\"segments\"") && key("\"device_traces\"")) {
    return advice("This is a memory snapshot of PyTorch, which this version does not read.", kRecord);
  }
  if (key("\"timeDeltas\"") && key("\"nodes\""))
    return advice("This is a CPU profile of a browser or of Node.js.", kRecord);
  if (text.starts_with("{\"cells\"") || key("\"nbformat\"")) return advice("This is a Jupyter notebook.", kRecord);
  return std::nullopt;
}

// The first few keys of a JSON object, to help people recognise their file.
std::string first_keys(std::string_view text) {
  std::string keys;
  std::size_t at = 0;
  for (int n = 0; n < 4; ++n) {
    const std::size_t open = text.find('"', at);
    const std::size_t close = open == std::string_view::npos ? open : text.find('"', open + 1);
    if (close == std::string_view::npos || close - open > 40) break;
    const std::size_t colon = text.find_first_not_of(" \t\r\n", close + 1);
    at = close + 1;
    if (colon == std::string_view::npos || text[colon] != ':') continue;
    const std::string_view key = text.substr(open + 1, close - open - 1);
    if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; })) continue;
    keys += (keys.empty() ? "\"" : ", \"") + std::string(key) + "\"";
  }
  return keys;
}

}  // namespace

std::optional<std::string> describe_foreign(std::string_view head, std::string_view path) {
  if (head.empty())
    return "The file is empty: the recording process may have been killed before it wrote. Record again.";
  if (std::optional<std::string> binary = foreign_binary(head)) return binary;
  const std::string_view text = trimmed_left(head);
  if (text.empty()) return "The file holds nothing but white space. Record again.";
  return foreign_text(text, path);
}

std::string describe_unknown(std::string_view head) {
  const std::string_view text = trimmed_left(head);
  if (text.starts_with('{')) {
    const std::string keys = first_keys(text);
    return advice("This is JSON, but no trace: it has no \"traceEvents\"" +
                      (keys.empty() ? "." : " (its first keys are " + keys + ")."),
                  kRecord);
  }
  if (text.starts_with('['))
    return advice("This is a JSON list, but not one of trace events: no element has a \"ph\".", kRecord);
  const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b < 9 || (b > 13 && b < 32);
  });
  const bool binary = static_cast<std::size_t>(odd) * 50 > head.size();
  return advice(binary ? "This is binary data of a kind that is not known here." : "This is text, but no trace.",
                kRecord);
}

}  // namespace accel
