#!/usr/bin/env python3
"""Known faults in real training on this machine's processor: does `accel-profiler run` name them first, and at what cost?

    admission.py [--repetitions N] [--python PYTHON]

PYTHON has torch and this package [build/python-torch/bin/python]. Faults (tests/python/jobs): slow loading in the process and in a
worker, Python work between ops, ops that are too small, one late rank of two over gloo. Each is run N times [5]; printed for each:
how often its rule came first, the cost that the report gives, what was planted, and how often the cost is within 5 % or 2 ms of it.
What was planted is measured by the job in the steps of the window; of small ops it is the step of the job without a profiler less
that of the same job with one op over all samples. Findings about a busy machine (cpu_contention) are left out of the order, and
counted: run it on a quiet one.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
JOBS = PROJECT / "tests/python/jobs"
PLAIN, DDP = JOBS / "plain.py", JOBS / "ddp.py"
FAULTS = {
    "slow loading in the process": ("dataloader_starvation", PLAIN, "fault=loader"),
    "slow loading in a worker": ("dataloader_starvation", PLAIN, "fault=loader", "workers=1"),
    "Python work between ops": ("python_overhead", PLAIN, "fault=python"),
    "ops that are too small": ("small_ops", PLAIN, "fault=tiny"),
    "a late rank of two": ("straggler_rank", DDP, "late=20"),
}


def said(text: str) -> dict:
    return json.loads([line for line in text.splitlines() if line.startswith('{"planted_ms"')][-1])


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def step_alone_ms(python: Path, *words) -> float:
    return said(subprocess.run([python, *words], check=True, capture_output=True, text=True, env=environment()).stdout)["step_ms"]


def planted_ms(python: Path, words, job: dict, report: dict) -> float:
    if "fault=tiny" in words:
        return step_alone_ms(python, *words) - step_alone_ms(python, PLAIN, "fault=stacked")
    planted = job["planted_ms"]
    if words[0] == DDP:
        return statistics.fmean(planted)
    return statistics.fmean(planted[step["index"]] for step in report["steps"] if step["complete"])


def once(python: Path, rule: str, words, folder: str):
    command = [python.parent / "torchrun", "--nproc-per-node", "2"] if words[0] == DDP else [python]
    done = subprocess.run([python.parent / "accel-profiler", "run", "-o", folder, "--", *command, *words],
                          capture_output=True, text=True, cwd=PROJECT, env=environment())
    report = json.loads(Path(folder, "report/report.json").read_text())
    findings = [finding for finding in report["findings"] if finding["rule"] != "cpu_contention"]
    busy = len(findings) < len(report["findings"])
    cost = next((finding["cost_ms_per_step"] for finding in findings if finding["rule"] == rule), None)
    return bool(findings) and findings[0]["rule"] == rule, cost, planted_ms(python, words, said(done.stdout), report), busy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--python", type=Path, default=PROJECT / "build/python-torch/bin/python")
    options = parser.parse_args()
    print("| fault | named first | cost, ms a step | planted, ms | within 5 % or 2 ms | machine busy |\n|---|---|---|---|---|---|")
    for name, (rule, *words) in FAULTS.items():
        with tempfile.TemporaryDirectory() as folder:
            runs = [once(options.python, rule, words, f"{folder}/{i}") for i in range(options.repetitions)]
        costs = [cost for _, cost, _, _ in runs if cost is not None]
        within = sum(cost is not None and abs(cost - planted) <= max(2, 0.05 * planted) for _, cost, planted, _ in runs)
        print(f"| {name} | {sum(first for first, *_ in runs)} of {len(runs)} | {show(costs)} | {show([run[2] for run in runs])} "
              f"| {within} of {len(runs)} | {sum(run[3] for run in runs)} of {len(runs)} |", flush=True)


def show(values) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "none"


if __name__ == "__main__":
    main()
