#!/usr/bin/env python3
"""Tests the Python package under several Pythons and versions of torch, each in an environment of its own below build/matrix.

    python_matrix.py [--python VERSION...] [--torch VERSION...] [--interpreter PYTHON...] [--write FILE]

--python        interpreters, tested without torch: those of PATH and pyenv that the package supports, when not given
--torch         builds of torch for processors, as pip names them (2.13.0+cpu); what pip cannot give is told as not tested
--interpreter   an interpreter that has torch already, of whatever build; the package is installed into it
--write         the table as Markdown too

`make build` first. Exit status 1 when a test failed. What passed belongs into accel/profiler/compatibility.json."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
FOLDER = PROJECT / "build/matrix"
SUPPORTED = ("3.11", "3.12", "3.13")
WITHOUT_TORCH = ("test_package.py",)
WITH_TORCH = ("test_framework_layer.py", "test_scopes.py", "test_run_command.py", "test_global_rules.py")
TORCH_OF_TESTS = re.search(r"^torch==(\S+)", (PROJECT / "tools/requirements-torch.txt").read_text(), re.MULTILINE).group(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=SUPPORTED)
    parser.add_argument("--torch", nargs="*", default=(TORCH_OF_TESTS,))
    parser.add_argument("--interpreter", nargs="*", default=())
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = [without_torch(version) for version in options.python]
    rows += [with_torch(version) for version in options.torch]
    rows += [in_interpreter(Path(python)) for python in options.interpreter]
    table = "\n".join(["| Python | torch | result |", "|---|---|---|", *(f"| {python} | {torch} | {result} |" for python, torch, result in rows)])
    print(table)
    if options.write:
        options.write.write_text(table + "\n")
    return 1 if any("failed" in result and not result.endswith("0 failed") for _, _, result in rows) else 0


def interpreter_of(version: str) -> str | None:
    """Of pyenv first: its shims in PATH start whatever is chosen for the folder."""
    found = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}*/bin/python")))
    return found[-1] if found else shutil.which(f"python{version}")


def without_torch(version: str) -> tuple[str, str, str]:
    python = interpreter_of(version)
    if python is None:
        return version, "none", "not tested: no such interpreter here"
    folder = FOLDER / f"python-{version}"
    made = make(folder, "--python", python)
    return version_of(folder / "bin/python"), "none", made or tests(WITHOUT_TORCH, ACCEL_BARE_PYTHON=str(folder / "bin/python"))


def with_torch(version: str) -> tuple[str, str, str]:
    if "+cpu" not in version:
        return "", version, "not tested: only builds for processors (VERSION+cpu) are installed by this script"
    if version == TORCH_OF_TESTS:
        folder = PROJECT / "build/python-torch"
        made = make(folder, "--torch")
    else:
        folder = FOLDER / f"torch-{version}"
        made = make(folder, "--packages", f"torch=={version}", "numpy")
    python = folder / "bin/python"
    if made:
        return version_of(Path(sys.executable)), version, made
    return version_of(python), version, tests(WITH_TORCH, ACCEL_TORCH_PYTHON=str(python))


def in_interpreter(python: Path) -> tuple[str, str, str]:
    torch = subprocess.check_output([python, "-c", "import torch; print(torch.__version__)"], text=True).strip()
    folder = python.absolute().parent.parent
    made = make(folder, "--python", python, "--into")
    return version_of(python), torch, made or tests(WITH_TORCH, ACCEL_TORCH_PYTHON=str(python))


def version_of(python: Path) -> str:
    return subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True).strip()


def make(folder: Path, *options) -> str:
    """Nothing, or why there is no environment."""
    done = subprocess.run([sys.executable, PROJECT / "tools/python_env.py", folder, *map(str, options)], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    if done.returncode == 3:
        return "not tested: cannot be had here"
    return "1 failed: " + (done.stderr.strip().splitlines() or ["no environment"])[-1]


def tests(files, **environment) -> str:
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/python/{name}" for name in files)],
                          cwd=PROJECT, env={**os.environ, **environment}, capture_output=True, text=True)
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout.splitlines()[-1])}
    failed = found.get("failed", 0) + found.get("error", 0)
    if failed:
        print(done.stdout[-4000:], file=sys.stderr)
    skipped = f", {found['skipped']} skipped" if "skipped" in found else ""
    return f"{found.get('passed', 0)} passed{skipped}, {failed} failed"


if __name__ == "__main__":
    sys.exit(main())
