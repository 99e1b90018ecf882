#!/bin/sh
# PostgreSQL with assertions, from Debian's source, and the tests in it (make check-assert).
#
#   tests/pg/assert.sh           builds the server where it is not there yet, and runs the tests in it
#   tests/pg/assert.sh server    builds it, and prints the path of its pg_config; all else goes to standard error
#
# To be called in the project's folder. The server is of the major version VERSION (default 15), the newest that the mirror serves the
# source of, and has pages of BLOCKSIZE KiB (default 8). It lies in the folder IFOREST_ASSERT (default /var/tmp/iforest-assert; 45 MB for
# each, and as much for the source), and is used again while version and configuration stay the same. The mirror is that of this machine's
# apt, whose own lists of sources stay as they are. Root installs the packages that the build needs. Without a mirror a server that is
# there is used; without that, all is skipped.
#
# The tests: the SQL suite, the isolation specs and random queries (IFOREST_QUERIES); a part of the suite with catalog caches that keep
# nothing, and with a standby that compares each page that it replays with the page of the primary.
set -u
# shellcheck source=tests/support/own_folder.sh
. tests/support/own_folder.sh

version=${VERSION:-15}
blocksize=${BLOCKSIZE:-8}
folder=${IFOREST_ASSERT:-/var/tmp/iforest-assert}
build=${BUILD:-build}
packages="gcc libc6-dev make dpkg-dev bzip2 xz-utils bison flex perl pkg-config libicu-dev libxml2-dev zlib1g-dev libipc-run-perl"
configuration="--enable-cassert --enable-tap-tests --with-icu --with-libxml --without-readline --with-blocksize=$blocksize"
# The server's headers are not held to warnings, and its speed matters less than the minutes that it takes to compile.
flags="-O1 -g1"
# what is run once more: few, as each look-up in the catalogs takes long, and all changed pages are logged whole
with_no_caches="options"
replayed="options nulls products update"

say() { echo "check-assert: $*" >&2; }

# Creates the folder, and waits until no other run is at work in it.
enter_folder() { own_folder "$folder" && folder=$(cd "$folder" && pwd) && exec 9>>"$folder/lock" && flock 9; }

# apt's programs, over lists of sources of our own
apt() {
	apt_program=$1
	shift
	"$apt_program" -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/apt/lists" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User="$(id -un)" "$@"
}

# Reads the lists of sources from the mirror.
update() {
	option=
	for keyring in /usr/share/keyrings/debian-archive-keyring.*; do
		[ ! -e "$keyring" ] || option=" [signed-by=$keyring]"
	done
	mkdir -p "$folder/apt/lists/partial" "$folder/source" &&
		apt-get indextargets --format "\$(ORIGIN) deb-src$option \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' |
		sed -n 's/^Debian \(.* main\)$/\1/p' | sort -u >"$folder/apt/sources.list" || return
	if [ ! -s "$folder/apt/sources.list" ]; then
		say "apt knows no Debian mirror here (apt-get update)"
		return 1
	fi
	apt apt-get -q update -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o APT::Update::Error-Mode=any >"$folder/apt/log" 2>&1 && return
	say "no mirror: $(grep '^[EW]:' "$folder/apt/log" | tail -n 1)"
	return 1
}

# The folder of the server that is built from a Debian version of the source
server_of() { echo "$folder/postgresql-$1-$blocksize"; }

is_built() { [ "$(cat "$(server_of "$1")/configuration" 2>/dev/null)" = "$configuration $flags" ]; }

# Versions of the source that the mirror knows, newest first. Not all need be served.
versions_known() { apt apt-cache showsrc --only-source "postgresql-$version" 2>/dev/null | sed -n 's/^Version: //p' | sort -Vru; }

# Versions that are built, newest first
versions_built() {
	for path in "$folder/postgresql-$version."*"-$blocksize"; do
		built=${path#"$folder/postgresql-"}
		is_built "${built%"-$blocksize"}" && echo "${built%"-$blocksize"}"
	done | sort -Vr
}

fetch() { (cd "$folder/source" && apt apt-get -q source --download-only "postgresql-$version=$1" >>"$folder/apt/log" 2>&1); }

install_packages() {
	missing=
	for package in $packages; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		say "the build needs, as root: apt-get install$missing"
		return 1
	fi
	say "installing$missing"
	# The list is words to be split.
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >"$folder/packages.log" 2>&1 && return
	say "they cannot be installed ($folder/packages.log)"
	return 1
}

# compile VERSION SERVER: in a folder that does not stay
compile() {
	work=$(mktemp -d "$folder/work.XXXXXX") || return
	say "building PostgreSQL $1 with assertions and pages of $blocksize KiB ($2.log)"
	began=$(date +%s)
	rm -rf "$2"
	# The lists are words to be split.
	# shellcheck disable=SC2086
	(
		cd "$work" && dpkg-source --no-check -x "$folder/source/postgresql-${version}_$1.dsc" source && cd source &&
			./configure --prefix="$2" $configuration CFLAGS="$flags" &&
			for part in . contrib src/test/isolation src/test/regress; do
				MAKEFLAGS='' make -s -j"$(nproc)" -C $part && MAKEFLAGS='' make -s -C $part install || exit
			done
	) >"$2.log" 2>&1
	code=$?
	rm -rf "$work"
	if [ $code -ne 0 ]; then
		say "PostgreSQL $1 cannot be built:"
		tail -n 20 "$2.log" >&2
		return 1
	fi
	echo "$configuration $flags" >"$2/configuration"
	say "built in $(($(date +%s) - began)) s"
}

# Sets server to the folder of the newest server that there is or can be built, and reason where there is none: nothing if that is a failure.
find_server() {
	reason=
	server=
	enter_folder || return
	if command -v apt-get >/dev/null && update; then
		for known in $(versions_known); do
			if is_built "$known" || fetch "$known"; then
				server=$(server_of "$known")
				is_built "$known" || { install_packages && compile "$known" "$server"; }
				return
			fi
			say "the mirror knows PostgreSQL $known, but does not serve its source"
		done
	fi
	known=$(versions_built | head -n 1)
	if [ -n "$known" ]; then
		server=$(server_of "$known")
		say "PostgreSQL $known is used, which is there"
	else
		reason="there is no source of PostgreSQL $version to be had, and no server in $folder"
		return 1
	fi
}

# part LABEL PROGRAM: one test program in a cluster of its own
part() { BUILD=$results RUNNER="env BUILD=$results tests/pg/cluster.sh run" tests/run.sh "$1" "$2"; }

run_tests() {
	results=$build/assert/$version-$blocksize
	rm -f "$results/results"
	PG_CONFIG=$server/bin/pg_config
	export PG_CONFIG
	MAKEFLAGS='' make -s --no-print-directory -j"$(nproc)" BUILD="$results" PG_CONFIG="$PG_CONFIG" pg "$results/tests/pg/test_queries" || return
	# assertions take time
	export IFOREST_QUERIES="${IFOREST_QUERIES:-600}" LIMIT="${LIMIT:-1800}"
	(
		REGRESS=$with_no_caches CLUSTER_SETTINGS='debug_discard_caches = 1' part caches tests/pg/regress.sh
		REGRESS=$replayed part replayed tests/pg/replayed.sh
		part assert "$results/tests/pg/test_queries"
		part assert tests/pg/isolation.sh
	) &
	part assert tests/pg/regress.sh
	wait
	BUILD=$results tests/run.sh --sum
}

case ${1:-} in
'' | server) ;;
*) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
if ! find_server; then
	[ -n "$reason" ] || exit 1
	say "skipped, $reason"
	[ $# -gt 0 ] && exit 1
	echo "0 passed, 0 failed, 1 skipped"
	exit
fi
exec 9>&-
if [ $# -gt 0 ]; then
	echo "$server/bin/pg_config"
else
	run_tests
fi
