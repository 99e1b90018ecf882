#!/bin/sh
# Runs test programs side by side, shows the output of those that fail, and counts.
#
#   tests/run.sh LABEL PROGRAM...     results are added to $BUILD/results; tests/run.sh --sum: prints the sum of all
#
# RUNNER="COMMAND ARGUMENT..." runs each as COMMAND ARGUMENT... PROGRAM. Counted are cmocka's lines and TAP's.
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
	name=$(basename "$(dirname "$1")")/$(basename "$1"); log=$0/logs/$2-$(echo "$name" | tr / -).log
	timeout -k 20 900 $RUNNER "$1" >"$log" 2>&1; code=$?
	set -- "$1" "$2" $(awk "
		/^\\[  PASSED  \\] [0-9]+ test/ { passed += \$4 }
		/^\\[  FAILED  \\] [0-9]+ test/ { failed += \$4 }
		/^\\[  SKIPPED \\] [0-9]+ test/ { skipped += \$4 }
		/^not ok / { failed++ }
		/^(ok .*|1\\.\\.0 )# SKIP/ { skipped++; next }
		/^ok / { passed++ }
		END { print passed + 0, failed + 0, skipped + 0 }" "$log")
	passed=$3 failed=$4 skipped=$5
	[ $((passed + failed + skipped)) -gt 0 ] || code="$code and no result"
	if [ "$code" != 0 ]; then
		[ $failed -gt 0 ] || failed=1
		printf "%s %s: exit %s\n" "$2" "$name" "$code"; tail -n 60 "$log"
	fi
	echo "$passed $failed $skipped $2 $name" >>"$0/results"
	printf "%-8s %-34s %4d passed %3d failed %3d skipped\n" "$2" "$name" "$passed" "$failed" "$skipped"
'
export RUNNER="${RUNNER:-}"
printf '%s\n' "$@" | xargs -P "$(nproc 2>/dev/null || echo 2)" -I {} sh -c "$run_one" "$build" {} "$label"
