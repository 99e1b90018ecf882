#!/bin/sh
# Simulates flushes and merges over 10 000 000 inserted rows: run count, times a page is written, most work of one flush. No database is used.
# Arguments: rows a flush (default 1000 20000 100000). A table, and $BUILD/bench/policy.csv and policy_*.svg.
set -eu
build=${BUILD:-build}
mkdir -p "$build/bench"
[ $# -gt 0 ] || set -- 1000 20000 100000
${CC:-cc} -std=c11 -O2 -I. -D_POSIX_C_SOURCE=200809L -o "$build/bench/policy" bench/policy.c tests/support/merge_simulation.c \
	tests/support/random.c "$build/libiforest.a"
"$build/bench/policy" "$@" >"$build/bench/policy.csv"
if command -v gnuplot >/dev/null; then
	gnuplot -e "csv='$build/bench/policy.csv'; folder='$build/bench'; flushes='$*'" bench/policy.gp
	echo "plots: $build/bench/policy_*.svg"
else
	echo "gnuplot is not there, no plots"
fi
