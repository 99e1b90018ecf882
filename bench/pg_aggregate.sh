#!/bin/sh
# What unchanged SQL gains from an index in PostgreSQL: aggregates of windows, buckets and tracks by the index, beside the
# fastest plan without it, by bench/pg_aggregate.c.
#
#     sh bench/pg_aggregate.sh [ROWS]     20 000 000 by default
#
# The cluster has PostgreSQL's defaults but for what is printed. With less than 12 GB of memory, a third of that are buffers.
set -eu
build=${BUILD:-build}
rows=${1:-${ROWS:-20000000}}
megabytes=$(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) / 3072))
[ "$megabytes" -lt 4096 ] || megabytes=4096
settings="shared_buffers = ${megabytes}MB
max_wal_size = 8GB
checkpoint_timeout = 1h
autovacuum = off"
[ -e "$build/pg/iforest.so" ] || { echo "pg_aggregate: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I"$("${PG_CONFIG:-pg_config}" --includedir)" \
	-o "$build/bench/pg_aggregate" bench/pg_aggregate.c bench/pg_session.c -lpq
printf 'machine: %s, %s cores, %s MB, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
	"$(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) / 1024))" "$(uname -sr)"
echo "settings: $(echo "$settings" | paste -sd, | sed 's/,/, /g'), fsync = off"
[ "$megabytes" -eq 4096 ] || echo "  fewer buffers than the 4096 MB that this is meant for"
exec env CLUSTER_SETTINGS="$settings" tests/pg/cluster.sh run "$build/bench/pg_aggregate" "$rows"
