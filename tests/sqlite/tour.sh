#!/bin/sh
# The guided tour prints what it says it prints. Counts as one test, reported in the words of the others.
set -u
build=${IFOREST_BUILD:-build}
case $build in /*) ;; *) build=./$build ;; esac
actual=$(sed "s|\./build/|$build/|" sql/sqlite/tour.sql | sqlite3 -batch :memory: 2>&1)
if [ "$actual" = "$(cat sql/sqlite/tour.expected)" ]; then
	echo "[  PASSED  ] 1 test(s)."
else
	printf '%s\n' "$actual" | diff sql/sqlite/tour.expected -
	echo "[  FAILED  ] 1 test(s)."
	exit 1
fi
