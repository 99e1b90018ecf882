#!/bin/sh
# The forest in memory beside what one would use instead, by bench/forest/.
#
#     sh bench/forest.sh [N...]        events of 14 bytes; by default 1000000 10000000 100000000, with plots
#     sh bench/forest.sh large         10^9 events of 16 bytes: needs 20 GiB
#     sh bench/forest.sh explain [N]   the same with prefetching and huge pages switched off or on; 10^8 events
#     sh bench/forest.sh count [N]     cache misses of each question, simulated by valgrind; 10^7 events
#
# BUILD (default build) is the folder with libiforest.a; figures also go to $BUILD/bench/forest.csv.
set -eu
build=${BUILD:-build}
flags="-std=c11 -O2 -g -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -I. -pthread"
block=128
ours="block forest of $block"
export FOREST_CSV="$build/bench/forest.csv"

# compile NAME [FLAG...]: with the library as it is; compile_core: with core compiled by these flags as well
compile() {
	name=$1
	shift
	# shellcheck disable=SC2086
	${CC:-cc} $flags "$@" -o "$build/bench/$name" bench/forest/*.c "$build/libiforest.a" -lm
}
compile_core() {
	name=$1
	shift
	# shellcheck disable=SC2086
	${CC:-cc} $flags -D_POSIX_C_SOURCE=200809L "$@" -o "$build/bench/$name" bench/forest/*.c core/*/*.c -lm
}

[ -e "$build/libiforest.a" ] || { echo "forest: no $build/libiforest.a (make all)" >&2; exit 1; }
mkdir -p "$build/bench"
compile forest
printf 'machine: %s, %s cores, %s, %s GiB\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
	"$(uname -sr)" "$(awk '/^MemTotal/ { print int($2 / 1048576 + 0.5) }' /proc/meminfo)"
printf 'caches: %s\n' "$(lscpu -C=NAME,ONE-SIZE 2>/dev/null | awk 'NR > 1 { printf "%s%s %s", s, $1, $2; s = ", " }')"
printf 'load: %s; huge pages: %s; compiler: %s\n' "$(cut -d" " -f1 /proc/loadavg)" "$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo none)" \
	"$(${CC:-cc} --version | head -n 1)"
echo "a ratio is the time of the textbook over that of the structure; cold: after 96 MiB of other memory, warm: asked again at once"

case ${1:-} in
large)
	compile forest_16 -DEVENT_BYTES=16
	exec env FOREST_CSV=/dev/null "$build/bench/forest_16" 1000000000 textbook "$ours"
	;;
explain)
	n=${2:-100000000}
	export FOREST_CSV=/dev/null
	compile_core forest_plain '-D__builtin_prefetch(at)=((void)(at))'
	compile_core forest_native -O3 -march=native
	set -- "$n" textbook "$ours" "$block, all ends read" "$block, by moving"
	printf '\n#### as it is\n'
	"$build/bench/forest" "$@"
	printf '\n#### without prefetching\n'
	"$build/bench/forest_plain" "$@"
	printf '\n#### without huge pages\n'
	"$build/bench/forest" --small-pages "$@"
	printf '\n#### huge pages for all: events, textbook and what grows by moving\n'
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "$build/bench/forest" "$@"
	printf '\n#### -O3 -march=native\n'
	"$build/bench/forest_native" "$@"
	exit
	;;
count)
	n=${2:-10000000}
	printf '\n%-24s %-10s %12s %12s %12s\n' "" "" instructions "D1 misses" "LL misses"
	for structure in textbook "$ours" "$block, all ends read"; do
		for question in folds whole 1/100 1/10000; do
			[ "$question" = folds ] && function=counted_folds each=2000 || { function=counted_zoom; each=1920; }
			valgrind --tool=callgrind --cache-sim=yes --LL=33554432,16,64 --toggle-collect=$function \
				--callgrind-out-file="$build/bench/forest.callgrind" \
				"$build/bench/forest" --count "$question" "$n" "$structure" 2>&1 >/dev/null |
				awk -v name="$structure" -v question="$question" -v each=$each '
					/Collected/ { printf "%-24s %-10s %12.1f %12.2f %12.2f\n", name, question, $4 / each,
						($8 + $9) / each, ($11 + $12) / each }'
		done
	done
	exit
	;;
esac

[ $# -gt 0 ] || set -- 1000000 10000000 100000000
echo 'events,structure,bytes,build,build_by_two,append,worst_append,moved,fold,batched,window,whole_cold,whole_warm,1/100_cold,1/100_warm,1/10000_cold,1/10000_warm' \
	>"$FOREST_CSV"
for n; do
	"$build/bench/forest" "$n"
done
if command -v gnuplot >/dev/null; then
	gnuplot -e "csv='$FOREST_CSV'; folder='$build/bench'" bench/forest/plot.gp
	echo "plots: $build/bench/forest_*.svg"
else
	echo "gnuplot is not there, no plots"
fi
