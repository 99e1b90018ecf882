#!/bin/sh
# The Debian packages are built (lintian has nothing to say), installed in a clean Debian by one command, answer the README's queries,
# pass autopkgtest, and go away again. As root. TAP.
#
#   tests/dist/debian.sh [SUITE...]     bookworm and trixie, or those named
#
# The packages stay in build/dist/SUITE.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/setup.sh
. "$here/setup.sh"
setup "$(chroot_missing)"
report_log=$build/debian.log
[ $# -gt 0 ] || set -- bookworm trixie

builds() { LINTIAN=yes dist/debs.sh "$suite" "$build/$suite"; }

installs() {
	mkdir "$chroot_root/packages" && cp "$build/$suite"/*.deb "$chroot_root/packages" &&
		install=$(sed -n 's|^sudo apt-get install ../packages/|apt-get install -y --no-install-recommends sqlite3 /packages/|p' docs/install.md) &&
		[ -n "$install" ] && chroot_run sh -c "$install"
}

# the README's first block of this kind, and the answers that stand behind it
answers_in_sqlite() {
	readme_sqlite "$chroot_root"
	chroot_run sh -c 'sqlite3 -batch -cmd ".load iforest" :memory: </readme.sql' | diff "$chroot_root/expected" - || return
	chroot_run sqlite3 :memory: '.load chrometrace' "SELECT 1" || return
	printf '{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]}' >"$chroot_root/trace.json"
	chroot_run sh -c 'trace2sqlite /t.db /trace.json && sqlite3 /t.db "SELECT count(*) FROM spans" && trace2pg --help'
}

answers_in_postgres() {
	version=$(chroot_run sh -c 'ls /usr/lib/postgresql') && chroot_readme_postgres >"$chroot_root/readme_pg.sql"
	# The inner shell expands it.
	# shellcheck disable=SC2016
	chroot_run sh -c 'pg_createcluster '"$version"' main --start >/dev/null && cd / && su postgres -c "psql -X -v ON_ERROR_STOP=1 -f /readme_pg.sql"' >"$build/answer" 2>&1
	cat "$build/answer"
	grep -q 'Custom Scan (IForestAggregate)' "$build/answer"
}

# Debian's own runner installs the packages again, as they are in its archive, and what the tests depend on; none of them needs root
passes_its_tests() {
	chroot_run sh -c 'apt-get install -y --no-install-recommends autopkgtest && useradd -m tester' || return
	chroot_sources source && cp "$builder"/root/iforest/source/debian/control "$builder"/root/iforest/source/debian/changelog "$chroot_root/source/debian" || return
	chroot_run sh -c 'autopkgtest --no-built-binaries --user=tester --output-dir=/root/autopkgtest /packages/*.deb /source/ -- null'
	chroot_run cat /root/autopkgtest/summary
	[ "$(chroot_run grep -c ' PASS$' /root/autopkgtest/summary)" = "$(grep -c '^Tests: ' debian/tests/control)" ]
}

goes_away() {
	purge=$(sed -n 's/.*`sudo apt-get purge \(.*\)`.*/apt-get purge -y \1/p' docs/install.md) && [ -n "$purge" ] && chroot_run sh -c "$purge" &&
		! find "$chroot_root/usr" -name '*iforest*' -o -name 'chrometrace*' | grep .
}

for suite in "$@"; do
	report_of="$suite: "
	builder=$chroot_folder/build-$suite
	report "packages are built, and lintian is silent" builds
	chroot_fresh "$suite" || exit 1
	report "apt-get install takes them" installs
	report "the README's query in SQLite, and the tools" answers_in_sqlite
	report "the README's query in PostgreSQL" answers_in_postgres
	report "autopkgtest" passes_its_tests
	report "apt-get purge leaves nothing" goes_away
	chroot_drop
done
report_end
