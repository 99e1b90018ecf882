#!/bin/sh
# Runs the SQLite tests with other SQLites than this machine's: the oldest that iforest takes, and the newest to be had.
#
#   tests/sqlite/matrix.sh [PACKAGE...]     better-sqlite3@7.5.1 (SQLite 3.38.2) and better-sqlite3@13.2.0, or those named
#
# The npm packages carry SQLite's source in one file; nothing else of them is used, nor run. Needs npm and its registry while a library is made, in
# IFOREST_SQLITE_MATRIX (default /var/tmp/iforest-sqlite-matrix), where libraries stay and are used again; it must be the caller's own, and not writable by others. Options are those of Debian's library.
# A test may take LIMIT seconds (default 3600: on a busy machine faults take longer than make test allows). Programs
# and modules are those of BUILD (default build), built against this machine's headers.
set -u
. tests/support/own_folder.sh

folder=${IFOREST_SQLITE_MATRIX:-/var/tmp/iforest-sqlite-matrix}
build=${BUILD:-build}
options="-DSQLITE_THREADSAFE=1 -DSQLITE_SECURE_DELETE -DSQLITE_SOUNDEX -DSQLITE_USE_URI -DSQLITE_LIKE_DOESNT_MATCH_BLOBS
	-DSQLITE_MAX_VARIABLE_NUMBER=250000"
for feature in FTS3 FTS3_PARENTHESIS FTS3_TOKENIZER FTS4 FTS5 RTREE MATH_FUNCTIONS COLUMN_METADATA DBSTAT_VTAB UNLOCK_NOTIFY \
	PREUPDATE_HOOK SESSION STMTVTAB; do
	options="$options -DSQLITE_ENABLE_$feature"
done

# prepare PACKAGE FOLDER: its libsqlite3.so.0 there
prepare() {
	[ ! -e "$2/libsqlite3.so.0" ] || return 0
	rm -rf "$2" && mkdir -p "$2" || return
	(cd "$2" && npm pack --silent "$1" >/dev/null && tar -xzf ./*.tgz package/deps/sqlite3) ||
		{ echo "$1: cannot be had" >&2; return 1; }
	echo "$1: compiling SQLite $(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"/\1/p' "$2/package/deps/sqlite3/sqlite3.h")"
	# shellcheck disable=SC2086
	${CC:-cc} -O2 -fPIC -shared -Wl,-soname,libsqlite3.so.0 $options -o "$2/libsqlite3.so.0.new" "$2/package/deps/sqlite3/sqlite3.c" -lm -lpthread -ldl &&
		mv "$2/libsqlite3.so.0.new" "$2/libsqlite3.so.0"
}

# run_tests PACKAGE FOLDER
run_tests() {
	version=$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"/\1/p' "$2/package/deps/sqlite3/sqlite3.h")
	LD_LIBRARY_PATH=$2 ldd "$build/tests/sqlite/test_window" | grep -q "=> $2/" ||
		{ echo "$1: the tests do not take its library" >&2; return 1; }
	mkdir -p "$build/matrix" && rm -f "$build/matrix/results"
	LD_LIBRARY_PATH=$2 IFOREST_BUILD=$build BUILD=$build/matrix LIMIT=${LIMIT:-3600} tests/run.sh "$version" "$build"/tests/sqlite/test_*
	printf 'SQLite %s: ' "$version"
	BUILD=$build/matrix tests/run.sh --sum
}

command -v npm >/dev/null || { echo "this needs npm" >&2; exit 1; }
own_folder "$folder" || exit 1
[ $# -gt 0 ] || set -- better-sqlite3@7.5.1 better-sqlite3@13.2.0
code=0
for package in "$@"; do
	{ prepare "$package" "$folder/$package" && run_tests "$package" "$folder/$package"; } || code=1
done
exit $code
