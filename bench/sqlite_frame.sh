#!/bin/sh
# Frames of a timeline in SQLite: 16 tracks of 1920 pixels, the index beside plain SQL and SQLite's own floor. ROWS (default 10 000 000)
# sets the size; the data go to a folder of their own under TMPDIR and are removed.
set -eu
build=${BUILD:-build}
rows=${ROWS:-10000000}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -o "$build/bench/sqlite_frame" bench/sqlite_frame.c -lsqlite3
folder=$(mktemp -d "${TMPDIR:-/tmp}/sqlite_frame.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
"$build/bench/sqlite_frame" "$rows" "$folder" "$build/iforest"
