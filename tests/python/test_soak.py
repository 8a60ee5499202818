"""Hours shortened to seconds: windows open and close all the time, and nothing grows. $ACCEL_SOAK_SECONDS makes it longer."""

import json
import os
import subprocess

from conftest import PROJECT

SECONDS = float(os.environ.get("ACCEL_SOAK_SECONDS", "12"))


def test_memory_files_and_threads_stay_flat_while_windows_come_and_go(torch_python, tmp_path):
    done = subprocess.run([torch_python, PROJECT / "tests/python/jobs/soak.py", str(SECONDS)], capture_output=True, text=True,
                          env={**os.environ, "ACCEL_PROFILER_OUTPUT": str(tmp_path), "OMP_NUM_THREADS": "1"}, timeout=SECONDS + 120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    settled, last = told[len(told) // 3], told[-1]
    assert last["windows"] >= 4, last
    # Torch's profiler keeps buffers of its first windows; what is ours is freed with each.
    assert last["rss_mib"] - settled["rss_mib"] < 12, [round(row["rss_mib"]) for row in told]
    for what in ("files", "threads", "native_threads"):
        assert last[what] <= settled[what] + 2, [row[what] for row in told]  # a window may be open, its trace being written
    # 64 bytes a step are promised; each window takes what it holds, however many there were.
    assert last["run_bytes"] - settled["run_bytes"] <= 64 * (last["steps"] - settled["steps"]) + (1 << 20)
    assert max(last["captures"]) < 4 * max(settled["captures"]) if settled["captures"] else True
