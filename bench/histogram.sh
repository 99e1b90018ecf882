#!/bin/sh
# What a heatmap from sketches costs in both engines: 112 buckets of time by 47 cells of duration from an index that keeps
# sketches, beside the 99th percentiles of the same buckets, and beside plain SQL over the rows.
#
#     sh bench/histogram.sh [ROWS]     2 000 000 by default
#
# In PostgreSQL also unchanged percentile_disc of these buckets: exact from the index, from its sketches, and by the plain plan.
#
# Milliseconds: in SQLite of the processor, in PostgreSQL elapsed, of one process; medians of ROUNDS (7). Every count at or below a
# bound is compared with plain SQL's: it lies between those of the bound moved by the error that docs/sqlite_sketch.md states.
set -eu
build=${BUILD:-build}
if [ "${1:-}" != inside ]; then
	rows=${1:-${ROWS:-2000000}}
	folder=$(mktemp -d "${TMPDIR:-/tmp}/histogram.XXXXXX")
	trap 'rm -rf "$folder"' EXIT INT TERM
	printf 'machine: %s, %s cores, %s; %s rows\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -sr)" "$rows"
else
	rows=$2
	folder=$3
fi
rounds=${ROUNDS:-7}
end=$((rows * 10))
ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }
median() { sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }
report() { # engine, percentiles, heatmap, plain percentiles, plain heatmap
	printf '%-12s 112 p99s %s ms, 112 x 47 cells %s ms: ratio %s; plain SQL: p99s %s ms, cells %s ms: ratio to the index %s\n' "$1" "$2" "$3" \
		"$(ratio "$3" "$2")" "$4" "$5" "$(ratio "$5" "$3")"
}
of_sqlite() {
	sqlite3 "$folder/d.db" 2>&1 <<-SQL | sed -n 's/^Run Time.*user \([0-9.]*\) sys \([0-9.]*\)/\1 \2/p' | awk '{ print 1000 * ($1 + $2) }' | median
		.load $build/iforest
		SELECT count(*) FROM d_if;
		.output /dev/null
		.timer on
		$(for _ in $(seq "$rounds"); do echo "$1;"; done)
	SQL
}

in_sqlite() {
	sqlite3 "$folder/d.db" <<-SQL
		.load $build/iforest
		PRAGMA synchronous = off;
		CREATE TABLE d(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);
		WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < $rows)
			INSERT INTO d SELECT x, x * 10, CAST(pow(10, 1 + (x * 7919 % 1000003) / 1000003.0 * 2.7 + (x * 104729 % 999983) / 999983.0 * 2.7) AS INTEGER) FROM n;
		CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sketch=dur);
		CREATE TABLE bounds AS SELECT json_group_array(CAST(printf('%.10g', pow(10, value / 8.0)) AS REAL)) AS all_bounds FROM generate_series(8, 53);
	SQL
	p99=$(of_sqlite "SELECT bucket, iforest_quantile(sketch_dur, 0.99) FROM d_if(0, $end, 112)")
	cells=$(of_sqlite "SELECT bucket, lower, h.count FROM d_if(0, $end, 112), iforest_histogram(sketch_dur, (SELECT all_bounds FROM bounds)) AS h")
	plain_p99=$(rounds=1 of_sqlite "SELECT bucket, min(dur) FROM (SELECT ts * 112 / $end AS bucket, dur, cume_dist() OVER (PARTITION BY ts * 112 / $end ORDER BY dur) AS share FROM d WHERE ts < $end) WHERE share >= 0.99 GROUP BY 1")
	plain_cells=$(rounds=1 of_sqlite "SELECT ts * 112 / $end, CAST(log10(dur) * 8 AS INTEGER), count(*) FROM d WHERE ts < $end GROUP BY 1, 2")
	report "SQLite $(sqlite3 -version | cut -d' ' -f1)" "$p99" "$cells" "$plain_p99" "$plain_cells"
	sqlite3 "$folder/d.db" <<-SQL | sed 's/^/             counts beyond the stated error: /; s/|/ of /'
		.load $build/iforest
		CREATE TEMP VIEW w AS SELECT bucket, h.upper AS bound, sum(h.count) OVER (PARTITION BY bucket ORDER BY lower) AS n FROM d_if(0, $end, 112),
			iforest_histogram(sketch_dur, (SELECT all_bounds FROM bounds)) AS h;
		CREATE TEMP TABLE moved AS SELECT DISTINCT bound, bound * 128 / 129 AS low, bound * 128 / 127 AS high FROM w WHERE bound < 9e999;
		CREATE TEMP TABLE plain AS SELECT iforest_bucket(ts, 0, $end, 112) AS bucket, dur, count(*) AS n FROM d WHERE ts < $end GROUP BY 1, 2;
		CREATE TEMP TABLE sums AS SELECT bucket, dur, sum(n) OVER (PARTITION BY bucket ORDER BY dur) AS n FROM plain;
		CREATE INDEX temp.sums_index ON sums(bucket, dur, n);
		SELECT sum(NOT n BETWEEN ifnull((SELECT n FROM sums AS s WHERE s.bucket = w.bucket AND dur < low ORDER BY dur DESC LIMIT 1), 0)
			AND ifnull((SELECT n FROM sums AS s WHERE s.bucket = w.bucket AND dur < high ORDER BY dur DESC LIMIT 1), 0)), count(*) FROM w JOIN moved USING (bound);
	SQL
}

of_postgres() {
	{ echo "SELECT count(*), count(dur), max(iforest_sketch_count(s)) FROM (SELECT ts, dur FROM d) d, (SELECT iforest_sketch(dur) AS s FROM d) s;"
	printf '%s\n' '\timing on'
	for _ in $(seq "$rounds"); do echo "$1;"; done; } |
		psql -X -q -o /dev/null -d postgres 2>&1 | cat >"$folder/times"
	sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' "$folder/times" | median
}

in_postgres() {
	psql -X -q -d postgres <<-SQL
		CREATE EXTENSION iforest;
		ALTER SYSTEM SET max_parallel_workers_per_gather = 0;
		SELECT pg_reload_conf() \g /dev/null
		CREATE TABLE d AS SELECT x AS id, x * 10::bigint AS ts,
			floor(power(10::float8, 1 + (x::bigint * 7919 % 1000003) / 1000003.0::float8 * 2.7 + (x::bigint * 104729 % 999983) / 999983.0::float8 * 2.7))::bigint AS dur FROM generate_series(1, $rows) x;
		CREATE INDEX d_if ON d USING iforest (ts) INCLUDE (dur) WITH (sketch = 'dur');
		VACUUM (FREEZE, ANALYZE) d;
		CREATE FUNCTION bounds() RETURNS float8[] IMMUTABLE LANGUAGE sql AS \$\$ SELECT array_agg(round(power(10::float8, i / 8.0)::numeric, 10)::float8 ORDER BY i) FROM generate_series(8, 53) i \$\$;
	SQL
	by_index="SELECT iforest_bucket(ts, 0, $end, 112) AS bucket, iforest_sketch(dur) AS s FROM d WHERE ts >= 0 AND ts < $end GROUP BY 1"
	p99=$(of_postgres "SELECT bucket, iforest_quantile(s, 0.99) FROM ($by_index) b")
	cells=$(of_postgres "SELECT bucket, lower, count FROM ($by_index) b, iforest_histogram(s, bounds())")
	plain_p99=$(rounds=1 PGOPTIONS='-c iforest.enable=off' of_postgres "SELECT ts * 112 / $end, percentile_disc(0.99) WITHIN GROUP (ORDER BY dur) FROM d WHERE ts < $end GROUP BY 1")
	unchanged="SELECT ts * 112 / $end, percentile_disc(0.99) WITHIN GROUP (ORDER BY dur) FROM d WHERE ts < $end GROUP BY 1"
	exact=$(of_postgres "$unchanged")
	near=$(PGOPTIONS='-c iforest.approximate_percentiles=on' of_postgres "$unchanged")
	plain_cells=$(rounds=1 PGOPTIONS='-c iforest.enable=off' of_postgres "SELECT ts * 112 / $end, width_bucket(dur, bounds()), count(*) FROM d WHERE ts < $end GROUP BY 1, 2")
	report "PostgreSQL $(psql -X -A -t -d postgres -c 'SHOW server_version' | cut -d' ' -f1)" "$p99" "$cells" "$plain_p99" "$plain_cells"
	printf '             unchanged percentile_disc: exact from the index %s ms, from sketches %s ms, plain %s ms\n' "$exact" "$near" "$plain_p99"
	psql -X -q -A -t -d postgres <<-SQL | sed 's/^/             counts beyond the stated error: /; s/|/ of /'
		CREATE TEMP TABLE w AS SELECT bucket, upper AS bound, upper * 128 / 129 AS low, upper * 128 / 127 AS high, sum(count) OVER (PARTITION BY bucket ORDER BY lower) AS n
			FROM ($by_index) b, iforest_histogram(s, bounds());
		CREATE TEMP TABLE sums AS SELECT bucket, dur, sum(n) OVER (PARTITION BY bucket ORDER BY dur) AS n
			FROM (SELECT iforest_bucket(ts, 0, $end, 112) AS bucket, dur::float8 AS dur, count(*) AS n FROM d WHERE ts < $end GROUP BY 1, 2) p;
		CREATE INDEX ON sums (bucket, dur) INCLUDE (n);
		ANALYZE sums;
		SELECT count(*) FILTER (WHERE NOT n BETWEEN coalesce((SELECT n FROM sums s WHERE s.bucket = w.bucket AND dur < low ORDER BY dur DESC LIMIT 1), 0)
			AND coalesce((SELECT n FROM sums s WHERE s.bucket = w.bucket AND dur < high ORDER BY dur DESC LIMIT 1), 0)), count(*) FROM w WHERE bound < 'Infinity';
	SQL
}

if [ "${1:-}" = inside ]; then
	in_postgres
	exit 0
fi
command -v sqlite3 >/dev/null && in_sqlite || echo "SQLite: skipped, no sqlite3"
if [ -e "$build/pg/iforest.so" ]; then
	chmod 777 "$folder"
	tests/pg/cluster.sh run sh bench/histogram.sh inside "$rows" "$folder"
else
	echo "PostgreSQL: skipped, no $build/pg/iforest.so (make pg)"
fi
