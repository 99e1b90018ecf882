#!/bin/sh
# Loading a trace into PostgreSQL: trace2pg from JSON, beside psql's \copy of the same rows from CSV into the same tables (its CSV
# is made from trace2pg's tables, which nobody has who has a trace). Both without iforest indexes; rows are compared.
#
#     sh bench/trace2pg.sh           EVENTS (default 1 000 000) sets the size, ROUNDS (3) how often, FSYNC=on makes commits honest
#
# A private cluster is made and removed. Memory is the highest resident size of the client.
set -eu
build=${BUILD:-build}
events=${EVENTS:-1000000}
rounds=${ROUNDS:-3}
case ${1:-} in
'')
	[ -x "$build/trace2pg" ] || { echo "trace2pg: skipped, no $build/trace2pg (make trace2pg)"; exit 0; }
	CLUSTER_SETTINGS="shared_buffers = 256MB
max_wal_size = 8GB
fsync = ${FSYNC:-off}"
	export CLUSTER_SETTINGS
	exec tests/pg/cluster.sh run sh bench/trace2pg.sh inside
	;;
esac

PGOPTIONS='-c client_min_messages=warning'
export PGOPTIONS
folder=$(mktemp -d "${TMPDIR:-/tmp}/iforest-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# spans of three shapes and one counter in ten events, as Chrome writes them
awk -v n="$events" 'BEGIN {
	printf "{\"traceEvents\":["
	for (i = 0; i < n; i++) {
		printf "%s{\"pid\":%d,\"tid\":%d,\"ts\":%d.%03d,", i ? ",\n" : "", 1000 + i % 3, 2000 + i % 17, 1700000000 + i * 7, i % 1000
		if (i % 10 == 9)
			printf "\"ph\":\"C\",\"name\":\"memory\",\"args\":{\"used\":%d,\"free\":%d}}", i, n - i
		else
			printf "\"ph\":\"X\",\"dur\":%d.%03d,\"cat\":\"toplevel,ipc\",\"name\":\"ThreadControllerImpl::RunTask %d\",\"args\":{\"src_file\":\"net/socket_%d.cc\",\"src_func\":\"OnIOComplete\"}}", i * i % 971, i % 997, i % 211, i % 29
	}
	print "]}"
}' >"$folder/trace.json"

# measure COMMAND...: its output to $folder/output, seconds and the highest resident KiB to $seconds and $peak
measure() {
	start=$(date +%s.%N)
	"$@" >"$folder/output" 2>&1 &
	child=$!
	peak=0
	while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$child/status" 2>/dev/null) && [ -n "$now" ]; do
		peak=$now
		sleep 0.02
	done
	wait "$child" || { cat "$folder/output"; exit 1; }
	seconds=$(echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }')
}

report() { # LABEL SECONDS PEAK
	awk -v label="$1" -v s="$2" -v peak="$3" -v bytes="$bytes" -v rows="$rows" \
		'BEGIN { printf "%-44s %8.2f %10.1f %12.0f %10.1f\n", label, s, bytes / 1e6 / s, rows / s, peak / 1024 }'
}

# hash of all rows of a table, whatever their order
digest() {
	psql -AXqtc "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM $1 t"
}

bytes=$(wc -c <"$folder/trace.json")
psql -AXqtc "SELECT 'PostgreSQL ' || current_setting('server_version') || ', fsync ' || current_setting('fsync')"
echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $events events, $((bytes / 1000000)) MB of JSON"
printf '%-44s %8s %10s %12s %10s\n' '' seconds 'MB JSON/s' rows/s 'peak MiB'
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	measure "$build/trace2pg" --no-index --replace "$folder/trace.json"
	loading=$(sed -n '1s/.*(\([0-9.]*\) s)$/\1/p' "$folder/output")
	rows=$(psql -AXqtc 'SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters)')
	report "trace2pg: JSON to committed rows" "$loading" "$peak"
	report "  and with VACUUM (ANALYZE) of both tables" "$seconds" "$peak"
	if [ $round -eq 1 ]; then
		psql -Xqc "\\copy spans TO '$folder/spans.csv' CSV" -c "\\copy counters TO '$folder/counters.csv' CSV"
	fi
	psql -Xqc 'DROP TABLE IF EXISTS csv_spans, csv_counters' -c 'CREATE TABLE csv_spans(LIKE spans INCLUDING ALL)' \
		-c 'CREATE TABLE csv_counters(LIKE counters INCLUDING ALL)'
	measure psql -Xqc "\\copy csv_spans FROM '$folder/spans.csv' CSV" -c "\\copy csv_counters FROM '$folder/counters.csv' CSV"
	report "psql: \\copy of the same rows as CSV" "$seconds" "$peak"
	for table in spans counters; do
		[ "$(digest $table)" = "$(digest csv_$table)" ] || { echo "the rows in $table differ"; exit 1; }
	done
done
echo "all rows are the same"
