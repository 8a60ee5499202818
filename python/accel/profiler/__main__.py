"""The command accel-profiler: `run` and `doctor` are Python, everything else is the engine."""

import os
import sys

from accel.profiler.errors import ProfilerError

COMMANDS = ("run", "doctor")


def main() -> int:
    words = sys.argv[1:]
    short_for_run = bool(words) and words[0].startswith("--") and "--" in words
    try:
        if short_for_run:
            words = ["run", *words]
        if words and words[0] in COMMANDS:
            from importlib import import_module

            return import_module(f"accel.profiler.command_{words[0]}").main(words[1:])
        from accel.profiler.engine import engine_path

        engine = engine_path()
        os.execv(engine, ["accel-profiler", *words])
    except ProfilerError as error:
        print(f"accel-profiler: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
