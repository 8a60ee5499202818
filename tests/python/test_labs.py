"""examples/labs: each trains both ways to the same result, and what the labs say is found is found."""

import os
import subprocess

import pytest

from conftest import PROJECT
from test_run_command import THE_MACHINE, run

LABS = PROJECT / "examples/labs"


def train(python, folder, lab, *words) -> str:
    done = subprocess.run([python, LABS / f"{lab}.py", *words], capture_output=True, text=True, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("lab", ["starvation", "item", "attention_memory"])
def test_both_ways_train_to_the_same_loss(torch_python, tmp_path, lab):
    slow, fixed = (float(train(torch_python, tmp_path, lab, "steps=20", *more).split("loss ")[1].split(";")[0]) for more in ((), ("fixed=1",)))
    assert abs(slow - fixed) <= 2e-4 * abs(slow), (slow, fixed)


def test_the_starved_lab_is_named_so(torch_python, tmp_path):
    job = run(torch_python, tmp_path / "captures", str(LABS / "starvation.py"), "steps=40")
    first = next(finding for finding in job.findings if finding["rule"] not in THE_MACHINE)
    assert first["rule"] == "dataloader_starvation", [(f["rule"], f["cost_ms_per_step"]) for f in job.findings]


def test_item_on_a_processor_is_not_called_a_synchronisation(torch_python, tmp_path):
    job = run(torch_python, tmp_path / "captures", str(LABS / "item.py"), "steps=40")
    assert job.report is not None and "implicit_sync" not in {finding["rule"] for finding in job.findings}


def test_the_template_diagnoses_its_own_window(torch_python, tmp_path):
    told = train(torch_python, tmp_path, "schedule_template")
    assert "1. " in told, told
