#!/bin/sh
# The tests of SQLite and of core on other machines, and on Linux those of the readers of traces: compiled for them, and run by qemu-user and
# wine. As root. TAP: a line for each machine, after those of its programs, and one for each program that cannot run there, with the reason.
#
#   tests/dist/suite.sh [arm64] [s390x] [windows]      all three, or those named; a program may take an hour
#
# An emulator is ten times as slow or more, so random tests of SQLite have IFOREST_ROUNDS rounds (default 4), and fewer of many accesses fail. PROGRAMS names
# some alone, such as "sqlite/test_window core/page/test_page". Logs lie in build/suite-MACHINE/logs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/chroot.sh
. "$here/chroot.sh"
reason=$(chroot_missing)
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason" | tr '\n' ' '
	echo
	exit 0
fi
build=$(mkdir -p "${IFOREST_BUILD:-build}" && cd "${IFOREST_BUILD:-build}" && pwd) || exit 1
# shellcheck source=tests/dist/report.sh
. "$here/report.sh"
[ $# -gt 0 ] || set -- arm64 s390x windows

# why a program cannot run on a machine; nothing where it can
reason_against() {
	case $1:$2 in
	windows:sqlite/test_stress | windows:sqlite/test_sync | windows:core/base/test_platform | windows:core/forest/test_arena) echo "it needs fork()" ;;
	windows:core/forest/test_image) echo "it needs mmap()" ;;
	windows:trace/* | windows:sqlite/test_chrometrace | windows:sqlite/test_traces | windows:sqlite/test_trace2sqlite)
		echo "the readers of traces are not for Windows" ;;
	esac
}

# the longest ones first
all_programs() {
	if [ -n "${PROGRAMS:-}" ]; then
		# The list is words.
		# shellcheck disable=SC2086
		printf '%s\n' $PROGRAMS
	else
		printf '%s\n' sqlite/test_faults sqlite/test_damage
		ls tests/sqlite/test_*.c tests/core/*/test_*.c tests/trace/test_*.c | sed 's/^tests\///; s/\.c$//' | grep -vE '^sqlite/test_(faults|damage)$'
	fi
}

programs() {
	for program in $(all_programs); do
		[ -n "$(reason_against "$1" "$program")" ] || echo "$program"
	done
}

# cross MACHINE GNU-NAME: compiled with that Debian's libraries, by the Makefile
cross() {
	chroot_run sh -c "[ -e /usr/lib/$2/libprotobuf-nanopb.a ] || { dpkg --add-architecture $1 && apt-get update &&
		apt-get install -y --no-install-recommends gcc-$2 libjsmn-dev libc6-dev:$1 libsqlite3-dev:$1 libcmocka-dev:$1 zlib1g-dev:$1 libnanopb-dev:$1; } &&
		mkdir -p /root/bin-$1 && ln -sf /usr/bin/$2-ar /root/bin-$1/ar && cd /root/source &&
		PATH=/root/bin-$1:\$PATH make -s -k -j$(nproc) CC=$2-gcc WARN= CFLAGS='-O2 -DFEW_FAULTS' BUILD=build-$1 PG_CONFIG=none all build-$1/trace2sqlite \$(echo '$(programs "$1")' | sed 's|^|build-$1/tests/|')"
	# a program that is started by another is none that this machine's kernel runs
	mv "$compiled/trace2sqlite" "$compiled/trace2sqlite.$1" &&
		printf '#!/bin/sh\nexec %s "$0.%s" "$@"\n' "$runner" "$1" >"$compiled/trace2sqlite" && chmod +x "$compiled/trace2sqlite"
}

# Windows: by hand, as there is no make for it; what it has not is tests/dist/windows
cross_windows() {
	dist/sqlite.sh "$build/dist/sqlite" && mkdir -p "$chroot_root/root/sqlite" && cp "$build"/dist/sqlite/* "$chroot_root/root/sqlite" || return
	dist/amalgamate.py sqlite "$chroot_root/root/one" || return
	echo "deb-src $chroot_mirror bookworm main" >"$chroot_root/etc/apt/sources.list.d/source.list"
	cp "$here/suite_windows.sh" "$chroot_root/root"
	# The list is words.
	# shellcheck disable=SC2046
	chroot_run sh /root/suite_windows.sh $(programs windows)
}

compile() {
	chroot_sources root/source && mkdir -p "$out" || return
	case $machine in
	arm64) cross arm64 aarch64-linux-gnu ;;
	s390x) cross s390x s390x-linux-gnu ;;
	windows) cross_windows ;;
	esac >"$out/compile.log" 2>&1
	missing=
	for program in $(programs "$machine"); do
		[ -e "$compiled/tests/$program$suffix" ] || missing="$missing $program"
	done
	[ -z "$missing" ] || { tail -n 20 "$out/compile.log"; echo "not compiled:$missing"; return 1; }
}

# run_some VARIABLE=VALUE BYTES PATTERN: the programs of this pattern, with so much address space; traces that were recorded are for machines that read traces.
run_some() {
	traces=${IFOREST_TRACES:-../shared/data/traces}
	limited="prlimit --as=$2"
	[ "$machine" != windows ] || traces=none limited=
	# The list is words.
	# shellcheck disable=SC2046
	env "$1" IFOREST_TRACES="$traces" IFOREST_BUILD="$compiled" BUILD="$out" RUNNER="$limited $runner" LIMIT=3600 \
		tests/run.sh "$machine" $(programs "$machine" | grep -E "$3" | sed "s|.*|$compiled/tests/&$suffix|")
}

passes() { BUILD=$out tests/run.sh --sum; }

chroot_make bookworm suite make gcc libc6-dev dpkg-dev xz-utils gcc-mingw-w64-x86-64 || exit 1
for machine in "$@"; do
	out=$build/suite-$machine compiled=$chroot_root/root/source/build-$machine suffix=
	case $machine in
	arm64) runner="qemu-aarch64 -L $chroot_root" ;;
	s390x) runner="qemu-s390x -L $chroot_root" ;;
	windows) runner=wine suffix=.exe ;;
	esac
	if ! command -v "${runner%% *}" >/dev/null; then
		skip "$machine" "this needs ${runner%% *}"
		continue
	fi
	rm -rf "$out"
	mkdir -p "$out"
	report_log=$out/log
	report "$machine: all compile there" compile
	export WINEPREFIX="$out/wine" WINEDEBUG=-all
	[ "$machine" != windows ] || wine wineboot --init >/dev/null 2>&1 # once, before two programs do it at once
	# A forest reserves as much address space as it is given, and qemu keeps notes of each page of it: 3 GB of memory and seconds for 8 GB, for each of the
	# hundreds of forests of a program. Where no gibibyte is to be had, they move as they grow; test_arena is what reserves it.
	{
		run_some "IFOREST_ROUNDS=${IFOREST_ROUNDS:-4}" 12000000000 '^sqlite/'
		run_some IFOREST_ROUNDS= 1200000000 '^core/forest/test_([^a]|a[^r])'
		run_some IFOREST_ROUNDS= 12000000000 '^core/([^f]|forest/test_arena)|^trace/'
	} | sed 's/^/# /'
	for program in $(all_programs); do
		reason=$(reason_against "$machine" "$program")
		[ -z "$reason" ] || skip "$machine: $program" "$reason"
	done
	report "$machine: $(passes)" passes
done
report_end
