#!/usr/bin/env python3
"""Runs every test suite on the cores there are and closes with "N passed, N failed, N skipped".

run_tests.py [PART...]: only these parts; without any, all. A part that could not run counts as a failure. The minutes of
each part are printed and kept in build/test-minutes.txt.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

PROJECT = Path(__file__).resolve().parent.parent
CORES = max(2, os.cpu_count() or 2)
PART_LIMIT_S = 30 * 60
# Progress lines of ninja and ctest; left out so that failures stand out.
DULL = re.compile(r"^\[\d+/\d+\] (Building|Linking|Re-checking|Generating) |^ *\d+/\d+ Test .*Passed|^ +Start +\d+: |^    Test +#|^#\d+\t")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Broken(Exception):
    """A part could not do its work; the text says why."""


class Part:
    """What a part sees: a log and a way to run programs."""

    def __init__(self, name: str, cores: int):
        self.name = name
        self.cores = cores
        self.log: list[str] = []

    def run(self, *argv, env: dict[str, str] | None = None, limit_s: float = PART_LIMIT_S) -> subprocess.CompletedProcess:
        words = [str(word) for word in argv]
        try:
            done = subprocess.run(words, cwd=PROJECT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit_s)
        except subprocess.TimeoutExpired as expired:
            output = expired.stdout or b""
            self.log.append(output.decode(errors="replace") if isinstance(output, bytes) else output)
            raise Broken(f"{words[0]} was still running after {limit_s:.0f} s") from None
        self.log.append("\n".join(line for line in done.stdout.split("\n") if not DULL.match(line)))
        return done

    def need(self, *argv, **options) -> subprocess.CompletedProcess:
        done = self.run(*argv, **options)
        if done.returncode != 0:
            raise Broken(f"{' '.join(str(word) for word in argv[:6])} ended with {done.returncode}")
        return done

    def build(self, preset: str, *targets: str):
        folder = PROJECT / ("build" if preset == "dev" else f"build-{preset.removeprefix('dev-')}")
        if not (folder / "build.ninja").exists():
            self.need("cmake", "--preset", preset, "--log-level=WARNING")
        wanted = [word for target in targets for word in ("--target", target)]
        self.need("cmake", "--build", folder, "-j", self.cores, *wanted)
        return folder


def junit_counts(path: Path) -> Counts:
    """Counts of a JUnit file as ctest and pytest write it."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise Broken(f"no results: {error}") from None
    counts = Counts()
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            counts.failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def ctest(part: Part, folder: Path, *options) -> Counts:
    results = folder / "ctest-results.xml"
    results.unlink(missing_ok=True)
    done = part.run("ctest", "--test-dir", folder, "-j", part.cores, "--output-on-failure", "--no-tests=error",
                    "--output-junit", results, *options, env=SANITIZER_ENV)
    counts = junit_counts(results)
    if done.returncode != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


def cases(part: Part, folder: Path, *options) -> Counts:
    done = part.run(sys.executable, "tests/cases/run_cases.py", "--binary", folder / "accel-profiler", "-j", part.cores, *options)
    return closing_counts(done)


def closing_counts(done: subprocess.CompletedProcess) -> Counts:
    lines = COUNTS.findall(done.stdout)
    if not lines:
        raise Broken("no closing line with counts")
    counts = Counts(*(int(number or 0) for number in lines[-1]))
    if done.returncode != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


def one(done: subprocess.CompletedProcess) -> Counts:
    return Counts(passed=1) if done.returncode == 0 else Counts(failed=1)


SANITIZER_ENV = {"UBSAN_OPTIONS": "print_stacktrace=1"}


def part_build(part: Part) -> Counts:
    part.build("dev")
    return Counts(passed=1)


def part_unit(part: Part) -> Counts:
    return ctest(part, PROJECT / "build")


def part_cases(part: Part) -> Counts:
    return cases(part, PROJECT / "build")


def part_python(part: Part) -> Counts:
    results = PROJECT / "build/pytest-results.xml"
    results.unlink(missing_ok=True)
    done = part.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}", "tests/python")
    counts = junit_counts(results)
    if done.returncode != 0 and counts.failed == 0:
        counts.failed = 1
    return counts


def part_web(part: Part) -> Counts:
    if not (PROJECT / "build/web/installed").exists():
        raise Broken("the build folder was configured with ACCEL_WEB=OFF")
    done = part.run("node", "web/test.mjs", "build/web", "build/web-tests")
    found = dict(re.findall(r"^(?:# |ℹ )(pass|fail|skipped) (\d+)$", done.stdout, re.MULTILINE))
    if "pass" not in found:
        raise Broken("no closing lines with counts")
    return Counts(int(found["pass"]), int(found["fail"]), int(found["skipped"]))


BROWSER_CAPTURES = ("launch_bound.before", "fsdp2.rank0", "pageable_h2d.after")


def part_browser(part: Part) -> Counts:
    packages = PROJECT / "build/browser"
    if not (packages / "installed").exists():
        part.need("cmake", f"-DFROM={PROJECT}/tests/browser", f"-DTO={packages}", "-DNPM=npm", "-P", "cmake/web_packages.cmake")
    captures = [PROJECT / f"tests/golden/pytorch-2.11_h200/{name}.json.gz" for name in BROWSER_CAPTURES]
    shared = PROJECT.parent / "shared/traces/h200"
    captures += [path for path in (shared / "variety/all_options.json.gz", shared / "variety/cpu_only.json.gz") if path.exists()]
    return closing_counts(part.run("node", "tests/browser/run.mjs", packages, PROJECT / "build/accel-profiler", shared, *captures))


def part_checks(part: Part) -> Counts:
    return one(part.run(sys.executable, "tools/check_layers.py")) + one(part.run(sys.executable, "tools/check_catalog.py"))


def part_format(part: Part) -> Counts:
    sources = tracked("*.h", "*.cpp")
    if not sources:
        raise Broken("no C++ sources found")
    return one(part.run(tool("clang-format"), "--dry-run", "-Werror", *sources))


def part_tidy(part: Part) -> Counts:
    done = part.run(sys.executable, "tools/run_tidy.py", "-j", part.cores, "--budget-s", 300)
    return closing_counts(done)


def part_asan(part: Part) -> Counts:
    folder = part.build("dev-asan")
    return ctest(part, folder) + cases(part, folder, "--timeout-factor", 5)


def part_tsan(part: Part) -> Counts:
    programs = ["accel-profiler"]
    if list((PROJECT / "tests/unit").rglob("*_threads_test.cpp")):
        programs.append("unit_threads")
    folder = part.build("dev-tsan", *programs)
    counts = cases(part, folder, "--label", "threads", "--timeout-factor", 10)
    if len(programs) > 1:
        counts += ctest(part, folder, "-L", "threads")
    return counts


def part_fuzz(part: Part) -> Counts:
    folder = part.build("fuzz", "fuzz_all")
    programs = sorted((folder / "fuzz").glob("fuzz_*"))
    if not programs:
        raise Broken("no fuzz targets were built")
    seconds = int(os.environ.get("ACCEL_FUZZ_SECONDS", "20"))
    counts = Counts()
    for program in programs:
        counts += fuzz_one(part, program, seconds)
    return counts


def fuzz_one(part: Part, program: Path, seconds: int) -> Counts:
    seeds = PROJECT / "tests/fuzz/corpus" / program.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as found:
        folders = [found] + ([str(seeds)] if seeds.is_dir() else [])
        done = part.run(program, f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1",
                        f"-artifact_prefix={PROJECT}/build-fuzz/", *folders, env=SANITIZER_ENV, limit_s=seconds + 120)
    return one(done)


def part_install(part: Part) -> Counts:
    return one(part.run(sys.executable, "tools/check_install_tree.py"))


@dataclass
class Plan:
    run: Callable[[Part], Counts]
    cores: int
    after: tuple[str, ...] = ()


# In the order in which they start; a part takes its cores when its predecessors have passed and the cores are free.
PLAN = {
    "build": Plan(part_build, CORES),
    "checks": Plan(part_checks, 1),
    "format": Plan(part_format, 1),
    "unit": Plan(part_unit, CORES, ("build",)),
    "cases": Plan(part_cases, CORES, ("build",)),
    "asan": Plan(part_asan, CORES),
    "python": Plan(part_python, 1, ("build",)),
    "install": Plan(part_install, 1, ("build",)),
    "web": Plan(part_web, 1, ("build",)),
    "browser": Plan(part_browser, 1, ("build",)),
    "fuzz": Plan(part_fuzz, 1),
    "tidy": Plan(part_tidy, CORES, ("build",)),
    "tsan": Plan(part_tsan, CORES),
}


def tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise Broken(f"{name} is missing; tools/setup.sh test installs it")
    return found


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=PROJECT, capture_output=True, text=True)
    return [name for name in done.stdout.split("\n") if name and (PROJECT / name).exists()]


class Driver:
    def __init__(self, names: list[str], verbose: bool):
        self.chosen = set(names)
        self.waiting = list(names)
        self.verbose = verbose
        self.free = CORES
        self.results: dict[str, Counts] = {}
        self.minutes: dict[str, float] = {}
        self.changed = threading.Condition()

    def run(self) -> Counts:
        threads = []
        with self.changed:
            while self.waiting:
                name = self._next()
                if name is None:
                    self.changed.wait()
                    continue
                self.waiting.remove(name)
                cores = min(PLAN[name].cores, CORES)
                self.free -= cores
                thread = threading.Thread(target=self._work, args=(name, cores))
                threads.append(thread)
                thread.start()
        for thread in threads:
            thread.join()
        return sum(self.results.values(), Counts())

    def _next(self) -> str | None:
        for name in self.waiting:
            blocked = any(other in self.chosen and other not in self.results for other in PLAN[name].after)
            if not blocked and min(PLAN[name].cores, CORES) <= self.free:
                return name
        return None

    def _work(self, name: str, cores: int):
        part = Part(name, cores)
        started = time.monotonic()
        try:
            counts = PLAN[name].run(part)
        except Exception as error:  # a part that breaks in any way is a failure, and the others go on
            counts = Counts(failed=1)
            part.log.append(f"{type(error).__name__}: {error}")
        minutes = (time.monotonic() - started) / 60
        with self.changed:
            self.results[name] = counts
            self.minutes[name] = minutes
            self.free += cores
            if counts.failed or self.verbose:
                print("".join(text if text.endswith("\n") else text + "\n" for text in part.log)[-20000:], flush=True)
            print(f"{name:8} {counts}  ({minutes:.1f} min)", flush=True)
            self.changed.notify_all()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PLAN))
    parser.add_argument("-v", "--verbose", action="store_true", help="print the output of parts that passed too")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.parts if name not in PLAN]
    if unknown:
        parser.error(f"unknown part {unknown[0]}: {' '.join(PLAN)}")
    (PROJECT / "build").mkdir(exist_ok=True)
    started = time.monotonic()
    wanted = arguments.parts or list(PLAN)
    driver = Driver([name for name in PLAN if name in wanted], arguments.verbose)
    total = driver.run()
    minutes = (time.monotonic() - started) / 60
    table = "".join(f"{name:8} {driver.minutes[name]:5.1f} min  {driver.results[name]}\n" for name in PLAN if name in driver.minutes)
    (PROJECT / "build/test-minutes.txt").write_text(table + f"{'all':8} {minutes:5.1f} min\n")
    (PROJECT / "build/test-summary.txt").write_text(f"{total}\n")
    print(f"\n{table}{'all':8} {minutes:5.1f} min\n{total}", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
