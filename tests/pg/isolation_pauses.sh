#!/bin/sh
# The isolation specs whose readers are stopped between their steps: for a build with -DIFOREST_PAUSES (pg_ext/base/test_points.h).
#
#   export BUILD=build/pauses EXTRA=-DIFOREST_PAUSES; tests/pg/cluster.sh run tests/pg/isolation_pauses.sh [NAME...]
set -u
SPECS=isolation_pauses
export SPECS
exec sh "$(dirname "$0")/isolation.sh" "$@"
