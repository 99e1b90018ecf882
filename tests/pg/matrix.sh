#!/bin/sh
# Compiles pg_ext for newer PostgreSQLs than this machine's, without warnings, and runs the PostgreSQL tests there (make check-pg,
# check-pauses and check-trace2pg): each in a Debian of its own, in a folder, as an unprivileged user.
#
#   tests/pg/matrix.sh [VERSION...]            17, 18 and 18-assert, or those named; 18-assert is 18 built with assertions (assert.sh)
#   tests/pg/matrix.sh prepare [VERSION...]    only makes the folders
#
# The tests are told what IFOREST_... is set to numbers (IFOREST_QUERIES=500: fewer random queries). One may take LIMIT seconds
# (default 3600: on a busy machine they take longer than make test allows). Their logs stay in
# FOLDER/postgresql-VERSION/home/tester/build/logs. All is compiled anew each time, so that any tree may follow any other.
#
# Needs root, debootstrap, and a Debian mirror (MIRROR, default: that of this machine's apt) while a folder is made, which
# takes minutes. Folders stay in IFOREST_MATRIX (default /var/tmp/iforest-matrix, 1.3 GB for each version) and are used
# again; remove one to have it rebuilt. The folder must be the caller's own, and not writable by others. Mounts and processes go with the namespaces they are made in, however this ends.
set -u
. tests/support/own_folder.sh

folder=${IFOREST_MATRIX:-/var/tmp/iforest-matrix}
# the one that this machine's apt has; the shell is not to expand it
# shellcheck disable=SC2016
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -n 1)}
least_free_kib=$((3 * 1024 * 1024))
# beside the server and its headers: what compiles, and what the tests link with and use
packages="gcc libc6-dev make libcmocka-dev libpq-dev zlib1g-dev libjsmn-dev libnanopb-dev libsqlite3-dev libipc-run-perl"

suite_of() {
	case ${1%-assert} in
	17) echo trixie ;;
	18) echo sid ;;
	*) echo "PostgreSQL $1: which Debian has it is not known here" >&2; return 1 ;;
	esac
}

# in_root ROOT COMMAND...: as root inside, with what programs expect to be mounted
in_root() {
	# The inner shell expands it.
	# shellcheck disable=SC2016
	unshare --mount --propagation private --pid --fork --kill-child sh -c '
		mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" || exit
		root=$0
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive $(env | grep -E "^IFOREST_[A-Z]+=[0-9]+$") "$@"
	' "$@"
}

# prepare VERSION ROOT: a Debian with that server, its headers and what the tests need. Whatever stops it, the next attempt
# begins anew, and so it does when other packages are needed than it was made with.
prepare() {
	suite=$(suite_of "$1") || return
	[ "$(cat "$2/ready" 2>/dev/null)" != "$packages" ] || return 0
	set -- "${1%-assert}" "$2"
	if [ "$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')" -lt $least_free_kib ]; then
		echo "less than $((least_free_kib / 1024 / 1024)) GiB free in $folder" >&2
		return 1
	fi
	echo "PostgreSQL $1: making $2 of Debian $suite ($2.log)"
	rm -rf "$2"
	# The list is words to be split.
	# shellcheck disable=SC2086
	{
		debootstrap --variant=minbase --include=ca-certificates "$suite" "$2" "$mirror" &&
			echo 'Acquire::Check-Valid-Until "false";' >"$2/etc/apt/apt.conf.d/valid" &&
			mkdir -p "$2/etc/postgresql-common" "$2/dev/shm" &&
			echo 'create_main_cluster = false' >"$2/etc/postgresql-common/createcluster.conf" &&
			in_root "$2" apt-get update &&
			in_root "$2" apt-get install -y --no-install-recommends $packages "postgresql-$1" "postgresql-server-dev-$1" &&
			in_root "$2" sh -c 'apt-get clean && rm -rf /usr/share/doc /usr/lib/llvm-*/lib/*.a' &&
			in_root "$2" useradd --create-home tester &&
			echo "$packages" >"$2/ready"
	} >"$2.log" 2>&1 || { tail -n 20 "$2.log" >&2; return 1; }
}

# run_tests VERSION ROOT
run_tests() {
	rm -rf "$2/home/tester/source" "$2/home/tester/build" "${2:?}"/tmp/*
	mkdir "$2/home/tester/source" || return
	tar -c --exclude=./.git --exclude=./build . | tar -x --no-same-owner -C "$2/home/tester/source" || return
	pg_config=/usr/lib/postgresql/$1/bin/pg_config
	case $1 in
	*-assert)
		pg_config=$(in_root "$2" sh -c "cd /home/tester/source && VERSION=${1%-assert} IFOREST_ASSERT=/home/assert tests/pg/assert.sh server") ||
			return
		;;
	esac
	# The inner shells expand it.
	# shellcheck disable=SC2016
	in_root "$2" sh -c '
		chown -R tester: /home/tester && cd /home/tester/source || exit
		exec setpriv --reuid=tester --regid=tester --clear-groups env HOME=/home/tester USER=tester LOGNAME=tester \
			LIMIT='"${LIMIT:-3600}"' BUILD=/home/tester/build PG_CONFIG='"$pg_config"' sh -c '\''
				began=$(date +%s)
				$PG_CONFIG --version
				make -s -j"$(($(nproc) + 1))" BUILD="$BUILD" PG_CONFIG="$PG_CONFIG" \
					check-pg check-pauses check-trace2pg || exit
				printf "%s, %d s: " "$($PG_CONFIG --version)" $(($(date +%s) - began))
				tests/run.sh --sum'\'''
}

[ "$(id -u)" -eq 0 ] || { echo "this needs root" >&2; exit 1; }
for program in debootstrap unshare setpriv; do
	command -v $program >/dev/null || { echo "this needs $program" >&2; exit 1; }
done
own_folder "$folder" || exit 1
only_prepare=false
if [ "${1:-}" = prepare ]; then
	only_prepare=true
	shift
fi
[ $# -gt 0 ] || set -- 17 18 18-assert
code=0
for version in "$@"; do
	root=$folder/postgresql-${version%-assert}
	prepare "$version" "$root" || { code=1; continue; }
	$only_prepare || run_tests "$version" "$root" || code=1
done
exit $code
