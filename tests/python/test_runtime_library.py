"""The runtime library as others meet it: what it links, what it exports, and a C program outside the tree."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
BUILD = PROJECT / "build"
SHARED = BUILD / "libaccel_profiler_runtime.so"
STATIC = BUILD / "libaccel_profiler_runtime.a"

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the runtime library is not built")


def output_of(*argv) -> str:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def test_it_links_the_c_library_pthread_and_dl_alone():
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", SHARED)))
    assert needed <= {"libc.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}


# What NCCL looks for in the library that NCCL_PROFILER_PLUGIN names.
NCCL_TABLES = {f"ncclProfiler_v{version}" for version in (3, 4, 5, 6)}


def test_it_exports_its_own_names_alone_and_stays_loaded():
    symbols = {line.split()[-1] for line in output_of("nm", "-D", "--defined-only", SHARED).splitlines()}
    assert symbols
    assert all(symbol.startswith("accel_") or symbol in NCCL_TABLES for symbol in symbols), symbols
    assert "NODELETE" in output_of("readelf", "-d", SHARED)


def test_every_function_of_the_header_is_exported_and_nothing_else():
    header = (PROJECT / "include/accel/profiler/runtime_c.h").read_text()
    declared = set(re.findall(r"ACCEL_RUNTIME_API (?:extern )?[\w ]+?\*?\b(accel_\w+)[(;]", header))
    symbols = {line.split()[-1] for line in output_of("nm", "-D", "--defined-only", SHARED).splitlines()}
    assert symbols - NCCL_TABLES == declared
    assert symbols >= NCCL_TABLES


def test_every_call_says_at_the_top_of_its_comment_what_it_costs():
    header = (PROJECT / "include/accel/profiler/runtime_c.h").read_text()
    silent = []
    last = ""
    declared = r"^ACCEL_RUNTIME_API [^;]*?\b(accel_\w+)[(;]|^static inline [^;(]*?\b(accel_\w+)\("
    for block in re.finditer(rf"^/\*.*?\*/|{declared}", header, re.DOTALL | re.MULTILINE):
        if block[0].startswith("/*"):
            last = block[0] if "NOLINT" not in block[0] else last
        elif not last.startswith("/* Cost: "):
            silent.append(block[1] or block[2])
    assert silent == []


def test_the_archive_needs_nothing_of_the_cpp_runtime():
    undefined = set(re.findall(r" U (\S+)", output_of("nm", "-u", STATIC)))
    foreign = {name for name in undefined if name.startswith(("_Z", "__cxa", "_Unwind", "__gxx")) and "accel" not in name}
    assert foreign == set()


def test_a_c_program_outside_the_tree_builds_against_the_install_tree_and_takes_a_capture(tmp_path):
    prefix = tmp_path / "prefix"
    output_of("cmake", "--install", BUILD, "--component", "runtime", "--prefix", prefix)
    project = tmp_path / "outside"
    shutil.copytree(PROJECT / "tests/capi/outside", project)
    output_of("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
              f"-DTRAIN_SOURCE={PROJECT / 'examples/c/train.c'}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror -std=c11")
    output_of("cmake", "--build", project / "build")
    for program in ("train_shared", "train_static"):
        told = output_of(project / "build" / program, tmp_path / program)
        assert told.startswith("slope 3.0"), told
        capture = Path(told.split()[-1])
        assert capture.read_bytes().startswith(b"ACCELTR\n")
