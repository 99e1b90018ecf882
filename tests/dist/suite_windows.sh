#!/bin/sh
# Compiles tests for Windows, in the Debian where suite.sh has put the sources: /root/source, SQLite's (/root/sqlite), and the extension as one
# file (/root/one). What the tests take of POSIX and Windows has not is tests/dist/windows.
#
#   suite_windows.sh PROGRAM...     such as sqlite/test_window; they are in /root/source/build-windows/tests
set -e
cd /root
[ -e cmocka ] || { apt-get update && apt-get source cmocka && mv cmocka-*/ cmocka; }
out=source/build-windows compiler="x86_64-w64-mingw32-gcc -O2 -std=gnu11 -D__USE_MINGW_ANSI_STDIO=1 -DFEW_FAULTS"
mkdir -p $out/tests $out/objects
$compiler -shared -I sqlite one/iforest.c -o $out/iforest.so -static-libgcc # the name that the tests ask for
cp $out/iforest.so $out/iforest.dll
[ -e sqlite/sqlite3.o ] || $compiler -c -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_DBSTAT_VTAB \
	-DSQLITE_ENABLE_MATH_FUNCTIONS sqlite/sqlite3.c -o sqlite/sqlite3.o
cp sqlite/sqlite3.o $out/objects
$compiler -c -DHAVE_INTTYPES_H -DHAVE_STDINT_H -DHAVE_STDIO_H -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_IO_H -I cmocka/include cmocka/src/cmocka.c \
	-o $out/objects/cmocka.o
cd source
compiler="$compiler -I. -I../sqlite -I../cmocka/include -Itests/dist/windows -include posix.h"
objects=build-windows/objects
for file in core/*/*.c tests/sqlite/[!t]*.c tests/support/*.c tests/dist/windows/*.c; do
	[ $file = tests/support/limited.c ] || echo $file # fork()
done | xargs -P "$(nproc)" -I {} sh -c '$1 -c "$0" -o "$2/$(echo "$0" | tr / _).o"' {} "$compiler" $objects
rm -f $objects/*.a
x86_64-w64-mingw32-ar rcs $objects/libcore.a $objects/core_*.o
x86_64-w64-mingw32-ar rcs $objects/libsupport.a $objects/tests_support_*.o $objects/tests_dist_*.o
for program; do
	mkdir -p "build-windows/tests/${program%/*}"
	case $program in sqlite/*) shared=$(echo $objects/tests_sqlite_*.o) ;; *) shared= ;; esac
	echo "$program $shared"
done | xargs -P "$(nproc)" -I {} sh -c 'compiler=$1 objects=$2 && set -- $0 && program=$1 && shift &&
	$compiler tests/$program.c "$@" $objects/libsupport.a $objects/libcore.a $objects/sqlite3.o $objects/cmocka.o -o build-windows/tests/$program.exe -static -lm -lpthread' \
	{} "$compiler" $objects
