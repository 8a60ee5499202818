"""Python stacks sampled in windows: which function a wait for data goes into, in the process and in the loader's workers."""

import re
import subprocess

import pytest

from test_run_command import JOBS, run

SHARE = re.compile(r"share of the wait in (\S+) \((\S+):(\d+)\), (\d+) of (\d+) samples")


def line_of(text: str) -> int:
    lines = (JOBS / "decoding.py").read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def starvation(job):
    assert job.done.returncode == 0 and job.report is not None, job.done.stdout + job.done.stderr
    found = [finding for finding in job.findings if finding["rule"] == "dataloader_starvation"]
    assert found, [(f["rule"], f["cost_ms_per_step"]) for f in job.findings]
    return found[0]


def shares(finding):
    """function -> (share, line, samples of all)"""
    found = {}
    for evidence in finding["evidence"]:
        match = SHARE.fullmatch(evidence["text"])
        if match:
            found[match[1]] = (evidence["value"], int(match[3]), int(match[5]))
    return found


@pytest.mark.parametrize("words, level", [(("workers=0",), 2), (("workers=1",), 2), (("workers=1", "start=spawn"), 1),
                                          (("workers=0", "how=holds"), 1)])
def test_the_function_that_a_wait_goes_into_is_named_with_file_line_and_share(torch_python, tmp_path, words, level):
    job = run(torch_python, tmp_path / "captures", str(JOBS / "decoding.py"), *words, "steps=90", options=["--level", str(level), "--steps", "40"])
    finding = starvation(job)
    seen = shares(finding)
    share, line, samples = seen["decode"]
    truth = job.said["decode_share"]
    # What chance leaves of so many samples, three times over; the job's share is that of all steps, not of the window's alone.
    assert samples >= 20 and abs(share - 100 * truth) < 300 * (truth * (1 - truth) / samples) ** 0.5 + 4, (seen, truth)
    assert line == line_of("decode's time goes here") and seen["Pictures.__getitem__"][0] > 90
    assert f"decode at decoding.py:{line}" in finding["title"], finding["title"]
    places = [place for place in finding["where"] if place["kind"] == "frame" and place["name"].endswith(": decode")]
    assert places and places[0]["file"] == str(JOBS / "decoding.py") and places[0]["line"] == line
    waits = [e["value"] for e in finding["evidence"] if e["text"].endswith("neither on a processor nor ready for one")]
    assert len(waits) == 1


def test_stacks_are_off_where_no_window_is_open(torch_python, tmp_path):
    script = tmp_path / "job.py"
    script.write_text("""
import os, time, torch
from accel.profiler import AutoProfiler
AutoProfiler.enable(output="captures")
model = torch.nn.Linear(4, 4); optimizer = torch.optim.SGD(model.parameters())
threads = lambda: sorted(open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task"))
for _ in range(5):
    model(torch.ones(2, 4)).sum().backward(); optimizer.step()
print("accel-stacks" in threads(), AutoProfiler.notes())
AutoProfiler.capture(30)
seen = gone = False
for _ in range(5000):  # when a window opens and ends is the machine's affair too
    model(torch.ones(2, 4)).sum().backward(); optimizer.step(); time.sleep(0.004)
    there = "accel-stacks" in threads()
    seen, gone = seen or there, seen and not there
    if gone:
        break
print(seen, gone)
""")
    done = subprocess.run([torch_python, script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.stdout.splitlines() == ["False []", "True True"], done.stdout + done.stderr


def test_a_stack_is_read_from_outside_whatever_the_thread_does(bare_python, tmp_path):
    script = tmp_path / "job.py"
    script.write_text("""
import threading, time
from accel.profiler import _runtime
assert _runtime.use_python(True) == 0
def sleeps(): ready.set(); go.wait(20)
def deep(depth): return deep(depth - 1) if depth else _runtime.python_stack(threading.get_native_id())
def größe(): return _runtime.python_stack(threading.get_native_id())
ready, go = threading.Event(), threading.Event()
thread = threading.Thread(target=sleeps)
thread.start(); ready.wait(); time.sleep(0.05)
text = _runtime.python_stack(thread.native_id)
print([line.split(": ")[-1] for line in text.splitlines()][-4:])
go.set(); thread.join()
print(repr(_runtime.python_stack(thread.native_id)), deep(400).count(": deep"), größe().splitlines()[0].endswith("): größe"))
print(_runtime.use_python(False), repr(_runtime.python_stack(threading.get_native_id())))
""")
    done = subprocess.run([bare_python, script], capture_output=True, text=True, timeout=60)
    expected = ["['sleeps', 'Thread.run', 'Thread._bootstrap_inner', 'Thread._bootstrap']", "'' 255 True", "0 ''"]
    assert done.stdout.splitlines() == expected, done.stdout + done.stderr
