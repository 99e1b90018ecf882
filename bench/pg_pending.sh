#!/bin/sh
# Questions over rows that are in no run yet, appended and updated, in PostgreSQL: this build beside an earlier one, by bench/pg_pending.c.
#
#     REFERENCE=FOLDER sh bench/pg_pending.sh [ROWS [ROUNDS]]     500 000 rows and 101 rounds by default
#
# FOLDER is a working copy of the project in which `make pg` has run. MEASURE_WITH: a command that the timing part is run by.
set -eu
# shellcheck source=bench/pg_program.sh
. bench/pg_program.sh
rows=${1:-500000}
[ -e "${REFERENCE:-}/build/pg/iforest.so" ] || { echo "pg_pending: REFERENCE names no folder with build/pg/iforest.so"; exit 2; }
pg_program pg_pending
CLUSTER_SETTINGS="shared_buffers = 512MB
max_wal_size = 4GB
checkpoint_timeout = 1h"
pg_machine "$rows rows"
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
