#!/bin/sh
# The first question, frame and dashboard of a fresh process over files of which no page is in memory: an index beside covering indexes in
# SQLite and PostgreSQL, and DuckDB with two threads, by bench/cold.py: time, what came from the disk, pages, peak memory.
#
#     sh bench/cold.sh [ROWS]        2 000 000 by default
#
# FOLDER keeps SQLite's and DuckDB's files, or finds them there; PostgreSQL's cluster is made anew, in TMPDIR. SYSTEMS, PARTS (with ; between them) and
# ROUNDS (5) choose; REFERENCE=LIBRARY adds an earlier build of the extension for SQLite. Pages are evicted file by file, so that nothing else on the machine is
# disturbed. DuckDB is the npm package @duckdb/node-api in $DUCKDB/node_modules, or is fetched into a temporary folder, or left out.
set -eu
build=${BUILD:-build}
rows=${1:-${ROWS:-2000000}}
systems=${SYSTEMS:-SQLite PostgreSQL DuckDB}
own=$(mktemp -d "${TMPDIR:-/tmp}/cold.XXXXXX")
trap 'rm -rf "$own"' EXIT INT TERM
folder=${FOLDER:-$own}
packages=${DUCKDB:-$own}
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -I"$("${PG_CONFIG:-pg_config}" --includedir)" -o "$build/bench/cold" bench/cold.c -lsqlite3 -lpq
case $systems in
*DuckDB*)
	[ -d "$packages/node_modules/@duckdb/node-api" ] ||
		(command -v npm >/dev/null && cd "$packages" && npm install --no-audit --no-fund --loglevel=error @duckdb/node-api >/dev/null 2>&1) ||
		{ echo "without DuckDB: its npm package is not to be had"; packages=; }
	;;
esac
printf 'machine: %s, %s cores, %s; %s rows\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)" "$rows"
export SYSTEMS="$systems"
case $systems in
*PostgreSQL*)
	[ -e "$build/pg/iforest.so" ] || { echo "cold: no $build/pg/iforest.so (make pg)"; exit 1; }
	export CLUSTER_SETTINGS="shared_buffers = 512MB
max_wal_size = 8GB
checkpoint_timeout = 1h
random_page_cost = 1.1"
	BUILD="$build" tests/pg/cluster.sh run python3 bench/cold.py "$folder" "$rows" ${packages:+"$packages"}
	;;
*) BUILD="$build" python3 bench/cold.py "$folder" "$rows" ${packages:+"$packages"} ;;
esac
