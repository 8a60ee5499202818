"""Tables by module, annotation and Python function against a computation of their own, from the events alone."""

import gzip
import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

import pytest

CAPTURES = ["variety/all_options", "pairs/python_heavy.before", "nccl2/fsdp2.rank0"]


def ns(value) -> int:
    return int((Decimal(value) * 1000).to_integral_value())


@dataclass
class Slice:
    start: int
    end: int
    name: str

    def holds(self, time):
        return self.start <= time < self.end


class Capture:
    def __init__(self, path, report):
        with gzip.open(path) as file:
            events = json.load(file, parse_float=Decimal)["traceEvents"]
        self.events = [event for event in events if event.get("ph") == "X"]
        complete = {step["index"] for step in report["steps"] if step["complete"]}
        self.steps, self.main = [], None
        for event in self.of("user_annotation"):
            if event["name"].startswith("ProfilerStep#"):
                self.main = event["tid"]
                if int(event["name"].split("#")[1]) in complete:
                    self.steps.append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
        calls = {event["args"]["correlation"]: event for event in self.of("cuda_runtime", "cuda_driver")
                 if "correlation" in event.get("args", {})}
        self.work = []  # thread and time of the launch, duration
        for event in self.of("kernel", "gpu_memcpy", "gpu_memset"):
            call = calls.get(event["args"]["correlation"])
            if call and self.in_step(ns(call["ts"])):
                self.work.append((call["tid"], ns(call["ts"]), ns(event["dur"])))
        ops = self.of("cpu_op")
        self.autograd = {event["tid"] for event in ops if event["name"].startswith("autograd::engine")} - {self.main}
        self.backward = self.work_of_nodes(ops)

    def of(self, *kinds):
        return [event for event in self.events if event.get("cat") in kinds]

    def in_step(self, time):
        return any(start <= time < end for start, end in self.steps)

    def clipped(self, start, end):
        return sum(max(0, min(end, b) - max(start, a)) for a, b in self.steps)

    def work_of_nodes(self, ops):
        """Time at which the op ran whose backward node launched the work, and the work's duration."""
        forward, nodes = defaultdict(list), defaultdict(list)
        for event in ops:
            number, thread = event["args"].get("Sequence number"), event["args"].get("Fwd thread id")
            if thread == 0 and event["tid"] == self.main:
                forward[number].append(ns(event["ts"]))
            elif thread:
                nodes[event["tid"]].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), number))
        work = []
        for thread, time, duration in self.work:
            around = [node for node in nodes[thread] if node[0] <= time < node[1]]
            if around:
                start, _, number = max(around)
                made = [at for at in forward.get(number, []) if at <= start]
                if made:
                    work.append((max(made), duration))
        return work

    def table(self, selected):
        slices = defaultdict(list)
        for event in self.events:
            if selected(event):
                name = re.sub(r" at 0x[0-9a-fA-F]*", "", event["name"], count=1)
                slices[event["tid"]].append(Slice(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), name))
        for own in slices.values():
            own.sort(key=lambda one: (one.start, -one.end))
        rows = defaultdict(lambda: defaultdict(int))
        for own in slices.values():
            self.add_host(own, rows)
        open_at = lambda thread, time: [one for one in slices[thread] if one.holds(time)]
        for thread, time, duration in self.work:
            own = open_at(thread, time)
            main = open_at(self.main, time) if thread in self.autograd else []
            for name in {one.name for one in own + main}:
                rows[name]["device_ms"] += duration
            if own or main:
                rows[(own or main)[-1].name]["device_self_ms"] += duration
        for time, duration in self.backward:
            around = open_at(self.main, time)
            for name in {one.name for one in around}:
                rows[name]["backward_device_ms"] += duration
            if around:
                rows[around[-1].name]["backward_self_ms"] += duration
        return {name: row for name, row in rows.items() if row["count"] or row["host_ms"]}

    def add_host(self, slices, rows):
        covered = {}
        for one in slices:
            rows[one.name]["count"] += self.in_step(one.start)
            start = max(one.start, covered.get(one.name, 0))
            if one.end > start:
                rows[one.name]["host_ms"] += self.clipped(start, one.end)
                covered[one.name] = one.end
        # Between two ends or starts the innermost slice is one.
        times = sorted({time for one in slices for time in (one.start, one.end)})
        opened, at = [], 0
        for start, end in zip(times, times[1:]):
            while at < len(slices) and slices[at].start <= start:
                opened.append(slices[at])
                at += 1
            opened = [one for one in opened if one.end > start]
            if opened:
                rows[opened[-1].name]["host_self_ms"] += self.clipped(start, end)


def is_module(event):
    return event.get("cat") == "python_function" and event["name"].startswith("nn.Module: ")


@pytest.mark.parametrize("name", CAPTURES)
def test_tables_follow_from_the_events(command, shared, tmp_path, name):
    path = shared / f"traces/h200/{name}.json.gz"
    subprocess.run([command, "analyze", path, "--quiet", "--format", "json", "--full", "-o", tmp_path], check=True, timeout=120)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    capture = Capture(path, report)
    library = {row["name"] for row in report["frames"] if row["library"]}
    is_frame = lambda event: event.get("cat") == "python_function" and not is_module(event)
    is_range = lambda event: event.get("cat") == "user_annotation" and not event["name"].startswith("ProfilerStep#")
    users = capture.table(lambda event: is_frame(event) and event["name"] not in library
                          and re.sub(r" at 0x[0-9a-fA-F]*", "", event["name"], count=1) not in library)
    compared = 0
    for key, selected in (("modules", is_module), ("annotations", is_range), ("frames", is_frame)):
        expected = capture.table(selected)
        assert {row["name"] for row in report[key]} == set(expected)
        for row in report[key]:
            want = dict(expected[row["name"]])
            if key == "frames" and not row["library"]:
                want.update({part: users[row["name"]][part] for part in ("host_self_ms", "device_self_ms", "backward_self_ms")})
            for part in ("host_ms", "host_self_ms", "device_ms", "device_self_ms", "backward_device_ms", "backward_self_ms"):
                assert row[part] == pytest.approx(want.get(part, 0) / len(capture.steps) / 1e6, abs=2e-6), (key, row["name"], part)
            assert row["count"] == pytest.approx(want.get("count", 0) / len(capture.steps), abs=1e-6)
            compared += 1
    assert compared > 2
