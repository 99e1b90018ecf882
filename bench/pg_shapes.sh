#!/bin/sh
# Questions beyond sums in PostgreSQL, as unchanged SQL where there is such: by an iforest index, by the plain plan, and where node and DuckDB's
# package are to be had by DuckDB on two threads, by bench/pg_shapes.mjs. Answers are compared.
#
#     sh bench/pg_shapes.sh [ROWS]        1 000 000 by default
#
# DuckDB is the npm package @duckdb/node-api, which is fetched into a temporary folder, or the one in $DUCKDB/node_modules.
set -eu
build=${BUILD:-build}
[ -e "$build/pg/iforest.so" ] || { echo "pg_shapes: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
command -v node >/dev/null || { echo "pg_shapes: skipped, no node"; exit 0; }
CLUSTER_SETTINGS="shared_buffers = 1GB
work_mem = 256MB
max_wal_size = 8GB
checkpoint_timeout = 1h"
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
. tests/pg/cluster.sh
trap 'cluster_stop' EXIT
trap 'exit 143' HUP INT TERM
cluster_start
packages=${DUCKDB:-$cluster_dir}
[ -d "$packages/node_modules/@duckdb/node-api" ] ||
	(command -v npm >/dev/null && cd "$packages" && npm install --no-audit --no-fund --loglevel=error @duckdb/node-api >/dev/null 2>&1) ||
	echo "DuckDB left out: its npm package is not to be had"
node bench/pg_shapes.mjs "$packages" "${1:-1000000}"
