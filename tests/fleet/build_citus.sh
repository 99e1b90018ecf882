#!/bin/sh
# Builds Citus for tests/fleet from a folder with its source, beside a copy of a PostgreSQL server; nothing is installed into the system.
#
#   tests/fleet/build_citus.sh SOURCE FOLDER      then: make check-fleet PG_CONFIG=$(tests/fleet/build_citus.sh SOURCE FOLDER)
#
# Prints the path of the copy's pg_config. Citus leaves some files that it makes in SOURCE; FOLDER becomes some 100 MB, and is left as it is if
# it has a Citus. PG_CONFIG (default: pg_config) chooses the server that is copied. Citus needs a C compiler, and headers: of libpq and, as the server was built with
# them, of zstd, Kerberos and ICU (Debian: libpq-dev libzstd-dev libkrb5-dev libicu-dev). What else it could be built with (curl, lz4) is left out.
set -eu
[ $# -eq 2 ] || { sed -n '4,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
source=$(cd "$1" && pwd)
[ -x "$source/configure" ] || { echo "there is no configure in $source" >&2; exit 2; }
mkdir -p "$2"
folder=$(cd "$2" && pwd)

# the one beside the server: Debian's in /usr/bin does not find its folders by its own
pg_config=$("${PG_CONFIG:-pg_config}" --bindir)/pg_config
copied=$folder$pg_config

# A server finds its folders from where its programs are, if these lie as they did.
copy() {
	mkdir -p "$folder$(dirname "$1")"
	cp -R -L "$1" "$folder$(dirname "$1")"
}

if [ ! -e "$folder$("$pg_config" --pkglibdir)/citus.so" ]; then
	for kind in bindir pkglibdir sharedir includedir; do
		[ -e "$folder$("$pg_config" --$kind)" ] || copy "$("$pg_config" --$kind)"
	done
	[ -e "$folder$("$pg_config" --includedir-server)" ] || copy "$("$pg_config" --includedir-server)"
	mkdir -p "$folder/build"
	(
		cd "$folder/build"
		"$source/configure" PG_CONFIG="$copied" --without-libcurl --without-lz4 &&
			make -s -j"${JOBS:-2}" with_llvm=no && make -s with_llvm=no install
	) >"$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log" >&2; exit 1; }
	rm -rf "$folder/build"
fi
echo "$copied"
