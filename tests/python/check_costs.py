#!/usr/bin/env python3
"""Recomputes the costs of findings from a capture, without any code of the engine, and compares them with a report.

    check_costs.py CAPTURE.json[.gz] REPORT.json [--tolerance 0.10]

For each finding of a rule known here, the cost per step is computed once more from the events of the file:

  dataloader_starvation   idle device time inside DataLoader __next__ of the main thread
  allocator_churn         idle device time under cudaMalloc, cudaFree and kin
  host_to_device_copy     host-to-device copies minus kernels, plus idle inside the calls of pageable ones; for pinned
                          copies only what exceeds the other idle time
  implicit_sync           idle from the end of the awaited work: inside synchronisations and blocking copies to the
                          host, and after them up to the time for which the host had waited for a busy device
  launch_bound            the rest of the idle time, less the recording's cost that the report states

All over the windows that the report names (host intervals of complete steps, or device periods).
"""

import argparse
import bisect
import gzip
import json
import re
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver"}
ALLOCATOR = re.compile(r"^(cuda|hip)(Malloc|Free|HostAlloc|MallocHost|FreeHost|MallocManaged)$|^cuMem(Create|Map|Unmap|Release|Alloc|Free|SetAccess)")


@dataclass
class Event:
    name: str
    category: str
    start: int
    end: int
    args: dict
    thread: tuple


def nanoseconds(value) -> int:
    return int((Decimal(str(value)) * 1000).to_integral_value())


def read(path: Path) -> list[Event]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file, parse_float=Decimal)
    events = []
    for event in document["traceEvents"]:
        if event.get("ph") != "X" or "dur" not in event:
            continue
        start = nanoseconds(event["ts"])
        events.append(Event(event["name"], event.get("cat", ""), start, start + nanoseconds(event["dur"]), event.get("args", {}),
                            (event.get("pid"), event.get("tid"))))
    return events


# -- sets of intervals: sorted lists of disjoint (start, end)


def union(intervals):
    result = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def intersection(a, b):
    result, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            result.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return result


def difference(a, b):
    result = []
    for start, end in a:
        at = start
        for low, high in b[max(0, bisect.bisect_left(b, (at,)) - 1):]:
            if low >= end:
                break
            if high <= at:
                continue
            if low > at:
                result.append((at, low))
            at = max(at, high)
        if at < end:
            result.append((at, end))
    return result


def total(intervals) -> int:
    return sum(end - start for start, end in intervals)


class Capture:
    def __init__(self, events: list[Event]):
        self.events = events
        self.device = [event for event in events if event.category in DEVICE]
        self.kernels = union((e.start, e.end) for e in self.device if e.category == "kernel")
        self.busy = union((e.start, e.end) for e in self.device)
        self.calls = [event for event in events if event.category in CALLS]
        self.call_of = {event.args.get("correlation"): event for event in self.calls}
        self.steps = sorted((e.start, e.end) for e in events if e.category == "user_annotation" and e.name.startswith("ProfilerStep#"))

    def windows(self, kind: str):
        if kind == "host":
            return self.steps
        firsts = []
        for start, end in self.steps:
            launched = [e.start for e in self.device if (call := self.call_of.get(e.args.get("correlation"))) and start <= call.start < end]
            if launched:
                firsts.append(min(launched))
        return list(zip(firsts, firsts[1:]))

    def copies(self, direction: str):
        return [event for event in self.device if event.category == "gpu_memcpy" and direction in event.name]


class Costs:
    """Milliseconds per step, as recorded, over the windows of one report."""

    def __init__(self, capture: Capture, window: str):
        self.capture = capture
        self.windows = capture.windows(window)
        self.count = max(1, len(self.windows))
        self.idle = difference(union(self.windows), capture.busy)

    def ms(self, intervals) -> float:
        return total(intervals) / self.count / 1e6

    def idle_in(self, events) -> list:
        return intersection(self.idle, union((e.start, e.end) for e in events))

    def loading(self) -> float:
        return self.ms(self.idle_in(e for e in self.capture.events if e.category not in DEVICE and "__next__" in e.name and "DataLoader" in e.name))

    def allocating(self) -> float:
        return self.ms(self.idle_in(e for e in self.capture.calls if ALLOCATOR.search(e.name)))

    def copying(self) -> float:
        exposed = {True: [], False: []}
        calls = []
        for copy in self.capture.copies("HtoD"):
            pageable = "Pageable ->" in copy.name
            exposed[pageable].append((copy.start, copy.end))
            call = self.capture.call_of.get(copy.args.get("correlation"))
            if pageable and call:
                calls.append(call)
        pageable, pinned = (intersection(difference(union(exposed[kind]), self.capture.kernels), union(self.windows)) for kind in (True, False))
        waiting = self.ms(self.idle_in(calls))
        slack = self.ms(self.idle) - waiting
        return self.ms(pageable) + waiting + max(0.0, self.ms(pinned) - slack)

    def last_work_before(self, time: int) -> int:
        """End of the last device work that began before `time`, at most `time`."""
        at = bisect.bisect_left(self.capture.busy, (time,)) - 1
        return min(time, self.capture.busy[at][1]) if at >= 0 else 0

    def waiting(self) -> float:
        """Idle from the end of the awaited work: in the calls, then up to the time that the host had waited for a busy device."""
        waits = [e for e in self.capture.calls if "Synchronize" in e.name]
        for copy in self.capture.copies("DtoH"):
            call = self.capture.call_of.get(copy.args.get("correlation"))
            if call and "Pageable" in copy.name:
                waits.append(call)
        others = union((e.start, e.end) for e in self.capture.calls if ALLOCATOR.search(e.name))
        inside = union((max(e.start, self.last_work_before(e.end)), e.end) for e in waits)
        cost = total(intersection(self.idle, inside))
        late = sorted((e.end, total(intersection(self.capture.busy, [(e.start, e.end)]))) for e in waits)
        credit, at = 0, 0
        for start, end in difference(difference(self.idle, inside), others):
            while at < len(late) and late[at][0] <= start:
                credit += late[at][1]
                at += 1
            explained = min(credit, end - start)
            credit -= explained
            cost += explained
        return cost / self.count / 1e6


def compare(capture_path: Path, report: dict, tolerance: float) -> list[str]:
    capture = Capture(read(capture_path))
    breakdown = report["breakdown"][0]
    costs = Costs(capture, breakdown["window"])
    recording_ms = breakdown["measured"]["window_ms"] - breakdown["undisturbed"]["window_ms"]
    recomputed = {
        "dataloader_starvation": costs.loading,
        "allocator_churn": costs.allocating,
        "host_to_device_copy": costs.copying,
        "implicit_sync": costs.waiting,
    }
    problems = []
    claimed = 0.0
    for finding in report["findings"]:
        rule, cost = finding["rule"], finding["cost_ms_per_step"]
        if rule != "launch_bound":
            claimed += cost
        if rule not in recomputed or finding["severity"] == "info":
            continue
        expected = recomputed[rule]()
        line = f"{rule}: {cost:.3f} ms a step in the report, {expected:.3f} from the events"
        print(line)
        if abs(cost - expected) > tolerance * expected:
            problems.append(line)
    for finding in report["findings"]:
        if finding["rule"] != "launch_bound" or finding["severity"] == "info":
            continue
        # An upper bound: what is idle, less the recording's cost and what other findings hold.
        expected = costs.ms(costs.idle) - recording_ms - claimed
        line = f"launch_bound: {finding['cost_ms_per_step']:.3f} ms a step in the report, {expected:.3f} from the events"
        print(line)
        if abs(finding["cost_ms_per_step"] - expected) > tolerance * max(expected, 1e-9):
            problems.append(line)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.10)
    arguments = parser.parse_args()
    problems = compare(arguments.capture, json.loads(arguments.report.read_text(encoding="utf-8")), arguments.tolerance)
    for problem in problems:
        print(f"off by more than {arguments.tolerance:.0%}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
