"""Four processes over gloo, whose rank 0 wakes all of them by rules with @global: with one rank late, one that takes no step any
more, and one that is killed. Each prints what it recorded, what it noted and how long the training thread was held up at most."""

import json
import os
import signal
import time

import torch.distributed as dist

from accel.profiler import AutoProfiler, TriggerRule

PATIENCE_S = 20
rank = int(os.environ["RANK"])


def train(until, phase: int, steps: bool = True) -> float:
    """Steps of 5 ms until something holds; the longest time that a step mark took."""
    longest, began, taken = 0.0, time.monotonic(), 0
    while not until() and time.monotonic() - began < PATIENCE_S:
        time.sleep(0.005)
        if not steps:
            continue
        if rank == 0 and taken == 10:
            AutoProfiler.record("go", phase)
        start = time.monotonic()
        AutoProfiler.step()
        longest = max(longest, time.monotonic() - start)
        taken += 1
    return longest


def recorded(count: int):
    """A window has been written since. Its file is there from when it is armed: the state has to be asked after that."""
    def is_so():
        return len(files()) > count and AutoProfiler.state() == "WATCHING"
    return is_so


def files() -> list[str]:
    folder = os.environ["ACCEL_PROFILER_OUTPUT"]
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(name for name in names if name.startswith(f"rank{rank}-") and name.endswith(".accel"))


def main():
    dist.init_process_group("gloo")
    AutoProfiler.enable(hooks=True)
    for phase in (1, 2, 3):
        TriggerRule(f"go == {phase}", "capture_next_steps(3, 1)", scope="global")
    told = {"rank": rank, "longest_ms": []}

    if rank == 2:
        time.sleep(0.4)  # late: some eighty steps behind
    told["longest_ms"].append(train(recorded(0), 1) * 1e3)
    told["late"] = files()
    dist.barrier()

    others_are_done = lambda: dist.distributed_c10d._get_default_store().check(["phase 2 is over"])
    told["longest_ms"].append(train(others_are_done if rank == 1 else recorded(1), 2, steps=rank != 1) * 1e3)
    if rank == 0:
        dist.distributed_c10d._get_default_store().set("phase 2 is over", "1")
    AutoProfiler.stop()
    time.sleep(0.5)  # the file of an armed window goes away in the background
    told["stuck"] = files()
    dist.barrier()

    if rank == 3:
        print(json.dumps(told), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    told["longest_ms"].append(train(lambda: any("no answer from rank 3" in note for note in AutoProfiler.notes()), 3) * 1e3)
    told["notes"], told["killed"] = AutoProfiler.notes(), files()
    print(json.dumps(told), flush=True)
    AutoProfiler.disable()
    time.sleep(3.0 if rank == 0 else 0.0)  # the store is rank 0's, and the others may be about to read it
    os._exit(0)  # the process group cannot be taken down in order any more


if __name__ == "__main__":
    main()
