#!/bin/sh
# Shows what the index does in PostgreSQL, in a server of its own: on a real trace and on 5 million spans, beside no index
# and beside B-trees; draws them. Run it with `make demo-pg`, or `make demo-pg TRACE=file` for a trace of your own.
#
# All it does to a database stands in the SQL files of this folder; this script only calls them and takes the time. The
# server lives in a temporary directory (tests/pg/cluster.sh) and is gone when this ends. From the environment: BUILD (where
# the programs are; all is written to BUILD/demo-pg), TRACE, SQLITE3, PG_CONFIG. `demo.sh check` only says if there is no
# server to show it in.
set -eu
cd "$(dirname "$0")/../.."
. sql/shown.sh

fail() {
    echo "$*" >&2
    exit 1
}

if [ "${1:-}" != in-cluster ]; then
    # shellcheck source=tests/pg/cluster.sh
    . tests/pg/cluster.sh
    reason=$(cluster_missing)
    [ -z "$reason" ] || fail "There is no PostgreSQL to show it in: $reason"
    [ "${1:-}" != check ] || exit 0
    CLUSTER_SETTINGS="shared_buffers = 512MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
wal_level = minimal
max_wal_senders = 0"
    export CLUSTER_SETTINGS
    exec sh tests/pg/cluster.sh run sh sql/pg/demo.sh in-cluster
fi

BUILD=${BUILD:-build}
TRACE=${TRACE:-}
SQLITE3=${SQLITE3:-sqlite3}
case $BUILD in /*) ;; *) BUILD=./$BUILD ;; esac
here=sql/pg
work=$BUILD/demo-pg
mkdir -p "$work"
export PGDATABASE

dots=
finish() {
    [ -z "$dots" ] || kill "$dots" 2>/dev/null || true
    dots=
}
trap finish EXIT
trap 'exit 130' INT TERM

# A dot a second, from now until finish.
start_dots() {
    while sleep 1 && kill -0 $$ 2>/dev/null; do printf .; done &
    dots=$!
}

# errors quote what a trace says
sql() { shown_errors psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# run DATABASE FILE...: runs the SQL files; leaves in $seconds how long it took.
run() {
    PGDATABASE=$1
    shift
    printf '     '
    start_dots
    cat "$@" | sql -c 'SET client_min_messages = warning' -c '\timing on' -f - >"$work/run.out" ||
        fail "     The demo stops here."
    finish
    seconds=$(awk '/^Time: / {ms += $2} END {printf "%.1f", ms / 1000}' "$work/run.out")
}

# index_step TEXT DATABASE FILE INDEX...: a line that says what indexes cost.
index_step() {
    echo "   $1"
    run "$2" "$3"
    shift 3
    echo " $seconds s"
    for index in "$@"; do
        sql -F ' ' -c "SELECT format('      %-19s %8s MB: %4s bytes a span', relname, to_char(size / 1e6, 'FM99990.0'),
            to_char(size::float8 / greatest(rows, 1), 'FM9999990.0'))
            FROM (SELECT relname, pg_relation_size(oid) AS size, (SELECT count(*) FROM spans) AS rows FROM pg_class
                  WHERE oid = '$index'::regclass) AS c"
    done
}

b_trees='DROP INDEX spans_track_btree, spans_time_btree;'
iforests='DROP INDEX spans_track_if, spans_time_if;'

# ask FILE INDEXES-TO-LEAVE-OUT: the time in ms, of what takes less than a second the median of five, and the answer in
# $work/answer.txt. The indexes that are not asked are dropped in a transaction that is taken back.
ask() {
    batch=1
    while :; do
        {
            echo "BEGIN; $2"
            cat "$work/window.sql"
            printf '%s\n' "\\o '$work/answer.txt'" '\timing on'
            i=0
            while [ $i -lt $batch ]; do
                cat "$here/$1"
                printf '%s\n' '\o /dev/null'
                i=$((i + 1))
            done
            printf '%s\n' '\timing off' 'ROLLBACK;'
        } >"$work/ask.sql"
        sql -f "$work/ask.sql" >"$work/ask.out" || return
        median=$(awk '/^Time: / {print $2}' "$work/ask.out" | sort -n | sed -n "$(((batch + 1) / 2))p")
        if [ $batch -gt 1 ] || awk -v ms="$median" 'BEGIN {exit !(ms > 1000)}'; then
            break
        fi
        batch=5
    done
    echo "$median"
}

same_answer() {
    cmp -s "$work/answer.txt" "$work/expected.txt" ||
        fail "the answers differ: $work/expected.txt without an index, $work/answer.txt with $1"
}

# compare FILE TEXT: one question asked without an index, with B-trees and with iforest.
compare() {
    printf '   %-46s' "$2"
    none_ms=$(ask "$1" "$b_trees $iforests")
    cp "$work/answer.txt" "$work/expected.txt"
    btree_ms=$(ask "$1" "$iforests")
    same_answer B-trees
    iforest_ms=$(ask "$1" "$b_trees")
    same_answer iforest
    awk -v none="$none_ms" -v btree="$btree_ms" -v iforest="$iforest_ms" 'BEGIN {
        printf "%9.*f ms %9.*f ms %9.*f ms\n", 2 * (none < 30), none, 2 * (btree < 30), btree, 2 * (iforest < 30), iforest }'
}

# questions DATABASE: all of them, on the middle eight tenths of the time, a short window in the middle of it, and the track
# that has most spans.
questions() {
    PGDATABASE=$1
    sql -c "CREATE TABLE demo_window AS
            SELECT low + width / 10 AS t0, low + width * 9 / 10 AS t1, low + width / 2 AS short0, low + width / 2 + width / 500 + 1 AS short1, track, tracks
            FROM (SELECT min(ts) AS low, max(ts) - min(ts) AS width FROM spans) AS s,
                 (SELECT (array_agg(track ORDER BY count DESC, track))[1] AS track, array_agg(track ORDER BY track) AS tracks
                  FROM (SELECT track, count(*) AS count FROM spans GROUP BY track) AS t) AS t"
    # the trace's own texts are values, never a part of what psql reads
    echo 'SELECT * FROM demo_window \gset' >"$work/window.sql"
    printf '\n   %-44s%14s %12s %12s\n' 'The same answers, by' 'no index' 'B-tree' 'iforest'
    compare demo_first.sql  'the first 100 spans of a window'
    compare demo_latest.sql 'the latest 100 spans of a track'
    compare demo_each.sql   'the latest span of each track'
    compare demo_track.sql  'sums of a track in a window of 1/500'
    compare demo_short.sql  'sums of everything in a window of 1/500'
    compare demo_window.sql 'sums of everything in a window of 8/10 (*)'
}

# draw DATABASE TITLE PICTURE
draw() {
    PGDATABASE=$1
    printf '\n   drawing it\n     '
    start_dots
    sql -v "what=$2" -f "$here/demo_timeline.sql" >"$3.svg"
    finish
    if command -v rsvg-convert >/dev/null 2>&1 && rsvg-convert -w 1600 "$3.svg" -o "$3.png" 2>/dev/null; then
        echo " $3.svg and .png"
    else
        echo " $3.svg"
    fi
}

record() {
    command -v clang >/dev/null 2>&1 ||
        fail "   there is no clang to record one with: install it, or call make demo-pg TRACE=file with a trace"
    printf '   recording: %s ' "$title"
    TRACE=$work/trace.json
    BUILD=$BUILD SQLITE3=$SQLITE3 sh sql/sqlite/demo_trace.sh "$work/trace" "$TRACE"
    echo
}

# The pictures stay, and the trace that was recorded.
tidy() { rm -f "$work"/*.sql "$work"/*.txt "$work"/*.out; }

echo "1. A real trace"
if [ -n "$TRACE" ]; then
    title=$(basename "$TRACE")
    printf '   %s\n' "$TRACE" | shown
else
    title='clang compiling this project, eight files at a time'
    record
fi
createdb trace
echo "   loading it with trace2pg"
"$BUILD/trace2pg" -d trace --no-index "$TRACE" >"$work/load.txt" || fail "   The demo stops here."
sed -n 's/^/      /; 1p' "$work/load.txt"
if [ "$(PGDATABASE=trace sql -c 'SELECT count(*) FROM spans')" -eq 0 ]; then
    tidy
    echo
    echo "   There are no spans in this trace, so there is nothing to index. Nothing is wrong; try another one."
    exit 0
fi
PGDATABASE=trace sql -c 'CREATE EXTENSION iforest'
index_step "making iforest's indexes" trace $here/demo_index.sql spans_track_if spans_time_if
index_step "making B-trees over the same columns" trace $here/demo_plain.sql spans_track_btree spans_time_btree
questions trace
draw trace "$title" "$work/timeline"

echo
echo "2. Five million spans on 32 tracks"
createdb million
PGDATABASE=million sql -c 'CREATE EXTENSION iforest'
echo "   making them up"
run million $here/demo_generate.sql
echo " $seconds s"
index_step "making iforest's indexes" million $here/demo_index.sql spans_track_if spans_time_if
index_step "making B-trees over the same columns" million $here/demo_plain.sql spans_track_btree spans_time_btree
questions million
draw million 'Five million generated spans' "$work/timeline_5_million"

echo
echo "3. What comes later"
PGDATABASE=million
echo "   inserting 300 000 spans more, in transactions of 1000, with iforest's two indexes alone"
sql -c "$b_trees"
run million $here/demo_insert.sql
echo " $seconds s"
sql -f $here/demo_stats.sql | sed 's/^/      /'
echo "   iforest_merge() makes runs of what is pending, iforest_check() recomputes all that stands in the nodes"
run million $here/demo_merge.sql
echo " $seconds s"
sql -f $here/demo_stats.sql | sed 's/^/      /'
tidy

cat <<END

(*) Answered from the sums that stand in the nodes of iforest's index: EXPLAIN says Custom Scan (IForestAggregate). Without it
    PostgreSQL reads and adds up every row.

Pictures: $work/timeline.svg (the trace), $work/timeline_5_million.svg
The queries: $here/demo_*.sql. A tour: $here/tour.sql. All there is: docs/postgres.md

The server is gone, and the data with it. For a look around in one of your own:

   make pg trace2pg && sudo make install-pg
   psql -c 'CREATE EXTENSION iforest'
   $BUILD/trace2pg $(shown_word "$TRACE")
END
