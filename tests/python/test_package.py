"""The Python package without torch: what it imports, what it starts, what it carries."""

import json
import subprocess

import pytest

from conftest import PROJECT


def python(interpreter, code: str, **options):
    done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_it_imports_no_torch_loads_no_library_and_starts_no_thread(bare_python):
    told = python(bare_python, "import sys, threading, accel.profiler as ap\n"
                  "print(json.dumps([sorted(m for m in sys.modules if m.startswith(('torch', 'numpy', 'accel'))), threading.active_count()]))"
                  .replace("json", "__import__('json')"))
    assert json.loads(told) == [["accel", "accel.profiler"], 1]


def test_the_start_up_line_imports_nothing_without_the_variable(bare_python):
    assert python(bare_python, "import sys; print([m for m in sys.modules if 'accel' in m])").strip() == "[]"


def test_under_run_nothing_is_loaded_before_torch(bare_python):
    told = python(bare_python, "import sys; print(sorted(m for m in sys.modules if 'accel' in m))", env={"ACCEL_PROFILER_RUN": "{}"})
    assert told.strip() == "['accel', 'accel.profiler', 'accel.profiler.import_hook', 'accel.profiler.start', 'accel_profiler_start']"


def test_the_command_of_the_package_diagnoses_a_capture_and_writes_the_page(bare_python, tmp_path):
    capture = next((PROJECT / "tests/golden/pytorch-2.11_h200").glob("launch_bound.before.json.gz"))
    done = subprocess.run([bare_python.parent / "accel-profiler", "analyze", capture, "-o", tmp_path], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert "launch_bound" in done.stdout
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_analyze_gives_the_report_as_objects(bare_python):
    capture = PROJECT / "tests/golden/pytorch-2.11_h200/launch_bound.before.json.gz"
    told = python(bare_python, f"import accel.profiler as ap; r = ap.analyze({str(capture)!r}); "
                  "print(r.findings[0]['rule'], r.verdict['bound_by'], r._repr_html_()[:3])")
    assert told.split() == ["launch_bound", "host", "<p>"]


def test_steps_scopes_and_numbers_of_a_job_without_torch_are_in_the_capture(bare_python, tmp_path):
    path = python(bare_python, """
import time, accel.profiler as ap
from accel.profiler import AutoProfiler
AutoProfiler.enable("captures", hooks=False)
assert AutoProfiler.state() == "IDLE"
assert AutoProfiler.capture(ap.schedule(warmup=1, active=3, level=1))
@ap.scope("tokenise")
def tokenise():
    time.sleep(0.002)
for step in range(400):
    with ap.scope("load", category="data_loading"):
        tokenise()
    AutoProfiler.record("queue_depth", step)
    AutoProfiler.step(loss=1.0 / (step + 1))
    if AutoProfiler.state() == "IDLE": break
AutoProfiler.disable()
assert AutoProfiler.state() == "OFF"
import glob; print(glob.glob("captures/*.accel")[0])
""", cwd=tmp_path).strip()
    strings = (tmp_path / path).read_bytes()
    assert strings.startswith(b"ACCELTR\n")
    report = json.loads(python(bare_python, f"import accel.profiler as ap, json; print(json.dumps(ap.analyze({path!r}).document))",
                               cwd=tmp_path))
    assert len([s for s in report["steps"] if s["complete"]]) == 3


@pytest.mark.parametrize("rule, message", [("loss < 10ms", "units are in the names"), ("loss <", "column 8")])
def test_a_rule_that_does_not_compile_says_where_and_what_to_write(bare_python, tmp_path, rule, message):
    told = python(bare_python, f"""
from accel.profiler import AutoProfiler, TriggerRule, RuleError
AutoProfiler.enable(hooks=False)
try: TriggerRule({rule!r})
except RuleError as error: print(error)
""", cwd=tmp_path)
    assert message in told and "^ column" in told


def test_it_stays_off_where_the_environment_says_so(bare_python, tmp_path):
    told = python(bare_python, "from accel.profiler import AutoProfiler as A; print(A.enable(), A.capture(), A.state()); A.step()",
                  env={"ACCEL_PROFILER_DISABLE": "1"}, cwd=tmp_path)
    assert told.split() == ["False", "False", "OFF"]


def test_a_child_of_a_fork_records_nothing_and_leaves_no_file(bare_python, tmp_path):
    python(bare_python, """
import os
from accel.profiler import AutoProfiler
import accel.profiler as ap
AutoProfiler.enable("captures", hooks=False)
AutoProfiler.capture(ap.schedule(active=2, level=1))
if os.fork() == 0:
    for _ in range(50): AutoProfiler.step()
    raise SystemExit(0)
os.wait()
AutoProfiler.disable()
import glob; assert glob.glob("captures/*.accel") == [], glob.glob("captures/*")
""", cwd=tmp_path)


def test_a_handler_of_the_program_keeps_the_signal(bare_python, tmp_path):
    told = python(bare_python, """
import os, signal
from accel.profiler import AutoProfiler
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
AutoProfiler.enable(hooks=False)
os.kill(os.getpid(), signal.SIGUSR1)
print(got, AutoProfiler.state())
""", cwd=tmp_path)
    assert told.strip() == "[1] IDLE"


def test_the_doctor_says_of_each_part_what_works_why_not_and_what_to_do(bare_python, tmp_path):
    done = subprocess.run([bare_python.parent / "accel-profiler", "doctor"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    states = [line.split()[0] for line in done.stdout.splitlines()]
    assert len(states) >= 12 and set(states) <= {"fine", "limited", "off"}
    assert "torch             not installed" in done.stdout and "pip install torch" in done.stdout


def test_the_doctor_knows_other_machines(bare_python, tmp_path):
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("150000 100000")
    told = python(bare_python, f"""
from accel.profiler.command_doctor import Machine, report, _judged
for line in report(Machine({str(tmp_path)!r}, {{"NCCL_PROFILER_PLUGIN": "x", "SLURM_JOB_ID": "7", "CUDA_INJECTION64_PATH": "libnsys.so"}},
                           "5.15.167.4-microsoft-standard-WSL2")):
    print(line.what, "|", line.state, "|", line.why)
row = {{"lowest": "2.4", "tested": ["2.13"], "expected": ["2.11"]}}
for version in ("2.13.0+cpu", "2.11.0", "2.3.1", "2.99.0"): print(_judged("torch", version, row, "upgrade").state)
""")
    for expected in ("GPU | fine | NVIDIA driver 580.65.06", "WSL2 | limited", "container | limited | 1.5 cores", "NCCL plugin slot | limited",
                     "SIGUSR1 | limited", "CUPTI | limited", "/dev/shm | limited"):
        assert expected in told, told
    assert told.split()[-4:] == ["fine", "fine", "off", "limited"]


def test_another_package_named_accel_is_named_as_the_cause(bare_python, tmp_path):
    (tmp_path / "accel").mkdir()
    (tmp_path / "accel/__init__.py").write_text("")
    done = subprocess.run([bare_python, "-c", "print('the job ran')"], capture_output=True, text=True,
                          env={"PYTHONPATH": str(tmp_path), "ACCEL_PROFILER_RUN": "{}"})
    assert done.returncode == 0 and "the job ran" in done.stdout
    assert "another package named accel hides ours" in done.stderr and str(tmp_path) in done.stderr


def test_the_command_names_another_package_named_accel(bare_python, tmp_path):
    (tmp_path / "accel").mkdir()
    (tmp_path / "accel/__init__.py").write_text("")
    done = subprocess.run([bare_python.parent / "accel-profiler", "doctor"], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 3 and "another package named accel hides accel.profiler" in done.stderr and str(tmp_path) in done.stderr
