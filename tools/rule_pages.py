#!/usr/bin/env python3
"""Writes docs/rules/ID.md, one page per rule, from the descriptors of the program.

    tools/rule_pages.py [--binary build/accel-profiler] [--check]

--check compares instead of writing and ends with 1 where a page is missing, differs or belongs to no rule.
"""

import argparse
import json
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = PROJECT / "docs/rules"
SECTIONS = [
    ("What it means", "含义", "meaning"),
    ("How we know", "判断依据", "how_we_know"),
    ("What to do", "处理方法", "what_to_do"),
    ("When it is wrong", "何时不成立", "when_wrong"),
]


def number(value):
    return f"{value:g}" if abs(value) < 1e6 else f"{value:,.0f}"


def page(rule):
    lines = [f"# {rule['title']}", "", f"`{rule['id']}` · {rule['title_zh']}", ""]
    for title, title_zh, key in SECTIONS:
        lines += [f"## {title}", "", rule[key], "", f"**{title_zh}**　{rule[key + '_zh']}", ""]
    if rule["thresholds"]:
        lines += ["## Thresholds", "", "| name | value | unit | reason |", "|---|---|---|---|"]
        lines += [f"| {t['name']} | {number(t['value'])} | {t['unit']} | {t['reason']} |" for t in rule["thresholds"]]
        lines += [""]
    lines += [f"Rests on: {', '.join(f'`{need}`' for need in rule['needs'])}.", ""]
    lines += ["Made by `tools/rule_pages.py` from the rule's descriptor in "
              f"[src/diagnosis/{rule['id']}.cpp](../../src/diagnosis/{rule['id']}.cpp)."]
    return "\n".join(lines) + "\n"


def index(rules):
    lines = ["# Rules", "", "| rule | finds | 发现 |", "|---|---|---|"]
    lines += [f"| [{rule['id']}]({rule['id']}.md) | {rule['title']} | {rule['title_zh']} |" for rule in rules]
    return "\n".join(lines) + "\n"


def pages(binary):
    listed = subprocess.run([binary, "list", "rules", "--json"], check=True, capture_output=True, text=True).stdout
    rules = json.loads(listed)
    wanted = {f"{rule['id']}.md": page(rule) for rule in rules}
    wanted["README.md"] = index(rules)
    return wanted


def differences(binary):
    wanted = pages(binary)
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(binary):
    FOLDER.mkdir(exist_ok=True)
    wanted = pages(binary)
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(PROJECT / "build/accel-profiler"))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.check:
        write(arguments.binary)
        return 0
    wrong = differences(arguments.binary)
    for name in wrong:
        print(f"docs/rules/{name} differs from the descriptor; run tools/rule_pages.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
