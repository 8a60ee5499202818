"""Traces of a few ranks that issue known collectives: what the cases about several ranks are made of.

Times are microseconds. A collective is a record_param_comms op whose launch has one NCCL kernel.
"""

import json


class Rank:
    def __init__(self, rank, world, offset=0):
        self.rank, self.world, self.offset = rank, world, offset
        self.events, self.id, self.now = [], 0, 0

    def add(self, cat, name, start, dur, pid=1, tid=1, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start + self.offset, "dur": dur,
                            "args": args})

    def step(self, number, start, dur=9900):
        self.add("user_annotation", f"ProfilerStep#{number}", start, dur)
        self.now = start + 50

    def kernel(self, start, dur, name="gemm"):
        self.id += 1
        self.add("cpu_op", "aten::mm", self.now, 20)
        self.add("cuda_runtime", "cudaLaunchKernel", self.now + 5, 5, correlation=self.id)
        self.add("kernel", name, start, dur, pid=0, tid=7, device=0, stream=7, correlation=self.id)
        self.now += 30

    def collective(self, start, end, kernel="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", **args):
        """args as torch records them: Collective name, Seq, In msg nelems, ..."""
        self.id += 1
        self.add("cpu_op", "record_param_comms", self.now, 20, **args)
        self.add("cuda_runtime", "cudaLaunchKernel", self.now + 5, 5, correlation=self.id)
        self.add("kernel", kernel, start, end - start, pid=0, tid=20, device=0, stream=20, correlation=self.id)
        self.now += 30

    def text(self):
        info = {"backend": "nccl", "rank": self.rank, "world_size": self.world}
        return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "distributedInfo": info,
                           "traceEvents": self.events})


def all_reduce(elements, **more):
    return {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "dtype": "Float",
            "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Group size": 2,
            **more}
