"""Checks what a case expects: exit status, output text, files, and values at paths of a JSON file."""

import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from case_file import CaseError, Expectation

ABSENT = object()
FUNCTIONS = ("len", "sum", "min", "max", "sorted", "unique")
COMPARE = {
    "==": lambda a, b: _same(a, b),
    "!=": lambda a, b: not _same(a, b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass
class Outcome:
    """Of the last command of a round."""

    status: int  # negative: ended by that signal
    stdout: str
    stderr: str


def check(expectation: Expectation, outcome: Outcome, work_dir: Path) -> str | None:
    """None when it holds, else one sentence with what was found instead."""
    word, _, rest = expectation.text.partition(" ")
    rest = rest.strip()
    if word == "exit":
        return _check_exit(rest, outcome.status)
    if word in ("stdout", "stderr"):
        return _check_text(rest, getattr(outcome, word), word)
    if word == "file":
        return _check_file(rest, work_dir)
    return _check_json(rest, work_dir)


def _check_exit(rest: str, status: int) -> str | None:
    if rest.startswith("signal "):
        wanted = -getattr(signal, "SIG" + rest.split()[1])
    else:
        wanted = int(rest)
    if status == wanted:
        return None
    return f"exit status was {status}" if status >= 0 else f"ended by signal {signal.Signals(-status).name}"


def _check_text(rest: str, text: str, what: str) -> str | None:
    word, _, value = rest.partition(" ")
    if word == "empty":
        return None if not text.strip() else f"{what} was not empty: {_short(text)}"
    wanted = _json_value(value)
    if word == "has":
        return None if wanted in text else f"{what} was: {_short(text)}"
    if word == "lacks":
        return None if wanted not in text else f"{what} has it: {_short(text)}"
    if word == "is":
        return None if text.strip() == wanted.strip() else f"{what} was: {_short(text)}"
    if word == "matches":
        return None if re.search(wanted, text, re.MULTILINE) else f"{what} was: {_short(text)}"
    raise CaseError(f"unknown check '{word}' of {what}: has, lacks, is, matches, empty")


def _check_file(rest: str, work_dir: Path) -> str | None:
    name, _, rest = rest.partition(" ")
    word, _, value = rest.strip().partition(" ")
    matches = sorted(work_dir.glob(name))
    if word == "absent":
        return None if not matches else f"{name} exists"
    if not matches:
        present = ", ".join(sorted(str(p.relative_to(work_dir)) for p in work_dir.rglob("*") if p.is_file())[:20])
        return f"{name} does not exist; there are: {present or 'no files'}"
    if word == "exists":
        return None
    if word == "same":
        other = work_dir / value
        if not other.exists():
            return f"{value} does not exist"
        return None if matches[0].read_bytes() == other.read_bytes() else f"{name} and {value} differ"
    if word in ("has", "lacks", "is", "matches", "empty"):
        return _check_text(f"{word} {value}".strip(), matches[0].read_text(errors="replace"), name)
    raise CaseError(f"unknown check '{word}' of a file: exists, absent, same, has, lacks, is, matches, empty")


def _check_json(rest: str, work_dir: Path) -> str | None:
    name, _, rest = rest.partition(" ")
    expression, rest = _split_expression(rest.strip())
    operator, _, operand = rest.strip().partition(" ")
    operand = operand.strip()
    try:
        document = json.loads((work_dir / name).read_text())
    except FileNotFoundError:
        return f"{name} does not exist"
    except json.JSONDecodeError as error:
        return f"{name} is not JSON: {error}"
    found = evaluate(expression, document)
    if operator == "absent":
        return None if found is ABSENT else f"found {_short_json(found)}"
    if found is ABSENT:
        return f"{expression} is absent"
    if operator == "exists":
        return None
    if operator == "~":
        return _check_near(found, operand, document)
    wanted = _operand(operand, document)
    if operator in COMPARE:
        try:
            holds = COMPARE[operator](found, wanted)
        except TypeError:
            holds = False
    elif operator in ("has", "lacks"):
        holds = (wanted in found if isinstance(found, (str, list, dict)) else False) == (operator == "has")
    elif operator == "in":
        holds = found in wanted
    else:
        raise CaseError(f"unknown operator '{operator}': == != < <= > >= ~ has lacks in exists absent")
    return None if holds else f"found {_short_json(found)}"


def _check_near(found, operand: str, document) -> str | None:
    value, _, tolerance = operand.partition("+-")
    if not tolerance:
        raise CaseError("'~' is written ~ VALUE +- TOLERANCE")
    wanted = _operand(value.strip(), document)
    tolerance = tolerance.strip()
    bound = abs(wanted) * float(tolerance[:-1]) / 100 if tolerance.endswith("%") else float(tolerance)
    if isinstance(found, (int, float)) and abs(found - wanted) <= bound:
        return None
    return f"found {_short_json(found)}"


def _operand(text: str, document):
    if text.startswith("$"):
        value = evaluate(text[1:], document)
        if value is ABSENT:
            raise CaseError(f"{text} is absent")
        return value
    return _json_value(text)


def _json_value(text: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise CaseError(f"not a JSON value: {text}") from None


def _split_expression(text: str) -> tuple[str, str]:
    """The path up to the first blank outside brackets and quotes."""
    depth, quoted = 0, False
    for i, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif not quoted and char in "[(":
            depth += 1
        elif not quoted and char in "])":
            depth -= 1
        elif char == " " and depth == 0 and not quoted:
            return text[:i], text[i:]
    return text, ""


def evaluate(expression: str, document):
    """The value at a path, or ABSENT."""
    for function in FUNCTIONS:
        if expression.startswith(function + "(") and expression.endswith(")"):
            value = evaluate(expression[len(function) + 1 : -1], document)
            return ABSENT if value is ABSENT else _call(function, value)
    value = document
    steps = _steps(expression)
    for i, step in enumerate(steps):
        if step == ("all",):
            if not isinstance(value, (list, dict)):
                return ABSENT
            items = list(value.values()) if isinstance(value, dict) else value
            rest = [_walk(item, steps[i + 1 :]) for item in items]
            return [item for item in rest if item is not ABSENT]
        value = _step(value, step)
        if value is ABSENT:
            return ABSENT
    return value


def _walk(value, steps):
    for step in steps:
        if step == ("all",):
            raise CaseError("a path has at most one '*'")
        value = _step(value, step)
        if value is ABSENT:
            return ABSENT
    return value


def _step(value, step):
    kind = step[0]
    if kind == "key":
        return value.get(step[1], ABSENT) if isinstance(value, dict) else ABSENT
    if not isinstance(value, list):
        return ABSENT
    if kind == "index":
        return value[step[1]] if -len(value) <= step[1] < len(value) else ABSENT
    for item in value:
        if isinstance(item, dict) and all(_matches(_walk(item, path), want) for path, want in step[1]):
            return item
    return ABSENT


def _matches(value, wanted: str) -> bool:
    if value is ABSENT:
        return False
    return value == wanted if isinstance(value, str) else json.dumps(value) == wanted


STEP = re.compile(r'\.?(?:([A-Za-z_][\w-]*|\*)|\[((?:"(?:[^"\\]|\\.)*"|[^\]"])*)\])')
CONDITION = re.compile(r'\s*([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^,\]]*)\s*(?:,|$)')


def _steps(expression: str):
    steps, at = [], 0
    while at < len(expression):
        match = STEP.match(expression, at)
        if not match:
            raise CaseError(f"not a path: {expression}")
        at = match.end()
        name, bracket = match.groups()
        if name:
            steps.append(("all",) if name == "*" else ("key", name))
        elif bracket == "*":
            steps.append(("all",))
        elif re.fullmatch(r"-?\d+", bracket):
            steps.append(("index", int(bracket)))
        elif bracket.startswith('"'):
            steps.append(("key", json.loads(bracket)))
        else:
            steps.append(("where", _conditions(bracket)))
    return steps


def _conditions(text: str):
    conditions, at = [], 0
    while at < len(text):
        match = CONDITION.match(text, at)
        if not match:
            raise CaseError(f"not a condition: [{text}]")
        wanted = match.group(2).strip()
        if wanted.startswith('"'):
            wanted = json.loads(wanted)
        conditions.append((_steps(match.group(1)), wanted))
        at = match.end()
    if not conditions:
        raise CaseError("empty brackets in a path")
    return conditions


def _call(function: str, value):
    if function == "len":
        return len(value)
    if isinstance(value, dict):
        value = list(value.values())
    numbers = [item for item in value if item is not None]
    if function == "sum":
        return sum(numbers)
    if function == "sorted":
        return sorted(numbers)
    if function == "unique":
        return sorted(set(numbers))
    return (min if function == "min" else max)(numbers) if numbers else ABSENT


def _same(a, b) -> bool:
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return a == b


def _short(text: str, limit: int = 1500) -> str:
    text = text.strip()
    return repr(text) if len(text) < 80 else "\n" + (text if len(text) <= limit else text[:limit] + " ...")


def _short_json(value, limit: int = 600) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit] + " ..."
