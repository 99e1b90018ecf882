#!/bin/sh
# A model of indexes up to 10^12 spans and 10^7 series (bench/scale_model.c), and its error at sizes that are measured here: SQLite's tables
# of an index by time and one by track over generated spans, their pages by level, and the pages that 1920 buckets read.
#
#     sh bench/scale.sh [ROWS...]        1 000 000 and 10 000 000 by default
#
# A file cold_ROWS.db in FOLDER, as bench/cold.sh leaves it, is taken as it is; others are made in a temporary folder, without covering indexes.
set -eu
build=${BUILD:-build}
[ $# -gt 0 ] || set -- 1000000 10000000
folder=$(mktemp -d "${TMPDIR:-/tmp}/scale.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM
mkdir -p "$build/bench"
${CC:-cc} -std=c11 -O2 -D_POSIX_C_SOURCE=200809L -I"$("${PG_CONFIG:-pg_config}" --includedir)" -o "$build/bench/cold" bench/cold.c -lsqlite3 -lpq
${CC:-cc} -std=c11 -O2 -I. -D_POSIX_C_SOURCE=200809L -o "$build/bench/scale_model" bench/scale_model.c tests/support/merge_simulation.c \
	tests/support/random.c "$build/libiforest.a" -lm

make_spans() { # DATABASE ROWS: as bench/cold.py does
	"$build/bench/cold" sqlite "$1" "$build/iforest" "PRAGMA journal_mode = OFF" "PRAGMA synchronous = OFF" \
		"CREATE TABLE spans(id INTEGER PRIMARY KEY, ts, dur, track)" \
		"INSERT INTO spans WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < $2) SELECT i, i * 1000 + (i * 40503 & 1023),
			(i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) % 24)) - 1), (i * 2654435761 >> 7) & 15 FROM g" \
		"CREATE VIRTUAL TABLE spans_by USING iforest(content=spans, time=ts, duration=dur, by=track)" \
		"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)" >/dev/null
}

measured=
for rows in "$@"; do
	database=${FOLDER:-$folder}/cold_$rows.db
	[ -e "$database" ] || { database=$folder/cold_$rows.db; make_spans "$database" "$rows"; }
	width=$(((rows + 2) * 1000 / 1920 + 1))
	for table in spans_if:1 spans_by:16; do
		pages=${table%:*}_page
		leaves=$(sqlite3 -readonly "$database" "SELECT count(*) FROM $pages WHERE id > 0 AND substr(bytes, 23, 1) = x'00'")
		nodes=$(sqlite3 -readonly "$database" "SELECT count(*) FROM $pages WHERE id > 0 AND substr(bytes, 23, 1) <> x'00'")
		read=$("$build/bench/cold" sqlite "$database" "$build/iforest" \
			"SELECT bucket_start, sum_dur, count FROM ${table%:*}(0, $((width * 1920))) WHERE step = $width" | cut -d ' ' -f 7)
		measured="$measured $rows:${table#*:}:$leaves:$nodes:$read"
		# each table's model has the entries a leaf page of its smallest measured index
		eval "entries_${table#*:}=\${entries_${table#*:}:-\$(echo \"scale = 3; $rows / $leaves\" | bc)}"
	done
	rm -f "$folder/cold_$rows.db"
done
# shellcheck disable=SC2086,SC2154
"$build/bench/scale_model" "$entries_1" "$entries_16" $measured
