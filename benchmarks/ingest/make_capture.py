#!/usr/bin/env python3
"""Makes a capture of any size out of a real one, and writes down what a correct reader must find in it.

The events of one real window are repeated as text with times, ids and step numbers shifted, so every byte is what the
profiler would have written for a longer window: links, flows and steps stay consistent, and numbers grow in length as
they do in life. Beside FILE stands FILE.expected.json: counts and sums computed from the real window and the number of
repetitions with the standard library alone, never by the program under test.

    make_capture.py build/bench/plain.json --events 1800000
    make_capture.py build/bench/distinct.json --events 1800000 --distinct-strings 300000 --gzip
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import zlib
from collections import Counter
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
DEFAULT_CAPTURE = PROJECT / "tests/golden/pytorch-2.11_h200/fsdp2.rank0.json.gz"

SHAPE_KEYS = ("Concrete Inputs", "Input type", "Input Strides", "Input Dims")
DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
CALL_CATEGORIES = ("cuda_runtime", "cuda_driver")
NAMED_APART = ("cpu_op", "kernel")  # whose names --distinct-strings makes distinct
ONCE = ("M", "i")  # phases that a longer window would not repeat, if they carry no category

# Which numbers of an event move with the repetition. Numbers of one space share their stride; "id" is the flow id.
NUMBERS = {
    "ts": "time",
    "correlation": "correlation",
    "wait_on_cuda_event_record_corr_id": "correlation",
    "External id": "external id",
    "Ev Idx": "event index",
    "Sequence number": "sequence",
    "Record function id": "record function id",
    "Python id": "python id",
    "Python parent id": "python id",
    "Seq": "collective sequence",
}
NUMBER = re.compile(r'"(%s|id)": (\d+)|"name": "ProfilerStep#(\d+)' % "|".join(map(re.escape, NUMBERS)))
SHIFTED_FROM_ZERO = ("event index",)  # elsewhere 0 means "none" and stays


@dataclass
class Window:
    """One real window, cut into what is written once and what is repeated."""

    head: str
    events: list[str]  # repeated
    parsed: list[dict]
    once: list[str]
    once_parsed: list[dict]
    tail: str
    base_ns: int
    first_us: Decimal = Decimal(0)
    last_us: Decimal = Decimal(0)


@dataclass
class Template:
    """The repeated text with a %d at every moving number, and what the numbers are in repetition k."""

    text: str
    slots: list[tuple[int, int, int]]  # value = base + k * stride + (k mod name_cycle) * name_stride
    strides: dict[str, int] = field(default_factory=dict)
    name_slots: int = 0
    name_cycle: int = 1

    def render(self, k: int) -> str:
        j = k % self.name_cycle
        return self.text % tuple([base + k * stride + j * name_stride for base, stride, name_stride in self.slots])


def without_shapes(event: str, decoder: json.JSONDecoder) -> str:
    """The event as the profiler writes it with record_shapes off."""
    for key in SHAPE_KEYS:
        label = f'"{key}": '
        start = event.find(label)
        if start < 0:
            continue
        _, end = decoder.raw_decode(event, start + len(label))
        if event.startswith(", ", end):
            end += 2
        else:
            start = event.rindex(",", 0, start)
        event = event[:start] + event[end:]
    return event


def read_window(path: Path, shapes: bool) -> Window:
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    decoder = json.JSONDecoder(parse_float=Decimal)
    opening = re.search(r'"traceEvents":\s*\[\s*', text)
    if not opening:
        raise SystemExit(f"{path}: no traceEvents")
    head = text[: opening.end()]
    if not shapes:
        head = re.sub(r'\s*"record_shapes": 1,', "", head)
    base = re.search(r'"baseTimeNanoseconds": (\d+)', text)

    window = Window(head, [], [], [], [], "", int(base.group(1)) if base else 0)
    at = opening.end()
    separator = re.compile(r"\s*(,\s*|\])")
    while True:
        parsed, end = decoder.raw_decode(text, at)
        event = text[at:end]
        if parsed["ph"] in ONCE and "cat" not in parsed or parsed.get("cat") == "Trace":
            window.once.append(event)
            window.once_parsed.append(parsed)
        else:
            if not shapes:
                event = without_shapes(event, decoder)
                parsed = decoder.decode(event)
            window.events.append(event)
            window.parsed.append(parsed)
        following = separator.match(text, end)
        at = following.end()
        if following.group(1) == "]":
            window.tail = text[at - 1 :]
            break
    starts = [Decimal(e["ts"]) for e in window.parsed]
    window.first_us = min(starts)
    window.last_us = max(Decimal(e["ts"]) + Decimal(e.get("dur", 0)) for e in window.parsed)
    return window


def number_space(key: str, category: str) -> str:
    if key == "id":  # flows from launch to device carry the correlation, the others count for themselves
        return "correlation" if category == "ac2g" else f"flow {category}"
    return NUMBERS[key]


def make_template(window: Window, distinct_strings: int) -> Template:
    # First pass: the range of every number space, from which the strides follow. Ranges of two repetitions never meet.
    lowest: dict[str, int] = {}
    highest: dict[str, int] = {}
    for event, parsed in zip(window.events, window.parsed):
        for match in NUMBER.finditer(event):
            key, digits, step = match.groups()
            space = "step" if step is not None else number_space(key, parsed.get("cat", ""))
            value = int(step if step is not None else digits)
            if value or space in SHIFTED_FROM_ZERO:
                lowest[space] = min(value, lowest.get(space, value))
                highest[space] = max(value, highest.get(space, value))
    strides = {space: highest[space] - lowest[space] + 1 for space in lowest}
    strides["time"] = int(window.last_us - window.first_us) + 500  # whole microseconds: fractions stay as they are

    named = sum(parsed.get("cat") in NAMED_APART for parsed in window.parsed)
    template = Template("", [], strides)
    if distinct_strings:
        template.name_slots = named
        template.name_cycle = max(1, -(-distinct_strings // named))

    pieces: list[str] = []
    renamed = 0
    for event, parsed in zip(window.events, window.parsed):
        category = parsed.get("cat", "")
        rename_at = -1
        if distinct_strings and category in NAMED_APART:
            name = re.search(r'"name": "((?:[^"\\]|\\.)*)"', event)
            rename_at = name.end() - 1
        at = 0
        moving = [(m.start(2) if m.group(3) is None else m.start(3), m) for m in NUMBER.finditer(event)]
        if rename_at >= 0:
            moving.append((rename_at, None))
            moving.sort(key=lambda item: item[0])
        for position, match in moving:
            if match is None:
                pieces.append(event[at:position].replace("%", "%%") + "_%06d")
                template.slots.append((renamed, 0, named))
                renamed += 1
                at = position
                continue
            key, digits, step = match.groups()
            space = "step" if step is not None else number_space(key, category)
            value = int(step if step is not None else digits)
            if not value and space not in SHIFTED_FROM_ZERO:
                continue
            pieces.append(event[at:position].replace("%", "%%") + "%d")
            template.slots.append((value, strides[space], 0))
            at = match.end()
        pieces.append(event[at:].replace("%", "%%") + ",\n  ")
    template.text = "".join(pieces)
    return template


def to_ns(microseconds: Decimal | int) -> int:
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_EVEN))


def slice_kind(parsed: dict) -> str:
    return {"cpu_op": "op", "user_annotation": "annotation", "python_function": "frame", "cuda_runtime": "runtime_call",
            "cuda_driver": "driver_call", "overhead": "overhead"}.get(parsed.get("cat", ""), "")


def expect(window: Window, template: Template, copies: int) -> dict:
    """What a correct reader finds in `copies` repetitions."""
    per_category: Counter[str] = Counter()
    slices: Counter[str] = Counter()
    devices: Counter[str] = Counter()
    slice_ns: Counter[str] = Counter()
    device_ns: Counter[str] = Counter()
    device_starts: list[int] = []
    slice_starts: list[int] = []
    steps = 0
    names: set[str] = set()
    calls = {p["args"]["correlation"] for p in window.parsed if p.get("cat") in CALL_CATEGORIES and "correlation" in p["args"]}
    links = 0
    for parsed in window.parsed:
        category = parsed.get("cat", "")
        per_category[f"{category}/{parsed['ph']}"] += 1
        if parsed["ph"] != "X":
            continue
        kind = slice_kind(parsed)
        if kind:
            slices[kind] += 1
            slice_ns[kind] += to_ns(parsed["dur"])
            slice_starts.append(window.base_ns + to_ns(parsed["ts"]))
            steps += category == "user_annotation" and parsed["name"].startswith("ProfilerStep#")
        elif category in DEVICE_CATEGORIES:
            devices[category.removeprefix("gpu_")] += 1
            device_ns[category.removeprefix("gpu_")] += to_ns(parsed["dur"])
            device_starts.append(window.base_ns + to_ns(parsed["ts"]))
            links += parsed["args"]["correlation"] in calls
        else:
            continue
        moves = category in NAMED_APART and template.name_slots or parsed["name"].startswith("ProfilerStep#")
        if not moves:
            names.add(parsed["name"])
    total = Counter({key: count * copies for key, count in per_category.items()})
    for parsed in window.once_parsed:
        total[f"{parsed.get('cat', '')}/{parsed['ph']}"] += 1

    def starts_sum(starts: list[int]) -> int:
        shifts = template.strides["time"] * 1000 * (copies * (copies - 1) // 2) * len(starts)
        return (sum(starts) * copies + shifts) % 2**64

    step_names = len({p["name"] for p in window.parsed if p["name"].startswith("ProfilerStep#")})
    renamed = template.name_slots * min(copies, template.name_cycle)
    return {
        "windows": copies,
        "events": sum(total.values()),
        "events_by_category": dict(sorted(total.items())),
        "slices": {k: n * copies for k, n in sorted(slices.items())},
        "slice_ns": {k: n * copies for k, n in sorted(slice_ns.items())},
        "slice_starts_sum": starts_sum(slice_starts),
        "device_events": {k: n * copies for k, n in sorted(devices.items())},
        "device_ns": {k: n * copies for k, n in sorted(device_ns.items())},
        "device_starts_sum": starts_sum(device_starts),
        "kernels": devices["kernel"] * copies,
        "kernel_ns": device_ns["kernel"] * copies,
        "links": links * copies,
        "steps": steps * copies,
        "distinct_names": len(names) + step_names * copies + renamed,  # of slices and device events
        "distinct_strings_made": renamed,
    }


def once_text(window: Window, template: Template, copies: int) -> str:
    """The events that are not repeated; those that tell the window's end or length tell the new one."""
    shift = template.strides["time"] * (copies - 1)
    out = []
    for event, parsed in zip(window.once, window.once_parsed):
        if parsed.get("cat") == "Trace":
            event = event.replace(f'"dur": {parsed["dur"]}', f'"dur": {parsed["dur"] + shift}')
        elif parsed["name"] == "Record Window End":
            event = event.replace(f'"ts": {parsed["ts"]}', f'"ts": {parsed["ts"] + shift}')
        out.append(event)
    return ",\n  ".join(out)


def make(out: Path, *, capture: Path = DEFAULT_CAPTURE, events: int = 0, size: int = 0, distinct_strings: int = 0,
         shapes: bool = False, compress: bool = False, level: int = 6) -> dict:
    """Writes `out`, `out`.expected.json and, with `compress`, `out`.gz. Returns what stands in expected.json."""
    window = read_window(capture, shapes)
    template = make_template(window, distinct_strings)
    if size:
        # The text grows a little with the numbers, so measure a late window.
        copies = max(1, round(size / len(template.render(size // len(template.text)).encode())))
    else:
        copies = max(1, -(-(events - len(window.once)) // len(window.events)))
    packer = zlib.compressobj(level, zlib.DEFLATED, 31) if compress else None
    written = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    packed = open(f"{out}.gz", "wb") if packer else None
    with open(out, "wb") as file:
        def put(text: str) -> None:
            nonlocal written
            data = text.encode()
            written += file.write(data)
            if packed:
                packed.write(packer.compress(data))

        put(window.head)
        for k in range(copies):
            put(template.render(k))
        put(once_text(window, template, copies) + "\n  " + window.tail)
    if packed:
        packed.write(packer.flush())
        packed.close()
    expected = {"made_from": capture.name, "record_shapes": shapes, "bytes": written} | expect(window, template, copies)
    Path(f"{out}.expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    return expected


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--capture", type=Path, default=DEFAULT_CAPTURE, help="the real capture to repeat")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--events", type=int, default=1_800_000, help="at least so many, in whole windows (default 1800000)")
    amount.add_argument("--bytes", type=int, default=0, help="about so many instead")
    parser.add_argument("--distinct-strings", type=int, default=0, metavar="N", help="make at least N op and kernel names distinct")
    parser.add_argument("--shapes", action="store_true", help="keep shapes, types and strides (fewer, longer events)")
    parser.add_argument("--gzip", action="store_true", help="also write FILE.gz")
    parser.add_argument("--level", type=int, default=6, help="of gzip")
    arguments = parser.parse_args()
    expected = make(arguments.out, capture=arguments.capture, events=arguments.events, size=arguments.bytes,
                    distinct_strings=arguments.distinct_strings, shapes=arguments.shapes, compress=arguments.gzip,
                    level=arguments.level)
    print(f"{arguments.out}: {expected['bytes']} bytes, {expected['events']} events, "
          f"{expected['bytes'] / expected['events']:.1f} bytes an event")
    return 0


if __name__ == "__main__":
    sys.exit(main())
