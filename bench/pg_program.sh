# bench/pg_program.sh -- What benchmarks of PostgreSQL by a C program begin with; to be read (.) in the project's folder.
#
#   pg_program NAME         compiles bench/NAME.c to $program; ends the script if this build has no extension
#   pg_machine [DETAIL]     prints the machine
# shellcheck shell=sh
build=${BUILD:-build}

pg_program() {
	[ -e "$build/pg/iforest.so" ] || { echo "$1: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
	mkdir -p "$build/bench"
	program=$build/bench/$1
	${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I"$("${PG_CONFIG:-pg_config}" --includedir)" \
		-o "$program" "bench/$1.c" bench/pg_session.c -lpq
}

pg_machine() {
	printf 'machine: %s, %s cores, %s%s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
		"$(uname -sr)" "${1:+; $1}"
}
