#!/bin/sh
# Runs the SQL suite (regress/sql beside regress/expected) in the cluster of PGHOST and reports it as TAP; the differences of
# what failed go to standard output.
#
#   tests/pg/cluster.sh run tests/pg/regress.sh [NAME...]       those named, those of REGRESS, or all
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/driver.sh
. "$here/driver.sh"

driver_copy "$here/regress"
names=${*:-${REGRESS:-$(cd "$here/regress/sql" && ls | sed 's/\.sql$//')}}
createdb iforest_regress
psql -X -q -v ON_ERROR_STOP=1 -d iforest_regress -c 'CREATE EXTENSION iforest' -f "$here/regress/prepare.sql" || exit 1
# The names are words to be split.
# shellcheck disable=SC2086
driver_run regress/pg_regress --dbname=iforest_regress $names
