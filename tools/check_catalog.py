#!/usr/bin/env python3
"""Checks each src/LAYER/catalog.def: every entry has a source and a test, every source is listed.

A test of an entry is tests/unit/LAYER/NAME_test.cpp (or NAME_threads_test.cpp), tests/cases/LAYER/NAME*.case or
tests/cases/LAYER/NAME/*.case.
"""

import argparse
import re
import sys
from pathlib import Path

MACROS = {"ingest": "IMPORTER", "analysis": "ANALYSIS", "diagnosis": "RULE", "report": "WRITER", "cli": "COMMAND"}
LINE = re.compile(r"^[ \t]*([A-Z][A-Z_0-9]*)[ \t]*\([ \t]*([A-Za-z0-9_]+)", re.MULTILINE)


def problems(project: Path) -> list[str]:
    found = []
    for catalog in sorted((project / "src").glob("*/catalog.def")):
        found += _of_layer(project, catalog)
    return found


def _of_layer(project: Path, catalog: Path) -> list[str]:
    layer = catalog.parent.name
    where = f"src/{layer}/catalog.def"
    macro = MACROS.get(layer)
    if macro is None:
        return [f"{where}: src/{layer} has no kind of entry in tools/check_catalog.py"]
    found, listed, seen = [], set(), set()
    for kind, name in LINE.findall(catalog.read_text(encoding="utf-8")):
        if kind not in (macro, "FRAMEWORK"):
            found.append(f"{where}: {kind}({name}) is neither {macro} nor FRAMEWORK")
            continue
        if name in seen:
            found.append(f"{where}: {name} is listed twice")
        seen.add(name)
        single = catalog.parent / f"{name}.cpp"
        sources = [single] if single.exists() else []
        sources += sorted((catalog.parent / name).rglob("*.cpp"))
        listed.update(sources)
        if not sources:
            found.append(f"{where}: {kind}({name}) has no source src/{layer}/{name}.cpp")
        if kind == macro and not _has_test(project, layer, name):
            found.append(
                f"{where}: {macro}({name}) has no test: write tests/unit/{layer}/{name}_test.cpp "
                f"or tests/cases/{layer}/{name}.case"
            )
    for source in sorted(catalog.parent.rglob("*.cpp")):
        if source not in listed:
            relative = source.relative_to(catalog.parent)
            name = relative.parts[0].removesuffix(".cpp")
            found.append(f"src/{layer}/{relative} is not listed in catalog.def: add {macro}({name}) or FRAMEWORK({name})")
    return found


def _has_test(project: Path, layer: str, name: str) -> bool:
    unit, cases = project / "tests/unit" / layer, project / "tests/cases" / layer
    patterns = [(unit, f"{name}_test.cpp"), (unit, f"{name}_threads_test.cpp"), (cases, f"{name}*.case"), (cases / name, "*.case")]
    return any(True for folder, pattern in patterns for _ in folder.glob(pattern))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("project", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    found = problems(parser.parse_args().project)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
