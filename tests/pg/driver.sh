# For regress.sh and isolation.sh: PostgreSQL's own test drivers, in a copy of the suite that an unprivileged user may write to.
# shellcheck shell=sh source=tests/pg/cluster.sh disable=SC2154
. "$here/cluster.sh"
cluster_dir=$PGHOST

# The folder may lie where nobody may read; the driver writes beside its input.
driver_copy() {
	driver_suite=$(mktemp -d "$PGHOST/suite.XXXXXX") || exit 1
	cp -R "$1/." "$driver_suite"
	[ "$(id -u)" -ne 0 ] || chown -R nobody "$driver_suite"
}

# driver_run PROGRAM ARGUMENT...: the program lies in src/test of PostgreSQL's build files
driver_run() {
	driver_name=$(basename "$1" | sed 's/^pg_//; s/_regress$//')
	driver_program=$(dirname "$("${PG_CONFIG:-pg_config}" --pgxs)")/../test/$1
	shift
	if [ ! -x "$driver_program" ]; then
		echo "1..0 # SKIP no $driver_program: PostgreSQL's test drivers are not installed"
		exit 0
	fi
	cluster_unprivileged "$driver_program" --use-existing --bindir="$("${PG_CONFIG:-pg_config}" --bindir)" \
		--inputdir="$driver_suite" --outputdir="$driver_suite" --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" "$@" \
		>"$driver_suite/driver.log" 2>&1
	driver_code=$?
	# "test NAME ... ok 12 ms" before PostgreSQL 16, "ok 1 - NAME 12 ms" since
	sed -nE "s/^(test|    ) +([a-z0-9_-]+) +\.\.\. (ok|FAILED) +([0-9]+ ms).*/\3 - $driver_name \2, \4/
		s/^(ok|not ok) +[0-9]+ +[-+] ([a-z0-9_-]+) +([0-9]+ ms).*/\1 - $driver_name \2, \3/; T; s/^FAILED/not ok/; p" "$driver_suite/driver.log"
	if [ $driver_code -ne 0 ]; then
		cat "$driver_suite/regression.diffs" 2>/dev/null || cat "$driver_suite/driver.log"
	fi
	exit $driver_code
}
