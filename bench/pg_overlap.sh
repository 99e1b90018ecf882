#!/bin/sh
# What overlaps a window or its buckets, and the longest in it, in PostgreSQL: by an iforest index, beside SQL with B-trees and with a GiST
# index on ranges, by bench/pg_overlap.c.
#
#     sh bench/pg_overlap.sh [ROWS]     2 000 000 by default
set -eu
build=${BUILD:-build}
rows=${1:-${ROWS:-2000000}}
settings="shared_buffers = 1GB
max_wal_size = 8GB
checkpoint_timeout = 1h
autovacuum = off"
[ -e "$build/pg/iforest.so" ] || { echo "pg_overlap: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I"$("${PG_CONFIG:-pg_config}" --includedir)" \
	-o "$build/bench/pg_overlap" bench/pg_overlap.c bench/pg_session.c -lpq
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
echo "settings: $(echo "$settings" | paste -sd, | sed 's/,/, /g'), fsync = off"
exec env CLUSTER_SETTINGS="$settings" tests/pg/cluster.sh run sh -c '"$0" load "$1" && "$0" measure' "$build/bench/pg_overlap" "$rows"
