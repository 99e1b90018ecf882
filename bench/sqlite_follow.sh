#!/bin/sh
# What it costs in SQLite that an index follows its table, beside a covering index. ROWS (default 2 000 000) sets the size.
set -eu
build=${BUILD:-build}
rows=${ROWS:-2000000}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -o "$build/bench/sqlite_follow" bench/sqlite_follow.c -lsqlite3
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
"$build/bench/sqlite_follow" "$rows" "$build"
