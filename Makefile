# Every task of the project. `make` alone lists them.
JOBS ?= $(shell nproc)
PRESET ?= dev

.DEFAULT_GOAL := help
.PHONY: help build test demo bench-ingest format lint clean

help:  ## list the tasks
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

build:  ## configure and compile; leaves the command at build/accel-profiler
	@[ -f build/build.ninja ] || cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build --preset $(PRESET) -j $(JOBS)

clean:  ## remove everything that was built
	rm -rf build build-asan build-tsan build-release build-fuzz
