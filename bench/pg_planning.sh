#!/bin/sh
# What an iforest index adds to the planning of queries that it does not answer, by bench/pg_planning.c.
#
#     sh bench/pg_planning.sh [ROWS [ROUNDS]]     200 000 rows and 500 rounds by default
set -eu
build=${BUILD:-build}
[ -e "$build/pg/iforest.so" ] || { echo "pg_planning: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I"$("${PG_CONFIG:-pg_config}" --includedir)" \
	-o "$build/bench/pg_planning" bench/pg_planning.c bench/pg_session.c -lpq
settings="autovacuum = off
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_planning = on
pg_stat_statements.track = all"
printf 'machine: %s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
exec env CLUSTER_SETTINGS="$settings" tests/pg/cluster.sh run "$build/bench/pg_planning" "${1:-200000}" "${2:-500}"
