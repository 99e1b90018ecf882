#!/bin/sh
# The steady state in PostgreSQL: rows are inserted at a rate for a time, merged and vacuumed meanwhile, while clients ask about the latest ones.
#
#     DURATION=3600 sh bench/steady.sh
#
# RATE (50 000) rows a second come a thousand at a time, spans of 32 tracks, one in a hundred of them up to two minutes late; CLIENTS (8) ask
# QUESTIONS (40) a second in all, drawn from four: the last minute, a curve of 300 points over the last five minutes, each track over ten minutes, and
# the ten longest of a minute. INDEX=btree: with the covering B-tree instead. Rows, bytes and runs are printed ten times, then
# medians and 99th percentiles of answers and of a thousand rows inserted, from when they were due, for each half of the time. In the end the index is checked against the table.
# The server has PostgreSQL's defaults, autovacuum as well, but for what is printed and autovacuum_vacuum_insert_scale_factor = 0.01.
set -eu
export LC_ALL=C
seconds=${DURATION:-3600} rate=${RATE:-50000} clients=${CLIENTS:-8} questions=${QUESTIONS:-40} index=${INDEX:-iforest}
build=${BUILD:-build}
if [ "${1:-}" != inside ]; then
	settings="shared_buffers = 1GB
max_wal_size = 8GB
fsync = on
autovacuum = on
autovacuum_naptime = 15s"
	[ -e "$build/pg/iforest.so" ] || { echo "steady: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
	[ -x "$("${PG_CONFIG:-pg_config}" --bindir)/pgbench" ] || { echo "steady: skipped, no pgbench"; exit 0; }
	printf 'machine: %s, %s cores, %s\n' \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)"
	echo "settings: $(echo "$settings" | paste -sd, | sed 's/,/, /g')"
	exec env CLUSTER_SETTINGS="$settings" tests/pg/cluster.sh run sh bench/steady.sh inside
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/iforest-steady.XXXXXX")
trap 'rm -rf "$folder"' EXIT
ask() { psql -X -q -A -t -F '|' -v ON_ERROR_STOP=1 -c "$1"; }

ask "CREATE EXTENSION iforest"
ask "CREATE TABLE spans(id bigint, track integer, ts bigint, dur bigint)"
# what docs/postgres_plans.md advises for tables that grow; by default a fifth of the table has to come before pages become all-visible
ask "ALTER TABLE spans SET (autovacuum_vacuum_insert_scale_factor = 0.01)"
ask "CREATE INDEX spans_index ON spans USING $index (track, ts) INCLUDE (dur)"
ask "CREATE INDEX spans_time ON spans USING $index (ts) INCLUDE (dur)"
ask "CREATE SEQUENCE ids CACHE 1000"

# times are microseconds
now="(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
cat >"$folder/write.sql" <<END
INSERT INTO spans SELECT nextval('ids'), i * 7 & 31, n.now + i - CASE WHEN i % 100 = 0 THEN (random() * 120000000)::bigint ELSE 0 END, (random() ^ 8 * 10000000)::bigint
FROM generate_series(1, 1000) i, (SELECT $now AS now) n;
END
echo "SELECT $now AS now \\gset
SELECT count(*), sum(dur), max(dur) FROM spans WHERE ts >= :now - 60000000 AND ts < :now;" >"$folder/ask1.sql"
echo "SELECT $now AS now \\gset
SELECT ts / 1000000, count(*), max(dur) FROM spans WHERE ts >= :now - 300000000 AND ts < :now GROUP BY 1;" >"$folder/ask2.sql"
echo "SELECT $now AS now \\gset
SELECT track, count(*), sum(dur) FROM spans WHERE ts >= :now - 600000000 AND ts < :now GROUP BY 1;" >"$folder/ask3.sql"
echo "SELECT $now AS now \\gset
SELECT id, ts, dur FROM spans WHERE ts >= :now - 60000000 AND ts < :now ORDER BY dur DESC LIMIT 10;" >"$folder/ask4.sql"

echo "$index, $rate rows a second for $seconds s, $clients clients that ask $questions questions a second"
began=$(date +%s)
wal=$(ask "SELECT pg_current_wal_insert_lsn()")
pgbench -n -c 1 -T "$seconds" -R $((rate / 1000)) -f "$folder/write.sql" -l --log-prefix="$folder/written" >"$folder/write.out" 2>&1 &
writer=$!
pgbench -n -c "$clients" -j 2 -T "$seconds" -R "$questions" -f "$folder/ask1.sql" -f "$folder/ask2.sql" -f "$folder/ask3.sql" -f "$folder/ask4.sql" -l \
	--log-prefix="$folder/asked" >"$folder/ask.out" 2>&1 &
asker=$!

shape() {
	if [ "$index" = iforest ]; then
		ask "SELECT sum(runs) || ' runs, ' || sum(pending_entries) || ' pending' FROM (SELECT (iforest_stats(name)).* FROM (VALUES ('spans_index'::regclass), ('spans_time')) names(name)) s"
	fi
}
printf '%8s %12s %12s %12s  %s\n' second 'rows' 'table MB' 'indexes MB' 'the indexes then'
step=$((seconds / 10 > 0 ? seconds / 10 : 1))
for tenth in 1 2 3 4 5 6 7 8 9 10; do
	while [ $(($(date +%s) - began)) -lt $((tenth * step)) ]; do sleep 1; done
	printf '%8d %12s %12s %12s  %s\n' $((tenth * step)) "$(ask 'SELECT last_value FROM ids')" \
		"$(ask "SELECT pg_relation_size('spans') / 1000000")" "$(ask "SELECT pg_indexes_size('spans') / 1000000")" "$(shape)"
done
wait $writer $asker || { cat "$folder/write.out" "$folder/ask.out"; exit 1; }

# pgbench logs: client, transaction, microseconds, file, second, microsecond
percentiles() {
	sort -n | awk -v what="$1" '{ us[NR] = $1 } END {
		if (NR) printf "  %-34s %9d  median %8.2f ms  99 %% within %8.2f ms  the longest %9.2f ms\n", what, NR, us[int((NR + 1) / 2)] / 1000, us[int(NR * 0.99 + 0.5)] / 1000, us[NR] / 1000 }'
}
rows=$(ask "SELECT count(*) FROM spans")
printf 'rows %s, %s a second; %s bytes of WAL a row\n' "$rows" $((rows / seconds)) \
	"$(ask "SELECT round((pg_current_wal_insert_lsn() - '$wal') / $rows, 1)")"
for part in 1 2; do
	from=$((began + (part - 1) * seconds / 2)) to=$((began + part * seconds / 2 + (part - 1) * seconds))
	echo "half $part of the time:"
	cat "$folder"/written.* | awk -v from=$from -v to=$to '$5 >= from && $5 < to { print $3 }' | percentiles 'a thousand rows'
	for file in 0 1 2 3; do
		cat "$folder"/asked.* | awk -v from=$from -v to=$to -v file=$file '$5 >= from && $5 < to && $4 == file { print $3 }' |
			percentiles "$(echo 'the last minute,a curve of five minutes,each track over ten minutes,the ten longest of a minute' | cut -d, -f$((file + 1)))"
	done
done
if [ "$index" = iforest ]; then
	ask "SELECT iforest_check('spans_index', true), iforest_check('spans_time', true)" >/dev/null
	question='SELECT count(*), sum(dur), max(dur), min(ts) FROM spans WHERE ts > 0'
	[ "$(ask "SET enable_seqscan = off; $question")" = "$(ask "SET iforest.enable = off; SET enable_indexscan = off; SET enable_bitmapscan = off; $question")" ] ||
		{ echo "steady: ANSWERS DIFFER"; exit 1; }
	echo "both indexes are those of the table"
fi
