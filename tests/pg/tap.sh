#!/bin/sh
# Runs TAP tests that make clusters of their own (PostgreSQL::Test::Cluster), as an unprivileged user.
#
#   tests/pg/tap.sh tests/pg/tap/NAME.pl...      or those of another folder
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/cluster.sh
. "$here/cluster.sh"

reason=$(cluster_missing)
tests=$(dirname "$("${PG_CONFIG:-pg_config}" --pgxs 2>/dev/null)")/../test
if [ -z "$reason" ]; then
	[ -e "$tests/perl/PostgreSQL/Test/Cluster.pm" ] || reason="no PostgreSQL::Test::Cluster in $tests/perl"
	perl -MIPC::Run -MTest::More -e 1 2>/dev/null || reason="no perl with IPC::Run"
fi
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason"
	exit 0
fi

trap 'rm -rf "$cluster_dir"' EXIT
trap cluster_interrupted HUP INT TERM
cluster_stage || exit 1
printf '%s\n' "$cluster_settings" >"$cluster_dir/settings.conf"
cp -R "$(dirname "$1")" "$cluster_dir/tap"
[ "$(id -u)" -ne 0 ] || chown -R nobody "$cluster_dir"
code=0
for test in "$@"; do
	cluster_run cluster_exec env PERL5LIB="$tests/perl:$cluster_dir/tap" PG_REGRESS="$tests/regress/pg_regress" \
		TEMP_CONFIG="$cluster_dir/settings.conf" TESTDIR="$cluster_dir" TESTLOGDIR="$cluster_dir/log" \
		TESTDATADIR="$cluster_dir/data" TMPDIR="$cluster_dir" LC_ALL=C perl "$cluster_dir/tap/$(basename "$test")" || code=1
done
if [ $code -ne 0 ]; then
	find "$cluster_dir" -name '*.log' -exec grep -HE 'PANIC|TRAP:|FATAL|was terminated by signal' {} + | tail -n 20
fi
exit $code
