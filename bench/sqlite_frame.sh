#!/bin/sh
# Frames of a timeline in SQLite: 16 tracks of 1920 pixels, the index beside plain SQL and SQLite's own floor. ROWS (default 10 000 000)
# sets the size; the data go to a folder of their own under TMPDIR and are removed. DATABASE=FILE keeps them in that file, or takes
# them from there if it is there; PARTS names what is measured of it (sqlite_frame.c).
set -eu
build=${BUILD:-build}
rows=${ROWS:-10000000}
parts=${PARTS:-plain same longest sums overlaps threads=1 longest sums names}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -I. -o "$build/bench/sqlite_frame" bench/sqlite_frame.c bench/sqlite_floor.c -lsqlite3
folder=$(mktemp -d "${TMPDIR:-/tmp}/sqlite_frame.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM
database=${DATABASE:-$folder/sqlite_frame.db}
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
[ -e "$database" ] || "$build/bench/sqlite_frame" "$database" "$build/iforest" make="$rows" make-names=10000000
# shellcheck disable=SC2086
"$build/bench/sqlite_frame" "$database" "$build/iforest" $parts
