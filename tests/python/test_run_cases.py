"""The case runner: what holds passes, what does not hold fails, and a mistake in a case is never silent."""

import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parent.parent / "cases/run_cases.py"

# Stands for the command: prints, writes out/report.json, and ends with the status it is told.
PROGRAM = """#!{python}
import json, os, sys
print("hello world")
print("warning", file=sys.stderr)
os.makedirs("out", exist_ok=True)
report = {{"a": {{"b": 1.5, "n": None}}, "notes": [{{"code": "x", "count": 2}}, {{"code": "y z", "count": 3}}],
          "causes": {{"p": 1, "q": 2, "r": None}}, "flag": True, "text": "some words",
          "bytes": list(open(sys.argv[2], "rb").read(40)) if len(sys.argv) > 2 else []}}
json.dump(report, open("out/report.json", "w"))
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


@pytest.fixture
def run_case(tmp_path):
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)

    def run(text: str, *options: str):
        case = tmp_path / "one.case"
        case.write_text(text)
        return subprocess.run(
            [sys.executable, RUNNER, "-v", "--binary", program, "--shared", tmp_path / "none", *options, case],
            capture_output=True,
            text=True,
        )

    return run


HOLDS = [
    "exit 0",
    'stdout has "hello"',
    'stdout lacks "warning"',
    'stderr is "warning"',
    'stdout matches "^hello.w"',
    "file out/report.json exists",
    "file out/*.json exists",
    "file out/other absent",
    'file out/report.json has "notes"',
    "json out/report.json a.b == 1.5",
    "json out/report.json a.b ~ 1.4 +- 0.2",
    "json out/report.json a.b ~ 1.49 +- 1%",
    "json out/report.json a.n == null",
    "json out/report.json a.m absent",
    "json out/report.json a.n exists",
    "json out/report.json notes[code=x].count == 2",
    'json out/report.json notes[code="y z"].count == 3',
    "json out/report.json notes[code=x,count=2].count == 2",
    "json out/report.json notes[count=7] absent",
    "json out/report.json notes[-1].count > 2",
    'json out/report.json notes[*].code == ["x", "y z"]',
    'json out/report.json notes[*].code has "x"',
    'json out/report.json notes[*].code lacks "z"',
    "json out/report.json len(notes) == 2",
    "json out/report.json sum(causes.*) == 3",
    "json out/report.json sum(notes[*].count) == 5",
    "json out/report.json max(notes[*].count) == $notes[1].count",
    "json out/report.json flag == true",
    "json out/report.json flag != 1",
    'json out/report.json text has "words"',
    "json out/report.json a.b in [1.5, 2]",
]

FAILS = [
    "exit 1",
    'stdout has "bye"',
    'stdout lacks "hello"',
    "stderr empty",
    "file out/other exists",
    "file out/report.json absent",
    "json out/report.json a.b == 2",
    "json out/report.json a.b ~ 1.4 +- 0.05",
    "json out/report.json a.n absent",
    "json out/report.json a.m exists",
    "json out/report.json a.m == null",
    "json out/report.json a.m != 1",
    "json out/report.json a.n < 1",
    "json out/report.json notes[code=q].count == 2",
    'json out/report.json notes[*].code has "z"',
    'json out/report.json a.b has "1"',
    "json out/none.json a == 1",
    "json out/report.json flag == 1",
]

MISTAKES = [
    ("run accel-profiler\n----\nexits 0\n", "unknown directive"),
    ("runn accel-profiler\n----\nexit 0\n", "unknown directive"),
    ("run rm -rf x\n----\nexit 0\n", "run starts"),
    ("run accel-profiler\n", "without '----'"),
    ("exit 0\n", "before '----'"),
    ("input x\nabc\nrun accel-profiler\n----\nexit 0\n", "without 'end'"),
    ("input x backwards\nend\nrun accel-profiler\n----\n", "unknown modifier"),
    ("input ../x\nend\nrun accel-profiler\n----\n", "inside the case's folder"),
    ("run accel-profiler\n----\njson out/report.json a.b === 1\n", "unknown operator"),
    ("run accel-profiler\n----\njson out/report.json a.b == one\n", "not a JSON value"),
    ("run accel-profiler\n----\nstdout contains \"x\"\n", "unknown check"),
    ("run accel-profiler 5\n----\nexit 0\n", "exit status was 5"),
]


@pytest.mark.parametrize("line", HOLDS)
def test_an_expectation_that_holds_passes(run_case, line):
    done = run_case(f"# title\nrun accel-profiler\n----\n{line}\n")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("1 passed, 0 failed, 0 skipped\n")


@pytest.mark.parametrize("line", FAILS)
def test_an_expectation_that_does_not_hold_fails(run_case, line):
    done = run_case(f"# title\nrun accel-profiler\n----\n{line}\n")
    assert done.returncode == 1, done.stdout
    assert done.stdout.endswith("0 passed, 1 failed, 0 skipped\n")
    assert line in done.stdout


@pytest.mark.parametrize("text, message", MISTAKES)
def test_a_mistake_in_a_case_fails_and_is_named(run_case, text, message):
    done = run_case("# title\n" + text)
    assert done.returncode == 1, done.stdout
    assert message in done.stdout


def test_a_case_needs_a_title(run_case):
    assert "first line must be" in run_case("run accel-profiler\n----\nexit 0\n").stdout


def test_without_an_exit_line_status_0_is_expected(run_case):
    assert run_case("# t\nrun accel-profiler 3\n----\nstdout has \"hello\"\n").returncode == 1
    assert run_case("# t\nrun accel-profiler 3\n----\nexit 3\n").returncode == 0


def test_every_run_but_the_last_must_succeed(run_case):
    assert run_case("# t\nrun accel-profiler 3\nrun accel-profiler\n----\nexit 0\n").returncode == 1


def test_a_second_round_has_expectations_of_its_own(run_case):
    rounds = "# t\nrun accel-profiler 3\n----\nexit 3\nrun accel-profiler {}\n----\nexit 4\n"
    assert run_case(rounds.format(4)).returncode == 0
    assert run_case(rounds.format(0)).returncode == 1


@pytest.mark.parametrize(
    "source, wanted",
    [
        ("input f\nab\ncd\nend", b"ab\ncd"),
        ("input f escaped\na\\x00\\n\\u00e9\\\\\nend", b"a\0\n\xc3\xa9\\"),
        ("input f cut 2\nabc\nend", b"ab"),
        ("input f cut -1\nabc\nend", b"ab"),
        ("input f repeat 2\nab\nend", b"abab"),
        ("input f flip 1\nab\nend", b"a\x9d"),
        ("input f insert 1 '\\x01'\nab\nend", b"a\x01b"),
        ("input f replace b c\nab\nend", b"ac"),
        ("input f python\nimport sys; sys.stdout.buffer.write(bytes([255, 0]))\nend", b"\xff\0"),
        ("input f gzip gunzip\nabc\nend", b"abc"),
        ("input f gzip-members 3 gunzip\nabcdefg\nend", b"abcdefg"),
        ("input g\nab\nend\ncopy f program cut 2", b"#!"),
    ],
)
def test_inputs_are_made_byte_for_byte(run_case, source, wanted):
    case = f"# t\n{source}\nrun accel-profiler 0 f\n----\njson out/report.json bytes == {list(wanted)}\n"
    done = run_case(case)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("modifier, magic", [("gzip", "1f8b"), ("zstd", "28b52ffd"), ("zip", "504b0304"), ("tar.gz", "1f8b")])
def test_archives_start_with_their_magic(run_case, modifier, magic):
    first = list(bytes.fromhex(magic))
    case = f"# t\ninput f {modifier} cut {len(first)}\nabc\nend\nrun accel-profiler 0 f\n----\njson out/report.json bytes == {first}\n"
    done = run_case(case)
    assert done.returncode == 0, done.stdout


def test_a_case_without_its_shared_file_is_skipped(run_case):
    done = run_case("# t\nshared f traces/x.json\nrun accel-profiler\n----\nexit 0\n")
    assert done.returncode == 0
    assert done.stdout.endswith("0 passed, 0 failed, 1 skipped\n")


def test_a_hanging_command_fails_the_case(run_case):
    done = run_case('# t\ntimeout 0.3\nrun python3 -c "import time; time.sleep(30)"\n----\nexit 0\n')
    assert done.returncode == 1
    assert "still running" in done.stdout


def test_a_signal_reaches_the_command(run_case):
    case = '# t\nsignal INT after 0.5\nrun python3 -c "import time; time.sleep(30)"\n----\nexit signal INT\n'
    assert run_case(case).returncode == 0


def test_a_full_disk_can_be_played(run_case):
    script = "open('big', 'wb').write(b'x' * 10000)"
    case = f'# t\nfile-size-limit 100\nrun python3 -c "{script}"\n----\nexit 1\nstderr has "File too large"\n'
    assert run_case(case).returncode == 0


def test_a_sanitizer_report_fails_whatever_is_expected(run_case):
    script = "import sys; print('x.cpp:1: runtime error: bad', file=sys.stderr); sys.exit(1)"
    assert run_case(f'# t\nrun python3 -c "{script}"\n----\nexit 1\n').returncode == 1
