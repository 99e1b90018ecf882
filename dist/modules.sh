#!/bin/sh
# Compiles the SQLite module for each platform that has a package, from the sources as one file, into FOLDER/PLATFORM.
#
#   dist/modules.sh FOLDER         linux-x64, linux-arm64 (glibc), linux-x64-musl, linux-arm64-musl, win32-x64
#
# It does so in a Debian 11 of its own (tests/dist/chroot.sh; as root), so that the modules load where glibc is 2.31 or newer. The same
# sources give the same bytes. SQLite's headers are this machine's, as those of Debian 11 are older than what the module knows.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/dist/chroot.sh
. "$here/tests/dist/chroot.sh"
reason=$(chroot_missing)
[ -z "$reason" ] || { echo "$reason" >&2; exit 1; }
folder=$(mkdir -p "$1" && cd "$1" && pwd)

chroot_make bullseye cross gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-mingw-w64-x86-64
[ -e "$chroot_root/usr/lib/aarch64-linux-musl" ] || chroot_run sh -c 'dpkg --add-architecture arm64 && apt-get update &&
	apt-get install -y --no-install-recommends musl-dev:amd64 musl-dev:arm64' >"$chroot_root.musl.log" 2>&1 || { tail -n 20 "$chroot_root.musl.log" >&2; exit 1; }
sources=$chroot_root/root/iforest
rm -rf "$sources"
mkdir -p "$sources"
"$here/dist/amalgamate.py" sqlite "$sources"
cp "${SQLITE_INCLUDE:-/usr/include}/sqlite3.h" "${SQLITE_INCLUDE:-/usr/include}/sqlite3ext.h" "$sources"

# build PLATFORM FILE COMPILER OPTION... -- LIBRARY...
build() {
	platform=$1 file=$2
	shift 2
	# The inner shell expands it.
	# shellcheck disable=SC2016
	chroot_run sh -c 'cd /root/iforest && file=$1 compiler=$2 options= && shift 2 && while [ "$1" != -- ]; do options="$options $1"; shift; done && shift &&
		exec $compiler -O2 -shared -I. $options iforest.c -o $file "$@"' build "$file" "$@"
	mkdir -p "$folder/$platform"
	cp "$sources/$file" "$folder/$platform"
	echo "$platform/$file"
}

# build_musl PLATFORM COMPILER CPU FOLDER [OPTION]: with musl's headers and library in the place of glibc's
build_musl() {
	# An option that is not there is no argument.
	# shellcheck disable=SC2086
	build "$1" iforest.so "$2" ${5:-} -fPIC -s -nostdinc -isystem "/usr/include/$3-linux-musl" -isystem "/usr/lib/$4/10/include" \
		-nostdlib "-L/usr/lib/$3-linux-musl" -- -lc -lgcc
}

build linux-x64 iforest.so gcc -fPIC -s -pthread -- -lm
build linux-arm64 iforest.so aarch64-linux-gnu-gcc -fPIC -s -pthread -- -lm
build_musl linux-x64-musl gcc x86_64 gcc/x86_64-linux-gnu
# the functions that atomic operations would call ask glibc for what the processor can do
build_musl linux-arm64-musl aarch64-linux-gnu-gcc aarch64 gcc-cross/aarch64-linux-gnu -mno-outline-atomics
build win32-x64 iforest.dll x86_64-w64-mingw32-gcc -s -static-libgcc -Wl,--no-insert-timestamp --
