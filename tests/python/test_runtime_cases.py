"""The table of public reports in docs/design/runtime-tests.md names tests that exist."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def test_every_report_about_collection_has_a_test_that_exists():
    rows = [line for line in (PROJECT / "docs/design/runtime-tests.md").read_text().splitlines() if re.match(r"\| [\w-]+/", line)]
    assert len(rows) >= 8
    known = set()
    for source in (PROJECT / "tests/unit").rglob("*_test.cpp"):
        known.update(f"{suite}.{name}" for suite, name in re.findall(r"TEST(?:_F)?\((\w+),\s*(\w+)\)", source.read_text()))
    suites = {name.split(".")[0] for name in known}
    for row in rows:
        named = re.findall(r"`([^`]+)`", row.split("|")[4])
        assert named, row
        for name in named:
            if name.endswith(".*"):
                assert name[:-2] in suites, name
            elif "/" in name:
                assert (PROJECT / name).exists(), name
            else:
                assert name in known, name
