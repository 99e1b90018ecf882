#!/bin/sh
# Windows, buckets, tracks, the longest, what overlaps, sizes, loading and appending: this index in SQLite and PostgreSQL beside
# covering indexes, BRIN, parallel scans, roll-up tables, DuckDB, and the forest in memory. SIZE=short (default; 10^6 rows),
# full (2 * 10^7, 10^8), or billion (10^9 rows, this index in SQLite alone). ROWS, ORDER and SYSTEMS name a part of it (run.js).
# A run that was stopped goes on where it was; results come to bench/results.
set -eu
build=${BUILD:-build}
folder=$build/bench/side_by_side
has() { command -v "$1" >/dev/null 2>&1; }

for program in node npm; do
	has $program || { echo "side_by_side: skipped, there is no $program (Debian: apt-get install nodejs npm)"; exit 0; }
done
install_gnuplot() {
	[ "$(id -u)" -eq 0 ] && has apt-get && apt-get -qq install -y --no-install-recommends gnuplot-nox >/dev/null 2>&1
}
has gnuplot || install_gnuplot || echo "side_by_side: no plots, there is no gnuplot"
mkdir -p "$folder"
compile() {
	program=$1
	shift
	${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I. -o "$folder/$program" "bench/side_by_side/$program.c" "$@"
}
compile_driver() {
	program=$1
	shift
	compile "$program" bench/side_by_side/driver.c bench/side_by_side/clients.c "$@" -pthread
}
compile spans bench/forest/events.c
compile traces "$build/libtrace.a" -lprotobuf-nanopb -lz -lm
compile_driver sqlite -lsqlite3
compile_driver forest "$build/libiforest.a"
[ ! -e "$build/pg/iforest.so" ] || compile_driver postgres "-I$("${PG_CONFIG:-pg_config}" --includedir)" -lpq
cp bench/side_by_side/package.json "$folder"
npm install --prefix "$folder" --loglevel=error --no-audit --no-fund --no-package-lock >/dev/null
exec env NODE_PATH="$folder/node_modules" node bench/side_by_side/run.js "${SIZE:-short}" "$build" bench/results
