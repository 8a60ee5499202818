"""The program that `kernels replay` writes: it calls the recorded op again, on the CPU where there is no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cases/diagnosis"))
from job import Job  # noqa: E402

OPS = [
    ("aten::mm", [[64, 32], [32, 16]], ["float", "float"], [[32, 1], [1, 32]], ["", ""]),
    ("aten::addmm", [[16], [8, 32], [32, 16], [], []], ["float", "float", "float", "Scalar", "Scalar"],
     [[1], [32, 1], [16, 1], [], []], ["", "", "", "1", "1"]),
    ("aten::_softmax", [[4, 128], [], []], ["c10::BFloat16", "Scalar", "Scalar"], [[128, 1], [], []], ["", "-1", "False"]),
    ("aten::embedding", [[100, 8], [4, 5], [], [], []], ["float", "long int", "Scalar", "Scalar", "Scalar"],
     [[8, 1], [5, 1], [], [], []], ["", "", "-1", "False", "False"]),
    ("aten::sum", [[16, 1000], [], [], []], ["float", "ScalarList", "Scalar", ""], [[0, 1], [], [], []], ["", "[0]", "True", ""]),
    ("aten::_foreach_add_", [[], [], []], ["TensorList", "TensorList", "Scalar"], [[], [], []], ["", "", "1"]),
]


@pytest.fixture
def programs(command, tmp_path):
    """op -> the program of its kernel."""
    job = Job()
    for _ in range(3):
        job.start_step()
        for number, (op, dims, types, strides, concrete) in enumerate(OPS):
            job.launch(op, f"void kernel_{number}<float>(int)", device=50,
                       **{"Input Dims": dims, "Input type": types, "Input Strides": strides, "Concrete Inputs": concrete})
        job.end_step()
    job.write(tmp_path / "trace.json")
    for words in (["record", "trace.json", "--quiet"], ["show", "--json"]):
        done = subprocess.run([command, "kernels", *words], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    made = {}
    for kernel in json.loads(done.stdout):
        path = tmp_path / f"replay-{kernel['id']}.py"
        subprocess.run([command, "kernels", "replay", str(kernel["id"]), "--quiet"], cwd=tmp_path, check=True, timeout=60)
        made[kernel["op"]] = path
    assert set(made) == {op for op, *_ in OPS}
    return made


def test_the_programs_are_python(programs):
    for path in programs.values():
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_the_recorded_op_is_called_again(programs, torch_python):
    for op, path in programs.items():
        done = subprocess.run([torch_python, path, "--device", "cpu", "--calls", "1"], capture_output=True, text=True, timeout=120)
        if op == "aten::_foreach_add_":
            assert done.returncode == 2 and "lists of tensors are not recorded" in done.stderr, done.stderr
        else:
            assert done.returncode == 0, (op, done.stderr)
            assert "was not checked" in done.stdout


FAKE_NCU = """#!/bin/sh
if [ "$1" = --help ]; then
  echo "  --csv --metrics arg --kernel-name arg --launch-skip arg --launch-count arg %s"
  exit 0
fi
echo "$@" > ncu.args
echo '==PROF== Connected'
echo '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"'
echo '"0","void kernel_0<float>(int)","(256, 1, 1)","(1, 1, 1)","dram__throughput.avg.pct_of_peak_sustained_elapsed","%%","88.5"'
"""


def run_under(command, folder, path, last_option):
    ncu = folder / "bin/ncu"
    ncu.parent.mkdir(exist_ok=True)
    ncu.write_text(FAKE_NCU % last_option)
    ncu.chmod(0o755)
    number = path.stem.split("-")[1]
    return subprocess.run([command, "kernels", "replay", number, "--ncu"], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PATH": f"{ncu.parent}:{os.environ['PATH']}"})


def test_ncu_gets_the_kernel_and_its_table_is_said_in_words(command, programs, tmp_path):
    done = run_under(command, tmp_path, programs["aten::mm"], "--target-processes arg")
    assert done.returncode == 0, done.stderr
    assert "The bandwidth of the device's memory is the limit (88.5 %)" in done.stdout
    arguments = (tmp_path / "ncu.args").read_text()
    assert "--kernel-name kernel_0" in arguments and "--no-check" in arguments


def test_an_ncu_that_does_not_know_the_options_is_not_started(command, programs, tmp_path):
    done = run_under(command, tmp_path, programs["aten::mm"], "")
    assert done.returncode == 3
    assert "does not know --target-processes" in done.stderr
    assert not (tmp_path / "ncu.args").exists()
