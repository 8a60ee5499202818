"""make demo: the live one, and the recorded one where torch cannot be had."""

import os
import subprocess
import sys

from conftest import PROJECT


def demo(*words, **environment):
    return subprocess.run([sys.executable, PROJECT / "tools/demo.py", *words], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


def test_the_live_demo_finds_the_planted_loader_and_holds_the_gain_against_the_one_foretold(torch_python):
    done = demo("--steps", "120", ACCEL_TORCH_PYTHON=str(torch_python))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dataloader_starvation" in done.stdout and "foretold" in done.stdout and "measured" in done.stdout, done.stdout


def test_without_torch_a_recorded_job_is_diagnosed(command):
    done = demo("--recorded")
    assert done.returncode == 0 and "diagnosing tests/golden" in done.stdout and "Verdict" in done.stdout, done.stderr
