#!/bin/sh
# What the first question of a process (SQLite) or a session (PostgreSQL) costs where an index has many series: one of N names over a
# fifth of the time, by an iforest index and by a covering index on the same columns, beside one that asks for nothing. Everything is in the
# system's memory. ROWS (default 1 000 000) sets the size, NAMES (default "100 10000 100000") the numbers of series, ROUNDS (default 5)
# how often all are asked in turn; a figure is the median. PART=sqlite or PART=pg has one engine asked. REFERENCE: another working copy, in
# which `make all pg` was run, that is asked in the same rounds.
set -eu
# shellcheck source=bench/pg_program.sh
. bench/pg_program.sh
ROWS=${ROWS:-1000000}
ROUNDS=${ROUNDS:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
pg_machine "$ROWS rows"
modules="$PWD/$build/iforest.so ${REFERENCE:+$REFERENCE/build/iforest.so}"

median() { sort -n | awk '{ at[NR] = $1 } END { printf "%8.2f", at[int((NR + 1) / 2)] }'; }
window="ts >= $((ROWS * 300)) AND ts < $((ROWS * 500))"

# Prints the milliseconds of each of a command's runs, of which there are so many.
timed() { # RUNS COMMAND...
	runs=$1
	shift
	while [ "$runs" -gt 0 ]; do
		began=$(date +%s%N)
		"$@" >/dev/null
		echo "$began $(date +%s%N)" | awk '{ print ($2 - $1) / 1e6 }'
		runs=$((runs - 1))
	done
}

# ---- SQLite ----

by_index() { sqlite3 -batch -cmd ".load $1" "$folder/names.db" "SELECT count, sum_dur FROM named_by($((ROWS * 300)), $((ROWS * 500))) WHERE name = 'name 7'"; }
by_covering() { sqlite3 -batch -cmd ".load $1" "$folder/names.db" "SELECT count(*), sum(dur) FROM named WHERE name = 'name 7' AND $window"; }
by_nothing() { sqlite3 -batch -cmd ".load $1" "$folder/names.db" "SELECT 1"; }

ask_sqlite() { # NAMES
	rm -f "$folder/names.db"
	sqlite3 -batch -cmd ".load $PWD/$build/iforest.so" "$folder/names.db" >/dev/null <<-SQL
		CREATE TABLE named(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, name TEXT);
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $ROWS - 1)
		  INSERT INTO named SELECT i, i * 1000, i * 7919 % 65536, 'name ' || (i * 48271 % $1) FROM n;
		CREATE INDEX named_name ON named(name, ts, dur);
		CREATE VIRTUAL TABLE named_by USING iforest(content=named, time=ts, duration=dur, by=name);
	SQL
	for module in $modules; do
		[ "$(by_index "$module")" = "$(by_covering "$module")" ] || { echo "answers differ"; exit 1; }
	done
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		for module in $modules; do
			timed 5 by_index "$module" >>"$folder/index.$(echo "$module" | tr / _)"
		done
		timed 5 by_covering "$PWD/$build/iforest.so" >>"$folder/covering"
		timed 5 by_nothing "$PWD/$build/iforest.so" >>"$folder/nothing"
		round=$((round + 1))
	done
	printf 'SQLite      %7d names: nothing %s ms, covering index %s, iforest' "$1" "$(median <"$folder/nothing")" "$(median <"$folder/covering")"
	for module in $modules; do
		printf ' %s' "$(median <"$folder/index.$(echo "$module" | tr / _)")"
	done
	printf '%s\n' "${REFERENCE:+ (the latter by the reference)}"
	rm -f "$folder"/index.* "$folder/covering" "$folder/nothing"
}

# ---- PostgreSQL ----

ask_pg() { # within a cluster
	for names in ${NAMES:-100 10000 100000}; do
		psql -X -q -v ON_ERROR_STOP=1 -d postgres <<-SQL
			SET client_min_messages = warning;
			DROP TABLE IF EXISTS by_iforest, by_btree;
			CREATE EXTENSION IF NOT EXISTS iforest;
			CREATE TABLE by_iforest AS SELECT i AS id, i * 1000 AS ts, i * 7919 % 65536 AS dur, 'name ' || (i * 48271 % $names) AS name
				FROM generate_series(0, $ROWS::bigint - 1) i;
			CREATE TABLE by_btree AS TABLE by_iforest;
			CREATE INDEX ON by_iforest USING iforest (name, ts) INCLUDE (dur);
			CREATE INDEX ON by_btree (name, ts) INCLUDE (dur);
			VACUUM (FREEZE, ANALYZE) by_iforest, by_btree;
		SQL
		for of in by_iforest by_btree; do
			echo "SELECT count(*), sum(dur) FROM $of WHERE name = 'name 7' AND $window;" >"$folder/$of.sql"
			psql -X -qAt -d postgres -f "$folder/$of.sql" >"$folder/$of.answer"
		done
		echo "SELECT 1;" >"$folder/nothing.sql"
		cmp -s "$folder/by_iforest.answer" "$folder/by_btree.answer" || { echo "answers differ"; exit 1; }
		round=0
		while [ "$round" -lt "$ROUNDS" ]; do
			for of in by_iforest by_btree nothing; do
				pgbench -n -C -f "$folder/$of.sql" -t 25 postgres 2>/dev/null | sed -n 's/latency average = \([0-9.]*\) ms/\1/p' >>"$folder/$of"
			done
			round=$((round + 1))
		done
		kept=$(psql -X -qAt -d postgres -f "$folder/by_iforest.sql" -c "SELECT sum(total_bytes)::bigint / 1024 FROM pg_backend_memory_contexts WHERE name = 'iforest series'" | tail -n 1)
		printf '%-11s %7d names: nothing %s ms, B-tree %s, iforest %s, and %d KB kept of the series\n' "$1" "$names" "$(median <"$folder/nothing")" \
			"$(median <"$folder/by_btree")" "$(median <"$folder/by_iforest")" "$kept"
		rm -f "$folder/by_iforest" "$folder/by_btree" "$folder/nothing"
	done
}

case ${PART:-} in
pg) ;;
*) for names in ${NAMES:-100 10000 100000}; do ask_sqlite "$names"; done ;;
esac
case ${PART:-} in
sqlite) ;;
*)
	[ -e "$build/pg/iforest.so" ] || { echo "PostgreSQL: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
	# shellcheck source=tests/pg/cluster.sh
	. tests/pg/cluster.sh
	trap 'cluster_stop; rm -rf "$folder"' EXIT
	trap 'exit 143' HUP INT TERM
	CLUSTER_SETTINGS="shared_buffers = 512MB
max_wal_size = 4GB"
	cluster_start
	ask_pg PostgreSQL
	if [ -n "${REFERENCE:-}" ]; then
		cluster_stop
		# shellcheck disable=SC2034 # read by cluster.sh
		cluster_root=$REFERENCE
		cluster_start
		ask_pg "the reference"
	fi
	;;
esac
