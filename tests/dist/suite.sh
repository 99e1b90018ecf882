#!/bin/sh
# The tests of SQLite and of core on other machines: compiled for them, and run by qemu-user and wine. As root.
#
#   tests/dist/suite.sh [arm64] [s390x] [windows]      all three, or those named; takes long: LIMIT seconds a program (default 900)
#
# s390x has the other byte order, in which two tests of core/page/test_format fail: they look at the image of a forest, which is in the
# machine's own (FORMAT.md). Programs that take hours there, or that need the readers of traces or other programs, are left out; PROGRAMS
# names others, such as "sqlite/test_window core/page/test_page". Counts as tests/run.sh does; logs lie in build/suite-PLATFORM/logs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/chroot.sh
. "$here/chroot.sh"
reason=$(chroot_missing; for program in qemu-aarch64 qemu-s390x wine; do command -v $program >/dev/null || echo "this needs $program"; done)
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason" | tr '\n' ' '
	echo
	exit 0
fi
build=$(mkdir -p "${IFOREST_BUILD:-build}" && cd "${IFOREST_BUILD:-build}" && pwd) || exit 1
[ $# -gt 0 ] || set -- arm64 s390x windows
long='faults|damage|random_changes|random_transactions|stress'
elsewhere='chrometrace|traces|trace2sqlite|docs|nsys|line|sync|vectors'

programs() {
	if [ -n "${PROGRAMS:-}" ]; then
		printf '%s\n' $PROGRAMS
	else
		ls tests/sqlite/test_*.c tests/core/*/test_*.c | sed 's/^tests\///; s/\.c$//' | grep -Ev "sqlite/test_($long)$" | grep -Ev "sqlite/test_($without)$"
	fi
}

# cross PLATFORM GNU-NAME: compiled with that Debian's libraries, by the Makefile, which leaves out the readers of traces
cross() {
	chroot_run sh -c "[ -e /usr/lib/$2/libcmocka.so ] || { dpkg --add-architecture $1 && apt-get update &&
		apt-get install -y --no-install-recommends gcc-$2 libc6-dev:$1 libsqlite3-dev:$1 libcmocka-dev:$1; } &&
		mkdir -p /root/bin-$1 && ln -sf /usr/bin/$2-ar /root/bin-$1/ar && cd /root/source &&
		PATH=/root/bin-$1:\$PATH make -s -k -j$(nproc) CC=$2-gcc WARN= BUILD=build-$1 PG_CONFIG=none build-$1/iforest.so \$(echo '$(programs)' | sed 's|^|build-$1/tests/|')"
}

# Windows: by hand, as there is no make for it; what it has not is tests/dist/windows
cross_windows() {
	dist/sqlite.sh "$build/dist/sqlite" && mkdir -p "$chroot_root/root/sqlite" && cp "$build"/dist/sqlite/* "$chroot_root/root/sqlite" || return
	dist/amalgamate.py sqlite "$chroot_root/root/one" || return
	echo "deb-src $chroot_mirror bookworm main" >"$chroot_root/etc/apt/sources.list.d/source.list"
	cat >"$chroot_root/root/windows.sh" <<-'END'
		set -e
		cd /root
		[ -e cmocka ] || { apt-get update && apt-get source cmocka && mv cmocka-*/ cmocka; }
		out=source/build-windows compiler="x86_64-w64-mingw32-gcc -O2 -std=gnu11 -D__USE_MINGW_ANSI_STDIO=1 -DHAVE_INTTYPES_H -DHAVE_STDINT_H -DHAVE_STDIO_H -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_IO_H"
		mkdir -p $out/tests $out/objects
		$compiler -shared -I sqlite one/iforest.c -o $out/iforest.so -static-libgcc # the name that the tests ask for
		cp $out/iforest.so $out/iforest.dll
		[ -e sqlite/sqlite3.o ] || $compiler -c -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_MATH_FUNCTIONS sqlite/sqlite3.c -o sqlite/sqlite3.o
		cp sqlite/sqlite3.o $out/objects
		$compiler -c -I cmocka/include cmocka/src/cmocka.c -o $out/objects/cmocka.o
		cd source
		$compiler -c -Itests/dist/windows tests/dist/windows/posix.c -o build-windows/objects/posix.o
		for file in core/*/*.c tests/sqlite/[!t]*.c tests/support/*.c; do
			$compiler -c -I. -I../sqlite -I../cmocka/include -Itests/dist/windows -include posix.h $file -o build-windows/objects/$(echo $file | tr / _).o || echo "not for Windows: $file"
		done
		cd build-windows/objects
		rm -f *.a
		x86_64-w64-mingw32-ar rcs libcore.a core_*.o
		x86_64-w64-mingw32-ar rcs libsupport.a tests_support_*.o
		cd ../..
		for program in $@; do
			folder=build-windows/tests/${program%/*} o=build-windows/objects
			mkdir -p $folder
			case $program in sqlite/*) shared="$o/tests_sqlite_*.o $o/tests_support_examples.c.o $o/tests_support_vectors*.o" ;; *) shared=$o/libsupport.a ;; esac
			$compiler -I. -I../sqlite -I../cmocka/include -Itests/dist/windows -include posix.h tests/$program.c $shared $o/libcore.a $o/sqlite3.o $o/cmocka.o $o/posix.o \
				-o build-windows/tests/$program.exe -static -lm -lpthread || echo "not for Windows: $program"
		done
	END
	chroot_run sh /root/windows.sh $(programs)
}

chroot_make bookworm suite make gcc libc6-dev dpkg-dev xz-utils gcc-mingw-w64-x86-64 || exit 1
code=0
for platform in "$@"; do
	out=$build/suite-$platform
	rm -rf "$out"
	mkdir -p "$out"
	chroot_sources root/source
	without=$elsewhere
	case $platform in
	arm64) cross arm64 aarch64-linux-gnu; runner="qemu-aarch64 -L $chroot_root" suffix= ;;
	s390x) cross s390x s390x-linux-gnu; runner="qemu-s390x -L $chroot_root" suffix= ;;
	windows) cross_windows; runner=wine suffix=.exe ;;
	esac >"$out/compile.log" 2>&1
	compiled=$chroot_root/root/source/build-$platform
	here_too=
	for program in $(programs); do
		if [ -e "$compiled/tests/$program$suffix" ]; then
			here_too="$here_too $compiled/tests/$program$suffix"
		else
			echo "$platform: $program does not compile there"
		fi
	done
	export WINEPREFIX="$out/wine" WINEDEBUG=-all
	# The list is words.
	# shellcheck disable=SC2086
	IFOREST_BUILD=$compiled BUILD=$out RUNNER="$runner" tests/run.sh "$platform" $here_too
	printf '%s: ' "$platform"
	BUILD=$out tests/run.sh --sum || code=1
done
exit $code
