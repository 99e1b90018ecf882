#!/bin/sh
# Runs the isolation specs (isolation/specs beside isolation/expected) in the cluster of PGHOST and reports them as TAP.
#
#   tests/pg/cluster.sh run tests/pg/isolation.sh [NAME...]     all, or those named; SPECS=FOLDER: of that folder here
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/driver.sh
. "$here/driver.sh"

folder=$here/${SPECS:-isolation}
driver_copy "$folder"
names=${*:-$(cd "$folder/specs" && ls | sed 's/\.spec$//')}
createdb iforest_isolation
psql -X -q -v ON_ERROR_STOP=1 -d iforest_isolation -c 'CREATE EXTENSION iforest' || exit 1
# The names are words to be split.
# shellcheck disable=SC2086
driver_run isolation/pg_isolation_regress --dbname=iforest_isolation $names
