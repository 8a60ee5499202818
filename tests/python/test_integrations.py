"""Callbacks for Lightning and Hugging Face's Trainer, TensorBoard scalars, and the names that the package is typed with."""

import ast
import json
import os
import subprocess

import pytest

from conftest import PROJECT


def run(python, code: str, cwd, needed=()):
    has = subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))", *needed])
    if has.returncode != 0:
        pytest.skip(f"not installed: {', '.join(needed)}")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT / "tests/python/jobs")})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


WINDOWS = "len(__import__('glob').glob('captures/*.accel')), AutoProfiler.state()"


def test_the_lightning_callback_takes_its_window_and_switches_off(torch_python, tmp_path):
    told = run(torch_python, f"""
import sys; sys.argv = ["job", "steps=16"]
import lightning
from torch.utils.data import DataLoader
from loop_lightning import Classifier, BATCH, training_data
import accel.profiler as ap
from accel.profiler import AutoProfiler
from accel.profiler.integrations.lightning import AccelProfilerCallback
trainer = lightning.Trainer(max_steps=30, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            callbacks=[AccelProfilerCallback("captures", ap.schedule(warmup=1, active=4, level=1))])
trainer.fit(Classifier(), DataLoader(training_data(), batch_size=BATCH))
print({WINDOWS})
""", tmp_path, ("lightning", "transformers"))
    assert told == "1 OFF"


def test_the_transformers_callback_takes_its_window_records_what_is_logged_and_switches_off(torch_python, tmp_path):
    told = run(torch_python, f"""
import sys; sys.argv = ["job", "steps=16"]
from transformers import Trainer, TrainingArguments
from loop_data import small_bert, training_data
import accel.profiler as ap
from accel.profiler import AutoProfiler
from accel.profiler.integrations.transformers import AccelProfilerCallback
recorded, record = set(), AutoProfiler.record
AutoProfiler.record = lambda name, value: (recorded.add(name), record(name, value))
Trainer(model=small_bert(), train_dataset=training_data(), callbacks=[AccelProfilerCallback("captures", ap.schedule(warmup=1, active=4, level=1))],
        args=TrainingArguments(output_dir="out", max_steps=16, logging_steps=4, save_strategy="no", report_to=[], disable_tqdm=True,
                               use_cpu=True)).train()
print({WINDOWS}, *sorted(recorded))
""", tmp_path, ("transformers", "accelerate"))
    assert told == "1 OFF grad_norm learning_rate"


TRAIN = """
import torch
model = torch.nn.Linear(8, 8); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
from accel.profiler import AutoProfiler
from accel.profiler.integrations.tensorboard import TensorBoardScalars
AutoProfiler.enable("captures")
TensorBoardScalars({writer}, every=5)
for _ in range(31):
    model(torch.ones(2, 8)).sum().backward(); optimizer.step()
import time; time.sleep(0.5)  # the callbacks' thread
AutoProfiler.disable()
"""


def test_step_figures_become_scalars_of_any_writer(torch_python, tmp_path):
    told = json.loads(run(torch_python, """
import json
class Writer:
    said = []
    def add_scalar(self, tag, value, step): self.said.append([tag, value, step])
""" + TRAIN.format(writer="Writer()") + "print(json.dumps(Writer.said))", tmp_path))
    times = [(step, value) for tag, value, step in told if tag == "accel/step_time_ms"]
    assert len(times) >= 5 and all(step % 5 == 0 and value > 0 for step, value in times), told


def test_tensorboard_reads_them(torch_python, tmp_path):
    told = run(torch_python, TRAIN.replace("TensorBoardScalars(", "writer = torch.utils.tensorboard.SummaryWriter('board')\nTensorBoardScalars(")
               .format(writer="writer").replace("import torch\n", "import torch\nimport torch.utils.tensorboard\n") + """
writer.close()
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator("board"); events.Reload()
print(len(events.Scalars("accel/step_time_ms")))
""", tmp_path, ("tensorboard",))
    assert int(told) >= 5


def names_of(stub: str) -> set[str]:
    names = set()
    for node in ast.parse((PROJECT / "python/accel/profiler" / stub).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("accel."):
            names |= {alias.asname for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names - {"__all__"}


def test_the_stubs_name_what_the_modules_have(bare_python):
    told = json.loads(subprocess.check_output([bare_python, "-c", "import json, accel.profiler as ap; from accel.profiler import _runtime; "
                                               "print(json.dumps([ap.__all__, [n for n in dir(_runtime) if not n.startswith('__')]]))"]))
    assert names_of("__init__.pyi") == set(told[0])
    assert names_of("_runtime.pyi") == set(told[1])
