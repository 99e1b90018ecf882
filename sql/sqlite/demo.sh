#!/bin/sh
# Shows what the index does, on a real trace and on 5 million spans, beside the best plain SQL; draws what it says. Run it with
# `make demo`, or `make demo TRACE=file` for a trace of your own.
#
# All it does to a database stands in the SQL files of this folder; this script only calls them and takes the time. From the
# environment: BUILD (where the extensions are and everything is written), TRACE, SQLITE3.
set -eu
cd "$(dirname "$0")/../.."
. sql/shown.sh

BUILD=${BUILD:-build}
TRACE=${TRACE:-}
SQLITE3=${SQLITE3:-sqlite3}
case $BUILD in /*) ;; *) BUILD=./$BUILD ;; esac
here=sql/sqlite
work=$BUILD/demo
mkdir -p "$work"
export SQLITE_TMPDIR="$work"

dots=
finish() {
    [ -z "$dots" ] || kill "$dots" 2>/dev/null || true
    dots=
}
trap finish EXIT
trap 'exit 130' INT TERM

fail() {
    echo "$*" >&2
    exit 1
}

# A dot a second, from now until finish.
start_dots() {
    while sleep 1 && kill -0 $$ 2>/dev/null; do printf .; done &
    dots=$!
}

# errors quote what a trace says
sql() { shown_errors "$SQLITE3" -batch -bail -init /dev/null "$@"; }

settings() {
    echo '.output /dev/null'
    echo 'PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -300000;'
    echo '.output stdout'
    echo ".load '$BUILD/iforest'"
    echo ".load '$BUILD/chrometrace'"
    echo '.parameter init'
}

clock="SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER);"
size='SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size;'

# build DATABASE FILE...: runs the SQL files; leaves in $ms and $bytes how long it took and what the database gained.
build() {
    built=$1
    shift
    {
        settings
        echo "$size"
        echo "$clock"
        cat "$@"
        echo "$clock"
        echo "$size"
    } >"$work/build.sql"
    printf '     '
    start_dots
    sql "$built" <"$work/build.sql" >"$work/build.out" || fail "     The demo stops here."
    finish
    ms=$(awk 'NR == 2 {start = $1} NR == 3 {printf "%.0f", $1 - start}' "$work/build.out")
    bytes=$(awk 'NR == 1 {start = $1} NR == 4 {printf "%.0f", $1 - start}' "$work/build.out")
}

megabytes() { awk -v bytes="$1" 'BEGIN {printf bytes < 1e5 ? "%.1f KB" : "%.1f MB", bytes / (bytes < 1e5 ? 1e3 : 1e6)}'; }

# index_step TEXT DATABASE FILE: a line that says what an index costs.
index_step() {
    echo "   $1"
    build "$2" "$3"
    awk -v ms="$ms" -v bytes="$bytes" -v rows="$rows" -v size="$(megabytes "$bytes")" \
        'BEGIN {printf rows < 1000 ? " %.1f s, %s\n" : " %.1f s, %s: %.1f bytes a span\n", ms / 1000, size, bytes / rows}'
}

# statement NAME SIDE: the part of a file that follows its line "-- SIDE".
statement() { awk -v side="-- $2" '/^-- (plain SQL|iforest)/ {on = index($0, side) == 1; next} on' "$here/$1.sql"; }

# time_of DATABASE FILE: the median of three measurements, in ms. What is quick is measured in batches.
time_of() {
    batch=1
    while :; do
        {
            settings
            cat "$work/window.sql"
            for _ in 1 2 3; do
                echo "$clock"
                echo '.output /dev/null'
                i=0
                while [ $i -lt $batch ]; do
                    echo ".read '$2'"
                    i=$((i + 1))
                done
                echo '.output stdout'
            done
            echo "$clock"
        } >"$work/time.sql"
        median=$(sql "$1" <"$work/time.sql" | awk -v batch=$batch 'NR > 1 {print ($1 - last) / batch} {last = $1}' |
            sort -n | sed -n 2p)
        if [ $batch -gt 1 ] || awk -v ms="$median" 'BEGIN {exit !(ms > 30)}'; then
            break
        fi
        batch=40
    done
    echo "$median"
}

# compare DATABASE NAME TEXT: one question asked both ways.
compare() {
    printf '   %-52s' "$3"
    statement "$2" 'plain SQL' >"$work/plain.sql"
    statement "$2" 'iforest' >"$work/iforest.sql"
    for side in plain iforest; do
        {
            settings
            cat "$work/window.sql" "$work/$side.sql"
        } | sql "$1" >"$work/$side.txt"
    done
    cmp -s "$work/plain.txt" "$work/iforest.txt" ||
        fail "the answers differ: compare $work/plain.txt with $work/iforest.txt"
    plain_ms=$(time_of "$1" "$work/plain.sql")
    iforest_ms=$(time_of "$1" "$work/iforest.sql")
    awk -v plain="$plain_ms" -v iforest="$iforest_ms" 'BEGIN {
        if (iforest <= 0) iforest = 0.01
        printf "%9.*f ms %9.*f ms %8.*f x\n", 2 * (plain < 30), plain, 2 * (iforest < 30), iforest,
            (plain < 10 * iforest) + (plain < iforest), plain / iforest }'
}

# questions DATABASE: all of them, on a window that leaves out a tenth of the spans at each end, and on the track that has most there.
questions() {
    {
        settings
        cat <<'SQL'
.headers off
REPLACE INTO temp.sqlite_parameters(key, value)
  SELECT '@t0', (SELECT ts_ns FROM spans ORDER BY ts_ns LIMIT 1 OFFSET (SELECT count / 10 FROM spans_all))
  UNION ALL
  SELECT '@t1', 1 + (SELECT ts_ns FROM spans ORDER BY ts_ns DESC LIMIT 1 OFFSET (SELECT count / 10 FROM spans_all));
REPLACE INTO temp.sqlite_parameters(key, value)
  SELECT '@track', track FROM spans_by_track(@t0, @t1) ORDER BY count DESC, track LIMIT 1;
SELECT format('REPLACE INTO temp.sqlite_parameters(key, value) VALUES (%Q, %s);', key, quote(value)) FROM temp.sqlite_parameters;
SQL
    } | sql "$1" >"$work/window.sql"
    printf '\n   %-50s%14s %12s\n' 'The same answers, to the last digit, by' 'plain SQL' 'iforest'
    compare "$1" demo_window  'one window: count, sum, maximum'
    compare "$1" demo_buckets '1920 buckets: count, sum, maximum of each'
    compare "$1" demo_share   'one track beside all the others'
    compare "$1" demo_longest 'the longest span of each of 1920 pixels, by name'
    compare "$1" demo_track   'the same for one track, at each depth'
    compare "$1" demo_top     'the ten longest spans'
    echo
    { settings; cat "$work/window.sql"; echo '.mode column'; echo '.headers on'; cat "$work/iforest.sql"; } | sql "$1" | shown | sed 's/^/   /'
}

# draw DATABASE TITLE FILE PICTURE
draw() {
    printf '   drawing %s\n' "$2" | shown
    printf '     '
    start_dots
    {
        settings
        # not echo, which makes characters of a backslash in a name
        printf "REPLACE INTO temp.sqlite_parameters(key, value) VALUES ('@what', '%s');\\n" "$2"
        cat "$here/$3.sql"
    } | sql "$1" >"$4.svg"
    finish
    if command -v rsvg-convert >/dev/null 2>&1 && rsvg-convert -w 1600 "$4.svg" -o "$4.png" 2>/dev/null; then
        echo " $4.svg and .png"
    else
        echo " $4.svg"
    fi
}

# counters DATABASE FILES: those of the trace, or how many spans are open.
counters() {
    echo '   counters: the same of values that rise and fall, with an index of their own'
    build "$1" "$2" "$here/demo_counters.sql"
    sql "$1" "SELECT format(' %,d sample%s of %d counter%s', count(*), iif(count(*) = 1, '', 's'), count(DISTINCT name),
        iif(count(DISTINCT name) = 1, '', 's')) ||
        iif(min(name) GLOB 'open at level *', ': how many spans are open, as there are no counters', '') FROM counters"
}

# left_out DATABASE: what the trace has besides.
left_out() {
    {
        settings
        cat "$work/files.sql"
        cat <<'SQL'
WITH report AS MATERIALIZED (SELECT r.finding, r.what, r.n FROM files AS f, read_trace_report(f.path) AS r)
SELECT format('      %s: %,d %s', finding, n, what) FROM report WHERE finding IN ('left out', 'mended')
UNION ALL
SELECT format('      left out here: %,d span%s never closed', n - loaded, iif(n - loaded = 1, ' that was', 's that were'))
FROM report, (SELECT count(*) AS loaded FROM spans) WHERE finding = 'read' AND what = 'spans' AND n > loaded;
SQL
    } | sql "$1" | shown
}

quoted() { printf '%s' "$1" | sed "s/'/''/g; s/&/\\&amp;/g; s/</\\&lt;/g"; }
seconds() { awk -v ms="$1" 'BEGIN {printf "%.1f", ms / 1000}'; }

echo "1. A real trace"
echo 'CREATE TEMP TABLE files(path TEXT, track TEXT, title TEXT, begin_us INTEGER);' >"$work/files.sql"
if [ -n "$TRACE" ]; then
    title=$(quoted "$(basename "$TRACE")")
    printf "INSERT INTO files(path) VALUES ('%s');\n" "$(printf '%s' "$TRACE" | sed "s/'/''/g")" >>"$work/files.sql"
    read_bytes=$({ gzip -cdf <"$TRACE" | wc -c; } 2>/dev/null || echo 0)
    printf '   %s\n' "$TRACE" | shown
else
    command -v clang >/dev/null 2>&1 ||
        fail "   there is no clang to record one with: install it, or call make demo TRACE=file with a trace"
    title='clang compiling this project, eight files at a time'
    printf '   recording: %s ' "$title"
    sh "$here/demo_record.sh" "$work/trace"
    echo
    cat "$work/trace/files.sql" >>"$work/files.sql"
    read_bytes=$(cat "$work"/trace/*.json | wc -c)
fi

database=$BUILD/demo.db
rm -f "$database"
echo "   loading it into $database"
build "$database" "$work/files.sql" "$here/demo_table.sql" "$here/demo_load.sql"
rows=$(sql "$database" 'SELECT count(*) FROM spans')
if [ "$rows" -eq 0 ]; then
    echo
    echo "   There are no spans in this trace, so there is nothing to index. Nothing is wrong; try another one."
    [ -z "$TRACE" ] || left_out "$database"
    exit 0
fi
sql "$database" "SELECT format(' %,d span%s on %d track%s, up to %d deep', count(*), iif(count(*) = 1, '', 's'), count(DISTINCT track),
    iif(count(DISTINCT track) = 1, '', 's'), max(depth) + 1) FROM spans"
awk -v ms="$ms" -v bytes="$read_bytes" -v size="$(megabytes "$read_bytes")" 'BEGIN {
    printf bytes < 1e5 ? "      from %s of trace in %.2f s\n" : "      from %s of trace in %.2f s: %.0f MB/s\n", size, ms / 1000, bytes / 1e3 / (ms + (ms <= 0)) }'
[ -z "$TRACE" ] || left_out "$database"
index_step "making iforest's indexes, by track and depth and by time" "$database" "$here/demo_index.sql"
index_step "making plain SQL's indexes for the same, which cover all its queries" "$database" "$here/demo_plain.sql"
[ "$rows" -ge 10000 ] || printf '\n   So few spans are quick either way: what the index is for shows in the second part.\n'
questions "$database"
draw "$database" "$title" demo_timeline "$work/timeline"
counters "$database" "$work/files.sql"
draw "$database" "$title: counters" demo_bands "$work/counters"

echo
echo "2. Five million spans on 32 tracks"
large=$BUILD/demo_5_million.db
rm -f "$large"
echo "   making them up in $large"
build "$large" "$here/demo_table.sql" "$here/demo_generate.sql"
rows=5000000
echo " $(seconds "$ms") s"
index_step "making iforest's indexes, by track and depth and by time" "$large" "$here/demo_index.sql"
index_step "making plain SQL's indexes" "$large" "$here/demo_plain.sql"
questions "$large"
draw "$large" 'Five million generated spans' demo_timeline "$work/timeline_5_million"
echo 'CREATE TEMP TABLE files(path TEXT, track TEXT, title TEXT, begin_us INTEGER);' >"$work/no_files.sql"
counters "$large" "$work/no_files.sql"
draw "$large" 'Requests of five million generated spans' demo_bands "$work/counters_5_million"

cat <<END

Pictures: $work/timeline.svg and counters.svg (the trace), $work/timeline_5_million.svg and counters_5_million.svg
The queries: $here/demo_*.sql. A tour: $here/tour.sql. All there is: docs/sqlite.md

Next, look around yourself:

   $SQLITE3 '$database'
   .load '$BUILD/iforest'
   SELECT i.track, count, sum_dur_ns, max_dur_ns, name AS longest FROM spans_by_track AS i JOIN spans ON id = max_dur_ns_id;
END
