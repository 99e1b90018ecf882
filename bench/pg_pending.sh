#!/bin/sh
# Questions over rows that are in no run yet, appended and updated, in PostgreSQL: this build beside an earlier one, by bench/pg_pending.c.
#
#     REFERENCE=FOLDER sh bench/pg_pending.sh [ROWS [ROUNDS]]     500 000 rows and 101 rounds by default
#
# FOLDER is a working copy of the project in which `make pg` has run. MEASURE_WITH: a command that the timing part is run by.
set -eu
build=${BUILD:-build}
rows=${1:-500000}
program=$build/bench/pg_pending
[ -e "${REFERENCE:-}/build/pg/iforest.so" ] || { echo "pg_pending: REFERENCE names no folder with build/pg/iforest.so"; exit 2; }
[ -e "$build/pg/iforest.so" ] || { echo "pg_pending: no $build/pg/iforest.so (make pg)"; exit 2; }
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I"$("${PG_CONFIG:-pg_config}" --includedir)" \
	-o "$program" bench/pg_pending.c bench/pg_session.c -lpq
CLUSTER_SETTINGS="shared_buffers = 512MB
max_wal_size = 4GB
checkpoint_timeout = 1h"
printf 'machine: %s, %s cores, %s; %s rows\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)" "$rows"
. tests/pg/cluster.sh
reference_dir=
stop_both() {
	cluster_stop
	cluster_dir=$reference_dir
	cluster_stop
}
trap stop_both EXIT
trap 'exit 143' HUP INT TERM
here=$cluster_root
cluster_root=$REFERENCE
cluster_start
"$program" load "$rows"
reference_dir=$cluster_dir
cluster_dir=
cluster_root=$here
cluster_start
"$program" load "$rows"
# shellcheck disable=SC2086 # words of a command
${MEASURE_WITH:-} "$program" measure "${2:-101}" "$reference_dir"
