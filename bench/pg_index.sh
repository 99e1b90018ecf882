#!/bin/sh
# What an index costs in PostgreSQL: iforest beside the covering B-tree of the same columns, by bench/pg_index.c.
#
#     sh bench/pg_index.sh [PART...]      of: create sizes copy insert transaction first vacuum scans; all by default
#
# ROWS (default 5 000 000) sets the size, COPY_ROWS (5 000 000) that of COPY, ROUNDS (3) how often, TRACK (text or integer)
# the type of the first column. The cluster has PostgreSQL's defaults (fsync, synchronous_commit) but for what is printed.
set -eu
build=${BUILD:-build}
settings="shared_buffers = 2GB
max_wal_size = 8GB
checkpoint_timeout = 1h
fsync = on
autovacuum = off"
[ -e "$build/pg/iforest.so" ] || { echo "pg_index: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I"$("${PG_CONFIG:-pg_config}" --includedir)" \
	-o "$build/bench/pg_index" bench/pg_index.c bench/pg_session.c -lpq
printf 'machine: %s, %s cores, %s\n' \
	"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
echo "settings: $(echo "$settings" | paste -sd, | sed 's/,/, /g')"
[ $# -gt 0 ] || set -- create sizes copy insert transaction first vacuum scans
exec env CLUSTER_SETTINGS="$settings" ROWS="${ROWS:-5000000}" COPY_ROWS="${COPY_ROWS:-5000000}" ROUNDS="${ROUNDS:-3}" \
	TRACK="${TRACK:-text}" tests/pg/cluster.sh run "$build/bench/pg_index" "$@"
