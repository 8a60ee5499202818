#!/usr/bin/env python3
"""Runs .case files: each in a folder of its own, several at a time. See README.md for the language."""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

CASES = Path(__file__).resolve().parent
sys.path.insert(0, str(CASES))

from case_expect import Outcome, check  # noqa: E402
from case_file import Case, CaseError, Round, Run, parse_case  # noqa: E402
from case_input import Skip, make_input  # noqa: E402

PROJECT = CASES.parent.parent
SANITIZER_MARKS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", ": runtime error: ")


@dataclass
class Result:
    path: Path
    title: str
    state: str  # passed, failed, skipped
    seconds: float
    messages: list[str] = field(default_factory=list)


@dataclass
class Options:
    binary: Path
    shared: Path
    timeout_factor: float
    keep: bool


def run_case(path: Path, options: Options) -> Result:
    started = time.monotonic()
    title = path.stem
    work_dir = Path(tempfile.mkdtemp(prefix=f"case-{path.stem}-"))
    try:
        case = parse_case(path)
        title = case.title
        messages = []
        for number, round_ in enumerate(case.rounds):
            messages = run_round(case, round_, work_dir, options)
            if messages:
                break
        state = "failed" if messages else "passed"
    except Skip as reason:
        state, messages = "skipped", [str(reason)]
    except (CaseError, OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        state, messages = "failed", [f"{type(error).__name__}: {error}"]
    if options.keep and state == "failed":
        messages.append(f"files are in {work_dir}")
    else:
        shutil.rmtree(work_dir, ignore_errors=True)
    return Result(path, title, state, time.monotonic() - started, messages)


def run_round(case: Case, round_: Round, work_dir: Path, options: Options) -> list[str]:
    for made in round_.inputs:
        make_input(made, case.path.parent, work_dir, options.shared)
    outcome = None
    for i, run in enumerate(round_.runs):
        outcome = run_command(run, case.timeout * options.timeout_factor, work_dir, options)
        report = outcome.stdout + outcome.stderr
        if any(mark in report for mark in SANITIZER_MARKS):
            return [f"line {run.line}: sanitizer report\n{report[-6000:]}"]
        if i + 1 < len(round_.runs) and outcome.status != 0:
            return [f"line {run.line}: exit status {outcome.status}\n{report[-2000:]}"]
    messages = []
    expectations = list(round_.expectations)
    if not any(e.text.split()[0] == "exit" for e in expectations) and outcome.status != 0:
        messages.append(f"line {round_.runs[-1].line}: exit status {outcome.status} (0 unless the case says otherwise)")
    for expectation in expectations:
        found = check(expectation, outcome, work_dir)
        if found:
            messages.append(f"line {expectation.line}: {expectation.text}\n      {found}")
    if messages and outcome.stderr.strip():
        messages.append(f"stderr was:\n{outcome.stderr.strip()[-2000:]}")
    return messages


def run_command(run: Run, timeout: float, work_dir: Path, options: Options) -> Outcome:
    program = str(options.binary) if run.argv[0] == "accel-profiler" else sys.executable
    env = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(work_dir),
        "TMPDIR": str(work_dir),
        "LC_ALL": "C.UTF-8",
        "ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
        "TSAN_OPTIONS": "exitcode=99",
        **run.env,
    }
    stdin = (work_dir / run.stdin).open("rb") if run.stdin else subprocess.DEVNULL

    def limit():
        if run.file_size_limit is not None:
            # With the signal ignored a write past the limit fails as on a full disk.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (run.file_size_limit, run.file_size_limit))

    try:
        process = subprocess.Popen(
            [program, *run.argv[1:]],
            cwd=work_dir,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limit if run.file_size_limit is not None else None,
        )
    finally:
        if run.stdin:
            stdin.close()
    try:
        if run.signal_name:
            try:
                out, err = process.communicate(timeout=run.signal_after)
            except subprocess.TimeoutExpired:
                process.send_signal(getattr(signal, "SIG" + run.signal_name))
                out, err = process.communicate(timeout=timeout)
        else:
            out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RuntimeError(f"line {run.line}: still running after {timeout:.0f} s") from None
    return Outcome(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def find_cases(paths: list[str], word: str | None, label: str | None) -> list[Path]:
    found = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise SystemExit(f"run_cases: {path} does not exist")
        found += sorted(path.rglob("*.case")) if path.is_dir() else [path]
    if word:
        found = [path for path in found if word in str(path)]
    if label:
        found = [path for path in found if f"label {label}" in path.read_text(encoding="utf-8").split("\n")]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=[str(CASES)], help="case files or folders (all)")
    parser.add_argument("--binary", default=str(PROJECT / "build/accel-profiler"), help="the command under test")
    parser.add_argument("--shared", default=str(PROJECT.parent / "shared"), help="folder of the shared captures")
    parser.add_argument("--filter", help="only cases whose path contains this")
    parser.add_argument("--label", help="only cases with this label")
    parser.add_argument("--timeout-factor", type=float, default=1.0, help="multiplies every time limit")
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed cases")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case, slowest last")
    arguments = parser.parse_args()

    options = Options(Path(arguments.binary).resolve(), Path(arguments.shared), arguments.timeout_factor, arguments.keep)
    if not options.binary.exists():
        print(f"run_cases: {options.binary} does not exist; make build")
        return 1
    cases = find_cases(arguments.paths, arguments.filter, arguments.label)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda path: run_case(path, options), cases))

    shown = sorted(results, key=lambda result: result.seconds) if arguments.verbose else results
    for result in shown:
        if arguments.verbose or result.state == "failed":
            print(f"{result.state.upper():8} {result.seconds:6.2f} s  {os.path.relpath(result.path)}: {result.title}")
        if result.state == "failed" or (arguments.verbose and result.messages):
            for message in result.messages:
                print(f"    {message}")
    counts = {state: sum(r.state == state for r in results) for state in ("passed", "failed", "skipped")}
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
