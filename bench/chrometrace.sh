#!/bin/sh
# Speed and memory of reading Chrome traces, beside what else there is on the machine. Builds and runs
# bench/chrometrace.c.
#
#     sh bench/chrometrace.sh [trace.json[.gz] ...]
#
# Without arguments: the traces in the folder IFOREST_TRACES (default ../shared/data/traces).
# BUILD (default build) is the folder with chrometrace.so and libtrace.a.
set -eu
BUILD=${BUILD:-build}
TRACES=${IFOREST_TRACES:-../shared/data/traces}
[ -f "$BUILD/chrometrace.so" ] || { echo "$BUILD/chrometrace.so is missing; run make all" >&2; exit 1; }
[ $# -gt 0 ] || set -- "$TRACES"/*.json.gz
[ -f "$1" ] || { echo "no traces in $TRACES; name some as arguments, or set IFOREST_TRACES" >&2; exit 1; }
mkdir -p "$BUILD/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I. -o "$BUILD/bench/chrometrace" bench/chrometrace.c "$BUILD/libtrace.a" -lsqlite3 -lz -lm
exec "$BUILD/bench/chrometrace" "$BUILD/chrometrace.so" "$@"
