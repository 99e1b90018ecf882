#!/bin/sh
# Windows and buckets in SQLite, plain SQL beside the index. ROWS (default 20 000 000) sets the size.
set -eu
build=${BUILD:-build}
rows=${ROWS:-20000000}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -o "$build/bench/sqlite_zoom" bench/sqlite_zoom.c -lsqlite3 -lm
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
"$build/bench/sqlite_zoom" "$rows" "$build"
