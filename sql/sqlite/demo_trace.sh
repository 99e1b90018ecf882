#!/bin/sh
# Records a trace with demo_record.sh, and writes it as one Chrome trace into FILE: the many files share a clock, and SQLite makes one of them.
#
#   sql/sqlite/demo_trace.sh FOLDER FILE [LEAST]     FOLDER holds the files meanwhile; spans shorter than LEAST microseconds are left out.
#
# From the environment: BUILD, where chrometrace.so is; SQLITE3.
set -eu
cd "$(dirname "$0")/../.."
folder=$1
file=$2
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=./$BUILD ;; esac

sh sql/sqlite/demo_record.sh "$folder"
{
    printf '%s\n' ".load '$BUILD/chrometrace'"
    echo 'CREATE TEMP TABLE files(path TEXT, track TEXT, title TEXT, begin_us INTEGER);'
    cat "$folder/files.sql" sql/sqlite/demo_table.sql sql/sqlite/demo_load.sql
    echo "DELETE FROM spans WHERE dur_ns < ${3:-0} * 1000;"
    cat sql/pg/demo_export.sql
} | "${SQLITE3:-sqlite3}" -batch -bail -init /dev/null ':memory:' >"$file.new"
mv "$file.new" "$file"
rm -rf "$folder"
