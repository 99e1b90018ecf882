#!/bin/sh
# A timeline of a trace in the browser:
#
#   sh examples/timeline/timeline.sh                  generated spans, 5 million or as many as SPANS says
#   sh examples/timeline/timeline.sh TRACE            a trace of any format (docs/traces.md)
#
# Makes a database of it under BUILD (default build), builds the server, prints where to look, and serves until it is stopped.
# Needs libmicrohttpd (Debian: libmicrohttpd-dev) besides what the project needs. PORT is any by default.
set -eu
trace=${1:-}
case $trace in '' | /*) ;; *) trace=$PWD/$trace ;; esac
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=./$BUILD ;; esac
here=examples/timeline

[ -z "$trace" ] || [ -r "$trace" ] || {
    echo "timeline: cannot read $trace" >&2
    exit 1
}
echo '#include <microhttpd.h>' | cc -E - >/dev/null 2>&1 || {
    echo "timeline: please install libmicrohttpd (Debian: apt-get install libmicrohttpd-dev)" >&2
    exit 1
}
make --no-print-directory -s BUILD="$BUILD" all
mkdir -p "$BUILD/timeline"
cc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$BUILD/timeline/server" $here/server.c $here/frames.c -lmicrohttpd -lsqlite3 -pthread

# files of one name in two folders are two traces
name=generated-${SPANS:-5000000}
[ -z "$trace" ] || name=$(basename "$trace")-$(printf %s "$trace" | cksum | cut -d ' ' -f 1)
database=$BUILD/timeline/$name.db
if [ ! -e "$database" ] || { [ -n "$trace" ] && [ "$trace" -nt "$database" ]; }; then
    rm -f "$database" "$database.new"
    echo "making $database"
    {
        echo ".load '$BUILD/iforest'"
        echo ".load '$BUILD/chrometrace'"
        echo 'PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -300000;'
        echo '.read sql/sqlite/demo_table.sql'
        if [ -n "$trace" ]; then
            echo 'CREATE TEMP TABLE files(path TEXT, track TEXT, title TEXT, begin_us INTEGER);'
            printf "INSERT INTO files(path) VALUES ('%s');\n" "$(printf %s "$trace" | sed "s/'/''/g")"
            echo '.read sql/sqlite/demo_load.sql'
        else
            echo ".parameter set :spans ${SPANS:-5000000}"
            echo '.read sql/sqlite/demo_generate.sql'
        fi
        cat $here/index.sql
    } | sqlite3 -batch -bail -init /dev/null "$database.new" >/dev/null
    mv "$database.new" "$database"
fi
IFOREST=$BUILD/iforest.so exec "$BUILD/timeline/server" "$database" "${PORT:-0}"
