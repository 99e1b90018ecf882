#!/bin/sh
# What `make install-core` installs is all that a C program needs: headers that stand alone, a library, and a pkg-config file that
# finds them. The example, and the program in docs/forest.md, are built with that and print what they say they print. So `make install`
# leaves modules that SQLite loads, and all that can be built where jsmn is missing. `make uninstall` and its like take away what was
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

# Where jsmn's header cannot be read, everything but the trace reader is built and installed, and the package is named. The folder of
# the build is a copy without what is left out.
modules_without_jsmn() {
	mkdir -p "$temporary/hidden" "$temporary/build/obj" || return 1
	echo '#error hidden' >"$temporary/hidden/jsmn.h"
	cp -Rp "$build/obj/core" "$build/obj/sqlite_ext" "$temporary/build/obj" && rm -f "$temporary"/build/obj/sqlite_ext/chrometrace* || return 1
	without_jsmn() { quietly "BUILD=$temporary/build" "EXTRA=-I$temporary/hidden" "DESTDIR=$temporary/c" "$@"; }
	without_jsmn all | grep 'chrometrace\.so.*libjsmn-dev' || return 1
	(cd "$temporary/build" && ls -d -- *.a *.so) >"$temporary/built"
	printf 'iforest.so\nlibiforest.a\n' | diff - "$temporary/built" || return 1
	without_jsmn install && [ "$(cd "$temporary/c" && find . -type f)" = ./usr/local/lib/iforest/iforest.so ] || return 1
	without_jsmn uninstall && [ -z "$(find "$temporary/c" -type f)" ]
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
modules_without_jsmn >"$temporary/log" 2>&1
report "without jsmn's header make all and make install leave the trace reader out, and say so" $?
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
