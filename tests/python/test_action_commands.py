"""What a finding tells people to paste is code: every command of every rule is parsed.

The commands come from the captures of this checkout and from the made-up jobs in the cases of the rules; a rule with a
case must show one.
"""

import ast
import json
import re
import subprocess
import sys

import pytest

PROGRAM = re.compile(r"^input make\.py\n(.*?)^end$", re.DOTALL | re.MULTILINE)


def analyse(command, capture, folder):
    subprocess.run([command, "analyze", str(capture), "--quiet", "-o", str(folder)], check=True, capture_output=True)
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["findings"]


@pytest.fixture(scope="module")
def findings(project, command, tmp_path_factory):
    found = []
    for case in sorted((project / "tests/cases/diagnosis").glob("*.case")):
        for number, program in enumerate(PROGRAM.findall(case.read_text(encoding="utf-8"))):
            folder = tmp_path_factory.mktemp(f"{case.stem}-{number}")
            (folder / "job.py").write_bytes((project / "tests/cases/diagnosis/job.py").read_bytes())
            (folder / "make.py").write_text(program, encoding="utf-8")
            subprocess.run([sys.executable, "make.py"], cwd=folder, check=True)
            found += analyse(command, folder / "trace.json", folder / "out")
    captures = [*(project / "tests/golden").rglob("*.json.gz"), *(project.parent / "shared/traces/h200").rglob("*.before.json.gz")]
    for capture in sorted(captures):
        found += analyse(command, capture, tmp_path_factory.mktemp("capture"))
    return found


def is_shell(text):
    return subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).returncode == 0


def problem_of(text):
    try:
        ast.parse(text)
        return None
    except SyntaxError as error:
        # A line such as "py-spy top --pid 1" is no Python; prose is neither.
        first = text.split()[0] if text.split() else ""
        looks_like_command = re.fullmatch(r"([A-Z_]+=\S+|[a-z][\w./-]*)", first) is not None
        return None if looks_like_command and is_shell(text) else str(error)


def test_every_command_can_be_parsed(findings):
    wrong = {}
    for finding in findings:
        text = finding["action"]["command"]
        if text and (problem := problem_of(text)):
            wrong[finding["rule"]] = f"{problem}:\n{text}"
    assert not wrong, "\n".join(f"{rule}: {problem}" for rule, problem in wrong.items())


def test_every_finding_says_what_to_do_and_when_not(findings):
    for finding in findings:
        action = finding["action"]
        for part in ("title", "detail", "command", "side_effects", "not_when"):
            assert action[part], f"{finding['rule']} has no {part}"


def test_every_rule_with_a_case_showed_its_command(findings, project, command):
    listed = subprocess.run([command, "list", "rules", "--json"], check=True, capture_output=True, text=True).stdout
    rules = {rule["id"] for rule in json.loads(listed)}
    with_case = {case.stem for case in (project / "tests/cases/diagnosis").glob("*.case")} & rules
    assert with_case - {finding["rule"] for finding in findings} == set()


def test_prose_is_told_from_code():
    assert problem_of("model = torch.compile(model)\n") is None
    assert problem_of("py-spy top --pid 1\n") is None
    assert problem_of("Use more workers (see below\n") is not None
