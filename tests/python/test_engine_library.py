"""The engine as a C++ library: what it exports, and a program outside the tree that asks what the command is asked."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
BUILD = PROJECT / "build"
SHARED = BUILD / "libaccel_profiler_engine.so"
TRACE = PROJECT / "tests/golden/pytorch-2.11_h200/launch_bound.before.json.gz"

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the engine library is not built")


def output_of(*argv, status: int = 0) -> str:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True)
    assert done.returncode == status, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_it_exports_its_public_face_alone():
    lines = output_of("nm", "-D", "-C", "--defined-only", SHARED).splitlines()
    own = [line.split(maxsplit=2)[2] for line in lines if "accel" in line]
    assert own
    assert all("accel::profiler::what_if::" in name for name in own), own


def test_a_program_outside_the_tree_gets_the_answers_of_the_command(tmp_path):
    prefix = tmp_path / "prefix"
    output_of("cmake", "--install", BUILD, "--component", "engine", "--prefix", prefix)
    shutil.copytree(PROJECT / "tests/capi/what_if", tmp_path / "outside")
    build = tmp_path / "outside/build"
    output_of("cmake", "-S", tmp_path / "outside", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
              f"-DSOURCE={PROJECT / 'examples/cpp/what_if.cpp'}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    output_of("cmake", "--build", build)
    program = build / "what_if"

    question = "fuse;graph"
    output_of(BUILD / "accel-profiler", "analyze", TRACE, "-o", tmp_path, "--format", "json", "--quiet", "--what-if", question)
    report = json.loads((tmp_path / "report.json").read_text())
    answer = report["what_if"][0]
    told = output_of(program, TRACE, *question.split(";"))
    numbers = [float(text) for text in re.findall(r"\d+\.\d+", told.splitlines()[1])]
    assert numbers == pytest.approx(
        [answer["step_ms"], answer["step_low_ms"], answer["step_high_ms"], answer["speedup"]], abs=0.006)
    assert f"recorded {report['step_time']['mean_ms']:.3f} ms" in told
    assert len(output_of(program, TRACE).splitlines()) == 6


@pytest.mark.parametrize(("words", "status", "said"), [
    (["nothing.json"], 1, "nothing.json"),
    ([TRACE, "no_such_change"], 2, "no_such_change"),
    ([TRACE, "scale(aten::mm, -1)"], 2, "scale"),
])
def test_what_cannot_be_answered_is_said(words, status, said):
    assert said in output_of(BUILD / "examples/example_cpp_what_if", *words, status=status)
