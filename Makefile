# Every task of the project. `make` alone lists them.
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help build test demo bench-ingest bench-diagnosis bench-report format lint clean

help:  ## list the tasks
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

build:  ## install what is missing, configure, compile; leaves the command at build/accel-profiler
	@tools/setup.sh build
	@[ -f build/build.ninja ] || cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target accel-profiler

demo: build  ## train with a slow image pipeline, diagnose it live, apply the fix; a recorded job where torch cannot be had
	@python3 tools/demo.py

test:  ## every test, sanitizer builds and short fuzz runs too; closes with "N passed, N failed"
	@tools/setup.sh test
	@.venv/bin/python tools/run_tests.py

bench-ingest: build  ## speed and memory of reading a capture, against its requirements
	@tools/setup.sh bench
	@.venv/bin/python benchmarks/ingest/run.py

bench-report: build  ## size of report.html and how fast it answers
	@tools/setup.sh bench
	@.venv/bin/python benchmarks/report/run.py

bench-diagnosis: build  ## how true undisturbed step, gains and replay are, against jobs measured without a profiler
	@python3 benchmarks/diagnosis/run.py

format:  ## format the C++ sources in place
	@tools/setup.sh test
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs .venv/bin/clang-format -i

lint:  ## clang-tidy over the changed C++ sources (LINT=--all for every source)
	@tools/setup.sh test
	@.venv/bin/python tools/run_tidy.py $(LINT)

clean:  ## remove everything that was built
	rm -rf build build-asan build-tsan build-release build-fuzz
