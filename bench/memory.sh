#!/bin/sh
# What memory itself costs on this machine, by bench/memory/: the floor under the figures of the forest in memory.
#
#     sh bench/memory.sh [short] [PART...]      of: latency bandwidth width prefetch states; all by default
#
# About 2 minutes; short: 20 s, with less memory and fewer repeats.
#
# LARGEST_MIB (default 4096, short 512) is the largest working set. Figures also go to $BUILD/bench/memory.csv.
set -eu
build=${BUILD:-build}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -pthread -o "$build/bench/memory" bench/memory/*.c
printf 'machine: %s, %s cores, %s\n' \
	"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
lscpu -C=NAME,ONE-SIZE,ALL-SIZE,WAYS 2>/dev/null || echo "caches: not known (no lscpu -C)"
"$build/bench/memory" "$build/bench/memory.csv" "$@"
echo
echo "figures with their spread: $build/bench/memory.csv"
