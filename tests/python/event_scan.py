"""Where the events of a capture stand in its text and what they are, by the standard library alone."""

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

SLICES = {"cpu_op": "op", "user_annotation": "annotation", "python_function": "frame", "cuda_runtime": "runtime_call",
          "cuda_driver": "driver_call", "overhead": "overhead"}
DEVICES = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}


@dataclass
class Event:
    start: int  # bytes of the text, from the opening brace
    end: int  # to behind the closing one
    kind: str  # of the rows that it becomes; "" for kinds that need not become any
    dur_ns: int


def scan(text: bytes) -> list[Event]:
    """The events in their order; `text` is a whole, ASCII capture."""
    characters = text.decode("ascii")
    decoder = json.JSONDecoder(parse_float=Decimal)
    at = re.search(r'"traceEvents":\s*\[\s*', characters).end()
    between = re.compile(r"\s*[,\]]\s*")
    events = []
    while characters[at] == "{":
        value, end = decoder.raw_decode(characters, at)
        category = value.get("cat", "") if value["ph"] == "X" else ""
        kind = SLICES.get(category) or DEVICES.get(category) or ""
        events.append(Event(at, end, kind, int(Decimal(value.get("dur", 0)) * 1000)))
        at = between.match(characters, end).end()
    return events


class Prefix:
    """Counts and durations, by kind, of the events that lie wholly before a place."""

    def __init__(self, events: list[Event]):
        self.ends = defaultdict(list)
        durations = defaultdict(list)
        for event in events:
            if event.kind:
                self.ends[event.kind].append(event.end)
                durations[event.kind].append(event.dur_ns)
        self.sums = {kind: list(accumulate(values, initial=0)) for kind, values in durations.items()}

    def counts(self, place: int) -> Counter:
        found = {kind: bisect_right(ends, place) for kind, ends in self.ends.items()}
        return Counter({kind: count for kind, count in found.items() if count})

    def dur_ns(self, place: int) -> Counter:
        return Counter({kind: self.sums[kind][count] for kind, count in self.counts(place).items()})
