#!/usr/bin/env python3
"""Loads a capture with HolisticTraceAnalysis from PyPI, in an environment of its own, and prints time and peak memory.

    benchmarks/compare/holistic.py FILE

What cannot be installed is reported as not measured, with the reason; no figure is ever carried over.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from process import Ended, run  # noqa: E402

REQUIREMENTS = HERE / "requirements.txt"


def environment(folder: Path) -> str | None:
    """Makes the environment unless it is there; the reason in words when that fails."""
    stamp = folder / "made-for"
    wanted = REQUIREMENTS.read_text() + sys.version
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    print("making the environment of HolisticTraceAnalysis", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, text=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--no-deps", "-r", REQUIREMENTS], check=True,
                       capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
        return lines[-1] if lines else str(error)
    stamp.write_text(wanted)
    return None


def measure(capture: Path, folder: Path) -> dict:
    reason = environment(folder)
    if reason is not None:
        return {"skipped": f"it could not be installed: {reason}"}
    try:
        done = run([folder / "bin/python", HERE / "holistic_load.py", capture], memory=True, limit_s=900)
    except Ended as error:
        return {"skipped": f"it failed: {error}"}
    return json.loads(done.output.strip().splitlines()[-1]) | {"peak_anonymous": done.peak_anonymous}


def sentence(result: dict, rows: list[dict] = (), megabytes: float = 0) -> str:
    if "skipped" in result:
        return f"HolisticTraceAnalysis: not measured, {result['skipped']}"
    text = (f"HolisticTraceAnalysis {result['versions']['HolisticTraceAnalysis']} (pandas {result['versions']['pandas']}), "
            f"the same file: load {result['seconds']:.1f} s, peak anonymous {result['peak_anonymous'] / 1e6:.0f} MB")
    if megabytes:
        text += f", {megabytes / result['seconds']:.1f} MB/s"
    ours = [row for row in rows if row["what"].startswith("plain load")]
    if ours:
        best = min(ours, key=lambda row: row["seconds"])
        text += f"; ours {best['seconds']:.3f} s ({result['seconds'] / best['seconds']:.0f} times as fast)"
        peaks = [row["peak_anonymous_mb"] for row in ours if row["peak_anonymous_mb"]]
        if peaks:
            text += f", {max(peaks):.0f} MB"
    return text


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    capture = Path(sys.argv[1])
    print(sentence(measure(capture, HERE.parent.parent / "build/hta-venv"), megabytes=capture.stat().st_size / 1e6))
    return 0


if __name__ == "__main__":
    sys.exit(main())
