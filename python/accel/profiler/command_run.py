"""accel-profiler run: starts any training command with the profiler asleep inside, and prints the diagnosis at its end."""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from accel.profiler import experiments, run_follow_up
from accel.profiler.engine import engine_path

EXAMPLES = """examples:
  accel-profiler run -- python train.py
  accel-profiler run -- torchrun --nproc-per-node 4 train.py
  accel-profiler run --baseline nightly --fail-if 'step_time > 1.05x' -- python train.py
  accel-profiler run --experiment cached_batch -- python train.py
  accel-profiler run --trigger 'p50(step_time_ms, 20) > 1.15 * baseline_step_ms' -- python train.py

Without a rule one window is taken: after 5 steps, when step times are steady (at most 10 steps more; in a job of several ranks
always 10 more, so that all keep the same steps). The exit status is that of the command."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="accel-profiler run", description=__doc__.split(": ", 1)[1], epilog=EXAMPLES,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("-o", "--output", metavar="DIR", help="folder of captures and report [accel-captures/DATE-TIME]")
    made.add_argument("--level", type=int, choices=(1, 2), default=2,
                      help="1: scopes; 2: every op too, with shapes, by torch.profiler [2]")
    made.add_argument("--detail", choices=("memory", "stacks"), default="",
                      help="level 2 with allocations, or with Python frames: file and line of what takes the time, at more cost")
    made.add_argument("--steps", type=int, default=8, metavar="N", help="steps that a window keeps [8]")
    made.add_argument("--after", type=int, default=5, metavar="N", help="steps before the window [5]")
    made.add_argument("--trigger", action="append", default=[], metavar="RULE", help="a rule that wakes the recorder; may come again")
    made.add_argument("--trigger-file", metavar="FILE", help="a file of rules, one a line")
    made.add_argument("--step-limit", type=float, metavar="SECONDS", help="write the Python stacks of a rank whose step takes longer")
    made.add_argument("--baseline", metavar="NAME", help="keep the run's figures as accel-baselines/NAME.json; where they are, hold the run against them")
    made.add_argument("--fail-if", metavar="CONDITION", help="with --baseline: exit status 1 when it holds, such as 'step_time > 1.05x'")
    made.add_argument("--experiment", choices=experiments.NAMES,
                      help="not training: feed one batch again for some steps, and say what loading holds the job up by")
    made.add_argument("--live", action="store_true", help="print the diagnosis of each window while the job runs")
    made.add_argument("--no-diagnosis", action="store_true", help="record only")
    made.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    return made


def main(words: list[str]) -> int:
    options = parser().parse_args(words)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        print("accel-profiler run: no command; write it after --, for example: accel-profiler run -- python train.py", file=sys.stderr)
        return 2
    if not 1 <= options.steps <= 10000 or options.after < 0:
        print("accel-profiler run: --steps is 1 to 10000, --after is not negative", file=sys.stderr)
        return 2
    if mistake := mistake_in(options):
        print(f"accel-profiler run: {mistake}", file=sys.stderr)
        return 2
    folder = Path(options.output or f"accel-captures/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}").absolute()
    rules = [rule_text(rule, options) for rule in options.trigger]
    if not rules_compile(rules):
        return 2
    began = time.time()
    status = run_command(command, environment(folder, rules, options), folder if options.live else None)
    judged = 0
    if not options.no_diagnosis:
        diagnose(folder, began, sys.stdout)
        report = run_follow_up.report_of(folder)
        hint = run_follow_up.how_to_get_lines(report, options, command) if report is not None else None
        if hint:
            print(hint)
        if options.experiment:
            run_follow_up.experiment(folder, sys.stdout)
        if options.baseline and report is not None and status == 0:
            judged = run_follow_up.baseline(options.baseline, report, options.fail_if)
    return end_like(status or judged)


def mistake_in(options) -> str:
    if options.detail and options.level < 2:
        return "--detail needs --level 2"
    if options.detail and (options.trigger or options.trigger_file):
        return "--detail goes with the window of run itself, without rules"
    if options.baseline and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", options.baseline):
        return "--baseline is a plain name: letters, digits, dots, dashes"
    if options.fail_if and not options.baseline:
        return "--fail-if goes with --baseline NAME"
    if options.baseline and options.no_diagnosis:
        return "--baseline needs the diagnosis: leave --no-diagnosis out"
    if options.experiment and (options.trigger or options.trigger_file or options.no_diagnosis or options.baseline):
        return "--experiment stands alone: without rules, baseline or --no-diagnosis"
    return ""


def rule_text(rule: str, options) -> str:
    return rule if "=>" in rule else f"{rule} => capture_next_steps({options.steps}, {options.level})"


def rules_compile(rules: list[str]) -> bool:
    """Mistakes are said before the training starts."""
    from accel.profiler.errors import recorder
    from accel.profiler.trigger_rule import RuleError, add_to_recorder

    if not rules:
        return True
    runtime = recorder()
    runtime.enable("", flags=runtime.NO_SIGNAL | runtime.NO_SOCKET)
    try:
        for rule in rules:
            add_to_recorder(rule)
    except RuleError as error:
        print(f"accel-profiler run: {error}", file=sys.stderr)
        return False
    finally:
        runtime.disable()
    return True


def environment(folder: Path, rules: list[str], options) -> dict[str, str]:
    window = None
    if not rules and not options.trigger_file:
        window = {"wait": options.after, "warmup": 1, "active": options.steps, "level": options.level, "steady_wait": 10, "detail": options.detail}
    plan = {"output": str(folder), "rules": rules, "window": window, "step_limit_s": options.step_limit,
            "experiment": options.experiment}
    made = {**os.environ, "ACCEL_PROFILER_RUN": json.dumps(plan), "ACCEL_PROFILER_OUTPUT": str(folder)}
    if options.trigger_file:
        made["ACCEL_PROFILER_RULES"] = str(Path(options.trigger_file).absolute())
    return made


def run_command(command: list[str], env: dict[str, str], live: Path | None) -> int:
    """The exit status of the command; negative: the signal that ended it."""
    try:
        child = subprocess.Popen(command, env=env)
    except OSError as error:
        print(f"accel-profiler run: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    # The terminal sends Ctrl-C to the command too; what is sent to us alone is passed on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda which, _frame: child.send_signal(which))
    told = set()
    while True:
        try:
            return child.wait(timeout=1 if live else None)
        except subprocess.TimeoutExpired:
            tell_new_windows(live, told)


def tell_new_windows(folder: Path, told: set) -> None:
    fresh = [path for path in captures(folder, 0) if path not in told and time.time() - path.stat().st_mtime > 1]
    for path in fresh:
        told.add(path)
        print(f"accel-profiler: a window was written: {path}", flush=True)
        subprocess.run([engine_path(), "analyze", str(path), "-o", str(folder / "live" / path.stem)])


def captures(folder: Path, since: float) -> list[Path]:
    """The captures of this run: of each window the trace with ops where there is one, and of each process its newest."""
    newest: dict[str, tuple[float, Path]] = {}
    for native in sorted(folder.glob("*.accel")):
        written = native.stat().st_mtime
        if written < since - 1:
            continue
        process = native.stem.rpartition("-")[0]
        ops = native.with_name(native.stem + ".pt.trace.json.gz")
        if process not in newest or written > newest[process][0]:
            newest[process] = (written, ops if ops.exists() else native)
    return [path for _, path in sorted(newest.values(), key=lambda item: str(item[1]))]


def diagnose(folder: Path, since: float, stream) -> None:
    if int(os.environ.get("SLURM_NODEID") or os.environ.get("GROUP_RANK") or 0) != 0:
        return  # the launcher of the first node speaks for the job
    for stacks in sorted(folder.glob("*-stacks-*.txt")):
        print(f"accel-profiler: a step took longer than its limit, or a rule asked; stacks of all threads: {stacks}", file=stream)
    found = captures(folder, since)
    if not found:
        print("accel-profiler: no window was recorded. The command ended before one opened (--after N makes it open earlier), no rule "
              "became true, or its Python does not have accel-profiler installed.", file=sys.stderr)
        return
    stream.flush()
    subprocess.run([engine_path(), "analyze", *map(str, found), "-o", str(folder / "report")])


def end_like(status: int) -> int:
    """Ends this process as the command ended."""
    if status >= 0:
        return status
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.flush()
    try:
        signal.signal(-status, signal.SIG_DFL)
    except (OSError, ValueError):
        pass
    os.kill(os.getpid(), -status)
    time.sleep(1)
    return 128 - status
