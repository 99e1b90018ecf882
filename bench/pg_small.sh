#!/bin/sh
# Small questions in PostgreSQL, and questions over many series: an iforest index beside the covering B-tree, by bench/pg_small.c;
# then, where valgrind is installed, the instructions that the server takes for the small ones, which other work on the machine does
# not change, and where node and DuckDB's package are to be had the many series in DuckDB, on two threads.
#
#     sh bench/pg_small.sh [ROWS [ROUNDS]]     2 000 000 rows and 1000 rounds by default
#
# MEASURE_WITH: a command that the timing part is run by, such as taskset or nice with their arguments; the tables are filled before.
set -eu
# shellcheck source=bench/pg_program.sh
. bench/pg_program.sh
rows=${1:-2000000}
pg_program pg_small
CLUSTER_SETTINGS="shared_buffers = 1GB
max_wal_size = 8GB
checkpoint_timeout = 1h"
pg_machine "$rows rows"
. tests/pg/cluster.sh
trap 'cluster_stop' EXIT
trap 'exit 143' HUP INT TERM
cluster_start
"$program" load "$rows"
# shellcheck disable=SC2086 # words of a command
${MEASURE_WITH:-} "$program" measure "${2:-1000}"

# Prints the instructions of the fifth asking of a question, by a server of its own process.
instructions() { # QUESTION
	counts=$(mktemp -d "$cluster_dir/counts.XXXXXX")
	[ "$(id -u)" -ne 0 ] || chown nobody "$counts"
	for _ in 1 2 3 4 5; do echo "$1"; done >"$cluster_dir/question"
	cluster_unprivileged valgrind -q --tool=callgrind --callgrind-out-file="$counts/of" --dump-before=pg_parse_query \
		"$cluster_bin/postgres" --single -D "$cluster_dir/data" -c jit=off postgres <"$cluster_dir/question" >/dev/null 2>"$cluster_dir/valgrind.log" ||
		{ cat "$cluster_dir/valgrind.log" >&2; return 1; }
	# a file has what came before the next question
	sed -n 's/^\(summary\|totals\): //p' "$counts/of.5" | head -n 1
	rm -r "$counts"
}

if command -v valgrind >/dev/null; then
	cluster_unprivileged pg_ctl -D "$cluster_dir/data" -m fast -w -s stop
	printf '\n%-42s %9s %9s %9s\n' "thousands of instructions, unprepared" B-tree iforest both
	for table in by_btree by_iforest by_both; do
		"$program" questions $table "$rows" | head -n 8 >"$cluster_dir/$table"
	done
	paste "$cluster_dir/by_btree" "$cluster_dir/by_iforest" "$cluster_dir/by_both" | while IFS='	' read -r label btree _ iforest _ both; do
		printf '%-42s %9.0f %9.0f %9.0f\n' "$label" "$(($(instructions "$btree") / 1000))" "$(($(instructions "$iforest") / 1000))" \
			"$(($(instructions "$both") / 1000))"
	done
fi

packages=${DUCKDB:-$cluster_dir}
command -v node >/dev/null || { echo "DuckDB skipped: no node"; exit 0; }
[ -d "$packages/node_modules/@duckdb/node-api" ] ||
	(command -v npm >/dev/null && cd "$packages" && npm install --no-audit --no-fund --loglevel=error @duckdb/node-api >/dev/null 2>&1) ||
	{ echo "DuckDB skipped: its npm package is not to be had"; exit 0; }
"$program" questions many "$rows" | node bench/pg_small.mjs "$packages" "$rows"
