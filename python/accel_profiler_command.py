"""The command accel-profiler, in a module of its own: where another package named accel hides ours, it says so."""

import sys


def main() -> int:
    try:
        from accel.profiler.__main__ import main as command
    except ImportError as error:
        print(f"accel-profiler: {what_hides_it() or error}", file=sys.stderr)
        return 3
    return command()


def what_hides_it() -> str:
    """The other package named accel, or nothing."""
    accel = sys.modules.get("accel")
    where = getattr(accel, "__file__", None)
    if not where:
        return ""
    return f"another package named accel hides accel.profiler: {where}; uninstall or rename it, or use an environment without it"


if __name__ == "__main__":
    sys.exit(main())
