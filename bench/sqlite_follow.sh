#!/bin/sh
# What it costs in SQLite that an index follows its table, beside a covering index: inserted rows, a deleted half, questions with rows
# pending. ROWS (default 2 000 000) sets the size; parts can be named: insert, delete, ask. ROUNDS (default 3): medians of as many.
set -eu
build=${BUILD:-build}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -I. -o "$build/bench/sqlite_follow" bench/sqlite_follow.c bench/sqlite_floor.c -lsqlite3
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
[ $# -gt 0 ] || set -- insert delete ask
for part; do
	"$build/bench/sqlite_follow" "$part" "${ROWS:-2000000}" "${ROUNDS:-3}" "$build"
done
