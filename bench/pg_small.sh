#!/bin/sh
# Small questions in PostgreSQL, and questions over many series: an iforest index beside the covering B-tree, by bench/pg_small.c;
# then, where valgrind is installed, the instructions that the server takes for the small ones, which other work on the machine does
# not change, and what executing them prepared misses in simulated caches, and where node and DuckDB's package are to be had the many series in DuckDB, on two threads.
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

# Prints of each question thousands of instructions of an execution, and the lines that it misses in caches of 32 KB.
executions() { # TABLE
	counts=$(mktemp -d "$cluster_dir/counts.XXXXXX")
	[ "$(id -u)" -ne 0 ] || chown nobody "$counts"
	"$program" prepared "$1" "$rows" >"$cluster_dir/prepared"
	{ echo "SET plan_cache_mode = force_generic_plan"; cut -f 2 "$cluster_dir/prepared"; } >"$cluster_dir/question"
	cluster_unprivileged valgrind -q --tool=callgrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=1048576,8,64 \
		--callgrind-out-file="$counts/of" --toggle-collect=ExecuteQuery --dump-before=ExecuteQuery \
		"$cluster_bin/postgres" --single -D "$cluster_dir/data" -c jit=off postgres <"$cluster_dir/question" >/dev/null 2>"$cluster_dir/valgrind.log" ||
		{ cat "$cluster_dir/valgrind.log" >&2; return 1; }
	# a file has the execution before the one that it is numbered by; that of the last has no number
	mv "$counts/of" "$counts/of.$(($(grep -c EXECUTE "$cluster_dir/question") + 1))"
	for question in 0 1 2 3 4 5 6 7; do
		for execution in 10 11 12 13; do
			sed -n 's/^\(summary\|totals\): //p' "$counts/of.$((12 * question + execution))" | head -n 1
		done | awk '{ all += $1; code += $4; data += $5 + $6 } END { printf "%d %d %d\n", all / 4000, code / 4, data / 4 }'
	done
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
	printf '\n%-42s %26s %26s\n%-42s %8s %8s %8s %8s %8s %8s\n' "an execution, prepared" B-tree iforest \
		"thousands of instructions, lines missed" instr. code data instr. code data
	executions by_btree >"$cluster_dir/of_btree"
	executions by_iforest >"$cluster_dir/of_iforest"
	cut -f 1 "$cluster_dir/prepared" | uniq | paste -d '\t' - "$cluster_dir/of_btree" "$cluster_dir/of_iforest" |
		while IFS='	' read -r label btree iforest; do
			# shellcheck disable=SC2086 # numbers
			printf '%-42s %8d %8d %8d %8d %8d %8d\n' "$label" $btree $iforest
		done
fi

packages=${DUCKDB:-$cluster_dir}
command -v node >/dev/null || { echo "DuckDB skipped: no node"; exit 0; }
[ -d "$packages/node_modules/@duckdb/node-api" ] ||
	(command -v npm >/dev/null && cd "$packages" && npm install --no-audit --no-fund --loglevel=error @duckdb/node-api >/dev/null 2>&1) ||
	{ echo "DuckDB skipped: its npm package is not to be had"; exit 0; }
"$program" questions many "$rows" | node bench/pg_small.mjs "$packages" "$rows"
