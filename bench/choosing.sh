#!/bin/sh
# What by columns and value columns cost: sizes of indexes with other columns over the same rows, and a window of 1 % by all series and
# by one; in SQLite and, where it is built, in PostgreSQL. The figures of docs/choosing.md.
#
#     sh bench/choosing.sh [ROWS]     1 000 000 by default
set -eu
rows=${1:-${ROWS:-1000000}}
build=${BUILD:-build}

# 20 services on 50 hosts each, 100 routes; 10 spans of each route
by_columns='none service service,host service,host,route'
columns_of() { [ "$1" = none ] || echo "$1"; }
from=$((rows * 500)) to=$((rows * 510))
file=$(mktemp "${TMPDIR:-/tmp}/choosing.XXXXXX")
trap 'rm -f "$file"' EXIT

in_sqlite() {
	sqlite3 "$file" <<-END
		CREATE TABLE spans(id INTEGER PRIMARY KEY, service TEXT, host TEXT, route TEXT, ts INTEGER, dur INTEGER, bytes INTEGER, cost INTEGER);
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $rows - 1)
		INSERT INTO spans SELECT i, 'service ' || abs(random() % 20), 'host ' || abs(random() % 50), '/route/' || abs(random() % 100), i * 1000 + abs(random() % 1000),
			abs(random() >> (44 + abs(random() % 19))), abs(random() % 65536), abs(random() % 1000) FROM n;
	END
	echo "SQLite $(sqlite3 --version | cut -d' ' -f1): bytes a row with 1, 2, 3 values; a window of 1 %, milliseconds: all series, one"
	for by in $by_columns; do
		names=$(columns_of "$by")
		for values in dur dur,bytes dur,bytes,cost; do
			sqlite3 "$file" ".load $build/iforest" "CREATE VIRTUAL TABLE f USING iforest(content=spans, time=ts, value=($values), sync=manual${names:+, by=($names)})" \
				"SELECT '$by | ' || series || ' series | $values | ' || round(bytes_per_row, 1) FROM iforest_stats('f')"
			[ "$values" != dur ] || time_sqlite f "$(condition_of "$by")"
			sqlite3 "$file" ".load $build/iforest" 'DROP TABLE f'
		done
	done
	echo "the same by service,host, in 1 run and in 8 runs that each cover all the time"
	sqlite3 "$file" ".load $build/iforest" "CREATE TABLE parts(id INTEGER PRIMARY KEY, service TEXT, host TEXT, ts INTEGER, dur INTEGER)" \
		"CREATE VIRTUAL TABLE g USING iforest(content=parts, time=ts, value=dur, by=(service, host), sync=append)" \
		"INSERT INTO g(g, n) VALUES('automerge', 16)"
	for part in 0 1 2 3 4 5 6 7; do
		sqlite3 "$file" ".load $build/iforest" "INSERT INTO parts SELECT (SELECT coalesce(max(id), 0) FROM parts) + row_number() OVER (), service, host, ts, dur FROM spans WHERE id % 8 = $part" \
			"INSERT INTO g(g) VALUES('flush')"
	done
	for runs in 8 1; do
		sqlite3 "$file" ".load $build/iforest" "SELECT runs || ' runs' FROM iforest_stats('g')"
		time_sqlite g "AND service = 'service 7' AND host = 'host 7'"
		sqlite3 "$file" ".load $build/iforest" "INSERT INTO g(g) VALUES('optimize')"
	done
}

condition_of() {
	case $1 in
	none) ;;
	service) echo "AND service = 'service 7'" ;;
	service,host) echo "AND service = 'service 7' AND host = 'host 7'" ;;
	*) echo "AND service = 'service 7' AND host = 'host 7' AND route = '/route/7'" ;;
	esac
}

# milliseconds a question without a condition and with one; the window is moved, so that nothing is asked twice
time_sqlite() {
	for condition in '' "$2"; do
		rounds=$([ -z "$condition" ] && echo 20 || echo 400)
		sqlite3 "$file" <<-END | sed -n 's/^Run Time: real \([0-9.]*\).*/\1/p'
			.load $build/iforest
			SELECT count(*) FROM $1 WHERE t0 = 0 AND t1 = 1;
			.timer on
			WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $rounds - 1) SELECT sum(x) FROM (SELECT (SELECT sum(count + sum_dur + max_dur)
				FROM $1 WHERE t0 = $from + i * 997 AND t1 = $to + i * 997 $condition) AS x FROM n);
		END
	done | awk '{ printf "  %.3f", $1 * 1000 / (NR == 1 ? 20 : 400) } END { print " ms" }'
}

in_postgres() {
	sql="psql -X -q -A -t -v ON_ERROR_STOP=1"
	$sql <<-END
		CREATE EXTENSION iforest;
		SELECT version();
		SELECT setseed(0.5);
		CREATE TABLE spans AS SELECT i AS id, 'service ' || floor(random() * 20) AS service, 'host ' || floor(random() * 50) AS host, '/route/' || floor(random() * 100) AS route,
			i * 1000::bigint + floor(random() * 1000)::bigint AS ts, floor(power(2, random() * 19))::bigint AS dur, floor(random() * 65536)::bigint AS bytes,
			floor(random() * 1000)::bigint AS cost FROM generate_series(0, $rows - 1) i;
		VACUUM ANALYZE spans;
		SET max_parallel_workers_per_gather = 0;
		CREATE FUNCTION milliseconds(question text, rounds integer) RETURNS numeric LANGUAGE plpgsql AS \$\$
		DECLARE
			started timestamptz := clock_timestamp();
			row record;
		BEGIN
			FOR i IN 1..rounds LOOP
				FOR row IN EXECUTE format(question, $from + i * 997, $to + i * 997) LOOP END LOOP;
			END LOOP;
			RETURN round((extract(epoch FROM clock_timestamp() - started) * 1000 / rounds)::numeric, 3);
		END \$\$;
	END
	echo "bytes a row with 1, 2, 3 values; a window of 1 %, milliseconds: all series, one; without an index"
	for by in $by_columns; do
		names=$(columns_of "$by")
		condition=$(condition_of "$by")
		condition="ts >= %s AND ts < %s ${condition:+AND ${condition#AND }}"
		question="SELECT ${names:+$names,} count(*), sum(dur), max(dur) FROM spans WHERE ts >= %s AND ts < %s ${names:+GROUP BY $names}"
		one="SELECT count(*), sum(dur), max(dur) FROM spans WHERE $condition"
		for values in dur dur,bytes dur,bytes,cost; do
			$sql -c "CREATE INDEX f ON spans USING iforest (${names:+$names,} ts) INCLUDE ($values)" -c "VACUUM spans" \
				-c "SELECT '$by | $values | ' || round(pg_relation_size('f')::numeric / $rows, 1)"
			[ "$values" != dur ] || $sql -c "SET enable_seqscan = off" -c "SET enable_indexscan = off" -c "SET enable_bitmapscan = off" \
				-c "SELECT milliseconds(\$\$$question\$\$, 20), milliseconds(\$\$$one\$\$, 20)" -c "SET iforest.enable = off" -c "SET enable_seqscan = on" \
				-c "SELECT 'plain', milliseconds(\$\$$question\$\$, 3)"
			$sql -c 'DROP INDEX f'
		done
	done
}

if [ -z "${IFOREST_CHOOSING:-}" ]; then
	echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr)"
	in_sqlite
	[ ! -e "$build/pg/iforest.so" ] || exec env IFOREST_CHOOSING=1 CLUSTER_SETTINGS='shared_buffers = 1GB
max_wal_size = 8GB' tests/pg/cluster.sh run sh "$0" "$rows"
else
	in_postgres
fi
