#!/bin/sh
# PostgreSQL's own regression and isolation suites beside the extension (`make check-postgres-suite`; tests/README.md).
#
#   tests/pg/postgres_suite.sh SOURCE [MODE...]      SOURCE: a folder of PostgreSQL's sources, of the server's major version
#
# Each mode runs both suites in a cluster of its own. Their results are left in $BUILD/postgres_suite/MODE.
#
#   without    the server alone: what the others are compared with
#   beside     the extension preloaded and created
#   indexed    beside, and iforest indexes on every table of the suites that can have one (postgres_suite.sql)
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/cluster.sh
. "$here/cluster.sh"
[ -e "${1:-}/src/test/regress/parallel_schedule" ] ||
	{ echo "name a folder of PostgreSQL's sources: make check-postgres-suite POSTGRES_SOURCE=FOLDER" >&2; exit 1; }
source_dir=$(cd "$1" && pwd) || exit
shift
build=$(cd "${BUILD:-build}" && pwd) || exit
config=${PG_CONFIG:-pg_config}
drivers=$(dirname "$($config --pgxs)")/../test

# the suites in the cluster's directory, where the server may read and write, with the libraries that they load
copy_suites() {
	cp -R "$source_dir/src/test/regress" "$source_dir/src/test/isolation" "$cluster_dir" &&
		${CC:-cc} -shared -fPIC -O1 -w -I"$($config --includedir-server)" -D_GNU_SOURCE \
			-DDLSUFFIX='".so"' -o "$cluster_dir/regress/regress.so" "$source_dir/src/test/regress/regress.c" &&
		cp "$($config --pkglibdir)/autoinc.so" "$($config --pkglibdir)/refint.so" "$cluster_dir/regress" || return
	[ "$(id -u)" -ne 0 ] || chown -R nobody "$cluster_dir/regress" "$cluster_dir/isolation"
}

# a database as pg_regress makes it, and what the mode adds
make_database() {
	createdb --template=template0 "$1" && psql -X -q -v ON_ERROR_STOP=1 -d "$1" <<-END
		ALTER DATABASE $1 SET lc_messages TO 'C';
		ALTER DATABASE $1 SET lc_monetary TO 'C';
		ALTER DATABASE $1 SET lc_numeric TO 'C';
		ALTER DATABASE $1 SET lc_time TO 'C';
		ALTER DATABASE $1 SET bytea_output TO 'hex';
		ALTER DATABASE $1 SET timezone_abbreviations TO 'Default';
		$([ "$mode" = without ] || echo 'CREATE EXTENSION iforest;')
		$([ "$mode" != indexed ] || cat "$here/postgres_suite.sql")
	END
}

# run_suite NAME DRIVER DATABASE SCHEDULE
run_suite() {
	make_database "$3" || return
	cluster_unprivileged "$drivers/$2" --use-existing --dlpath="$cluster_dir/$1" --inputdir="$cluster_dir/$1" --outputdir="$cluster_dir/$1" \
		--bindir="$($config --bindir)" --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --dbname="$3" \
		--max-concurrent-tests=20 --schedule="$cluster_dir/$1/$4" >"$cluster_dir/$1.log" 2>&1
	mkdir -p "$kept/$1"
	cp "$cluster_dir/$1"/results/*.out "$kept/$1"
	cp "$cluster_dir/$1.log" "$kept"
}

# the tables that had an index, the indexes, and how often these were read
count_use() {
	psql -X -A -t -d regression -c "SELECT count(DISTINCT indrelid) || ' tables with iforest indexes at the end, ' || count(*) || ' indexes, ' ||
		sum(idx_scan) || ' scans' FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_stat_all_indexes USING (indexrelid)
		WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'iforest')"
}

# after the suites: every index agrees with its table
check_indexes() {
	{ psql -X -d regression -c "SELECT iforest_check(c.oid, true) FROM pg_class c JOIN pg_am a ON a.oid = relam
		WHERE amname = 'iforest' AND relkind = 'i'" >/dev/null; } 2>&1
}

# every line is a failure
fail_for() {
	while read -r line; do
		echo "FAILED $1$line"
		touch "$kept/failed"
	done
}

run_mode() {
	mode=$1
	kept=$build/postgres_suite/$mode
	rm -rf "$kept"
	mkdir -p "$kept"
	CLUSTER_SETTINGS="$([ "$mode" = without ] || echo "shared_preload_libraries = '\$libdir/iforest'")"
	cluster_start && copy_suites || return
	run_suite regress regress/pg_regress regression parallel_schedule
	if [ "$mode" = indexed ]; then
		count_use
		check_indexes | fail_for 'iforest_check: '
	fi
	run_suite isolation isolation/pg_isolation_regress isolation_regression isolation_schedule
	cp "$cluster_dir/server.log" "$kept"
	cluster_crashes | fail_for 'server: '
	cluster_stop
}

reason=$(cluster_missing)
[ -z "$reason" ] || { echo "1..0 # SKIP $reason"; exit 0; }
trap 'cluster_stop' EXIT
trap 'exit 143' HUP INT TERM
failed=0
[ $# -gt 0 ] || set -- without beside indexed
for mode; do
	echo "# $mode"
	run_mode "$mode" || exit
	[ ! -e "$kept/failed" ] || failed=1
	[ "$mode" = without ] || "$here/postgres_suite_compare.pl" "$source_dir/src/test" "$build/postgres_suite/without" "$kept" || failed=1
done
exit $failed
