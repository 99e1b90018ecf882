#!/bin/sh
# What `make install-core` installs is all that a C program needs: headers that stand alone, a library, and a pkg-config file that
# finds them. The example, and the program in docs/forest.md, are built with that and print what they say they print. So `make install`
# leaves modules that SQLite loads, and all that can be built where only SQLite's headers are there. `make uninstall` and its like take away what was
# installed, and nothing else. TAP.
set -u
build=${IFOREST_BUILD:-build}
compiler=$(command -v gcc || echo cc)
strict="-std=c11 -Wall -Wextra -Werror"
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
prefix=/opt/iforest
root=$temporary/root
n=0
failed=0

# report NAME CODE: a line of TAP; with a code other than 0 the log of what was done
report() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		sed 's/^/# /' "$temporary/log"
		echo "not ok $n - $1"
		failed=1
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

quietly() {
	make --no-print-directory -s BUILD="$build" "$@"
}

install_into() {
	quietly "$@" install-core
}

files_are_where_they_belong() {
	{
		for header in core/forest/*.h; do
			echo ".$prefix/include/iforest/${header##*/}"
		done
		for header in alloc bits platform status aggregate kind monoid; do # what those include
			echo ".$prefix/include/iforest/$header.h"
		done
		echo ".$prefix/lib/libiforest.a"
		echo ".$prefix/lib/pkgconfig/iforest.pc"
	} | sort >"$temporary/expected"
	(cd "$root" && find . -type f | sort) | diff "$temporary/expected" -
}

headers_stand_alone() {
	for header in "$root$prefix"/include/iforest/*.h; do
		printf '#include <iforest/%s>\n' "$(basename "$header")" >"$temporary/alone.c"
		$compiler $strict -fsyntax-only "-I$root$prefix/include" "$temporary/alone.c" || return 1
	done
}

# as C++ has them, by each compiler that is there
headers_are_for_cpp_too() {
	for header in "$root$prefix"/include/iforest/*.h; do
		printf 'extern "C" {\n#include <iforest/%s>\n}\n' "$(basename "$header")"
	done >"$temporary/all.cpp"
	for compiler_of_cpp in g++ clang++; do
		command -v $compiler_of_cpp >/dev/null || continue
		$compiler_of_cpp -std=c++17 -fsyntax-only "-I$root$prefix/include" "$temporary/all.cpp" || return 1
	done
}

# of what was installed under a root, and of what was installed where it stays
under_root() {
	PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root$prefix/lib/pkgconfig pkg-config "$@" iforest
}

in_place() {
	PKG_CONFIG_LIBDIR=$temporary/usr/lib/pkgconfig pkg-config "$@" iforest
}

# prints FLAGS_FROM SOURCE EXPECTED
prints() {
	flags=$($1 --cflags --libs) || return 1
	# The flags are words to be split.
	# shellcheck disable=SC2086
	$compiler $strict "$2" $flags -o "$temporary/program" || return 1
	(cd "$temporary" && ./program >output) || return 1
	diff "$3" "$temporary/output"
}

version_is_the_extensions() {
	[ "default_version = '$(in_place --modversion)'" = "$(grep '^default_version' sql/pg/iforest.control)" ]
}

# block FENCE: the first block of docs/forest.md that begins with that line
block() {
	awk -v fence="$1" 'inside && /^```$/ { exit } inside { print } $0 == fence { inside = 1 }' docs/forest.md
}

modules_load() {
	quietly "DESTDIR=$temporary/a root" "PREFIX=$prefix" install || return 1
	for module in iforest chrometrace; do
		[ -x "$temporary/a root$prefix/lib/iforest/$module.so" ] || return 1
	done
	loaded=$(sqlite3 -batch -init /dev/null :memory: ".load '$temporary/a root$prefix/lib/iforest/iforest'" 'SELECT iforest_version()') && [ -n "$loaded" ]
}

# uninstalls SUFFIX: takes away what install put under a root with a space, but no files of others in the same folders, and says nothing
# where there is nothing left to take away
uninstalls() {
	where=$temporary/"root of install$1"
	mkdir -p "$where" || return 1
	quietly "DESTDIR=$where" "PREFIX=/opt/a b" "install$1" || return 1
	find "$where" -type d | while read -r folder; do touch "$folder/of others.so" "$folder/iforest.txt"; done
	quietly "DESTDIR=$where" "PREFIX=/opt/a b" "uninstall$1" || return 1
	find "$where" -type f ! -name 'of others.so' ! -name iforest.txt | sed 's/^/is left: /' | grep . && return 1
	[ "$(find "$where" -type d | wc -l)" = "$(find "$where" -name iforest.txt | wc -l)" ] || return 1
	find "$where" -type f -exec rm {} +
	quietly "DESTDIR=$where" "PREFIX=/opt/a b" "uninstall$1" || return 1
	find "$where" -name 'iforest*' | grep . && return 1
	return 0
}

# hides HEADER...: of what the trace reader needs, none but these is there; quiet make in a folder of its own, which has core's objects
hides() {
	rm -rf "$temporary/hidden" "$temporary/build" && mkdir -p "$temporary/hidden" "$temporary/build/obj" || return 1
	for header; do
		echo '#error hidden' >"$temporary/hidden/$header"
	done
	cp -Rp "$build/obj/core" "$temporary/build/obj"
}

with_hidden() { quietly "BUILD=$temporary/build" CFLAGS=-O0 "EXTRA=-I$temporary/hidden" "$@"; }

# says_left_out PACKAGE...: make all, in a folder that has everything else, succeeds and says that these are missing, and no others
says_left_out() {
	said=$(with_hidden all) || return 1
	echo "$said" | grep '^Left out: ' >"$temporary/said"
	echo "Left out: libtrace.a chrometrace.so. The reader of traces needs headers of $* (names as in Debian)" | diff - "$temporary/said"
}

# Where only SQLite's headers are there, the index is built and answers; the trace reader alone is left out, and the packages that it needs are named.
modules_without_readers() {
	hides jsmn.h zlib.h pb_decode.h && says_left_out libjsmn-dev zlib1g-dev libnanopb-dev || return 1
	(cd "$temporary/build" && ls -d -- *.a *.so) >"$temporary/built"
	printf 'iforest.so\nlibiforest.a\n' | diff - "$temporary/built" || return 1
	sqlite3 -batch -init /dev/null :memory: ".load '$temporary/build/iforest'" "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts, dur);
		INSERT INTO spans(ts, dur) VALUES (1, 5), (3, 7), (9, 2); CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur);
		SELECT count, sum_dur, max_dur FROM spans_if(1, 9)" >"$temporary/answer" && echo '2|12|7' | diff - "$temporary/answer" || return 1
	with_hidden install "DESTDIR=$temporary/c" && [ "$(cd "$temporary/c" && find . -type f)" = ./usr/local/lib/iforest/iforest.so ] || return 1
	with_hidden uninstall "DESTDIR=$temporary/c" && [ -z "$(find "$temporary/c" -type f)" ]
}

# Each of the three alone is missed, too. All but the reader is built by then.
names_what_is_missing() {
	while read -r header package; do
		rm -f "$temporary"/hidden/*.h && echo '#error hidden' >"$temporary/hidden/$header" && says_left_out "$package" || return 1
	done <<-'END'
		jsmn.h libjsmn-dev
		zlib.h zlib1g-dev
		pb_decode.h libnanopb-dev
	END
}

{ install_into "DESTDIR=$root" "PREFIX=$prefix" && files_are_where_they_belong; } >"$temporary/log" 2>&1
report "files are where they belong" $?
headers_stand_alone >"$temporary/log" 2>&1
report "every header stands alone" $?
headers_are_for_cpp_too >"$temporary/log" 2>&1
report "they can be included from C++" $?
install_into "PREFIX=$temporary/usr" >"$temporary/log" 2>&1
report "installs without DESTDIR" $?
modules_load >"$temporary/log" 2>&1
report "make install leaves modules that load, under a folder with a space" $?
modules_without_readers >"$temporary/log" 2>&1
report "where only SQLite's headers are there, make all and make install leave the trace reader out, and say so" $?
names_what_is_missing >"$temporary/log" 2>&1
report "each package that is missing is named" $?
for suffix in '' -core -pg; do
	if [ "$suffix" = -pg ] && [ ! -e "$build/pg/iforest.so" ]; then
		skip "make uninstall-pg" "the extension is not built"
	else
		uninstalls "$suffix" >"$temporary/log" 2>&1
		report "make uninstall$suffix removes what was installed and nothing else" $?
	fi
done
block '```c' >"$temporary/program_of_docs.c"
block '```text' >"$temporary/output_of_docs"

if command -v pkg-config >/dev/null; then
	version_is_the_extensions >"$temporary/log" 2>&1
	report "the version is the extension's" $?
	prints in_place examples/forest/forest_example.c examples/forest/forest_example.expected >"$temporary/log" 2>&1
	report "the example prints what it should" $?
	prints under_root examples/forest/forest_example.c examples/forest/forest_example.expected >"$temporary/log" 2>&1
	report "so it does if installed under a root" $?
	prints in_place "$temporary/program_of_docs.c" "$temporary/output_of_docs" >"$temporary/log" 2>&1
	report "the program in docs/forest.md prints what it says" $?
else
	for name in version example "example under a root" "program in docs/forest.md"; do
		skip "$name" "there is no pkg-config"
	done
fi
echo "1..$n"
exit $failed
