"""ap.join_stages: the three windows of AutoProfiler.capture_staged() as one result, joined by call tree."""

import json
import re
from pathlib import Path

from accel.profiler.errors import ProfilerError
from accel.profiler.result import Result, analyze

STEP_MARKS = ("accel::step#", "ProfilerStep#")
OURS = "accel/profiler/"
TAG = re.compile(r"(_batch=\d+)?\[[a-z0-9]+\]$")


class StagedResult:
    """`windows`: the Result of each, by name. `tree`: rows with path, calls, host_ms and host_self_ms of the window 'light', `called_with`
    of 'shapes'; null where that window does not have the row. `findings`: dicts with title, cost_ms_per_step (null unless 'light'
    has it), shapes, lines, and `from`: the window that each figure came from."""

    def __init__(self, windows: dict[str, Result]):
        self.windows = windows
        light = windows.get("light")
        self.step_ms = light.step_time["mean_ms"] if light else None
        self.tree = _tree(windows)
        self.findings = _findings(windows)
        self.peak_bytes = windows["shapes"].memory["peak_bytes"] if "shapes" in windows else None

    def __str__(self) -> str:
        lines = ["Windows: " + ", ".join(self.windows) + ". Times are those of 'light' alone."]
        if self.step_ms is not None:
            lines.append(f"a step takes {self.step_ms:.3g} ms (light)")
        for order, finding in enumerate(self.findings, 1):
            cost = finding["cost_ms_per_step"]
            lines.append(f"{order}. {finding['title']} ({finding['from']['title']}{'' if cost is not None else '; its times are not used'})")
            lines += [f"   {what}: {'; '.join(finding[what][:3])} ({finding['from'][what]})" for what in ("shapes", "lines") if finding[what]]
        for row in self.tree:
            if row["host_ms"] is not None:
                called = f", called with {row['called_with']} (shapes)" if row["called_with"] else ""
                lines.append(f"{'  ' * row['depth']}{row['name']}  {row['host_ms']:.3g} ms (light){called}")
        return "\n".join(lines)


def join_stages(folder) -> StagedResult:
    """Analyses the windows of the newest staged capture of a folder (or of the file that names them). About 1 s a window.

    Raises ProfilerError when there is none.
    """
    path = Path(folder)
    if path.is_dir():
        found = sorted(path.glob("staged-*.json"), key=lambda file: file.stat().st_mtime)
        if not found:
            raise ProfilerError(f"{folder} holds no staged capture; AutoProfiler.capture_staged() takes one")
        path = found[-1]
    windows = {}
    for name, file in json.loads(path.read_text())["stages"].items():
        native = path.parent / file
        ops = native.with_name(native.stem + ".pt.trace.json.gz")
        windows[name] = analyze(ops if name != "light" and ops.exists() else native, options=("--full",))
    return StagedResult(windows)


def _without_tag(name: str) -> str:
    return TAG.sub("", name)


def _paths(result: Result) -> dict[tuple, dict]:
    """The annotation rows by their way from the root; what differs in the argument alone is one row."""
    inside = {row["name"]: row["inside"] for row in result.annotations}
    rows = {}
    for row in result.annotations:
        if row["name"].startswith(STEP_MARKS):
            continue
        way, name = [], row["name"]
        while name is not None and len(way) < 64:
            way.append(_without_tag(name))
            name = inside.get(name)
        rows.setdefault(tuple(reversed(way)), row)
    return rows


def _tree(windows: dict[str, Result]) -> list[dict]:
    rows = {name: _paths(result) for name, result in windows.items()}
    light, shapes = rows.get("light", {}), {}
    for path, row in rows.get("shapes", {}).items():  # the outermost module is the device's work there, and no range
        own = next((path[start:] for start in range(len(path)) if path[start:] in light), path)
        shapes.setdefault(own, row)
    tree = []
    for path in sorted(set(light) | set(shapes)):
        timed, shaped = light.get(path), shapes.get(path)
        tag = shaped["name"][len(_without_tag(shaped["name"])):].lstrip("_") if shaped else ""
        tree.append({"path": list(path), "name": path[-1], "depth": len(path) - 1, "called_with": tag or None,
                     **{key: timed[source] if timed else None for key, source in (("calls", "count"), ("host_ms", "host_ms"), ("host_self_ms", "host_self_ms"))}})
    return tree


def _findings(windows: dict[str, Result]) -> list[dict]:
    joined = {}
    for name, result in windows.items():
        for finding in result.findings:
            if finding["rule"] == "profiler_distortion":
                continue
            own = joined.setdefault(finding["rule"], {"rule": finding["rule"], "title": finding["title"], "shapes": [], "lines": [],
                                                      "cost_ms_per_step": finding["cost_ms_per_step"] if name == "light" else None,
                                                      "from": {"title": name}})
            for where in finding["where"]:
                line = f"{where['file']}:{where['line']}" if where.get("file") and where.get("line") and OURS not in where["file"] else None
                for what, value, of in (("lines", line, "stacks"), ("shapes", where.get("shapes"), "shapes")):
                    if value and name == of and value not in own[what]:
                        own[what].append(str(value))
                        own["from"][what] = of
    return list(joined.values())
