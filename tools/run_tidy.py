#!/usr/bin/env python3
"""clang-tidy over the C++ files that changed: against the merge base with origin/main, or, where that shows nothing,
the files of the last commit; files not committed yet count too. A changed header is checked through a source that
includes it. Files that the time budget does not reach are counted as skipped and named.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, text=True)
    return done.stdout.split("\n") if done.returncode == 0 else []


def changed_files(base: str | None) -> list[str]:
    names = set(git("diff", "--name-only", "HEAD")) | set(git("ls-files", "-o", "--exclude-standard"))
    if base is None:
        base = next(iter(git("merge-base", "HEAD", "origin/main")), None)
    committed = set(git("diff", "--name-only", base, "HEAD")) if base else set()
    if not any(name.endswith((".cpp", ".h")) for name in committed):
        committed = set(git("show", "--pretty=", "--name-only", "HEAD"))
    names |= committed
    return sorted(name for name in names if name.endswith((".cpp", ".h")) and (PROJECT / name).exists())


def as_sources(names: list[str], known: set[str]) -> list[str]:
    """Each changed header stands for the source beside it, or else the first that includes it."""
    sources = [name for name in names if name in known]
    texts = None
    for name in names:
        if not name.endswith(".h"):
            continue
        beside = name[:-2] + ".cpp"
        if beside in known:
            sources.append(beside)
            continue
        if texts is None:
            texts = {source: (PROJECT / source).read_text(errors="replace") for source in sorted(known)}
        short = name.removeprefix("src/")
        sources += next(([source] for source, text in texts.items() if f'"{short}"' in text), [])
    return list(dict.fromkeys(sources))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="compare with this commit")
    parser.add_argument("--all", action="store_true", help="every source")
    parser.add_argument("--budget-s", type=float, default=float("inf"), help="start no file after this many seconds")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()

    beside = Path(sys.executable).parent / "clang-tidy"
    program = str(beside) if beside.exists() else shutil.which("clang-tidy")
    commands = PROJECT / "build/compile_commands.json"
    if not program or not commands.exists():
        print("run_tidy: needs clang-tidy and a configured build folder: tools/setup.sh test, make build")
        print("0 passed, 1 failed")
        return 1
    known = set()
    for entry in json.loads(commands.read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_relative_to(PROJECT) and not path.is_relative_to(PROJECT / "build"):
            known.add(str(path.relative_to(PROJECT)))
    files = sorted(known) if arguments.all else as_sources(changed_files(arguments.base), known)

    deadline = time.monotonic() + arguments.budget_s

    def check(name: str):
        if time.monotonic() > deadline:
            return name, None, ""
        done = subprocess.run([program, "-p", "build", "--quiet", "--extra-arg=-Wno-unknown-warning-option",
                               # Inside of the standard library of g++ 12, as clang sees it.
                               "--extra-arg=-Wno-deprecated-declarations", name],
                              cwd=PROJECT, capture_output=True, text=True)
        return name, done.returncode, done.stdout + (done.stderr if done.returncode else "")

    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(check, files))
    for name, status, output in results:
        if status is None:
            print(f"{name}: not reached within {arguments.budget_s:.0f} s")
        elif status != 0:
            print(f"{name}: clang-tidy ended with {status}\n{output}")
    failed = sum(status not in (None, 0) for _, status, _ in results)
    skipped = sum(status is None for _, status, _ in results)
    print(f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
