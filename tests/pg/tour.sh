#!/bin/sh
# The guided tour prints what it says it prints. Counts as one test, reported in the words of the others.
#
#   tests/pg/cluster.sh run tests/pg/tour.sh
set -u
actual=$(psql -X -q -f sql/pg/tour.sql 2>&1)
if [ "$actual" = "$(cat sql/pg/tour.expected)" ]; then
	echo "ok 1 - tour"
else
	printf '%s\n' "$actual" | diff sql/pg/tour.expected -
	echo "not ok 1 - tour"
	exit 1
fi
