#!/usr/bin/env python3
"""Speed and memory of reading a capture, against the requirements of the project.

First the answer: every file is loaded with 1, 2 and 8 threads and compared with what make_capture.py wrote down; a wrong
answer ends the run with status 1 before any time is taken. Then the times, every kind once per repetition so that a
noisy minute meets all of them, each in a process of its own; medians are reported, with the lowest and highest beside.
Memory is sampled in runs of its own. Requirements are printed with PASS or FAIL; --check turns FAIL into status 1.

    make bench-ingest                                     400 MB, about two minutes
    benchmarks/ingest/run.py --quick                      40 MB, a smoke run
    benchmarks/ingest/run.py --huge                       also a 5 GB capture (needs the space twice)
    benchmarks/ingest/run.py --json benchmarks/results/ingest-DATE.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "compare")]
import holistic  # noqa: E402
import make_capture  # noqa: E402
from process import Ended, Run, run  # noqa: E402

PROJECT = make_capture.PROJECT
BASELINE = HERE / "json_loads.py"
MB = 1_000_000
SPEED_RATIO = 8  # load against json.loads
SPEED_GOAL = 12
ANALYZE_RATIO = 5  # analyze with every writer against load
ANALYZE_MB = 2000  # its peak anonymous memory
GZIP_RATIO = 1.3  # .json.gz against the slower of inflating alone and loading the text
BYTES_PER_EVENT = 64
FIXED_BYTES = 64 * MB


class WrongAnswer(Exception):
    """The program under test did not find what is in the file."""


@dataclass
class Capture:
    name: str
    path: Path
    expected: dict

    @property
    def megabytes(self) -> float:
        return self.expected["bytes"] / MB


@dataclass
class Bench:
    driver: Path
    command: Path | None
    work: Path
    threads: int
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # seconds of the processor
    peaks: dict[str, int] = field(default_factory=dict)
    resident: dict[str, int] = field(default_factory=dict)
    found: dict[str, dict] = field(default_factory=dict)
    requirements: list[dict] = field(default_factory=list)

    def load(self, path: Path, threads: int, memory: bool = False) -> tuple[dict, Run]:
        done = run([self.driver, "load", path, "--threads", str(threads)], memory)
        return json.loads(done.output), done

    def analyze(self, capture: Capture, memory: bool = False) -> Run:
        out = self.work / "analyze-out"
        shutil.rmtree(out, ignore_errors=True)
        return run([self.command, "analyze", capture.path, "-o", out, "--threads", str(self.threads), "--quiet"], memory)

    def keep_peak(self, key: str, done: Run) -> None:
        self.peaks[key] = done.peak_anonymous
        self.resident[key] = done.peak_resident

    def median(self, key: str) -> float | None:
        return statistics.median(self.times[key]) if self.times.get(key) else None

    def require(self, what: str, value: float | None, bound: float, unit: str, at_least: bool = False) -> None:
        if value is None:
            verdict = "not measured"
        else:
            verdict = "PASS" if (value >= bound if at_least else value <= bound) else "FAIL"
        self.requirements.append({"requirement": what, "value": value, "bound": bound, "unit": unit,
                                  "at_least": at_least, "verdict": verdict})


# ---- files and programs


def build(preset: str) -> Path:
    folder = PROJECT / f"build-{preset}"
    quiet = {"cwd": PROJECT, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "--preset", preset, "-DACCEL_BENCHMARKS=ON", "--log-level=WARNING"], **quiet)
    targets = ["load_bench"] + (["accel-profiler"] if (PROJECT / "src/cli/main.cpp").exists() else [])
    subprocess.run(["cmake", "--build", folder, "-j", str(os.cpu_count()), "--target", *targets], **quiet)
    return folder


def capture_file(work: Path, name: str, compress: bool = False, **options) -> Capture:
    """The capture `name`, made unless the same one is there already."""
    path = work / f"{name}.json"
    recipe = {"options": options, "maker": Path(make_capture.__file__).stat().st_mtime_ns}
    recipe_file = work / f"{name}.recipe.json"
    expected_file = Path(f"{path}.expected.json")
    made = recipe_file.exists() and json.loads(recipe_file.read_text()) == recipe and path.exists() and expected_file.exists()
    if not made or (compress and not Path(f"{path}.gz").exists()):
        print(f"making {path.name}", file=sys.stderr)
        recipe_file.unlink(missing_ok=True)
        make_capture.make(path, compress=compress, **options)
        recipe_file.write_text(json.dumps(recipe))
    return Capture(name, path, json.loads(expected_file.read_text()))


# ---- the answer


def prove(bench: Bench, capture: Capture, path: Path, threads: int) -> dict:
    found, _ = bench.load(path, threads)
    by_category: Counter[str] = Counter()
    for key, count in capture.expected["events_by_category"].items():
        by_category[key.split("/")[0]] += count
    expected = {key: capture.expected[key] for key in (
        "events", "device_events", "device_ns", "device_starts_sum", "kernels", "kernel_ns", "links", "slice_starts_sum",
        "steps", "distinct_names")}
    expected |= {"text_bytes": capture.expected["bytes"], "events_by_category": dict(by_category)}
    got = {key: found.get(key) for key in expected}
    for key in ("slices", "slice_ns"):  # kinds that the maker does not know are the engine's own business
        expected[key] = capture.expected[key]
        got[key] = {kind: found[key].get(kind) for kind in expected[key]}
    wrong = [f"{key}: {got[key]} instead of {expected[key]}" for key in expected if got[key] != expected[key]]
    if wrong:
        raise WrongAnswer(f"{path.name} with {threads} threads: " + "; ".join(wrong))
    return found


def prove_report(bench: Bench, capture: Capture) -> None:
    """The report of the complete command tells the same file."""
    bench.analyze(capture)
    report = json.loads((bench.work / "analyze-out/report.json").read_text())
    told = report["inputs"][0]
    if told["events"] != capture.expected["events"]:
        raise WrongAnswer(f"report.json: {told['events']} events instead of {capture.expected['events']}")


# ---- the figures


def measure(bench: Bench, captures: list[Capture], packed: Capture, repeat: int) -> None:
    for r in range(repeat):
        print(f"repetition {r + 1} of {repeat}", file=sys.stderr)
        for capture in captures:
            name = capture.name
            seconds, cpu = run([sys.executable, BASELINE, capture.path]).output.split()
            bench.times[f"{name} json.loads"].append(float(seconds))
            bench.cpu[f"{name} json.loads"].append(float(cpu))
            for threads in sorted({1, bench.threads}):
                found, _ = bench.load(capture.path, threads)
                bench.times[f"{name} load {threads}"].append(found["seconds"])
                bench.cpu[f"{name} load {threads}"].append(found["cpu_seconds"])
            if bench.command:
                bench.times[f"{name} analyze"].append(bench.analyze(capture).seconds)
        gz = Path(f"{packed.path}.gz")
        bench.times["gz inflate"].append(json.loads(run([bench.driver, "inflate", gz]).output)["seconds"])
        found, _ = bench.load(gz, bench.threads)
        bench.times["gz load"].append(found["seconds"])
        bench.cpu["gz load"].append(found["cpu_seconds"])


def measure_memory(bench: Bench, captures: list[Capture], packed: Capture) -> None:
    for capture in captures:
        bench.keep_peak(f"{capture.name} load", bench.load(capture.path, bench.threads, memory=True)[1])
        if bench.command:
            bench.keep_peak(f"{capture.name} analyze", bench.analyze(capture, memory=True))
    bench.keep_peak("gz load", bench.load(Path(f"{packed.path}.gz"), bench.threads, memory=True)[1])


def judge(bench: Bench, captures: list[Capture], packed: Capture) -> None:
    def ratio(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else a / b

    for capture in captures:
        name = capture.name
        load = bench.median(f"{name} load {bench.threads}")
        bench.require(f"{name}: load against json.loads", ratio(bench.median(f"{name} json.loads"), load), SPEED_RATIO, "times as fast", True)
        bench.require(f"{name}: analyze against load", ratio(bench.median(f"{name} analyze"), load), ANALYZE_RATIO, "times the load")
    slower = max(bench.median("gz inflate"), bench.median(f"{packed.name} load {bench.threads}"))
    bench.require("gz: load against the slower of inflate and text", ratio(bench.median("gz load"), slower), GZIP_RATIO, "times")
    for capture in captures:
        judge_memory(bench, capture, f"{capture.name} load")
        peak = bench.peaks.get(f"{capture.name} analyze")
        bench.require(f"{capture.name} analyze: peak anonymous memory", None if peak is None else peak / MB, ANALYZE_MB, "MB")
    judge_memory(bench, packed, "gz load")


def judge_memory(bench: Bench, capture: Capture, key: str) -> None:
    bound = BYTES_PER_EVENT * capture.expected["events"] + bench.found[capture.name]["string_bytes"] + FIXED_BYTES
    peak = bench.peaks.get(key)
    bench.require(f"{key}: peak anonymous memory", None if peak is None else peak / MB, bound / MB, "MB")


def huge(bench: Bench, size: int) -> Capture:
    """A 5 GB capture by the same formula: the answer, the speed and the memory. json.loads would need 20 GB there."""
    capture = capture_file(bench.work, "huge", size=size)
    prove(bench, capture, capture.path, bench.threads)
    bench.found["huge"], done = bench.load(capture.path, bench.threads, memory=True)
    bench.times[f"huge load {bench.threads}"].append(bench.found["huge"]["seconds"])
    bench.keep_peak("huge load", done)
    if bench.command:
        done = bench.analyze(capture, memory=True)
        bench.times["huge analyze"].append(done.seconds)
        bench.keep_peak("huge analyze", done)
    per_mb = bench.median("plain json.loads") / (bench.found["plain"]["text_bytes"] / MB)
    load = bench.median(f"huge load {bench.threads}")
    bench.require("huge: load against json.loads of plain, per MB", per_mb * capture.megabytes / load, SPEED_RATIO, "times as fast", True)
    analyze = bench.median("huge analyze")
    bench.require("huge: analyze against load", None if analyze is None else analyze / load, ANALYZE_RATIO, "times the load")
    judge_memory(bench, capture, "huge load")
    judge_memory(bench, capture, "huge analyze")
    for path in bench.work.glob("huge.*"):
        path.unlink()
    return capture


# ---- what is printed


def machine(folder: Path) -> dict:
    def first(argv: list[str]) -> str:
        try:
            return subprocess.run(argv, capture_output=True, text=True, cwd=PROJECT).stdout.split("\n")[0].strip()
        except OSError:
            return "unknown"

    def of(path: str, key: str) -> str:
        for line in open(path):
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
        return "unknown"

    os_release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    return {
        "processor": of("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(of("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "system": os_release.get("PRETTY_NAME", "unknown").strip('"'),
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "build": build_type(folder),
        "compiler": first(["c++", "--version"]),
        "libraries": {name: first(["pkg-config", "--modversion", name]) for name in ("simdjson", "libisal", "libzstd")},
        "commit": first(["git", "describe", "--always", "--dirty"]),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def build_type(folder: Path) -> str:
    for line in open(folder / "CMakeCache.txt"):
        if line.startswith("CMAKE_BUILD_TYPE:"):
            return line.split("=", 1)[1].strip()
    return "unknown"


def rows(bench: Bench, captures: list[Capture], packed: Capture) -> list[dict]:
    out = []
    labels = {capture.name: capture for capture in captures} | {"gz": packed}
    for key, samples in bench.times.items():
        name, what = key.split(" ", 1)
        capture = labels[name]
        median = statistics.median(samples)
        baseline = bench.median(f"{capture.name} json.loads")
        task = f"{name} {what.split()[0]}" if what != "load 1" or bench.threads == 1 else ""
        peak, resident = bench.peaks.get(task), bench.resident.get(task)
        out.append({
            "what": key, "seconds": median, "lowest": min(samples), "highest": max(samples), "samples": samples,
            "cpu_seconds": statistics.median(bench.cpu[key]) if bench.cpu.get(key) else None,
            "mb_per_s": capture.megabytes / median, "events_per_s": capture.expected["events"] / median,
            "times_json_loads": baseline / median if baseline else None,
            "peak_anonymous_mb": peak / MB if peak else None,
            "peak_resident_mb": resident / MB if resident else None,
            "peak_bytes_per_event": peak / capture.expected["events"] if peak else None})
    return out


def table(header: list[str], lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    def row(cells: list[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"
    return "\n".join([row(header), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(row, lines)])


def number(value: float | None, form: str) -> str:
    return "not measured" if value is None else format(value, form)


def text_report(result: dict) -> str:
    info = result["machine"]
    parts = [f"{info['processor']}, {info['cores']} cores, {info['memory_gib']} GiB; {info['system']}, Linux {info['kernel']}; "
             f"{info['compiler']}, {info['build']}; Python {info['python']}; simdjson {info['libraries']['simdjson']}, "
             f"ISA-L {info['libraries']['libisal']}; commit {info['commit']}; {info['date']}"
             + (f"; {info['note']}" if info.get("note") else "")]
    parts.append(table(["file", "MB", "events", "bytes an event", "distinct strings", "columns, bytes an event", "strings MB"], [
        [f["name"], f"{f['bytes'] / MB:.1f}", str(f["events"]), f"{f['bytes'] / f['events']:.1f}", str(f["strings"]),
         f"{f['column_bytes'] / f['events']:.1f}", f"{f['string_bytes'] / MB:.1f}"] for f in result["files"]]))
    parts.append(table(["what", "s", "lowest..highest", "processor s", "MB/s", "million events/s", "x json.loads", "peak anonymous MB"], [
        [r["what"], f"{r['seconds']:.3f}", f"{r['lowest']:.3f}..{r['highest']:.3f}",
         f"{r['cpu_seconds']:.3f}" if r["cpu_seconds"] else "", f"{r['mb_per_s']:.0f}",
         f"{r['events_per_s'] / 1e6:.2f}", number(r["times_json_loads"], ".1f") if r["times_json_loads"] else "",
         f"{r['peak_anonymous_mb']:.0f}" if r["peak_anonymous_mb"] else ""] for r in result["rows"]]))
    parts.append(table(["requirement", "measured", "bound", "", "verdict"], [
        [q["requirement"], number(q["value"], ".2f"), ("at least " if q["at_least"] else "at most ") + f"{q['bound']:.1f}",
         q["unit"], q["verdict"]] for q in result["requirements"]]))
    if result["hta"]:
        parts.append(holistic.sentence(result["hta"], result["rows"], result["files"][0]["bytes"] / MB))
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="40 MB and two repetitions")
    parser.add_argument("--huge", action="store_true", help="also a 5 GB capture")
    parser.add_argument("--check", action="store_true", help="a missed requirement is status 1 too")
    parser.add_argument("--repeat", type=int, default=0, help="repetitions (default 5; 2 with --quick)")
    parser.add_argument("--threads", type=int, default=2, help="of the load that is judged (default 2)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures; the tables go to OUT with .md")
    parser.add_argument("--work", type=Path, default=PROJECT / "build/bench", help="where the captures are kept")
    parser.add_argument("--build", type=Path, help="use the programs of this build folder (default: build the release preset)")
    parser.add_argument("--note", help="said with the machine: what else ran there")
    parser.add_argument("--no-hta", action="store_true", help="leave out HolisticTraceAnalysis")
    arguments = parser.parse_args()

    arguments.work.mkdir(parents=True, exist_ok=True)
    folder = arguments.build or build("release")
    command = folder / "accel-profiler"
    bench = Bench(folder / "benchmarks/load_bench", command if command.exists() else None, arguments.work, arguments.threads)
    amount = {"size": 40 * MB} if arguments.quick else {"events": 1_800_000}
    suffix = "-quick" if arguments.quick else ""
    plain = capture_file(arguments.work, f"plain{suffix}", compress=True, **amount)
    distinct = capture_file(arguments.work, f"distinct{suffix}", distinct_strings=30_000 if arguments.quick else 300_000, **amount)
    plain.name, distinct.name = "plain", "distinct"
    captures = [plain, distinct]

    try:
        for capture in captures:
            for threads in (1, 2, 8):
                bench.found[capture.name] = prove(bench, capture, capture.path, threads)
        prove(bench, plain, Path(f"{plain.path}.gz"), arguments.threads)
        if bench.command:
            prove_report(bench, plain)
        print("the answer is right: counts, sums, links, steps and names of every file", file=sys.stderr)
        measure(bench, captures, plain, arguments.repeat or (2 if arguments.quick else 5))
        measure_memory(bench, captures, plain)
        judge(bench, captures, plain)
        if arguments.huge:
            captures.append(huge(bench, 5_000 * MB))
    except (WrongAnswer, Ended) as error:
        print(f"wrong answer: {error}", file=sys.stderr)
        return 1

    others = None if arguments.no_hta else holistic.measure(plain.path, PROJECT / "build/hta-venv")
    result = {
        "machine": machine(folder) | ({"note": arguments.note} if arguments.note else {}),
        "files": [{"name": c.name, "bytes": c.expected["bytes"], "events": c.expected["events"]}
                  | {key: bench.found[c.name][key] for key in ("column_bytes", "string_bytes", "string_text_bytes", "strings")}
                  for c in captures],
        "rows": rows(bench, captures, plain),
        "requirements": bench.requirements,
        "hta": others,
    }
    text = text_report(result)
    print(text)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
        arguments.json.with_suffix(".md").write_text(text + "\n")
    missed = [q for q in bench.requirements if q["verdict"] != "PASS"]
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
