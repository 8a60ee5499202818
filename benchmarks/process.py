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
    peak_anonymous: int = 0  # bytes; only where memory was asked for


def run(argv: list[str | Path], memory: bool = False, limit_s: float = 1800) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    peak = [0]
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
    return Run(seconds, output, peak[0])


def sample_memory(process: subprocess.Popen, peak: list[int]) -> None:
    """Peak of the anonymous resident memory, every 5 ms: pages of files that the system could drop do not count."""
    status = f"/proc/{process.pid}/status"
    while process.poll() is None:
        try:
            with open(status) as file:
                for line in file:
                    if line.startswith("RssAnon:"):
                        peak[0] = max(peak[0], int(line.split()[1]) * 1024)
                        break
        except OSError:
            return
        time.sleep(SAMPLE_S)
