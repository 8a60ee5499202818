"""A training loop with known times, written as a trace of torch's profiler: what the cases of the rules are made of.

Times are microseconds. `now` is the host's clock; the device runs in order.
"""

import json


class Job:
    def __init__(self):
        self.events, self.now, self.free, self.step, self.id, self.begin = [], 0.0, 0.0, 0, 0, 0.0

    def add(self, cat, name, start, dur, tid=1, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": start, "dur": dur, "args": args})

    def start_step(self):
        self.begin = self.now

    def end_step(self):
        self.add("user_annotation", f"ProfilerStep#{self.step}", self.begin, self.now - self.begin)
        self.step += 1
        self.now += 5

    def silence(self, dur):
        self.now += dur

    def frame(self, name, start):
        self.add("python_function", name, start, self.now - start)

    def range(self, name, start):
        self.add("user_annotation", name, start, self.now - start)

    def op(self, name, dur, **args):
        self.add("cpu_op", name, self.now, dur, **args)
        self.now += dur

    def overhead(self, name, dur):
        self.add("overhead", name, self.now, dur)
        self.now += dur

    def launch(self, op="aten::mm", kernel="gemm", host=20, device=15, tid=1, **args):
        self.id += 1
        self.add("cpu_op", op, self.now, host, tid, **args)
        self.add("cuda_runtime", "cudaLaunchKernel", self.now + host * 0.4, host * 0.4, tid, correlation=self.id)
        start = max(self.free, self.now + host * 0.8 + 2)
        self.events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": start, "dur": device,
                            "args": {"device": 0, "stream": 7, "correlation": self.id}})
        self.free, self.now = start + device, self.now + host

    def copy(self, kind, nbytes, dur, op="aten::copy_"):
        """kind: "HtoD (Pageable -> Device)", "DtoH (Device -> Pageable)"; the call lasts until the copy is done."""
        self.id += 1
        start = max(self.free, self.now + 3)
        end = start + dur
        self.add("cpu_op", op, self.now, end + 3 - self.now)
        self.add("cuda_runtime", "cudaMemcpyAsync", self.now + 1, end + 1 - self.now, correlation=self.id)
        self.events.append({"ph": "X", "cat": "gpu_memcpy", "name": f"Memcpy {kind}", "pid": 0, "tid": 7, "ts": start, "dur": dur,
                            "args": {"device": 0, "stream": 7, "correlation": self.id, "bytes": nbytes}})
        self.free, self.now = end, end + 3

    def train(self, launches=100, **options):
        """The ordinary work of a step: the device keeps up, the host sets the pace by a quarter."""
        for _ in range(launches):
            self.launch(**options)

    def write(self, path="trace.json", processor=False):
        """processor: the job uses no device, as our own recorder says it."""
        head = {"accel_device": "cpu"} if processor else {"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]}
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, **head, "traceEvents": self.events}, file)
