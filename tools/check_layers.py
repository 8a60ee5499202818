#!/usr/bin/env python3
"""Checks over the includes that no layer reaches up or sideways. Prints each violation; exit status 1 if there are any."""

import argparse
import re
import sys
from pathlib import Path

# For each folder of src/ the folders it may include besides itself:
# base <- {format, trace} <- {ingest, analysis} <- fusion <- {compare, history, diagnosis} <- report <- {capi, cli}
_LEVELS = [["base"], ["format", "trace"], ["ingest", "analysis"], ["fusion"], ["compare", "history", "diagnosis"],
           ["report"], ["capi", "cli"]]
ALLOWED = {
    layer: {below for lower in _LEVELS[:i] for below in lower} for i, level in enumerate(_LEVELS) for layer in level
}
ALLOWED["runtime"] = {"base", "format"}
# Single files of other layers that a layer may also include.
EXTRA_FILES = {"runtime": {"trace/schema.def", "trace/schema.h"}}
PUBLIC = "accel/profiler/"

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def violations(project: Path) -> list[str]:
    found = []
    for root in (project / "src", project / "include"):
        for path in sorted(root.rglob("*")):
            if path.suffix in (".h", ".cpp", ".def", ".inc"):
                found += _of_file(project, path)
    return found


def _of_file(project: Path, path: Path) -> list[str]:
    relative = path.relative_to(project)
    is_public = relative.parts[0] == "include"
    layer = "public headers" if is_public else relative.parts[1]
    if not is_public and layer not in ALLOWED:
        return [f"{relative}: src/{layer} is no layer of the architecture"]
    found = []
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        target = match.group(1) or match.group(2)
        line = text.count("\n", 0, match.start()) + 1
        problem = _problem(project, path, layer, target, quoted=match.group(1) is not None)
        if problem:
            found.append(f"{relative}:{line}: {problem}")
    return found


def _problem(project: Path, path: Path, layer: str, target: str, quoted: bool) -> str | None:
    first = target.split("/")[0]
    if ".." in target.split("/"):
        return f"includes {target}: write the path from src/"
    if target.startswith(PUBLIC):
        return None if layer not in ("base", "format", "trace") else f"{layer} includes the public header {target}"
    if "/" in target and first in ALLOWED:
        if first == layer or first in ALLOWED.get(layer, set()) or target in EXTRA_FILES.get(layer, set()):
            return None
        return f"{layer} must not include {target}"
    if quoted and not (path.parent / target).exists():
        return f"includes \"{target}\", which is no file of src/"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("project", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    found = violations(parser.parse_args().project)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
