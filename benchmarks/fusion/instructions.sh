#!/bin/sh
# Instructions that fusing a job takes per event, from 16 to 1024 ranks: the work itself, whatever else the machine does.
# Needs valgrind; takes some minutes.
#   benchmarks/fusion/instructions.sh build/benchmarks/simulated_jobs
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for ranks in 16 64 256 1024; do
  valgrind --tool=callgrind --toggle-collect='accel::fusion::fuse*' --callgrind-out-file="$out/$ranks" "$1" once "$ranks" \
    >"$out/said" 2>"$out/log"
  events=$(sed 's/.* ranks, \([0-9]*\) events.*/\1/' "$out/said")
  counted=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log")
  echo "$ranks ranks, $events events: $((counted / events)) instructions an event"
done
