"""accel-profiler doctor: what this machine can record, and why not."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

FINE, LIMITED, OFF = "fine", "limited", "off"


@dataclass(frozen=True)
class Line:
    what: str
    state: str
    why: str
    remedy: str = ""


class Machine:
    """Where the checks look; tests give another root, environment and kernel release."""

    def __init__(self, root: str = "/", environment=None, release: str | None = None):
        self.root = Path(root)
        self.environment = os.environ if environment is None else environment
        self.release = platform.release() if release is None else release

    def text(self, path: str) -> str | None:
        try:
            return (self.root / path.lstrip("/")).read_text(errors="replace").strip()
        except OSError:
            return None


def main(words: list[str]) -> int:
    if words:
        print("usage: accel-profiler doctor", file=sys.stderr)
        return 2
    lines = report(Machine())
    width = max(len(line.what) for line in lines)
    for line in lines:
        remedy = f"; {line.remedy}" if line.remedy else ""
        print(f"{line.state:8} {line.what:{width}}  {line.why}{remedy}")
    return 0


def report(machine: Machine) -> list[Line]:
    checks = (python, package, engine, recorder, torch, gpu, wsl, shared_memory, clock, counters, subscribers, nccl, signal_slot, stacks, limits)
    return [line for check in checks for line in check(machine)]


def matrix() -> dict:
    return json.loads(Path(__file__).with_name("compatibility.json").read_text())


def _judged(what: str, version: str, row: dict, remedy: str) -> Line:
    short = ".".join(version.split("+")[0].split(".")[:2])
    key = tuple(int(part) for part in short.split("."))
    if key < tuple(int(part) for part in row["lowest"].split(".")):
        return Line(what, OFF, f"{version} is too old", f"{row['lowest']} or newer is needed: {remedy}")
    if short in row["tested"]:
        return Line(what, FINE, f"{version}, tested")
    if short in row["expected"]:
        return Line(what, FINE, f"{version}, expected to work and not tested here")
    return Line(what, LIMITED, f"{version} is not known: hooks that do not fit are left out, with a note", f"tested: {', '.join(row['tested'])}")


def python(_machine):
    yield _judged("Python", platform.python_version(), matrix()["python"], "use a newer interpreter")


def package(_machine):
    spec = importlib.util.find_spec("accel")
    if spec is not None and spec.origin is not None and spec.loader is not None:
        yield Line("package accel", OFF, f"another package hides ours: {spec.origin}", "take it out of this environment, or put it behind ours")
    else:
        yield Line("package accel", FINE, str(Path(__file__).parent))
    start = importlib.util.find_spec("accel_profiler_start")
    beside = start is not None and Path(start.origin).with_suffix(".pth").exists()
    if beside:
        yield Line("start-up file", FINE, "`accel-profiler run` reaches every process of this Python")
    else:
        yield Line("start-up file", LIMITED, "accel_profiler_start.pth is not installed: `run` records nothing; AutoProfiler.enable() works",
                   "pip install accel-profiler into this environment")


def engine(_machine):
    from accel.profiler.engine import engine_path
    from accel.profiler.errors import ProfilerError

    try:
        yield Line("engine", FINE, engine_path())
    except ProfilerError as error:
        yield Line("engine", OFF, str(error))


def recorder(_machine):
    from accel.profiler.errors import ProfilerError, recorder

    try:
        recorder()
        yield Line("recorder", FINE, "loads")
    except ProfilerError as error:
        yield Line("recorder", OFF, str(error))


def torch(_machine):
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        yield Line("torch", OFF, "not installed: analysis, and recording by AutoProfiler.step() and ap.scope alone", "pip install torch")
        return
    yield _judged("torch", version, matrix()["torch"], "pip install --upgrade torch")


def gpu(machine):
    driver = machine.text("/proc/driver/nvidia/version")
    if driver is None:
        yield Line("GPU", OFF, "no NVIDIA driver: the processor is the device of the job")
        return
    words = driver.split()
    version = next((word for word in words if word.replace(".", "").isdigit() and "." in word), "unknown")
    yield Line("GPU", FINE, f"NVIDIA driver {version}")


def wsl(machine):
    if "microsoft" in machine.release.lower():
        yield Line("WSL2", LIMITED, f"kernel {machine.release}: hardware counters are off, level 1 works", "for counters use Linux itself")


def shared_memory(machine):
    try:
        free = shutil.disk_usage(machine.root / "dev/shm")
    except OSError:
        yield Line("/dev/shm", LIMITED, "not there: loader workers of the job may fail", "mount it, in containers --shm-size or --ipc=host")
        return
    if free.total < 1 << 30:
        yield Line("/dev/shm", LIMITED, f"{free.total >> 20} MiB: loader workers of the job may run out of it", "containers: --shm-size=8g or --ipc=host")
    else:
        yield Line("/dev/shm", FINE, f"{free.total >> 30} GiB")


def clock(machine):
    source = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        yield Line("clock", LIMITED, "its source is not told", "nothing to do")
    elif source in ("tsc", "arch_sys_counter"):
        yield Line("clock", FINE, source)
    else:
        yield Line("clock", LIMITED, f"{source}: reading it costs a microsecond or so, which every scope pays twice", "boot with clocksource=tsc where the machine allows it")


def counters(machine):
    parameters = machine.text("/proc/driver/nvidia/params")
    if parameters is None:
        return
    only_root = "RmProfilingAdminOnly: 1" in parameters
    if only_root and os.geteuid() != 0:
        yield Line("GPU counters", LIMITED, "for root alone; tracing works", "NVreg_RestrictProfilingToAdminUsers=0 in the driver's options")
    else:
        yield Line("GPU counters", FINE, "allowed")


def subscribers(machine):
    held = [name for name in ("CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID", "NVTX_INJECTION64_PATH", "KINETO_USE_DAEMON")
            if machine.environment.get(name) not in (None, "", "none")]
    if held:
        yield Line("CUPTI", LIMITED, f"another tool is set up in this environment ({', '.join(held)}): level 2 windows may hold no GPU records", "unset it for the run")
    else:
        yield Line("CUPTI", FINE, "no other tool in the environment")


def nccl(machine):
    plugin = machine.environment.get("NCCL_PROFILER_PLUGIN")
    if plugin:
        yield Line("NCCL plugin slot", LIMITED, f"taken by {plugin}; it is left alone", "unset NCCL_PROFILER_PLUGIN")
    else:
        yield Line("NCCL plugin slot", FINE, "free")


def signal_slot(machine):
    if machine.environment.get("SLURM_JOB_ID"):
        yield Line("SIGUSR1", LIMITED, "Slurm requeues jobs with it: it is left alone", "wake the recorder by a rule or its socket")
    else:
        yield Line("SIGUSR1", FINE, "kill -USR1 PID takes a window, where the program has no handler")


def stacks(machine):
    scope = machine.text("/proc/sys/kernel/yama/ptrace_scope")
    if scope in (None, "0"):
        yield Line("ptrace", FINE, "stacks of other processes of this user can be read")
    else:
        yield Line("ptrace", LIMITED, f"ptrace_scope is {scope}: native stacks of a hanging rank need root or a parent process", "sysctl kernel.yama.ptrace_scope=0")


def limits(machine):
    quota = machine.text("/sys/fs/cgroup/cpu.max")
    if quota and not quota.startswith("max"):
        share, period = (int(word) for word in quota.split())
        yield Line("container", LIMITED, f"{share / period:g} cores are allowed", "more loader workers than that do not help")
    memory = machine.text("/sys/fs/cgroup/memory.max")
    if memory and memory.isdigit():
        yield Line("container memory", LIMITED, f"{int(memory) >> 20} MiB are allowed", "nothing to do where the job fits")
