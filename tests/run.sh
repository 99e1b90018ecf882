#!/bin/sh
# Runs test programs side by side, shows the output of those that fail, and counts.
#
#   tests/run.sh LABEL PROGRAM...     results are added to $BUILD/results; tests/run.sh --sum: prints the sum of all
#
# A program is given LIMIT seconds (default 900).
# RUNNER="COMMAND ARGUMENT..." runs each as COMMAND ARGUMENT... PROGRAM. Counted are cmocka's lines and TAP's. Shown are the seconds that
# passed, and those of processors: the program's own and its children's, not those of a server.
set -u
unset MAKEFLAGS MAKELEVEL
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

# one program: its log, then a line "passed failed skipped label name seconds"
run_one='
	name=$(basename "$(dirname "$1")")/$(basename "$1"); log=$0/logs/$2-$(echo "$name" | tr / -).log; began=$(date +%s.%N)
	timeout -k 20 "$LIMIT" $RUNNER "$1" >"$log" 2>&1; code=$?
	set -- "$1" "$2" $(awk "
		/^\\[  (PASSED|FAILED|SKIPPED) +\\] / { # cmocka 2 has the name of the group before the number
			number = match(\$0, /[0-9]+ test\(s\)/) ? substr(\$0, RSTART) + 0 : 0
			if (\$2 == \"PASSED\") passed += number
			if (\$2 == \"FAILED\") failed += number
			if (\$2 == \"SKIPPED\") skipped += number
		}
		/^not ok / { failed++ }
		/^(ok .*|1\\.\\.0 )# SKIP/ { skipped++; next }
		/^ok / { passed++ }
		END { print passed + 0, failed + 0, skipped + 0 }" "$log")
	passed=$3 failed=$4 skipped=$5
	times >"$log.times"
	seconds=$(awk -v began="$began" -v ended="$(date +%s.%N)" "NR == 2 { split(\$1 \"m\" \$2, t, \"m\")
		printf \"%.1f %.1f\", ended - began, t[1] * 60 + t[2] + t[3] * 60 + t[4] }" "$log.times")
	rm "$log.times"
	[ $((passed + failed + skipped)) -gt 0 ] || code="$code and no result"
	if [ "$code" != 0 ]; then
		[ $failed -gt 0 ] || failed=1
		printf "%s %s: exit %s\n" "$2" "$name" "$code"; tail -n 60 "$log"
	fi
	echo "$passed $failed $skipped $2 $name $seconds" >>"$0/results"
	printf "%-8s %-36s %4d passed %3d failed %3d skipped %6.1f s, processors %5.1f s\n" "$2" "$name" "$passed" "$failed" "$skipped" $seconds
'
export RUNNER="${RUNNER:-}" LIMIT="${LIMIT:-900}"
printf '%s\n' "$@" | xargs -P "$(nproc 2>/dev/null || echo 2)" -I {} sh -c "$run_one" "$build" {} "$label"
