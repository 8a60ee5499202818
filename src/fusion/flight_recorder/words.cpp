#include "fusion/flight_recorder/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace accel::fusion {
namespace {

std::string name_of(const GroupProgress& group) {
  if (group.description.empty() || group.description == "undefined") return "group " + group.name;
  return group.description == group.name ? group.name : group.description + " (group " + group.name + ")";
}

std::string ranks_word(std::span<const std::int64_t> ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_list(ranks);
}

std::vector<std::int64_t> waiting(const GroupProgress& group) {
  std::vector<std::int64_t> ranks;
  for (const RankProgress& progress : group.progress) {
    if (progress.rank && progress.first_pending) ranks.push_back(*progress.rank);
  }
  return ranks;
}

std::string missing(const GroupProgress& group) {
  if (group.ranks_without_dump.empty()) return {};
  const bool one = group.ranks_without_dump.size() == 1;
  return fmt::format(" There is no dump of {}: {} the first suspect{}.", ranks_word(group.ranks_without_dump),
                     one ? "it is" : "they are", one ? "" : "s");
}

std::string missing_zh(const GroupProgress& group) {
  if (group.ranks_without_dump.empty()) return {};
  return fmt::format("缺少 rank {} 的转储：应首先怀疑。", rank_list(group.ranks_without_dump));
}

std::string last_issued(const GroupProgress& group) {
  std::string said;
  for (const RankProgress& progress : group.progress) {
    if (!progress.rank ||
        std::find(group.culprits.begin(), group.culprits.end(), *progress.rank) == group.culprits.end())
      continue;
    if (said.size() > 200) return said + ", ...";
    said += fmt::format("{}rank {}: {}", said.empty() ? "" : ", ", *progress.rank,
                        progress.last_issued ? std::to_string(*progress.last_issued) : "none");
  }
  return said;
}

void say_complete(GroupProgress& group) {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  for (const RankProgress& progress : group.progress) {
    least = &progress == &group.progress.front() ? progress.calls : std::min(least, progress.calls);
    most = std::max(most, progress.calls);
  }
  const std::string calls = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
  group.sentence = fmt::format("{}: nothing is pending; {} collective{} in each dump, all completed.", name_of(group),
                               calls, most == 1 ? "" : "s");
  group.sentence_zh = fmt::format("{}：没有未完成的集合通信；每份转储 {} 个，全部完成。", name_of(group), calls);
  if (group.ranks_without_dump.empty()) return;
  group.sentence += fmt::format(" No dump of {}.", ranks_word(group.ranks_without_dump));
  group.sentence_zh += fmt::format("缺少 rank {} 的转储。", rank_list(group.ranks_without_dump));
}

void say_behind(GroupProgress& group) {
  const std::vector<std::int64_t> who = waiting(group);
  const std::string frame = group.frame.empty() ? "" : " (" + group.frame + ")";
  group.sentence =
      fmt::format("{}: {} wait{} in collective {}, {}{}, which {} {} not issued (last issued: {}).", name_of(group),
                  ranks_word(who), who.size() == 1 ? "s" : "", *group.sequence, group.collective, frame,
                  group.culprits.empty() ? "a dump of unknown rank" : ranks_word(group.culprits),
                  group.culprits.size() > 1 ? "have" : "has", last_issued(group));
  group.sentence_zh = fmt::format("{}：rank {} 停在第 {} 个集合通信（{}{}），而 rank {} 尚未发起（最后发起：{}）。",
                                  name_of(group), rank_list(who), *group.sequence, group.collective, frame,
                                  rank_list(group.culprits), last_issued(group));
  group.sentence += missing(group);
  group.sentence_zh += missing_zh(group);
}

void say_in_progress(GroupProgress& group) {
  const std::string frame = group.frame.empty() ? "" : " (" + group.frame + ")";
  group.sentence =
      fmt::format("{}: collective {}, {}{}, was issued by every rank that has a dump and is not completed.",
                  name_of(group), *group.sequence, group.collective, frame);
  group.sentence_zh = fmt::format("{}：第 {} 个集合通信（{}{}）已由所有有转储的 rank 发起，但未完成。", name_of(group),
                                  *group.sequence, group.collective, frame);
  if (!group.culprits.empty()) {
    group.sentence += fmt::format(" On {} the device has not started it: work before it still runs there.",
                                  ranks_word(group.culprits));
    group.sentence_zh += fmt::format("rank {} 的设备尚未开始执行：其前面的工作仍在运行。", rank_list(group.culprits));
  } else if (group.ranks_without_dump.empty()) {
    group.sentence +=
        " Nobody is behind: it ran when the dumps were written, or the devices or the links between them are stuck.";
    group.sentence_zh += "没有落后的 rank：转储时它仍在运行，或设备、链路已停滞。";
  }
  group.sentence += missing(group);
  group.sentence_zh += missing_zh(group);
}

void say_mismatch(GroupProgress& group) {
  group.sentence =
      fmt::format("{}: ranks disagree from collective {} on ({}).", name_of(group), *group.sequence, group.collective);
  group.sentence_zh =
      fmt::format("{}：从第 {} 个集合通信起各 rank 不一致（{}）。", name_of(group), *group.sequence, group.collective);
  if (!group.culprits.empty()) {
    const std::string frame = group.frame.empty() ? "" : " (" + group.frame + ")";
    group.sentence += fmt::format(" The odd one out: {}{}.", ranks_word(group.culprits), frame);
    group.sentence_zh += fmt::format("与多数不同的是 rank {}{}。", rank_list(group.culprits), frame);
  }
  group.sentence += missing(group);
  group.sentence_zh += missing_zh(group);
}

}  // namespace

std::string rank_list(std::span<const std::int64_t> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (text.size() > 200) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += last - i >= 2 ? fmt::format("{} to {}", ranks[i], ranks[last]) : std::to_string(ranks[i]);
    if (last - i == 1) text += ", " + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string call_words(const FlightRecord& record) {
  std::string words = record.name;
  if (record.in_elements != kNotRecorded) {
    words += fmt::format(" of {}", record.in_elements);
    if (!record.dtype.empty()) words += " " + record.dtype;
  }
  return words;
}

void say(GroupProgress& group) {
  switch (group.state) {
    case GroupState::complete:
      return say_complete(group);
    case GroupState::behind:
      return say_behind(group);
    case GroupState::in_progress:
      return say_in_progress(group);
    case GroupState::mismatch:
      return say_mismatch(group);
  }
}

void say(PendingTransfer& transfer) {
  const std::string_view verb = transfer.send ? "send to" : "receive from";
  transfer.sentence = fmt::format("Rank {} waits to {} rank {}", transfer.rank.value_or(-1), verb, transfer.peer);
  transfer.sentence_zh = fmt::format("rank {} 等待{} rank {} {}", transfer.rank.value_or(-1),
                                     transfer.send ? "向" : "从", transfer.peer, transfer.send ? "发送" : "接收");
  if (!transfer.peer_has_dump) {
    transfer.sentence += ", of which there is no dump.";
    transfer.sentence_zh += "，而后者没有转储。";
  } else if (transfer.peer_waits_too) {
    transfer.sentence += ", which waits in its half of the same transfer.";
    transfer.sentence_zh += "，后者也停在同一传输的另一半。";
  } else {
    transfer.sentence += ", which does not wait in its half: it has not come to it.";
    transfer.sentence_zh += "，而后者尚未发起对应的一半。";
  }
}

std::string flight_text(const FlightReport& report, bool chinese) {
  const std::string first = report.sources.empty() ? "" : report.sources.front();
  const std::string files = report.sources.size() > 1 ? first + ", ..." : first;
  std::string text = chinese ? fmt::format("飞行记录器转储：{} 份（{}）\n", report.sources.size(), files)
                             : fmt::format("Flight recorder: {} dump{} ({})\n", report.sources.size(),
                                           report.sources.size() == 1 ? "" : "s", files);
  for (const GroupProgress& group : report.groups) text += "  " + (chinese ? group.sentence_zh : group.sentence) + "\n";
  for (const PendingTransfer& transfer : report.transfers)
    text += "  " + (chinese ? transfer.sentence_zh : transfer.sentence) + "\n";
  for (const std::string& remark : chinese ? report.remarks_zh : report.remarks) text += "  " + remark + "\n";
  return text;
}

}  // namespace accel::fusion
