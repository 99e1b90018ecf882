#!/bin/sh
# Speed and memory of reading traces of each format, beside the parser alone. Builds and runs bench/traces.c.
#
#     sh bench/traces.sh [trace ...]             the events of each file, once
#     MB=100 sh bench/traces.sh [trace ...]      copies of each, one behind the other in time, up to so many MB
#
# Without arguments: a trace or two of each format from the folder IFOREST_TRACES (default ../shared/data/traces).
# BUILD (default build) is the folder with chrometrace.so and libtrace.a. REFERENCE names another chrometrace.so, as that of an
# earlier commit, which is measured beside it. Each reading is the best of ROUNDS (3). They are written to a file in TMPDIR
# (/var/tmp), one trace at a time, which is removed.
set -eu
BUILD=${BUILD:-build}
TRACES=${IFOREST_TRACES:-../shared/data/traces}
[ -f "$BUILD/chrometrace.so" ] || { echo "$BUILD/chrometrace.so is missing; run make all" >&2; exit 1; }
[ $# -gt 0 ] || set -- "$TRACES"/pytorch_hta_rank0.json.gz "$TRACES"/chrome_thread_time.json.gz "$TRACES"/fuchsia_trace.json.gz \
	"$TRACES"/formats/perfetto/flutter.pftrace "$TRACES"/formats/perfetto/test_trace.perfetto-trace \
	"$TRACES"/formats/otlp/traces.jsonl "$TRACES"/formats/otlp/trace.pb "$TRACES"/formats/spall/threads_ns.spall
[ -f "$1" ] || { echo "no traces in $TRACES; name some as arguments, or set IFOREST_TRACES" >&2; exit 1; }
mkdir -p "$BUILD/bench"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_GNU_SOURCE -I. -o "$BUILD/bench/traces" bench/traces.c bench/trace_copies.c bench/trace_fields.c \
	"$BUILD/libtrace.a" -lprotobuf-nanopb -lsqlite3 -lz -lm
scratch=$(mktemp "${TMPDIR:-/var/tmp}/iforest_bench_XXXXXX")
trap 'rm -f "$scratch"' EXIT
trap 'exit 1' INT TERM
"$BUILD/bench/traces" "$BUILD/chrometrace.so" "${REFERENCE:-}" "$scratch" "${MB:-0}" "${ROUNDS:-3}" "$@"
