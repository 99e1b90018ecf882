#!/bin/sh
# Runs test programs side by side, shows the output of those that fail, and counts.
#
#   tests/run.sh LABEL PROGRAM...     results are added to $BUILD/results; with no program: prints the sum of all
set -u
build=${BUILD:-build}
results=$build/results

if [ "$1" = --sum ]; then
	awk '{ passed += $1; failed += $2; skipped += $3 }
	     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 || passed == 0 }' "$results"
	exit
fi
label=$1
shift
mkdir -p "$build/logs"

# one program: its log, then a line "passed failed skipped name"
run_one='
	name=$(basename "$1"); log=$0/logs/$2-$name.log
	"$1" >"$log" 2>&1; code=$?
	passed=$(sed -n "s/^\[  PASSED  \] \([0-9]*\) test.*/\1/p" "$log" | awk "{ n += \$1 } END { print n + 0 }")
	failed=$(sed -n "s/^\[  FAILED  \] \([0-9]*\) test.*/\1/p" "$log" | awk "{ n += \$1 } END { print n + 0 }")
	skipped=$(sed -n "s/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p" "$log" | awk "{ n += \$1 } END { print n + 0 }")
	if [ $code -ne 0 ]; then
		[ $failed -gt 0 ] || failed=1
		printf "%s %s: exit %d\n" "$2" "$name" $code; tail -n 60 "$log"
	fi
	echo "$passed $failed $skipped $2 $name" >>"$0/results"
	printf "%-8s %-34s %4d passed %3d failed %3d skipped\n" "$2" "$name" "$passed" "$failed" "$skipped"
'
printf '%s\n' "$@" | xargs -P "$(nproc 2>/dev/null || echo 2)" -I {} sh -c "$run_one" "$build" {} "$label"
