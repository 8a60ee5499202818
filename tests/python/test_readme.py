"""The READMEs show what the program prints, in both languages, and point at things that exist."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
READMES = ["README.md", "README.zh.md"]
CONSOLE = re.compile(r"^```console\n\$ ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def consoles(readme):
    return CONSOLE.findall((PROJECT / readme).read_text())


@pytest.mark.parametrize("command, shown", consoles("README.md"))
def test_the_output_shown_is_the_output(command, shown):
    words = shlex.split(command)
    if not (PROJECT / words[0]).exists():
        pytest.fail(f"{words[0]} is not built")
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


def test_there_is_output_to_check():
    assert len(consoles("README.md")) >= 2


def test_both_languages_show_the_same_output():
    assert consoles("README.md") == consoles("README.zh.md")


@pytest.mark.parametrize("page", READMES + ["CONTRIBUTING.md", "docs/architecture.md", "docs/why.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    text = (PROJECT / page).read_text()
    missing = [link for link in LINK.findall(text) if not ((PROJECT / page).parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("readme", READMES)
def test_every_make_target_exists(readme):
    targets = set(re.findall(r"\bmake ([a-z-]+)\b", re.sub(r"```console.*?```", "", (PROJECT / readme).read_text(), flags=re.DOTALL)))
    known = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test", "build"} <= targets
    assert targets <= known
