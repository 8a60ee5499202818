#include "diagnosis/loader_action.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr double kWaits = 0.5;  // of a function's time without a processor: it waits rather than computes

std::string at_line(const Location& place) {
  return place.line ? fmt::format(" at {}:{}", place.file, *place.line) : std::string();
}

std::string function_at(const Location& place) {
  const std::optional<SourceLine> line = parse_frame(place.name);
  return line ? fmt::format("{}() at {}:{}", line->function, line->file, line->line) : std::string();
}

std::string workers_command(int workers) {
  return fmt::format(
      "import os\n"
      "from torch.utils.data import DataLoader\n"
      "\n"
      "loader = DataLoader(dataset, batch_size=batch_size, shuffle=True,\n"
      "                    num_workers=min({}, len(os.sched_getaffinity(0))), pin_memory=True,\n"
      "                    persistent_workers=True, prefetch_factor=4)\n",
      workers);
}

void set_workers(Action& action, const StepView& view, const LoaderFacts& facts) {
  const int workers = workers_needed(facts);
  action.command = workers_command(workers);
  action.side_effects =
      "each worker is a process with its own copy of the dataset object and prefetch_factor batches in host memory; "
      "random augmentation needs a seed per worker (worker_init_fn)";
  if (facts.kind == LoaderKind::single_process) {
    action.title = fmt::format("Load batches in {} worker processes", workers);
    action.detail = fmt::format(
        "The loader runs in the main thread (num_workers=0): nothing is launched while it makes a batch. A batch takes "
        "{} "
        "and the rest of {} {}, so about {} workers keep up.",
        ms_text(facts.load_ns), view.a_unit, ms_text(facts.rest_ns), workers);
    if (facts.load_ns > kMostWorkers * facts.rest_ns) {
      action.detail +=
          " Even they cannot hide all of it: make the batch cheaper too (decode and resize once and store the result, "
          "or "
          "decode on the device).";
    }
    action.not_when =
        "the process has no cores to spare, or the dataset cannot be pickled or shared by several processes";
    return;
  }
  action.title = facts.workers > 0 ? fmt::format("Raise num_workers from about {} to {}", facts.workers, workers)
                                   : "Give the loader more workers, or make a batch cheaper";
  const std::string known =
      facts.workers > 0 ? fmt::format(" (about {}, as they take turns)", facts.workers) : std::string();
  const std::string batch = ms_text(facts.load_ns + facts.rest_ns);
  const std::string rest = ms_text(facts.rest_ns);
  action.detail =
      facts.waiting
          ? fmt::format(
                "Worker processes exist{} and do not keep up: a batch comes every {}, and the rest of {} takes {}.",
                known, batch, view.a_unit, rest)
          : fmt::format(
                "Worker processes exist{} and do not keep up: a batch comes every {}, and the rest of {} takes {}. "
                "They are not in "
                "this capture: `py-spy top --pid WORKER_PID` shows what one does. If more of them do not help, the "
                "limit is storage, "
                "or the cores that the job may use.",
                known, batch, view.a_unit, rest);
  action.not_when =
      "num_workers already equals the cores that the job may use: then make the work of a batch smaller instead";
}

void set_decode(Action& action, const StepView& view, const LoaderFacts& facts) {
  set_workers(action, view, facts);
  const std::string function = function_at(facts.place);
  if (function.empty()) return;
  if (!facts.waiting) {
    action.detail += fmt::format(
        " Most of a batch is spent in {}; if it does not compute there, it waits (a lock, a "
        "server): `py-spy dump --pid PID` tells.",
        function);
  } else if (*facts.waiting >= kWaits) {
    action.detail += fmt::format(
        " Most of a batch is spent in {}, which waits there (a read, a lock, a server) in {} of its time. "
        "More workers wait in parallel.",
        function, percent_text(*facts.waiting));
    return;
  } else {
    action.detail += fmt::format(
        " Most of a batch is spent in {}, which computes, or is ready to, in {} of its time, so more workers help as "
        "long as there are cores.",
        function, percent_text(1 - *facts.waiting));
  }
  action.command +=
      fmt::format("# and make {} cheaper: decode once and store the result, or use a faster decoder\n", function);
}

void set_collate(Action& action, const StepView& view, const LoaderFacts& facts) {
  set_workers(action, view, facts);
  const std::string function = function_at(facts.place);
  action.title = "Make the collation cheap" + at_line(facts.place) + ", and do it in workers";
  action.detail = fmt::format(
      "Putting samples together takes most of a batch{}. Samples that are tensors of one shape are stacked by one "
      "copy; "
      "loops over values in Python are not. {}",
      function.empty() ? std::string() : ": " + function, action.detail);
  action.command =
      "import torch\n"
      "\n"
      "def collate(samples):  # one copy per batch, no loop over values\n"
      "    return torch.stack([sample[0] for sample in samples]), torch.tensor([sample[1] for sample in samples])\n"
      "\n" +
      action.command + "loader.collate_fn = collate\n";
}

void set_storage(Action& action, const StepView& view, const LoaderFacts& facts) {
  action.title = "Keep the samples nearer, in larger files" + at_line(facts.place);
  action.detail = fmt::format(
      "A batch waits {} {} for reads and opens. Many small files or small reads cost one trip each: pack samples into "
      "larger files and read them whole, copy the data set to a local disk or to memory, and let workers wait in "
      "parallel; "
      "waiting needs no core.",
      ms_text(facts.load_ns), view.a_unit);
  action.command =
      "import os\n"
      "from torch.utils.data import DataLoader\n"
      "\n"
      "# reads wait, they do not compute: more workers than cores do no harm here\n"
      "loader = DataLoader(dataset, batch_size=batch_size, shuffle=True,\n"
      "                    num_workers=2 * len(os.sched_getaffinity(0)), prefetch_factor=8,\n"
      "                    pin_memory=True, persistent_workers=True)\n";
  action.side_effects =
      "more reads at once: a shared file system may slow down for others; host memory for the batches ahead";
  action.not_when = "the storage is at its limit already: then only fewer or smaller reads help";
}

void set_lock(Action& action, const StepView& view, const LoaderFacts& facts) {
  action.title = "Take the lock out of the loading path" + at_line(facts.place);
  action.detail = fmt::format(
      "The main thread waits {} {} inside the loader for a lock that another thread holds. Give every worker its own "
      "handle (file, connection, tokenizer), opened at first use, so that nothing has to be shared.",
      ms_text(facts.load_ns), view.a_unit);
  action.command =
      "import os\n"
      "\n"
      "# who holds it: py-spy dump --pid PID\n"
      "def own_handle(self):  # in the dataset: one handle per process, opened where it is used\n"
      "    if getattr(self, \"_pid\", None) != os.getpid():\n"
      "        self._pid, self._file = os.getpid(), open(self.path, \"rb\")\n"
      "    return self._file\n";
  action.side_effects = "one handle for each worker";
  action.not_when = "the lock guards something that really exists once: then move that access out of the step";
}

void set_unpickle(Action& action, const StepView& view, const LoaderFacts& facts) {
  action.title = "Send tensors from the workers, not Python objects";
  action.detail = fmt::format(
      "The main thread spends {} {} on unpacking what a worker sent. Tensors travel in shared memory; lists of strings "
      "or "
      "numbers are pickled in the worker and built again, object by object, in the main thread.",
      ms_text(facts.load_ns), view.a_unit);
  action.command =
      "import torch\n"
      "\n"
      "def collate(samples):\n"
      "    images = torch.stack([sample[0] for sample in samples])\n"
      "    labels = torch.tensor([sample[1] for sample in samples])\n"
      "    return images, labels  # strings and lists stay in the worker, or go as one encoded tensor\n";
  action.side_effects = "code that used the objects gets an index to look them up instead";
  action.not_when = "the objects are needed in every step: then make them smaller";
}

void set_pinning(Action& action, const StepView& view, const LoaderFacts& facts) {
  action.title = "Pin in the loader's own thread, and only what goes to the device";
  action.detail = fmt::format(
      "Copying batches to pinned memory takes {} {} in the main thread. With workers the loader pins in a thread "
      "beside "
      "the training; buffers that are reused need not be pinned again.",
      ms_text(facts.load_ns), view.a_unit);
  action.command = workers_command(std::max(2, workers_needed(facts)));
  action.side_effects = "pinned memory is taken from what other processes may use";
  action.not_when = "batches are small: a pageable copy is then as fast";
}

void set_sampler(Action& action, const StepView& view, const LoaderFacts& facts) {
  action.title = "Draw the indices once per epoch, on the CPU" + at_line(facts.place);
  action.detail = fmt::format(
      "The next indices take {} {}. A sampler that computes on the device, or asks other ranks, makes every batch "
      "wait; an "
      "epoch's order can be drawn in advance from a seed that all ranks share.",
      ms_text(facts.load_ns), view.a_unit);
  action.command =
      "import torch\n"
      "\n"
      "class SeededOrder(torch.utils.data.Sampler):\n"
      "    def __init__(self, size, seed, epoch=0):\n"
      "        self.size, self.seed, self.epoch = size, seed, epoch\n"
      "\n"
      "    def __iter__(self):\n"
      "        generator = torch.Generator().manual_seed(self.seed + self.epoch)\n"
      "        return iter(torch.randperm(self.size, generator=generator).tolist())\n"
      "\n"
      "    def __len__(self):\n"
      "        return self.size\n";
  action.side_effects = "host memory for an epoch's indices";
  action.not_when = "the order depends on results of the training (curriculum, hard examples)";
}

void set_other(Action& action, const StepView& view, const LoaderFacts& facts) {
  set_workers(action, view, facts);
  if (facts.kind == LoaderKind::single_process || facts.kind == LoaderKind::multi_process) return;
  action.title = "Prepare the next batch while the device works on this one";
  action.detail =
      "The main thread fetches data while the device has nothing to do. Fetch in worker processes or in a thread, one "
      "batch ahead.";
  action.not_when =
      "the next batch depends on the result of this one (reinforcement learning, autoregressive sampling)";
}

}  // namespace

int workers_needed(const LoaderFacts& facts) {
  double needed = kMostWorkers;
  if (facts.kind == LoaderKind::single_process && facts.rest_ns > 0) {
    needed = std::ceil(facts.load_ns / facts.rest_ns) + 1;
  } else if (facts.workers > 0 && facts.rest_ns > 0) {
    // They bring a batch in the whole step together; they must do so in the rest of it.
    needed = std::ceil(facts.workers * (facts.load_ns + facts.rest_ns) / facts.rest_ns);
  }
  return static_cast<int>(std::clamp(needed, 2.0, static_cast<double>(kMostWorkers)));
}

Action loader_action(const StepView& view, const LoaderFacts& facts) {
  Action action;
  switch (facts.part) {
    case LoaderPart::decode:
      set_decode(action, view, facts);
      break;
    case LoaderPart::collate:
      set_collate(action, view, facts);
      break;
    case LoaderPart::storage:
      set_storage(action, view, facts);
      break;
    case LoaderPart::lock:
      set_lock(action, view, facts);
      break;
    case LoaderPart::unpickle:
      set_unpickle(action, view, facts);
      break;
    case LoaderPart::pinning:
      set_pinning(action, view, facts);
      break;
    case LoaderPart::sampler:
      set_sampler(action, view, facts);
      break;
    case LoaderPart::worker_wait:
      set_workers(action, view, facts);
      break;
    case LoaderPart::other:
      set_other(action, view, facts);
      break;
  }
  return action;
}

std::string loader_part_words(const LoaderFacts& facts) {
  const std::optional<SourceLine> line = parse_frame(facts.place.name);
  switch (facts.part) {
    case LoaderPart::decode:
      return line ? fmt::format("making samples in {}", line->function) : std::string("making samples");
    case LoaderPart::collate:
      return line && facts.place.kind == "frame" ? fmt::format("collating in {}", line->function)
                                                 : std::string("collating");
    case LoaderPart::storage:
      return "reading from storage";
    case LoaderPart::lock:
      return "waiting for a lock";
    case LoaderPart::unpickle:
      return "unpacking what the workers sent";
    case LoaderPart::pinning:
      return "pinning";
    case LoaderPart::sampler:
      return "drawing indices";
    case LoaderPart::worker_wait:
      return "waiting for its workers";
    case LoaderPart::other:
      break;
  }
  return {};
}

}  // namespace accel
