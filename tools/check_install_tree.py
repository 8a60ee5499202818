#!/usr/bin/env python3
"""Proves that the install tree runs on a machine without the library packages.

Installs into a temporary folder, then runs the installed command with the system's copies of every library that it
brings along hidden (a mount namespace with /dev/null over each file), and shows that the hiding works: the command of
the build folder must not start there. Where namespaces are not allowed, the loader's own log must show that each of
those libraries comes from the tree.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CAPTURE = PROJECT / "tests/golden/pytorch-2.11_h200/pageable_h2d.before.json.gz"
SYSTEM = re.compile(r"^(ld-linux.*|linux-vdso|lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+))\.so")


def libraries(program: Path) -> dict[str, str]:
    """Name -> file of every shared library that the loader finds for a program."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (\S+)", text, re.MULTILINE))


def run_hidden(hidden: list[str], argv: list[str]) -> subprocess.CompletedProcess:
    mounts = "\n".join(f"mount --bind /dev/null '{path}' || exit 125" for path in hidden)
    script = f"{mounts}\nexec \"$@\""
    return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *argv], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin"})


def namespaces_work() -> bool:
    probe = subprocess.run(["unshare", "-m", "sh", "-c", "mount --bind /dev/null /etc/hostname"], capture_output=True)
    return probe.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=PROJECT / "build")
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory(prefix="accel-install-") as folder:
        return check(build, Path(folder))


def check(build: Path, folder: Path) -> int:
    prefix = folder / "opt"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    program = prefix / "bin/accel-profiler"
    carried = {name: path for name, path in libraries(build / "accel-profiler").items() if not SYSTEM.match(name)}
    if not carried:
        print("the command links no library of a package; nothing would be proved")
        return 1
    from_outside = [name for name, path in libraries(program).items()
                    if not SYSTEM.match(name) and not os.path.realpath(path).startswith(str(prefix))]
    if from_outside:
        print("not in the install tree:", ", ".join(from_outside))
        return 1

    report = folder / "report"
    argv = [str(program), "analyze", str(CAPTURE), "--quiet", "-o", str(report)]
    if namespaces_work():
        hidden = sorted({os.path.realpath(path) for path in carried.values()})
        control = run_hidden(hidden, [str(build / "accel-profiler"), "--version"])
        if control.returncode == 0:
            print("the hiding does not work: the command of the build folder still starts")
            return 1
        done = run_hidden(hidden, argv)
        how = "with the packages' files hidden"
    else:
        done = subprocess.run(argv, capture_output=True, text=True, env={"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": f"{folder}/loader"})
        log = "".join(path.read_text(errors="replace") for path in folder.glob("loader.*"))
        for name in carried:
            if f"calling init: {prefix}" not in log or not re.search(rf"calling init: {re.escape(str(prefix))}\S*/{re.escape(name)}", log):
                print(f"{name} was not loaded from the install tree")
                return 1
        how = "by the loader's log (no mount namespaces here)"
    if done.returncode != 0:
        print(f"the installed command failed with {done.returncode}\n{done.stdout}{done.stderr}")
        return 1
    schema = json.loads((prefix / "share/accel-profiler/report.schema.json").read_text())
    missing = set(schema["required"]) - set(json.loads((report / "report.json").read_text()))
    if missing:
        print("the installed schema does not fit the report: no", ", ".join(sorted(missing)))
        return 1
    print(f"the install tree runs {how}; it carries {', '.join(sorted(carried))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
