"""Reads a .case file into a title, labels and a list of rounds (inputs, runs, expectations). The language is in README.md."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path


class CaseError(Exception):
    """The case file itself is wrong."""


@dataclass
class Input:
    line: int
    kind: str  # input, copy, shared, directory
    name: str
    source: str
    modifiers: list[str]
    body: str


@dataclass
class Run:
    line: int
    argv: list[str]
    stdin: str | None
    env: dict[str, str]
    signal_name: str | None
    signal_after: float
    file_size_limit: int | None


@dataclass
class Expectation:
    line: int
    text: str


@dataclass
class Round:
    """What is made ready, the commands, and what must hold after the last of them."""

    inputs: list[Input] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)


@dataclass
class Case:
    path: Path
    title: str
    labels: set[str]
    timeout: float
    rounds: list[Round]


MODIFIERS_WITH_ARGUMENT = {"cut": 1, "gzip-members": 1, "repeat": 1, "flip": 1, "insert": 2, "replace": 2}
MODIFIERS = {"escaped", "python", "gzip", "gunzip", "zstd", "zip", "tar.gz"} | set(MODIFIERS_WITH_ARGUMENT)
EXPECTATIONS = ("exit", "stdout", "stderr", "json", "file")


def parse_case(path: Path) -> Case:
    return _Parser(path, path.read_text(encoding="utf-8").split("\n")).parse()


class _Parser:
    def __init__(self, path: Path, lines: list[str]):
        self.path = path
        self.lines = lines
        self.at = 0
        self.rounds = [Round()]
        self.labels: set[str] = set()
        self.timeout = 60.0
        self._reset_run_options()

    def _reset_run_options(self):
        self.env: dict[str, str] = {}
        self.signal_name: str | None = None
        self.signal_after = 0.0
        self.file_size_limit: int | None = None

    def fail(self, message: str):
        raise CaseError(f"{self.path}:{self.at}: {message}")

    def parse(self) -> Case:
        title = self._title()
        expecting = False
        while self.at < len(self.lines):
            text = self.lines[self.at].strip()
            self.at += 1
            if not text or text.startswith("#"):
                continue
            if text == "----":
                if expecting or not self.rounds[-1].runs:
                    self.fail("'----' must follow a run line")
                expecting = True
                continue
            word = text.split()[0]
            if word in EXPECTATIONS:
                if not expecting:
                    self.fail(f"expectation '{word}' before '----'")
                self.rounds[-1].expectations.append(Expectation(self.at, text))
                continue
            if expecting:
                self.rounds.append(Round())
                expecting = False
            self._directive(word, text)
        if not expecting:
            self.fail("the case ends without '----' and expectations")
        return Case(self.path, title, self.labels, self.timeout, self.rounds)

    def _title(self) -> str:
        if not self.lines or not self.lines[0].startswith("# "):
            self.at = 1
            self.fail("the first line must be '# ' and the behaviour that this case shows")
        self.at = 1
        return self.lines[0][2:].strip()

    def _directive(self, word: str, text: str):
        try:
            words = shlex.split(text)
        except ValueError as error:
            self.fail(str(error))
        handler = getattr(self, f"_on_{word.replace('-', '_')}", None)
        if handler is None:
            self.fail(f"unknown directive '{word}'")
        handler(words[1:])

    def _on_label(self, words):
        self.labels.update(words)

    def _on_timeout(self, words):
        if len(words) != 1:
            self.fail("timeout SECONDS")
        self.timeout = float(words[0])

    def _on_input(self, words):
        if not words:
            self.fail("input NAME [MODIFIER...]")
        line = self.at
        body = []
        while True:
            if self.at >= len(self.lines):
                self.fail("input without 'end'")
            text = self.lines[self.at]
            self.at += 1
            if text == "end":
                break
            body.append(text)
        self._add_input(Input(line, "input", words[0], "", words[1:], "\n".join(body)))

    def _on_copy(self, words):
        if len(words) < 2:
            self.fail("copy NAME PATH [MODIFIER...]")
        self._add_input(Input(self.at, "copy", words[0], words[1], words[2:], ""))

    def _on_shared(self, words):
        if len(words) < 2:
            self.fail("shared NAME PATH [MODIFIER...]")
        self._add_input(Input(self.at, "shared", words[0], words[1], words[2:], ""))

    def _on_directory(self, words):
        if len(words) != 1:
            self.fail("directory NAME")
        self._add_input(Input(self.at, "directory", words[0], "", [], ""))

    def _add_input(self, made: Input):
        name = Path(made.name)
        if name.is_absolute() or ".." in name.parts:
            self.fail("an input's name stays inside the case's folder")
        words = list(made.modifiers)
        while words:
            word = words.pop(0)
            if word not in MODIFIERS:
                self.fail(f"unknown modifier '{word}'")
            for _ in range(MODIFIERS_WITH_ARGUMENT.get(word, 0)):
                if not words:
                    self.fail(f"modifier '{word}' needs a value")
                words.pop(0)
        self.rounds[-1].inputs.append(made)

    def _on_env(self, words):
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                self.fail("env NAME=VALUE")
            self.env[name] = value

    def _on_signal(self, words):
        if len(words) != 3 or words[1] != "after":
            self.fail("signal NAME after SECONDS")
        self.signal_name, self.signal_after = words[0], float(words[2])

    def _on_file_size_limit(self, words):
        if len(words) != 1:
            self.fail("file-size-limit BYTES")
        self.file_size_limit = int(words[0])

    def _on_run(self, words):
        stdin = None
        if len(words) >= 2 and words[-2] == "<":
            stdin, words = words[-1], words[:-2]
        if not words or words[0] not in ("accel-profiler", "python3"):
            self.fail("run starts accel-profiler or python3")
        self.rounds[-1].runs.append(
            Run(self.at, words, stdin, self.env, self.signal_name, self.signal_after, self.file_size_limit)
        )
        self._reset_run_options()
