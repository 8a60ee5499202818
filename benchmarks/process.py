"""Runs a program and says how long it took, what it printed and, on request, the peak of its anonymous memory."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

SAMPLE_S = 0.005


class Ended(Exception):
    """A program ended with a status other than 0; the text says which and its last words."""


@dataclass
class Run:
    seconds: float  # of the whole process
    output: str
    peak_anonymous: int = 0  # bytes, sampled; only where memory was asked for
    peak_resident: int = 0  # likewise, file pages too; the system's own high-water mark, so no sample can miss it


def run(argv: list[str | Path], memory: bool = False, limit_s: float = 1800) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    peak = {"RssAnon:": 0, "VmHWM:": 0}
    sampler = None
    if memory:
        sampler = threading.Thread(target=sample_memory, args=(process, peak))
        sampler.start()
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Ended(f"{Path(argv[0]).name} {argv[1]} was still running after {limit_s:.0f} s") from None
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        raise Ended(f"{Path(argv[0]).name} {argv[1]} ended with {process.returncode}: {(errors or output).strip()[-2000:]}")
    if sampler:
        sampler.join()
    return Run(seconds, output, peak["RssAnon:"], peak["VmHWM:"])


def sample_memory(process: subprocess.Popen, peak: dict[str, int]) -> None:
    """Peaks of the memory, every 5 ms. Anonymous alone is what counts: pages of files the system can drop."""
    status = f"/proc/{process.pid}/status"
    while process.poll() is None:
        try:
            with open(status) as file:
                for line in file:
                    key = line.split(maxsplit=1)[0]
                    if key in peak:
                        peak[key] = max(peak[key], int(line.split()[1]) * 1024)
        except OSError:
            return
        time.sleep(SAMPLE_S)
