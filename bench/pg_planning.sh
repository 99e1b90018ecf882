#!/bin/sh
# What an iforest index adds to the planning of queries that it does not answer, by bench/pg_planning.c: times, and where valgrind
# is installed the instructions of the planner, which other work on the machine does not change.
#
#     sh bench/pg_planning.sh [ROWS [ROUNDS]]     200 000 rows and 500 rounds by default
set -eu
# shellcheck source=bench/pg_program.sh
. bench/pg_program.sh
pg_program pg_planning
CLUSTER_SETTINGS="autovacuum = off
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_planning = on
pg_stat_statements.track = all"
pg_machine "${1:-200000} rows"
. tests/pg/cluster.sh
trap 'cluster_stop' EXIT
trap 'exit 143' HUP INT TERM
cluster_start
"$program" "${1:-200000}" "${2:-500}"
command -v valgrind >/dev/null || exit 0

# Prints the instructions of the third planning of each query over the table of a state, by a server of its own process.
instructions() { # STATE [SETTING...]
	state=$1
	shift
	counts=$cluster_dir/counts.$state
	"$program" queries "$state" | while read -r query; do
		for _ in 1 2 3; do echo "EXPLAIN $query"; done
	done >"$cluster_dir/queries"
	cluster_unprivileged mkdir "$counts"
	cluster_unprivileged valgrind -q --tool=callgrind --callgrind-out-file="$counts/of" --toggle-collect=standard_planner \
		--dump-before=standard_planner "$cluster_bin/postgres" --single -D "$cluster_dir/data" "$@" postgres \
		<"$cluster_dir/queries" >/dev/null 2>"$cluster_dir/valgrind.log" || { cat "$cluster_dir/valgrind.log" >&2; return 1; }
	# a file has what came before the next planning; the last one has no number
	mv "$counts/of" "$counts/of.$(($(wc -l <"$cluster_dir/queries") + 1))"
	n=4
	while [ -e "$counts/of.$n" ]; do
		sed -n 's/^\(summary\|totals\): //p' "$counts/of.$n" | head -n 1
		n=$((n + 3))
	done
}

cluster_unprivileged pg_ctl -D "$cluster_dir/data" -m fast -w -s stop
setting=shared_preload_libraries=
instructions 0 -c "$setting" >"$cluster_dir/none"
instructions 1 -c "$setting" >"$cluster_dir/btree"
instructions 2 -c "$setting" -c iforest.enable=off >"$cluster_dir/off"
instructions 3 -c "$setting" >"$cluster_dir/on"
printf '\n%-96s %9s %9s %9s %9s  on:none  on:B-tree   on:off\n' "thousands of instructions" "no index" "a B-tree" off on
"$program" queries 3 | sed 's/spans_on/spans/g' | paste "$cluster_dir/none" "$cluster_dir/btree" "$cluster_dir/off" "$cluster_dir/on" - | awk -F '\t' '
	function line(what, none, btree, off, on) {
		printf "%-96.96s %9.1f %9.1f %9.1f %9.1f %7.1f%% %10.1f%% %8.1f%%\n", what, none / 1000, btree / 1000, off / 1000,
			on / 1000, 100 * (on / none - 1), 100 * (on / btree - 1), 100 * (on / off - 1)
	}
	{ line($5, $1, $2, $3, $4); none += $1; btree += $2; off += $3; on += $4 }
	END { line("all", none, btree, off, on) }'
