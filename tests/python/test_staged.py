"""AutoProfiler.capture_staged() and ap.join_stages(): times of the lightest window, shapes and lines of the others."""

import json
import subprocess

JOB = """
import json, os, time, torch
import accel.profiler as ap
from accel.profiler import AutoProfiler
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 2000
    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.ones(8)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
    def forward(self, x): return self.second(self.first(x))
AutoProfiler.enable("captures")
model = Net(); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
asked = None
for number, batch in enumerate(DataLoader(Slow(), batch_size=4)):
    model(batch).sum().backward(); optimizer.step()
    if number == 3: asked = [AutoProfiler.capture_staged(3), AutoProfiler.capture_staged(3)]
    if number > 3 and AutoProfiler._session.stages is None: break
AutoProfiler.disable()
joined = ap.join_stages("captures")
print(json.dumps([asked, AutoProfiler.state(), list(joined.windows), joined.tree, joined.findings, joined.step_ms, str(joined),
                  {name: result.step_time["mean_ms"] for name, result in joined.windows.items()}]))
"""


def test_three_windows_become_one_result(torch_python, tmp_path):
    script = tmp_path / "job.py"
    script.write_text(JOB)
    done = subprocess.run([torch_python, script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    asked, state, windows, tree, findings, step_ms, text, steps = json.loads(done.stdout.splitlines()[-1])
    assert asked == [True, False] and state == "OFF" and windows == ["light", "shapes", "stacks"]
    assert step_ms == steps["light"]
    row = next(row for row in tree if row["name"] == "second: Linear[8x1]_bias=True")
    assert row["host_ms"] > 0 and row["called_with"] == "batch=4[f32]"
    starved = next(finding for finding in findings if finding["rule"] == "dataloader_starvation")
    assert starved["from"]["title"] == "light" and starved["cost_ms_per_step"] > 8
    assert any("job.py:" in line for line in starved["lines"]) and starved["from"]["lines"] == "stacks"
    assert "Times are those of 'light' alone" in text and "(shapes)" in text


def test_a_folder_without_a_staged_capture_says_so(bare_python, tmp_path):
    done = subprocess.run([bare_python, "-c", "import accel.profiler as ap; ap.join_stages('.')"], capture_output=True, text=True, cwd=tmp_path)
    assert "holds no staged capture" in done.stderr
