#!/usr/bin/env python3
"""What the runtime SDK costs, in one run: a scope against torch.profiler.record_function (off and on), a Tracy-style zone
and pairs of clock_gettime, on an idle and on a loaded core, with callgrind's instruction counts beside them.

run.py [--torch PYTHON] [--rounds N] [--json OUT.json]   tables go to OUT.md; --check: status 1 when a requirement is missed
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PROGRAMS = PROJECT / "build" / "benchmarks"


def pinned(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


def run_json(command, cpu):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, preexec_fn=pinned(cpu))
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr or done.stdout}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def merged(rounds):
    """Medians over the rounds, name by name; lowest and highest beside them."""
    out = {}
    for name in rounds[0]:
        if not isinstance(rounds[0][name], dict):
            continue
        out[name] = {}
        for way in rounds[0][name]:
            out[name][way] = {}
            for figure in rounds[0][name][way]:
                values = [entry[name][way][figure] for entry in rounds]
                out[name][way][figure] = round(statistics.median(values), 1)
                out[name][way][figure + " lowest"] = round(min(values), 1)
                out[name][way][figure + " highest"] = round(max(values), 1)
    return out


def measure(args, cpu, loaded):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=pinned(cpu))] if loaded else []
    try:
        scopes = [run_json([PROGRAMS / "scope_cost", "--json"], cpu) for _ in range(args.rounds)]
        out = merged(scopes)
        if args.torch:
            out |= merged([run_json([args.torch, PROJECT / "benchmarks/hot_path/record_function.py"], cpu)
                           for _ in range(args.rounds)])
        return out
    finally:
        for process in busy:
            process.terminate()
            process.wait()


def instruction_counts():
    """Instructions a call, by callgrind: inclusive counts of the library's functions over the number of calls."""
    if shutil.which("valgrind") is None:
        return None
    calls = 20000
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=no", f"--callgrind-out-file={out}",
                        str(PROGRAMS / "scope_cost"), "--count", str(calls)], check=True, capture_output=True)
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)], check=True,
                              capture_output=True, text=True).stdout
    counts = {}
    for name in ("accel_scope_begin_active", "accel_scope_end_active", "accel_step"):
        found = re.search(rf"^\s*([\d,]+) .*:{name} ", text, re.MULTILINE) or re.search(rf"^\s*([\d,]+) .*{name}", text, re.MULTILINE)
        if found:
            counts[name] = round(int(found[1].replace(",", "")) / calls, 1)
    return counts


def table(figures):
    lines = ["| | p50 | p99 | one alone, p50 | p99 |", "|---|---|---|---|---|"]
    for name, ways in figures.items():
        cells = [f"{ways[way][f]:.1f} ns" if way in ways else "" for way in ("blocks", "singles") for f in ("p50", "p99")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def requirements(idle, loaded):
    scope = idle["scope, window open"]
    reads = idle["two reads of the recording's clock"]
    return [
        ("ACTIVE: above two clock reads, p50", scope["blocks"]["p50"] - reads["blocks"]["p50"], 20),
        ("ACTIVE: in all, p50, where the clock is fast", scope["blocks"]["p50"], 50),
        ("ACTIVE: p99 of one scope, idle core", scope["singles"]["p99"], 200),
        ("ACTIVE: p99 of one scope, loaded core", loaded["scope, window open"]["singles"]["p99"], 200),
        ("IDLE: above an empty loop, p50", idle["scope, no window open"]["blocks"]["p50"] - idle["empty loop"]["blocks"]["p50"], 3),
        ("IDLE: a step mark, p50", idle["step mark, IDLE"]["blocks"]["p50"], 50),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    cpu = sorted(os.sched_getaffinity(0))[-1]
    idle = measure(args, cpu, loaded=False)
    loaded = measure(args, cpu, loaded=True)
    checks = requirements(idle, loaded)
    counts = instruction_counts()
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    about = {"processor": model[1] if model else platform.processor(), "cores": os.cpu_count(),
             "load average": os.getloadavg()[0], "rounds": args.rounds}
    text = [f"{about['processor']}, {about['cores']} cores, load average {about['load average']:.1f}, "
            f"medians of {args.rounds} runs.", "", "On a core of its own (as far as the machine is quiet):", "", table(idle), "",
            "Beside a busy loop on the same core:", "", table(loaded), "", "| requirement | measured | bound |", "|---|---|---|"]
    text += [f"| {what} | {value:.1f} ns | {bound} ns |" for what, value, bound in checks]
    if counts:
        text += ["", "Instructions (callgrind), a call: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + "."]
    text = "\n".join(text) + "\n"
    print(text)
    if args.json:
        args.json.write_text(json.dumps({"about": about, "idle": idle, "loaded": loaded, "instructions": counts}, indent=1) + "\n")
        args.json.with_suffix(".md").write_text("# What a scope costs\n\n" + text)
    missed = [what for what, value, bound in checks if value > bound]
    if missed:
        print("missed: " + "; ".join(missed))
    sys.exit(1 if missed and args.check else 0)


if __name__ == "__main__":
    main()
