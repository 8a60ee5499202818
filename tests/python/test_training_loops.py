"""Three training scripts that know nothing of us, by a plain loop, Lightning and Hugging Face's Trainer, unchanged under run: BERT
of the transformers package, gradients of two batches added, an evaluation every ten steps, a slow Dataset."""

import json
import subprocess

import pytest

from conftest import PROJECT
from test_run_command import THE_MACHINE, run

SLOW_MS, BATCH, ACCUMULATION = 8.0, 4, 2


@pytest.fixture(scope="module", params=["plain", "lightning", "transformers"])
def loop(request, torch_python, tmp_path_factory):
    """The finished run of a script, and the losses that it has alone and inside."""
    needed = {"lightning", "transformers", "accelerate"} if request.param != "plain" else {"transformers"}
    has = subprocess.run([torch_python, "-c", "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))", *needed])
    if has.returncode != 0:
        pytest.skip("the training frameworks of tools/requirements-frameworks.txt are not installed")
    folder = tmp_path_factory.mktemp(request.param)
    words = (str(PROJECT / f"tests/python/jobs/loop_{request.param}.py"), f"slow={SLOW_MS}", "steps=30")
    alone = subprocess.run([torch_python, *words, f"losses={folder}/alone"], capture_output=True, text=True, cwd=folder)
    assert alone.returncode == 0, alone.stderr
    job = run(torch_python, folder / "captures", *words, f"losses={folder}/inside", options=["--steps", "14"])
    assert job.done.returncode == 0 and job.report is not None, job.done.stderr
    job.alone, job.inside = (json.loads((folder / name).read_text()) for name in ("alone", "inside"))
    return job


def test_losses_are_bit_identical(loop):
    assert len(loop.alone) >= 30 and loop.inside == loop.alone


def test_a_step_is_a_step_of_the_optimizer_and_an_evaluation_is_one_of_its_own(loop):
    classes = [step["class"] for step in loop.report["steps"] if step["complete"]]
    assert set(classes) <= {"train", "evaluation"} and 1 <= classes.count("evaluation") <= 2, classes
    between = "".join("e" if word == "evaluation" else "t" for word in classes)
    assert max(map(len, between.split("e"))) <= 10 and "ee" not in between, between
    calls = {row["name"]: row["count"] * len(classes) for row in loop.report["annotations"]}
    (optimizer,) = (count for name, count in calls.items() if name.startswith("Optimizer.step#AdamW"))
    assert round(optimizer) == classes.count("train") and round(calls["backward"]) == ACCUMULATION * classes.count("train")


def test_modules_are_told_by_path_configuration_and_batch(loop):
    names = [row["name"] for row in loop.report["annotations"]]
    assert any(name.endswith("bert.encoder.layer.1.attention.self: BertSelfAttention_batch=4[f32]") for name in names), names


def test_the_slow_dataset_is_named_first_with_its_cost(loop):
    first = next(finding for finding in loop.findings if finding["rule"] not in THE_MACHINE)
    assert first["rule"] == "dataloader_starvation", [(f["rule"], f["cost_ms_per_step"]) for f in loop.findings]
    planted = SLOW_MS * BATCH * ACCUMULATION
    assert first["cost_ms_per_step"] > 0.7 * planted, first["title"]


def test_a_window_with_stacks_names_the_line_of_the_slow_dataset(torch_python, tmp_path):
    """Stacks sampled from outside name it too, where the system lets them be read; where not, the run says how to get it."""
    words = (f"slow={SLOW_MS}", "steps=40")
    script = tmp_path / "job.py"
    script.write_text("""
import sys; sys.path.insert(0, %r)
import torch
from loop_data import BATCH, training_data
from torch.utils.data import DataLoader
model = torch.nn.Linear(32, 5); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(training_data(), batch_size=BATCH):
    torch.nn.functional.cross_entropy(model(batch["input_ids"].float()), batch["labels"]).backward(); optimizer.step()
""" % str(PROJECT / "tests/python/jobs"))
    job = run(torch_python, tmp_path / "plain", str(script), *words)
    sampled = any((where["file"] or "").endswith("loop_data.py") and where["line"] for finding in job.findings for where in finding["where"])
    again = [line for line in job.done.stdout.splitlines() if line.strip().startswith("accel-profiler run")]
    assert sampled or (len(again) == 1 and "--detail stacks" in again[0] and str(script) in again[0]), job.done.stdout
    job = run(torch_python, tmp_path / "stacks", str(script), *words, options=["--detail", "stacks"])
    first = next(finding for finding in job.findings if finding["rule"] not in THE_MACHINE)
    assert first["rule"] == "dataloader_starvation" and "no line of your code" not in job.done.stdout
    planted = [number for number, line in enumerate((PROJECT / "tests/python/jobs/loop_data.py").read_text().splitlines(), 1)
               if line.startswith("def work") or "def __getitem__" in line or "planted line" in line]
    lines = [where["line"] for where in first["where"] if where["file"] and where["file"].endswith("loop_data.py")]
    assert lines and any(abs(line - one) <= 4 for line in lines for one in planted), first["where"]
