#!/bin/sh
# A timeline of a trace in the browser:
#
#   sh examples/timeline/timeline.sh                  generated spans, 5 million or as many as SPANS says
#   sh examples/timeline/timeline.sh TRACE            a trace of any format (docs/traces.md)
#   sh examples/timeline/timeline.sh FILE.db          a database that trace2sqlite has made of traces
#
# Makes a database of the first two under BUILD (default build), builds the server, prints where to look, and serves until it is stopped.
# Needs libmicrohttpd (Debian: libmicrohttpd-dev) besides what the project needs. PORT is any by default.
set -eu
trace=${1:-}
case $trace in '' | /*) ;; *) trace=$PWD/$trace ;; esac
cd "$(dirname "$0")/../.."
. sql/shown.sh
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=./$BUILD ;; esac
here=examples/timeline

[ -z "$trace" ] || [ -r "$trace" ] || {
    printf 'timeline: cannot read %s\nusage: sh examples/timeline/timeline.sh [TRACE | FILE.db]\n' "$trace" | shown >&2
    exit 1
}
echo '#include <microhttpd.h>' | cc -E - >/dev/null 2>&1 || {
    echo "timeline: please install libmicrohttpd (Debian: apt-get install libmicrohttpd-dev)" >&2
    exit 1
}
make --no-print-directory -s BUILD="$BUILD" all
mkdir -p "$BUILD/timeline"
if [ ! -e "$BUILD/timeline/server" ] || [ -n "$(find $here -name '*.[ch]' -newer "$BUILD/timeline/server")" ]; then
    cc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$BUILD/timeline/server" $here/*.c -lmicrohttpd -lsqlite3 -pthread
fi

make_up() {
    {
        echo ".load '$BUILD/iforest'"
        echo 'PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -300000;'
        echo ".parameter set :spans ${SPANS:-5000000}"
        echo '.read sql/sqlite/demo_table.sql'
        echo '.read sql/sqlite/demo_generate.sql'
        echo 'ALTER TABLE spans RENAME ts_ns TO ts; ALTER TABLE spans RENAME dur_ns TO dur;'
        cat $here/index.sql
    } | sqlite3 -batch -bail -init /dev/null "$1" >/dev/null
}

if [ -n "$trace" ] && [ "$(head -c 15 "$trace")" = 'SQLite format 3' ]; then
    database=$trace
else
    # files of one name in two folders are two traces
    name=spans-${SPANS:-5000000}
    [ -z "$trace" ] || name=$(basename "$trace")-$(printf %s "$trace" | cksum | cut -d ' ' -f 1)
    database=$BUILD/timeline/$name.sqlite
    if [ ! -e "$database" ] || { [ -n "$trace" ] && [ "$trace" -nt "$database" ]; }; then
        rm -f "$database" "$database.new"
        # of a load that fails, or is interrupted, nothing is kept
        trap 'rm -f "$database.new" "$database.new-journal" "$database.said"' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
        printf 'creating %s\n' "$database" | shown
        if [ -n "$trace" ]; then
            make --no-print-directory -s BUILD="$BUILD" trace2sqlite
            "$BUILD/trace2sqlite" "$database.new" "$trace" >"$database.said"
            sed '/^Ask next/,$d' "$database.said" # of a file that has another name then
        else
            make_up "$database.new"
        fi
        mv "$database.new" "$database"
        rm -f "$database.said"
        trap - EXIT INT TERM
    fi
fi
IFOREST=$BUILD/iforest.so exec "$BUILD/timeline/server" "$database" "${PORT:-0}"
