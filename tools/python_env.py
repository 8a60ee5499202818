#!/usr/bin/env python3
"""Makes an environment with the Python package of this tree:
python_env.py DIR [--torch [--frameworks] | --packages PACKAGE... | --into] [--python PYTHON] [--wheels DIR]

The wheel takes the command and the runtime library from build/ (make build first) and is built again when a source of it has
changed. --torch adds the CPU build of torch that tools/requirements-torch.txt names (exit status 3 when it cannot be had),
--frameworks those of tools/requirements-frameworks.txt, where they can be had. --packages adds others (exit status 3 likewise);
--into takes the environment as it is there.
--wheels DIR also leaves the wheel there, for another machine."""

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build"
TORCH, FRAMEWORKS = "requirements-torch.txt", "requirements-frameworks.txt"
SOURCES = ("python/**/*", "cmake/*", "CMakeLists.txt", "pyproject.toml", "include/**/*.h")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--frameworks", action="store_true")
    parser.add_argument("--packages", nargs="+", default=[])
    parser.add_argument("--into", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--wheels", type=Path)
    options = parser.parse_args()
    python = options.folder / "bin/python"
    wanted = (PROJECT / "tools" / TORCH).read_text() if options.torch else " ".join(options.packages)
    made_for = options.folder / "made-for"
    if not options.into and (not made_for.exists() or made_for.read_text() != wanted):
        shutil.rmtree(options.folder, ignore_errors=True)
        call(options.python, "-m", "venv", options.folder)
        if options.torch and not installed(python, "-r", PROJECT / "tools" / TORCH):
            return 3
        if options.packages and not installed(python, *options.packages):
            return 3
        made_for.write_text(wanted)
    if options.frameworks:
        add_frameworks(options.folder)
    wheel, key = build_wheel(options.python)
    holds = options.folder / "holds"
    if not holds.exists() or holds.read_text() != key:
        call(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--force-reinstall", wheel)
        holds.write_text(key)
    if options.wheels:
        options.wheels.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, options.wheels)
    return 0


def call(*words) -> None:
    subprocess.run([str(word) for word in words], check=True)


def add_frameworks(folder: Path) -> None:
    """Tried once for each state of the file: what cannot be had is not asked for again."""
    wanted, tried = (PROJECT / "tools" / FRAMEWORKS).read_text(), folder / "frameworks-tried"
    if not tried.exists() or tried.read_text() != wanted:
        installed(folder / "bin/python", "-r", PROJECT / "tools" / FRAMEWORKS)
        tried.write_text(wanted)


def installed(python: Path, *what) -> bool:
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *what], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{what[-1]} cannot be had: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return done.returncode == 0


def build_wheel(python: str) -> tuple[Path, str]:
    """The wheel for this Python, and the state of the sources that it was made of."""
    key = state_of_sources(python)
    tag = subprocess.check_output([python, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])"], text=True).strip()
    folder = BUILD / "wheels" / tag
    made = folder / "made-of"
    wheels = sorted(folder.glob("*.whl"))
    if wheels and made.exists() and made.read_text() == key:
        return wheels[0], key
    # The build environment of pip has another path each time: nothing of an earlier build can be used again.
    for old in (folder, BUILD / f"python-{tag}"):
        shutil.rmtree(old, ignore_errors=True)
    call(python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", folder,
         "-C", f"cmake.define.ACCEL_PREBUILT={BUILD}", "-C", f"build-dir={BUILD}/python-{tag}", PROJECT)
    made.write_text(key)
    return next(folder.glob("*.whl")), key


def state_of_sources(python: str) -> str:
    state = hashlib.sha256(python.encode())
    files = [path for pattern in SOURCES for path in PROJECT.glob(pattern) if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted(files):
        state.update(str(path.relative_to(PROJECT)).encode() + path.read_bytes())
    for path in (BUILD / "accel-profiler", BUILD / "libaccel_profiler_runtime.so"):
        stat = path.stat()
        state.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
    return state.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
