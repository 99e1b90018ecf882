#!/bin/sh
# Dashboards, where there is what dashboards.py needs. In TAP's words; run by tests/pg/cluster.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for program in python3 sqlite3 psql; do
	if ! command -v $program >/dev/null; then
		echo "1..0 # SKIP there is no $program"
		exit 0
	fi
done
exec python3 "$here/dashboards.py"
