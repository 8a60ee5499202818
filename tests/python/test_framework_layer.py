"""The hooks in torch: torch.compile, pickling, wrapping and taking out change nothing."""

import json
import subprocess

import pytest

COMPILE = '''
import json, sys
if sys.argv[1] == "on":
    from accel.profiler import AutoProfiler
    import accel.profiler as ap
    AutoProfiler.enable(sys.argv[2])
import torch
from torch import nn
from torch._dynamo.utils import counters
if sys.argv[1] == "on":
    assert type(nn.Module.__call__).__name__ == "ModuleCall", AutoProfiler.notes()

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)
    def forward(self, x):
        return torch.relu(self.norm(self.fc(x))) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(3)), nn.Sequential(nn.Linear(16, 8), nn.ReLU())
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

graphs = []
def backend(graph, _inputs):
    graphs.append(len(list(graph.graph.nodes)))
    return graph.forward

def in_place(model):
    model.compile(backend=backend, fullgraph=True)
    return model
def hooked(model):
    model.blocks[0].register_forward_hook(lambda _module, _inputs, output: output * 2)
    return torch.compile(model, backend=backend, fullgraph=True)
def inner(model):
    model.blocks[1] = torch.compile(model.blocks[1], backend=backend, fullgraph=True)
    return model
ways = {
    "compile(mod)": lambda m: torch.compile(m, backend=backend, fullgraph=True),
    "mod.compile()": in_place,
    "compile(fn)": lambda m: torch.compile(lambda x: m(x) * 2, backend=backend, fullgraph=True),
    "without fullgraph": lambda m: torch.compile(m, backend=backend),
    "with a hook": hooked,
    "a submodule": inner,
}
told = {}
for name, compiled in ways.items():
    torch._dynamo.reset(); graphs.clear(); counters.clear(); torch.manual_seed(0)
    model, x = Net(), torch.randn(4, 16)
    call = compiled(model)
    outputs = []
    for round in range(6):
        if sys.argv[1] == "on":
            if round == 1: AutoProfiler.capture(ap.schedule(warmup=0, active=2, level=1))
            AutoProfiler.step()
        outputs.append(call(x).sum())
    outputs[0].backward()
    told[name] = [list(graphs), dict(counters["graph_break"]), dict(counters["recompiles"]), [o.item().hex() for o in outputs]]
print(json.dumps(told))
'''


def run(python, code, *words, cwd):
    done = subprocess.run([python, "-c", code, *words], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_torch_compile_gains_no_graph_break_and_no_recompile_and_gives_the_same_bits(torch_python, tmp_path):
    without = json.loads(run(torch_python, COMPILE, "off", cwd=tmp_path))
    inside = json.loads(run(torch_python, COMPILE, "on", "captures", cwd=tmp_path))
    assert all(breaks == {} and recompiles == {} for _, breaks, recompiles, _ in without.values())
    assert inside == without


def test_disable_puts_back_what_was_there(torch_python, tmp_path):
    told = run(torch_python, '''
import gc, json, pickle, copy, inspect, sys, torch
from torch import nn
from torch.utils.data import dataloader
from accel.profiler import AutoProfiler
places = lambda: [nn.Module.__call__, dataloader._BaseDataLoaderIter.__next__, torch.autograd._engine_run_backward, torch.save,
                  torch.amp.GradScaler.step, torch.optim.Optimizer.__init__, list(gc.callbacks), len(sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks)]
before = places()
AutoProfiler.enable("captures")
during = places()
model = nn.Linear(4, 2)
copied = pickle.loads(pickle.dumps(copy.deepcopy(model)))
assert str(inspect.signature(model)) == "(*args, **kwargs)" == str(inspect.signature(copied))
assert nn.Module.__call__.__name__ == "_wrapped_call_impl"
AutoProfiler.disable()
print(json.dumps([[a is b or a == b for a, b in zip(before, during)], [a is b or a == b for a, b in zip(before, places())]]))
''', cwd=tmp_path)
    during, after = json.loads(told)
    assert not any(during) and all(after)


def test_inference_beside_an_optimizer_that_never_steps_has_steps_after_some_batches(torch_python, tmp_path):
    told = run(torch_python, '''
import torch
from torch.utils.data import DataLoader
from accel.profiler import AutoProfiler
AutoProfiler.enable("captures")
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters())  # of a checkpoint that was loaded whole
with torch.no_grad():
    for batch in DataLoader(torch.ones(60, 4), batch_size=1): model(batch)
print(AutoProfiler._session.steps.index)
''', cwd=tmp_path)
    assert int(told) == 28


@pytest.mark.parametrize("kind", ["two optimizers", "accumulation", "scaler", "inference", "explicit"])
def test_steps_are_found_without_user_code(torch_python, tmp_path, kind):
    told = run(torch_python, f'''
import torch, json
from torch import nn
from torch.utils.data import DataLoader
from accel.profiler import AutoProfiler
AutoProfiler.enable("captures")
kind = {kind!r}
model = nn.Linear(4, 1)
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range({{"two optimizers": 2, "inference": 0}}.get(kind, 1))]
scaler = torch.amp.GradScaler("cpu", init_scale=1e38 if kind == "scaler" else 1.0)
batches = DataLoader(torch.ones(12, 4), batch_size=1)
for number, batch in enumerate(batches):
    if kind == "inference":
        with torch.no_grad(): model(batch)
        continue
    loss = model(batch).sum()
    scaler.scale(loss).backward()
    if kind == "accumulation" and number % 3 != 2: continue
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    for optimizer in optimizers: optimizer.zero_grad()
    if kind == "explicit":
        AutoProfiler.step(); AutoProfiler.step()
print(AutoProfiler._session.steps.index)
''', cwd=tmp_path)
    # The loader that is asked once more and has nothing ends the last step.
    assert int(told) == {"two optimizers": 12, "accumulation": 4, "scaler": 12, "inference": 12, "explicit": 24}[kind]


def test_the_users_own_torch_profiler_records_whole_and_ours_yields(torch_python, tmp_path):
    told = run(torch_python, '''
import torch, json, glob, time
from torch.profiler import profile, ProfilerActivity
import accel.profiler as ap
from accel.profiler import AutoProfiler
AutoProfiler.enable("captures")
model = torch.nn.Linear(8, 8)
def step():
    model(torch.ones(2, 8)).sum().backward(); AutoProfiler.step()
AutoProfiler.capture(ap.schedule(warmup=1, active=6, level=2))
for _ in range(2000):
    step(); time.sleep(0.005)
    if AutoProfiler.state() == "ACTIVE": break
for _ in range(3): step()
with profile(activities=[ProfilerActivity.CPU]) as theirs:
    for _ in range(8): step()
linears = [e.count for e in theirs.key_averages() if e.key == "aten::linear"]
for _ in range(5): step()
AutoProfiler.disable()
print(json.dumps([linears, AutoProfiler.notes(), len(glob.glob("captures/*.pt.trace.json.gz")), len(glob.glob("captures/*.accel"))]))
''', cwd=tmp_path)
    linears, _notes, torch_traces, captures = json.loads(told)
    assert linears == [8] and torch_traces == 1 and captures == 1, told


def test_module_calls_bear_path_configuration_batch_and_the_type_that_ran(torch_python, tmp_path):
    told = run(torch_python, '''
import gzip, glob, json, time, torch
from torch import nn
import accel.profiler as ap
from accel.profiler import AutoProfiler
AutoProfiler.enable("captures")
model = nn.Sequential(nn.Linear(8, 16), nn.Conv1d(16, 4, 3), nn.Flatten())
AutoProfiler.capture(ap.schedule(warmup=1, active=3, level=2))
for number in range(1000):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=number % 2 == 0):
        model[2](model[1](model[0](torch.ones(5, 8)).unsqueeze(-1).expand(5, 16, 4)))
        model[:1](torch.ones(5, 8))
    AutoProfiler.step(); time.sleep(0.005)
    if glob.glob("captures/*.pt.trace.json.gz"): break
AutoProfiler.disable()
trace = json.load(gzip.open(glob.glob("captures/*.pt.trace.json.gz")[0]))
print(json.dumps(sorted({event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation"})))
''', cwd=tmp_path)
    names = json.loads(told)
    assert "Linear[8x16]_bias=True_batch=5[f32]" in names and "Linear[8x16]_bias=True_batch=5[bf16]" in names, names
    assert any(name.startswith("Conv1d[16x4]_k=3_batch=5") for name in names), names
