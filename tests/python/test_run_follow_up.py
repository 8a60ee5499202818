"""run --baseline, run --experiment cached_batch, and what a run without a line of the user's code says."""

import json
import subprocess

from conftest import PROJECT
from test_run_command import plain

CAPTURE = PROJECT / "tests/golden/pytorch-2.11_h200/launch_bound.before.json.gz"


def follow_up(python, folder, code: str):
    return subprocess.run([python, "-c", f"from pathlib import Path\nfrom accel.profiler.run_follow_up import *\n{code}"], capture_output=True,
                          text=True, cwd=folder)


def test_one_batch_fed_again_confirms_what_loading_costs(torch_python, tmp_path):
    job = plain(torch_python, tmp_path / "captures", "fault=loader", "ms=40", "steps=90", options=["--experiment", "cached_batch"])
    assert job.done.returncode == 0, job.done.stderr
    assert "This is no training" in job.done.stderr and "throw the weights and losses of this run away" in job.done.stdout
    (path,) = (tmp_path / "captures").glob("experiment-pid*.json")
    result = json.loads(path.read_text())
    assert result["loaded"]["steps"] == result["fed_again"]["steps"] == 20
    planted = sorted(job.said["planted_ms"][5:27])[11]
    gone = result["loaded"]["median_ms"] - result["fed_again"]["median_ms"]
    # The rest of the step takes its time in both; on a busy machine not the same time.
    assert abs(gone - planted) < 0.35 * planted, (gone, planted)
    assert f"loading holds the job up by {gone:.3g} ms a step" in job.done.stdout
    assert job.report is not None and min(step["index"] for step in job.report["steps"]) > 50  # loading goes on, the window follows


def test_the_first_steady_run_is_the_baseline_and_later_ones_are_held_against_it(bare_python, tmp_path):
    subprocess.run([bare_python.parent / "accel-profiler", "analyze", CAPTURE, "-o", tmp_path / "run/report"], check=True, capture_output=True)
    saved = follow_up(bare_python, tmp_path, 'print(baseline("nightly", report_of(Path("run")), None))')
    assert saved.stdout.splitlines()[-1] == "0" and "baseline nightly saved" in saved.stdout, saved
    assert (tmp_path / "accel-baselines/nightly.json").exists()
    held = follow_up(bare_python, tmp_path, 'print(baseline("nightly", report_of(Path("run")), "step_time > 1.05x"))')
    assert held.stdout.splitlines()[-1] == "0", held
    worse = follow_up(bare_python, tmp_path, 'print(baseline("nightly", report_of(Path("run")), "step_time > 0.5x"))')
    assert worse.stdout.splitlines()[-1] == "1", worse


def test_an_unsteady_run_makes_no_baseline(bare_python, tmp_path):
    report = tmp_path / "run/report/report.json"
    report.parent.mkdir(parents=True)
    report.write_text(json.dumps({"step_time": {"cv": 0.4, "count": 8, "mean_ms": 10.0}}))
    told = follow_up(bare_python, tmp_path, 'print(baseline("nightly", report_of(Path("run")), None))')
    assert "vary by 40% of their mean" in told.stderr and not (tmp_path / "accel-baselines/nightly.json").exists()


def test_options_that_do_not_go_together_are_said_before_the_command_starts(bare_python, tmp_path):
    for words, said in {("--fail-if", "step_time > 2x"): "goes with --baseline", ("--baseline", "../up"): "a plain name",
                        ("--experiment", "cached_batch", "--trigger", "step > 5"): "stands alone"}.items():
        done = subprocess.run([bare_python.parent / "accel-profiler", "run", *words, "--", "echo", "started"], capture_output=True, text=True,
                              cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr and "started" not in done.stdout, done


def test_a_finding_without_a_line_comes_with_the_command_that_gets_it(bare_python, tmp_path):
    subprocess.run([bare_python.parent / "accel-profiler", "analyze", CAPTURE, "-o", tmp_path / "run/report"], check=True, capture_output=True)
    asked = """
from types import SimpleNamespace
for detail in (None, "stacks"):
    print(how_to_get_lines(report_of(Path("run")), SimpleNamespace(detail=detail, steps=7, after=20), ["python", "my train.py", "lr=1"]))
"""
    said = follow_up(bare_python, tmp_path, asked).stdout.splitlines()
    assert said[0].startswith("accel-profiler: finding 1 has no line of your code")
    assert said[1] == "  accel-profiler run --steps 7 --after 20 --detail stacks -- python 'my train.py' lr=1"
    assert said[2] == "None"
