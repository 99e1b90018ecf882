# Debians of their own, each in a folder, for what is to be built or installed in a clean place. To be sourced, as root.
# shellcheck shell=sh
#
#   chroot_make SUITE KIND PACKAGE...   a Debian SUITE with these packages, made once: its folder is $chroot_root
#   chroot_copy FOLDER                  a copy of a Debian: $chroot_root; chroot_drop removes it
#   chroot_fresh SUITE                  a clean one, without any packages, in the same way
#   chroot_foreign CPU SUITE PACKAGE,...   the files of these packages, and what they need, for another processor: to be run by qemu-user
#   chroot_run COMMAND...               as root inside, with what programs expect to be mounted
#
# Folders stay in IFOREST_DIST (default /var/tmp/iforest-dist; up to 2 GB each) and are used again. Needs debootstrap, unshare and a
# Debian mirror (MIRROR) while a folder is made. Mounts and processes go with the namespaces they are made in, however this ends.

. tests/support/own_folder.sh
chroot_folder=${IFOREST_DIST:-/var/tmp/iforest-dist}
# the one that this machine's apt has; the shell is not to expand it
# shellcheck disable=SC2016
chroot_mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -n 1)}

# why there can be none; nothing where there can
chroot_missing() {
	[ "$(id -u)" -eq 0 ] || echo "this needs root"
	for program in debootstrap unshare; do
		command -v $program >/dev/null || echo "this needs $program"
	done
}

chroot_run() {
	# The inner shell expands it.
	# shellcheck disable=SC2016
	unshare --mount --propagation private --pid --fork --kill-child sh -c '
		mkdir -p "$0/dev/shm" && mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" || exit
		root=$0
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
	' "$chroot_root" "$@"
}

# what debootstrap makes, with apt's lists and without a cluster of PostgreSQL's
chroot_base() {
	own_folder "$chroot_folder" || return
	chroot_root=$chroot_folder/base-$1
	[ ! -e "$chroot_root/ready" ] || return 0
	rm -rf "$chroot_root"
	{
		debootstrap --variant=minbase --include=ca-certificates "$1" "$chroot_root" "$chroot_mirror" &&
			echo 'Acquire::Check-Valid-Until "false";' >"$chroot_root/etc/apt/apt.conf.d/valid" &&
			mkdir -p "$chroot_root/etc/postgresql-common" &&
			echo 'create_main_cluster = false' >"$chroot_root/etc/postgresql-common/createcluster.conf" &&
			chroot_run apt-get update && touch "$chroot_root/ready"
	} >"$chroot_root.log" 2>&1 || { tail -n 20 "$chroot_root.log" >&2; return 1; }
}

chroot_make() {
	chroot_suite=$1 chroot_kind=$2
	shift 2
	chroot_base "$chroot_suite" || return
	[ ! -e "$chroot_folder/$chroot_kind-$chroot_suite/ready-$chroot_kind" ] || { chroot_root=$chroot_folder/$chroot_kind-$chroot_suite; return 0; }
	rm -rf "$chroot_folder/$chroot_kind-$chroot_suite"
	cp -a "$chroot_root" "$chroot_folder/$chroot_kind-$chroot_suite"
	chroot_root=$chroot_folder/$chroot_kind-$chroot_suite
	{
		chroot_run apt-get install -y --no-install-recommends "$@" && chroot_run apt-get clean && touch "$chroot_root/ready-$chroot_kind"
	} >"$chroot_root.log" 2>&1 || { tail -n 20 "$chroot_root.log" >&2; return 1; }
}

# no program of it can be started by another, so nothing is configured
chroot_foreign() {
	own_folder "$chroot_folder" || return
	chroot_root=$chroot_folder/$1-$2
	[ ! -e "$chroot_root/ready" ] || return 0
	rm -rf "$chroot_root"
	debootstrap --foreign --arch="$1" --variant=minbase --include="$3" "$2" "$chroot_root" "$chroot_mirror" >"$chroot_root.log" 2>&1 || { tail -n 20 "$chroot_root.log"; return 1; }
	for chroot_package in "$chroot_root"/var/cache/apt/archives/*.deb; do
		dpkg -x "$chroot_package" "$chroot_root" || return
	done
	touch "$chroot_root/ready"
}

chroot_copy() {
	cp -a "$1" "$1.fresh.$$" || return
	chroot_root=$1.fresh.$$
}

chroot_fresh() { chroot_base "$1" && chroot_copy "$chroot_root"; }

chroot_drop() {
	case $chroot_root in *.fresh.*) rm -rf "$chroot_root" ;; esac
}

# README.md's SQL for PostgreSQL, and the table that it asks
chroot_readme_postgres() {
	{
		echo "CREATE TABLE requests(service text, ts timestamptz, took integer);"
		echo "INSERT INTO requests SELECT (ARRAY['api', 'web'])[i % 2 + 1], timestamptz '2026-01-01' + i * interval '1 second', i FROM generate_series(1, 20000) i;"
		awk '/^```sql postgres$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md
	} | sed 's/^CREATE EXTENSION/& IF NOT EXISTS/'
}

# the sources, as they would be committed, in a folder of the Debian
chroot_sources() {
	rm -rf "${chroot_root:?}/$1"
	mkdir -p "$chroot_root/$1" && git ls-files -co --exclude-standard | while read -r file; do
		[ ! -e "$file" ] || echo "$file"
	done | tar -c -T - | tar -x --no-same-owner -C "$chroot_root/$1"
}
