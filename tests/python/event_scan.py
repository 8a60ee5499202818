"""Where the events of a capture stand in its text and what they are, by the standard library alone."""

import json
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

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
    """Counts of the events that lie wholly before a place."""

    def __init__(self, events: list[Event]):
        self.events = events
        self.ends = [event.end for event in events]

    def index(self, place: int) -> int:
        return bisect_right(self.ends, place)

    def counts(self, place: int) -> Counter:
        return Counter(event.kind for event in self.events[: self.index(place)] if event.kind)

    def dur_ns(self, place: int) -> Counter:
        sums = Counter()
        for event in self.events[: self.index(place)]:
            if event.kind:
                sums[event.kind] += event.dur_ns
        return sums
