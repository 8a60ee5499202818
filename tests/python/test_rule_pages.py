"""docs/rules has one page per rule, made from its descriptor."""

import os
import sys


def test_the_pages_are_those_of_the_descriptors(project, command):
    sys.path.insert(0, str(project / "tools"))
    import rule_pages

    if os.environ.get("ACCEL_UPDATE_DOCS"):
        rule_pages.write(str(command))
    assert rule_pages.differences(str(command)) == [], "to write them anew: tools/rule_pages.py"


def test_every_page_says_all_that_a_reader_needs(project):
    for page in (project / "docs/rules").glob("*.md"):
        if page.name == "README.md":
            continue
        text = page.read_text(encoding="utf-8")
        for section in ("What it means", "How we know", "What to do", "When it is wrong", "Thresholds"):
            assert f"## {section}\n" in text, f"{page.name} lacks {section}"
        assert "**\u3000\n" not in text, f"{page.name} lacks a translation"
