#!/usr/bin/env python3
"""How true the diagnosis is, against jobs whose step was measured without a profiler.

Reads ../shared/traces/h200 (pairs of one job with a planted fault and without it) and, with --more DIR, other folders of
NAME.json.gz beside NAME.truth.json. Prints three tables and a summary against the requirements:
  1. captured step, undisturbed estimate with band, truth, distance;
  2. per pair: the rule that should come first and the one that does, the step predicted for after the change, the truth;
  3. per capture: replay error and share of the replayed path of unknown cause.

Truth is the interval between the mean of a loop and the median of single steps, both without a profiler; for a job that
the device paces, the mean alone. The distance is to its nearer edge. Exit status 0 always: a report, not a test.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# The rule that is expected first, and whether the truth of the pair is sure.
EXPECTED = {
    "starved_images": ("dataloader_starvation", True),
    "starved_sleep": ("dataloader_starvation", True),
    "item_sync": ("launch_bound", False),
    "launch_bound": ("launch_bound", True),
    "fragmented": ("unfused_optimizer", True),
    "mem_churn": ("allocator_churn", True),
    "pageable_h2d": ("host_to_device_copy", True),
    "cpu_layernorm": ("cpu_fallback", True),
    "misaligned_gemm": ("misaligned_gemm", True),
    "fp32_matmul": ("fp32_matmul", True),
    "naive_attention": ("unfused_attention", True),
    "periodic_sync": ("step_outlier", True),
    "python_heavy": ("python_overhead", True),
    "conv_no_benchmark": (None, False),
}
KERNEL_REPLACEMENTS = {"misaligned_gemm", "fp32_matmul", "naive_attention"}
NARROW = {"starved_images", "starved_sleep", "mem_churn", "pageable_h2d", "cpu_layernorm", "python_heavy"}
WIDEST_TRUTH = 0.15  # captures whose truth is wider are reported, not counted


@dataclass
class Truth:
    low: float
    high: float

    def distance(self, value: float) -> float:
        if value > self.high:
            return value / self.high - 1
        return value / self.low - 1 if value < self.low else 0.0

    @property
    def counted(self) -> bool:
        return self.high / self.low - 1 <= WIDEST_TRUTH

    def __str__(self) -> str:
        return f"{self.low:.1f}" if self.high - self.low < 0.05 else f"{self.low:.1f} to {self.high:.1f}"


def truth_of(path: Path, paced_by: str) -> Truth:
    data = json.loads(path.read_text())
    mean = data["step_ms"]
    median = data.get("host_step_ms_median") or mean
    return Truth(mean, mean) if paced_by == "device" else Truth(min(mean, median), max(mean, median))


def analyse(binary: Path, trace: Path) -> dict | None:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [binary, "analyze", trace, "-o", folder, "--format", "json", "--quiet"], capture_output=True, check=False
        )
        report = Path(folder) / "report.json"
        return json.loads(report.read_text()) if done.returncode == 0 and report.exists() else None


def short(name: str) -> str:
    return name.removesuffix(".json.gz")


def undisturbed_table(reports: dict[Path, dict]) -> list[str]:
    print("| capture | captured | undisturbed | band | truth | distance |")
    print("|---|---:|---:|---:|---:|---:|")
    distances, inside, total = [], 0, 0
    for trace, report in reports.items():
        truth_file = trace.with_name(short(trace.name) + ".truth.json")
        step = report["step_time"]
        if not truth_file.exists() or step["undisturbed_ms"] is None:
            continue
        truth = truth_of(truth_file, step["paced_by"])
        low, estimate, high = step["undisturbed_low_ms"], step["undisturbed_ms"], step["undisturbed_high_ms"]
        distance = truth.distance(estimate)
        total += 1
        inside += low <= truth.high and high >= truth.low
        if truth.counted:
            distances.append(abs(distance))
        mark = "" if truth.counted else " (not counted)"
        print(
            f"| {short(trace.name)} | {step['mean_ms']:.1f} | {estimate:.1f} | {low:.1f} to {high:.1f} | {truth} | "
            f"{100 * distance:+.0f} %{mark} |"
        )
    if not distances:
        return ["no capture with a truth"]
    near = sum(d <= 0.15 for d in distances)
    return [
        f"undisturbed step: median distance {100 * statistics.median(distances):.1f} % (required 5), within 15 %: {near} "
        f"of {len(distances)} (required nine in ten), truth inside the band: {inside} of {total} (required nine in ten)"
    ]


def gains_table(folder: Path, reports: dict[Path, dict]) -> list[str]:
    print("\n| pair | expected first | first | predicted after | band | truth | inside | wide |")
    print("|---|---|---|---:|---:|---:|---|---:|")
    inside, sure_pairs, first_right, narrow, narrow_right, too_wide = 0, 0, 0, 0, 0, []
    for pair, (rule, sure) in EXPECTED.items():
        report = reports.get(folder / f"{pair}.before.json.gz")
        after = reports.get(folder / f"{pair}.after.json.gz")
        if report is None or after is None:
            continue
        truth = truth_of(folder / f"{pair}.after.truth.json", after["step_time"]["paced_by"])
        findings = [f for f in report["findings"] if f["severity"] != "info"]
        first = findings[0]["rule"] if findings else "-"
        first_right += rule is None or first == rule
        # A fault that shows as several findings is mended by all that the planted change mends: the expected rule's own.
        finding = next((f for f in report["findings"] if f["rule"] == rule), None)
        gain = finding["gain"] if finding else None
        sure_pairs += sure
        if gain is None or gain["step_ms"] is None:
            print(f"| {pair} | {rule or 'none'} | {first} | - | - | {truth} | {'no' if sure else 'not sure'} | - |")
            narrow += pair in NARROW
            continue
        low, expected, high = gain["step_low_ms"], gain["step_ms"], gain["step_high_ms"]
        hit = low <= truth.high and high >= truth.low
        inside += sure and hit
        if pair in NARROW:
            narrow += 1
            narrow_right += abs(truth.distance(expected)) <= 0.15
        wide = high / low if low > 0 else float("inf")
        if sure and wide > (3 if pair in KERNEL_REPLACEMENTS else 2):
            too_wide.append(pair)
        print(
            f"| {pair} | {rule} | {first} | {expected:.1f} ({gain['basis']}, {100 * truth.distance(expected):+.0f} %) | "
            f"{low:.1f} to {high:.1f} | {truth} | {'yes' if hit else 'NO'}{'' if sure else ' (not sure)'} | {wide:.1f} |"
        )
    return [
        f"gains: truth inside the band for {inside} of {sure_pairs} sure pairs (required 10 of 12); bands too wide: "
        f"{', '.join(too_wide) or 'none'} (at most 2 for host causes, 3 for kernels)",
        f"gains of data loading, copies, allocator, host compute: {narrow_right} of {narrow} within 15 % (required all)",
        f"expected rule first: {first_right} of {len(EXPECTED)}",
    ]


def replay_table(reports: dict[Path, dict]) -> list[str]:
    print("\n| capture | replay error | of unknown cause | steady pace less the step |")
    print("|---|---:|---:|---:|")
    worst_error, worst_share, count, unsteady = 0.0, 0.0, 0, 0
    for trace, report in reports.items():
        replay = report["replay"]
        if replay["error"] is None or report["step_time"]["count"] < 2 or not report["breakdown"]:
            continue
        count += 1
        steady = replay.get("steady_difference") or 0.0
        unsteady += abs(steady) > 0.03
        worst_error = max(worst_error, replay["error"])
        worst_share = max(worst_share, replay["unexplained_share"])
        print(f"| {trace.parent.name}/{short(trace.name)} | {100 * replay['error']:.2f} % | "
              f"{100 * replay['unexplained_share']:.2f} % | {100 * steady:+.2f} % |")
    return [
        f"replay: {count} captures, worst error {100 * worst_error:.1f} % (required 3), worst share of unknown cause "
        f"{100 * worst_share:.1f} % (required 5); steady pace beyond 3 % of the step: {unsteady}"
    ]


def main() -> None:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=root / "build/accel-profiler")
    parser.add_argument("--traces", type=Path, default=root / "../shared/traces/h200")
    parser.add_argument("--more", type=Path, action="append", default=[], help="another folder of captures with a truth")
    options = parser.parse_args()
    if not options.traces.exists():
        print(f"{options.traces} is not here: nothing to compare with (skipped)")
        return
    folders = [options.traces / name for name in ("pairs", "nccl2", "variety")] + options.more
    reports = {}
    for folder in folders:
        for trace in sorted(folder.glob("*.json.gz")):
            if "flight_recorder" in trace.name:
                continue
            if (report := analyse(options.binary, trace)) is not None:
                reports[trace] = report
    summary = undisturbed_table(reports)
    summary += gains_table(options.traces / "pairs", reports)
    summary += replay_table(reports)
    print()
    for line in summary:
        print("- " + line)


if __name__ == "__main__":
    main()
