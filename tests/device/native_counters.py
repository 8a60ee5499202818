#!/usr/bin/env python3
"""On a machine with an NVIDIA device: a capture of the native recorder while the device works, and whether its counters
agree with what nvidia-smi says: native_counters.py [BUILD]. BUILD [build] is a build folder or the package that
tests/device/make_package.sh makes (build/device); PyTorch, where it is, keeps the device busy. Prints every counter; status 1 when one of those
that every device has is missing or absurd."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "build").absolute()
COMMAND = next((path for path in (BUILD / "bin/accel-profiler", BUILD / "accel-profiler") if path.exists()), BUILD / "accel-profiler")
LIBRARIES = f"{BUILD / 'lib'}:{BUILD}"  # of the program that records itself: built elsewhere, for another place
LOAD = """
import time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
end = time.time() + 25
while time.time() < end:
    for _ in range(20): a @ a
    torch.cuda.synchronize()
"""
NEEDED = {"gpu_memory_usage": (0, 1), "gpu_utilization": (0, 1), "sm_clock_mhz": (100, 5000), "gpu_power_w": (5, 2000),
          "gpu_temperature_c": (5, 120), "pcie_generation": (1, 7), "pcie_width": (1, 32)}


def main() -> int:
    busy = subprocess.Popen([sys.executable, "-c", LOAD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(8)
    with tempfile.TemporaryDirectory() as folder:
        job = subprocess.run([BUILD / "examples/example_cpp_slow_loader", "--output", folder, "--seconds", "15",
                              "--rule", "step > 50 => capture_next_steps(200)"], capture_output=True, text=True,
                             env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES})
        smi = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,power.draw,memory.used,utilization.gpu,pcie.link.gen.current,"
                              "clocks_event_reasons.active", "--format=csv"], capture_output=True, text=True).stdout
        busy.terminate()
        if job.returncode != 0:
            print(job.stdout, job.stderr, sep="\n")
            return 1
        capture = [line.split(" ", 1)[1] for line in job.stdout.splitlines() if line.startswith("capture ")][0]
        subprocess.run([COMMAND, "analyze", capture, "-o", folder + "/report", "--quiet"], check=True)
        report = json.loads(Path(folder, "report/report.json").read_text())
    print(smi)
    bad = []
    counters = {counter["name"]: counter for counter in report["counters"]}
    for name, counter in counters.items():
        if counter["source"] == "nvml":
            print({key: value for key, value in counter.items() if value is not None})
    for name, (low, high) in NEEDED.items():
        mean = counters.get(name, {}).get("mean")
        if mean is None or not low <= mean <= high:
            bad.append(f"{name}: {mean}")
    print("utilisation", report["utilisation"]["nvml"], report["utilisation"]["sm_active"], report["utilisation"]["tensor_active"])
    print("cost of the recorder, %:", report["distortion"]["recorder_percent"])
    print([note for note in report["notes"] if note["code"] in ("counters_absent", "recorder_cost", "recorder_thinned")])
    print("missing or absurd:", bad or "none")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
