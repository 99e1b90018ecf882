#!/bin/sh
# Questions of dashboards to an index in SQLite, beside DuckDB over its own table of the same rows: heatmaps, percentiles, different
# values, the last row of each series.
#
#     sh bench/duckdb.sh [ROWS]        2 000 000 by default
#
# DuckDB is the npm package @duckdb/node-api, which is fetched into a temporary folder, or the one in $DUCKDB/node_modules; without it
# the bench is skipped. DuckDB has two threads (THREADS), SQLite one. Milliseconds elapsed, medians of ROUNDS (5); those of SQLite below 5 are the
# processor's, for its shell's clock counts whole ones. Exact answers must be the
# same; an estimate is compared with DuckDB's exact answer within the error that docs/ states.
set -eu
build=${BUILD:-build}
rows=${1:-${ROWS:-2000000}}
folder=$(mktemp -d "${TMPDIR:-/tmp}/duckdb.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM
command -v node >/dev/null || { echo "skipped: no node"; exit 0; }
packages=${DUCKDB:-$folder}
[ -d "$packages/node_modules/@duckdb/node-api" ] ||
	(command -v npm >/dev/null && cd "$packages" && npm install --no-audit --no-fund --loglevel=error @duckdb/node-api >/dev/null 2>&1) ||
	{ echo "skipped: DuckDB's npm package is not to be had"; exit 0; }
printf 'machine: %s, %s cores, %s; %s rows\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)" "$rows"
BUILD=$build node bench/duckdb.mjs "$packages" "$folder" "$rows"
