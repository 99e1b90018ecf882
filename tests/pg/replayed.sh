#!/bin/sh
# The SQL suite, or those of REGRESS, in the cluster of PGHOST, while a standby compares each page that it replays with the page of the
# primary; reports it as TAP.
#
#   REGRESS="scan ddl" tests/pg/cluster.sh run tests/pg/replayed.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/cluster.sh
. "$here/cluster.sh"
# The one that runs, whose end is not for us.
cluster_dir=$PGHOST
standby=$PGHOST/standby
standby_port=$((PGPORT + 1))

stop_standby() { cluster_unprivileged pg_ctl -D "$standby" -m immediate -w -s stop >/dev/null 2>&1; }
asked() { psql -X -q -A -t "$@"; }

asked -c "ALTER SYSTEM SET wal_consistency_checking = 'all'" -c 'SELECT pg_reload_conf()' >/dev/null &&
	cluster_unprivileged pg_basebackup -h "$PGHOST" -p "$PGPORT" -U "$PGUSER" -D "$standby" -R -C -S standby -c fast --no-sync >/dev/null &&
	cluster_unprivileged sh -c "echo 'port = $standby_port' >>'$standby/postgresql.conf'" || exit 1
trap stop_standby EXIT
trap 'exit 143' HUP INT TERM
cluster_unprivileged pg_ctl -D "$standby" -l "$PGHOST/standby.log" -w -s start || { cat "$PGHOST/standby.log"; exit 1; }

sh "$here/regress.sh"
code=$?
end=$(asked -c 'SELECT pg_current_wal_lsn()')
# it ends where a page differs
until [ "$(asked -p $standby_port -c "SELECT pg_last_wal_replay_lsn() >= '$end'" 2>/dev/null)" = t ]; do
	if ! cluster_unprivileged pg_ctl -D "$standby" status >/dev/null; then
		echo "not ok - pages are replayed as the primary wrote them"
		grep -E 'FATAL|PANIC|TRAP:|inconsistent page|CONTEXT' "$PGHOST/standby.log"
		exit 1
	fi
	sleep 0.2
done
echo "ok - pages are replayed as the primary wrote them, to $end"
exit $code
