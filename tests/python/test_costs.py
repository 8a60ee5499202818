"""Costs in the report against figures recomputed from the events, and commands that a reader is told to paste."""

import ast
import json
import subprocess
from pathlib import Path

import check_costs
import pytest

GOLDEN = ["launch_bound.before", "launch_bound.after", "pageable_h2d.before", "pageable_h2d.after", "healthy_lm.after"]
SHARED = ["starved_images.before", "starved_images.after", "starved_sleep.before", "starved_sleep.after", "item_sync.before",
          "item_sync.after", "mem_churn.before", "mem_churn.after", "cpu_layernorm.before", "fragmented.before"]


@pytest.fixture(scope="module")
def analyze(project, tmp_path_factory):
    command = project / "build/accel-profiler"
    if not command.exists():
        pytest.skip("the command is not built")

    def run(capture: Path) -> dict:
        out = tmp_path_factory.mktemp("report")
        subprocess.run([command, "analyze", capture, "-o", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return json.loads((out / "report.json").read_text(encoding="utf-8"))

    return run


def check(capture: Path, report: dict):
    assert check_costs.compare(capture, report, tolerance=0.10) == []
    for finding in report["findings"]:
        parse(finding["action"]["command"])


def parse(command: str):
    """Shell where it begins with a shell word, else Python; both must at least parse."""
    assert command.strip()
    if command.split()[0] in ("export", "grep", "numactl", "env"):
        subprocess.run(["sh", "-n"], input=command, text=True, check=True)
    else:
        ast.parse(command)


@pytest.mark.parametrize("name", GOLDEN)
def test_costs_of_bundled_captures_follow_from_their_events(project, analyze, name):
    capture = project / f"tests/golden/pytorch-2.11_h200/{name}.json.gz"
    check(capture, analyze(capture))


@pytest.mark.parametrize("name", SHARED)
def test_costs_of_shared_captures_follow_from_their_events(shared, analyze, name):
    capture = shared / f"traces/h200/pairs/{name}.json.gz"
    check(capture, analyze(capture))


def test_a_wrong_cost_is_noticed(project, analyze):
    capture = project / "tests/golden/pytorch-2.11_h200/pageable_h2d.before.json.gz"
    report = analyze(capture)
    report["findings"][0]["cost_ms_per_step"] *= 1.2
    assert check_costs.compare(capture, report, tolerance=0.10)
