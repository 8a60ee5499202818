"""The commands of the guides do what the guides say, on golden captures."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
GOLDEN = PROJECT / "tests/golden/pytorch-2.11_h200"


def test_the_commands_of_the_comparison_guide(command, tmp_path):
    for when in ("before", "after"):
        shutil.copy(GOLDEN / f"launch_bound.{when}.json.gz", tmp_path / f"{when}.json.gz")
    text = (PROJECT / "docs/guides/compare.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5  # one for each step of the method
    for line in "".join(blocks).splitlines():
        words = shlex.split(line)
        assert words[0] == "accel-profiler"
        done = subprocess.run([command, *words[1:]], cwd=tmp_path, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, (line, done.stderr)
    compare = json.loads((tmp_path / "evidence/report.json").read_text(encoding="utf-8"))["compare"]
    assert compare["undisturbed"]["verdict"] == "faster"
    assert "accel-profiler compare" in (tmp_path / "evidence/report.md").read_text(encoding="utf-8")


def test_the_conditions_of_the_guide_can_be_parsed(command, tmp_path):
    shutil.copy(GOLDEN / "launch_bound.after.json.gz", tmp_path / "after.json.gz")
    subprocess.run([command, "baseline", "save", "after.json.gz", "base.json"], cwd=tmp_path, check=True, timeout=120)
    text = (PROJECT / "docs/guides/compare.md").read_text(encoding="utf-8")
    block = re.search(r"## Conditions\n\n```\n(.*?)```", text, re.DOTALL).group(1)
    conditions = [re.split(r"\s{4,}", line)[0] for line in block.splitlines()]
    assert len(conditions) == 8
    for condition in conditions:
        done = subprocess.run([command, "baseline", "check", "base.json", "base.json", "--quiet", "--fail-if", condition],
                              cwd=tmp_path, capture_output=True, timeout=120, check=False)
        assert done.returncode in (0, 1), (condition, done.stderr)


def test_the_commands_of_the_kernel_guide(command, tmp_path):
    for when in ("before", "after"):
        shutil.copy(GOLDEN / f"launch_bound.{when}.json.gz", tmp_path / f"{when}.json.gz")
    (tmp_path / "ncu.csv").write_text('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
                                      '"0","kernel","sm__warps_active.avg.pct_of_peak_sustained_active","%","12.5"\n')
    text = (PROJECT / "docs/guides/kernels.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    ran = 0
    for line in "".join(blocks).splitlines():
        words = shlex.split(line)
        if words[0] != "accel-profiler":
            continue  # ncu and the program itself need a GPU
        done = subprocess.run([command, *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (line, done.stderr)
        ran += 1
    assert ran == 8
