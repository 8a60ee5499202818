"""What `accel-profiler run` does with the report of a run: the baseline that it makes or is held against, the experiment's answer."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

from accel.profiler.engine import engine_path
from accel.profiler.experiments import sentence

OURS = "accel/profiler/"
BASELINES = "accel-baselines"
STEADY = 0.25  # deviation of the steps over their mean; beyond it a baseline would hold whatever chance made of this run


def report_of(folder: Path) -> Path | None:
    """The report of the run; of several ranks that of the first."""
    own = folder / "report/report.json"
    ranks = sorted((folder / "report").glob("rank*/report.json"), key=lambda path: int(path.parent.name.removeprefix("rank").partition("-")[0]))
    return ranks[0] if ranks else own if own.exists() else None


def how_to_get_lines(report: Path, options, command: list[str]) -> str | None:
    """The command that gives what the first finding lacks, or nothing."""
    findings = json.loads(report.read_text())["findings"]
    number, first = next(((n, finding) for n, finding in enumerate(findings, 1) if finding["severity"] != "info"), (0, None))
    if first is None or options.detail == "stacks" or any(where.get("line") and OURS not in where["file"] for where in first["where"]):
        return None
    again = shlex.join(["accel-profiler", "run", "--steps", str(options.steps), "--after", str(options.after), "--detail", "stacks", "--", *command])
    return f"accel-profiler: finding {number} has no line of your code. A window with Python frames gives it, and makes the host slower meanwhile:\n  {again}"


def baseline_path(name: str) -> Path:
    return Path(BASELINES) / f"{name}.json"


def baseline(name: str, report: Path, fail_if: str | None) -> int:
    """Keeps the run as the baseline, or holds it against the one that is there. Exit status: 1 when fail_if holds."""
    path = baseline_path(name)
    if path.exists():
        condition = ["--fail-if", fail_if] if fail_if else []
        return subprocess.run([engine_path(), "baseline", "check", str(path), str(report), *condition]).returncode
    step = json.loads(report.read_text())["step_time"]
    if step["cv"] is None or step["cv"] > STEADY or step["count"] < 3:
        how = "fewer than 3 whole steps" if step["count"] < 3 else f"steps that vary by {step['cv'] or 0:.0%} of their mean"
        print(f"accel-profiler: baseline {name} is not saved: the window holds {how}; open it later (--after N) or keep more steps (--steps N)",
              file=sys.stderr)
        return 0
    path.parent.mkdir(exist_ok=True)
    done = subprocess.run([engine_path(), "baseline", "save", str(report), str(path)], stdout=subprocess.DEVNULL)
    if done.returncode == 0:
        print(f"accel-profiler: baseline {name} saved: {path}, {step['mean_ms']:.3g} ms a step; the next run with --baseline {name} is held against it")
    return done.returncode


def experiment(folder: Path, stream) -> None:
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("experiment-pid*.json"))]
    if not results:
        print("accel-profiler: the experiment did not come to its end: it takes 50 steps of a job that loads by DataLoader", file=sys.stderr)
        return
    report = report_of(folder)
    findings = json.loads(report.read_text())["findings"] if report else []
    predicted = next((finding["cost_ms_per_step"] for finding in findings if finding["rule"] == "dataloader_starvation"), None)
    print("\nExperiment cached_batch (not training: throw the weights and losses of this run away)", file=stream)
    for result in sorted(results, key=lambda row: row.get("rank") or 0):
        print("  " + sentence(result, predicted if result.get("rank") in (None, 0) else None), file=stream)
