#!/bin/sh
# From each published version to this one: tables and indexes that the old library has made, in SQLite and PostgreSQL, are asked, written to and
# checked by the new one, before ALTER EXTENSION UPDATE and after it. The old versions are built from this repository's history. TAP.
#
#   tests/dist/upgrade.sh       takes minutes; skipped where the history or PostgreSQL's headers are missing
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/cluster.sh
. "$here/../pg/cluster.sh"
# version=commit
versions='1.0=33eb3a3^ 1.1=7704f50'
reason=$(cluster_missing)
for version in $versions; do
	git cat-file -e "${version#*=}" 2>/dev/null || reason="the history has no commit ${version#*=}"
done
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason"
	exit 0
fi
root=$(pwd)
build=$(cd "${IFOREST_BUILD:-build}" && pwd) || exit 1
temporary=$(mktemp -d) || exit 1
trap 'cluster_stop; rm -rf "$temporary"' EXIT
trap 'exit 143' HUP INT TERM
# shellcheck source=tests/dist/report.sh
. "$here/report.sh"
report_log=$temporary/log

# the SQLite modules of the old versions need YAJL for traces, which are left out
builds() {
	mkdir "$temporary/$1" && git archive "$2" | tar -x -C "$temporary/$1" &&
		MAKEFLAGS='' make -s --no-print-directory "-j$(nproc)" -C "$temporary/$1" WARN= BUILD=build build/iforest.so pg
}

# ---- SQLite ----

sqlite() { sqlite3 -batch -bail -init /dev/null -cmd ".load $1/iforest" "$temporary/spans.db"; }

# how each question is answered from the index, and by plain SQL
sqlite_questions() {
	cat <<-'END'
		SELECT 'window', (SELECT group_concat(track || ' ' || count || ' ' || sum_dur || ' ' || max_dur || ' ' || max_dur_id) FROM (SELECT * FROM spans_if(1000, 90000) ORDER BY track))
			IS (SELECT group_concat(track || ' ' || n || ' ' || s || ' ' || m || ' ' || i) FROM (SELECT track, count(*) AS n, sum(dur) AS s, max(dur) AS m,
			(SELECT min(id) FROM spans b WHERE b.track = a.track AND ts >= 1000 AND ts < 90000 AND b.dur = max(a.dur)) AS i FROM spans a WHERE ts >= 1000 AND ts < 90000 GROUP BY track ORDER BY track));
		SELECT 'buckets', (SELECT group_concat(bucket || ' ' || count) FROM (SELECT bucket, sum(count) AS count FROM spans_if(0, 100000, 10) GROUP BY bucket ORDER BY bucket))
			IS (SELECT group_concat(b || ' ' || n) FROM (SELECT ts / 10000 AS b, count(*) AS n FROM spans WHERE ts < 100000 GROUP BY b ORDER BY b));
		SELECT 'longest', (SELECT group_concat(dur) FROM (SELECT dur FROM spans_rows(0, 100000) ORDER BY dur DESC LIMIT 5))
			IS (SELECT group_concat(dur) FROM (SELECT dur FROM spans WHERE ts < 100000 ORDER BY dur DESC LIMIT 5));
		INSERT INTO spans_if(spans_if) VALUES('integrity-check');
	END
}

sqlite_makes() {
	rm -f "$temporary/spans.db"
	sqlite "$temporary/$1/build" <<-'END'
		CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
		INSERT INTO spans SELECT i, 'track ' || i % 7, i * 3, (i * 7919) % 100003 FROM n;
		CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(track));
		CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if);
		INSERT INTO spans SELECT id + 30000, track, ts + 1, dur + 3 FROM spans WHERE id % 5 = 0;
		INSERT INTO spans_if(spans_if) VALUES('flush');
		UPDATE spans SET dur = dur + 7 WHERE id % 11 = 0;
		DELETE FROM spans WHERE id % 13 = 0;
	END
}

is_right_in_sqlite() {
	sqlite_questions | sqlite "$build" >"$temporary/answers" && cat "$temporary/answers" && [ "$(grep -c '|1$' "$temporary/answers")" = 3 ]
}

sqlite_rebuilds() {
	echo 'SELECT count(*) FROM spans_if;' | sqlite "$build" 2>&1 | grep "detached from its table.*VALUES('rebuild')" &&
		echo "INSERT INTO spans_if(spans_if) VALUES('rebuild');" | sqlite "$build"
}

sqlite_writes() {
	sqlite "$build" <<-'END'
		UPDATE spans SET ts = ts + 2 WHERE id % 17 = 0;
		INSERT INTO spans SELECT id + 100000, 'new ' || id % 3, ts, dur FROM spans WHERE id % 19 = 0;
		DELETE FROM spans WHERE id % 23 = 0;
		INSERT INTO spans_if(spans_if) VALUES('flush');
		INSERT INTO spans_if(spans_if) VALUES('optimize');
	END
}

# ---- PostgreSQL ----

psql_() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

postgres_makes() {
	cluster_root=$temporary/$1
	BUILD=build cluster_start && psql_ <<-'END'
		CREATE EXTENSION iforest;
		CREATE TABLE spans(id bigint PRIMARY KEY, track text, ts bigint, dur bigint);
		INSERT INTO spans SELECT i, 'track ' || i % 7, i * 3, (i * 7919) % 100003 FROM generate_series(1, 30000) i;
		CREATE INDEX spans_if ON spans USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
		SELECT count(*) > 0 FROM unnest(iforest_create_functions('spans_if'));
		INSERT INTO spans SELECT id + 30000, track, ts + 1, dur + 3 FROM spans WHERE id % 5 = 0;
		UPDATE spans SET dur = dur + 7 WHERE id % 11 = 0;
		DELETE FROM spans WHERE id % 13 = 0;
		VACUUM spans;
		INSERT INTO spans SELECT id + 70000, track, ts + 2, dur FROM spans WHERE id % 29 = 0;
		ANALYZE spans;
	END
}

# the library of this version takes the place of the old one, and the server begins again
is_replaced() {
	cluster_unprivileged pg_ctl -D "$cluster_dir/data" -m fast -w -s stop && rm -rf "$cluster_stage_dir" &&
		(cd "$root" && MAKEFLAGS='' make -s --no-print-directory install-pg DESTDIR="$cluster_stage_dir" BUILD="$build") && chmod -R a+rX "$cluster_stage_dir" &&
		cluster_unprivileged pg_ctl -D "$cluster_dir/data" -l "$cluster_dir/server.log" -w -s start
}

is_of_version() { [ "$(psql_ -c "SELECT extversion FROM pg_extension WHERE extname = 'iforest'")" = "$1" ]; }

# with the index, and by the plain plan
is_right_in_postgres() {
	cat >"$temporary/questions.sql" <<-'END'
		SELECT track, count(*), sum(dur), min(dur), max(dur), avg(dur) FROM spans WHERE ts >= 1000 AND ts < 90000 GROUP BY track ORDER BY track;
		SELECT ts / 5000, count(*), max(dur) FROM spans WHERE track = 'track 3' AND ts >= 0 AND ts < 95000 GROUP BY 1 ORDER BY 1;
		SELECT id, ts FROM spans WHERE track = 'track 2' AND ts >= 70000 AND ts < 70500 ORDER BY ts, id;
	END
	psql_ -f "$temporary/questions.sql" >"$temporary/index.txt" && PGOPTIONS='-c iforest.enable=off -c enable_indexscan=off -c enable_bitmapscan=off' psql_ -f "$temporary/questions.sql" >"$temporary/plain.txt" &&
		[ "$(wc -l <"$temporary/plain.txt")" -gt 30 ] && diff "$temporary/plain.txt" "$temporary/index.txt" || return
	psql_ -c "EXPLAIN (COSTS OFF) $(head -n 1 "$temporary/questions.sql")" | grep 'IForestAggregate' || return
	psql_ -c "SELECT iforest_check('spans_if', true)" -c "SELECT sum(count) = (SELECT count(*) FROM spans) FROM spans_if(-10, 1000000)" >"$temporary/check" &&
		cat "$temporary/check" && grep -qx t "$temporary/check"
}

postgres_writes() {
	psql_ <<-'END'
		UPDATE spans SET ts = ts + 2 WHERE id % 17 = 0;
		INSERT INTO spans SELECT id + 1000000 + (SELECT max(id) FROM spans), 'new ' || id % 3, ts, dur FROM spans WHERE id % 19 = 0;
		DELETE FROM spans WHERE id % 23 = 0;
		VACUUM ANALYZE spans;
	END
}

for version in $versions; do
	commit=${version#*=} version=${version%%=*}
	report_of="from $version: "
	report "it is built" builds "$version" "$commit"
	report "in SQLite it makes an index" sqlite_makes "$version"
	[ "$version" != 1.0 ] || report "which is detached, as CHANGELOG.md says, until a rebuild" sqlite_rebuilds
	report "which the new module answers from" is_right_in_sqlite
	report "and writes to" sqlite_writes
	report "and still answers from" is_right_in_sqlite
	report "in PostgreSQL it makes an index" postgres_makes "$version"
	report "it is that version" is_of_version "$version"
	report "the new library takes its place" is_replaced
	report "and answers from it, writes, and answers" eval 'is_right_in_postgres && postgres_writes && is_right_in_postgres'
	report "ALTER EXTENSION iforest UPDATE" psql_ -c 'ALTER EXTENSION iforest UPDATE'
	report "it is the new version" is_of_version "$(sed -n "s/^default_version = '\(.*\)'/\1/p" sql/pg/iforest.control)"
	report "and answers, writes, and answers" eval 'is_right_in_postgres && postgres_writes && is_right_in_postgres'
	report "REINDEX makes it anew" eval 'psql_ -c "REINDEX INDEX spans_if" && is_right_in_postgres'
	cluster_stop
done
report_end
