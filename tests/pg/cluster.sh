#!/bin/sh
# A private PostgreSQL cluster with this build's iforest in it, in a directory of its own; nothing is installed into the system.
#
#   tests/pg/cluster.sh run COMMAND...   runs COMMAND with PGHOST, PGPORT, PGUSER, PGDATABASE and the programs' PATH set,
#                                        and removes everything afterwards; COMMAND's exit code
#   . tests/pg/cluster.sh                the same as functions: cluster_start, cluster_stop, cluster_unprivileged COMMAND...
#
# To be called in the project's folder. PG_CONFIG (default pg_config) chooses the server, BUILD (default build) where the library is built,
# CLUSTER_SETTINGS adds lines to postgresql.conf. Where there is no server, "run" reports a skipped test in TAP's words.
# The server never runs as root: for root it belongs to nobody. It compiles no expressions: tests make plans dear to have others chosen, and
# compiling each of these took longer than all else.

cluster_dir=
cluster_root=$(pwd)

# what the caller may be told when no cluster can be started; nothing when one can
cluster_missing() {
	if ! command -v "${PG_CONFIG:-pg_config}" >/dev/null 2>&1; then
		echo "no ${PG_CONFIG:-pg_config}: PostgreSQL is not installed"
	elif [ ! -x "$("${PG_CONFIG:-pg_config}" --bindir)/initdb" ]; then
		echo "no PostgreSQL server in $("${PG_CONFIG:-pg_config}" --bindir)"
	elif [ ! -e "$("${PG_CONFIG:-pg_config}" --includedir-server)/postgres.h" ]; then
		echo "no postgres.h in $("${PG_CONFIG:-pg_config}" --includedir-server)"
	elif [ "$(id -u)" -eq 0 ] && ! command -v setpriv >/dev/null 2>&1; then
		echo "a server does not run as root, and there is no setpriv to become nobody"
	fi
}

# becomes a command in the cluster's directory, for root as nobody; does not return
cluster_exec() {
	cd "$cluster_dir" || exit
	[ "$(id -u)" -ne 0 ] || set -- setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups \
		env HOME="$cluster_dir" USER=nobody LOGNAME=nobody "$@"
	exec "$@"
}

cluster_unprivileged() { (cluster_exec "$@"); }

# makes a directory with the extension staged in it, and in cluster_settings the lines by which a server finds that
cluster_stage() {
	cluster_pg_config=$(command -v "${PG_CONFIG:-pg_config}")
	cluster_bin=$("$cluster_pg_config" --bindir)
	cluster_dir=$(mktemp -d "${TMPDIR:-/tmp}/iforest-pg.XXXXXX") || return
	cluster_stage_dir=$cluster_dir/stage
	cluster_share=$cluster_stage_dir$("$cluster_pg_config" --sharedir)
	cluster_lib=$cluster_stage_dir$("$cluster_pg_config" --pkglibdir)
	(cd "$cluster_root" && MAKEFLAGS='' make -s --no-print-directory install-pg DESTDIR="$cluster_stage_dir" \
		BUILD="${BUILD:-build}" PG_CONFIG="$cluster_pg_config") || return
	if "$cluster_bin/postgres" --describe-config | grep -q '^extension_control_path'; then
		# pg_upgrade loads what the control file names by $libdir, where it is not
		sed -i 's/\$libdir\///' "$cluster_share/extension/iforest.control"
		cluster_settings="extension_control_path = '$cluster_share:\$system'
dynamic_library_path = '$cluster_lib:\$libdir'"
	else
		cluster_settings="extension_destdir = '$cluster_stage_dir'"
	fi
	chmod -R a+rX "$cluster_stage_dir"
	[ "$(id -u)" -ne 0 ] || chown -R nobody "$cluster_dir"
	PATH=$cluster_bin:$PATH
	export PATH
}

# The files of a new cluster: a copy of those that the first one of this server left in BUILD, as to make them takes seconds. What cannot be
# copied, as another user made it, is made.
cluster_initialize() {
	cluster_new=$cluster_root/${BUILD:-build}/cluster.$(echo "$cluster_bin $(initdb --version)" | cksum | tr ' ' -)
	case ${BUILD:-build} in /*) cluster_new=${cluster_new#"$cluster_root/"} ;; esac
	cp -a "$cluster_new" "$cluster_dir/data" 2>/dev/null && return
	rm -rf "$cluster_dir/data"
	cluster_unprivileged initdb -D "$cluster_dir/data" -U postgres --auth=trust --no-sync --data-checksums --encoding=UTF8 --locale=C \
		>"$cluster_dir/initdb.log" 2>&1 || { cat "$cluster_dir/initdb.log" >&2; return 1; }
	# several begin at once: the last is as good as the first
	[ -e "$cluster_new" ] || { cp -a "$cluster_dir/data" "$cluster_new.$$" && mv -T "$cluster_new.$$" "$cluster_new"; } 2>/dev/null ||
		rm -rf "$cluster_new.$$"
}

cluster_start() {
	cluster_stage || return
	cluster_initialize || return
	cat >>"$cluster_dir/data/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$cluster_dir'
		port = 5432
		fsync = off
		autovacuum = off
		restart_after_crash = off
		jit = off
		max_prepared_transactions = 4
		max_connections = 50
		log_line_prefix = '%m [%p] %a '
		$cluster_settings
		${CLUSTER_SETTINGS:-}
	END
	cluster_unprivileged pg_ctl -D "$cluster_dir/data" -l "$cluster_dir/server.log" -w -s start >"$cluster_dir/start.log" 2>&1 ||
		{ cat "$cluster_dir/start.log" "$cluster_dir/server.log" >&2; return 1; }
	PGHOST=$cluster_dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	export PGHOST PGPORT PGUSER PGDATABASE
}

# stops the server if it runs, and removes the directory; may be called at any time, and twice
cluster_stop() {
	[ -n "$cluster_dir" ] || return 0
	if [ -e "$cluster_dir/data/postmaster.pid" ]; then
		cluster_unprivileged pg_ctl -D "$cluster_dir/data" -m immediate -w -s stop >/dev/null 2>&1
	fi
	rm -rf "$cluster_dir"
	cluster_dir=
}

# lines of the server's log that no test may cause
cluster_crashes() {
	[ ! -e "$cluster_dir/server.log" ] || grep -E 'PANIC|TRAP:|was terminated by signal' "$cluster_dir/server.log"
}

# runs a command beside the cluster, so that a signal to this shell reaches it and the cluster is removed even so
cluster_run() {
	exec 3<&0
	"$@" <&3 &
	cluster_command=$!
	wait "$cluster_command"
}

cluster_interrupted() {
	if [ -n "${cluster_command:-}" ]; then
		kill "$cluster_command" 2>/dev/null
		wait "$cluster_command"
	fi
	exit 143
}

case $0 in
*/cluster.sh)
	[ "${1:-}" = run ] && [ $# -gt 1 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
	shift
	reason=$(cluster_missing)
	if [ -n "$reason" ]; then
		echo "1..0 # SKIP $reason"
		exit 0
	fi
	trap 'cluster_stop' EXIT
	trap 'cluster_interrupted' HUP INT TERM
	cluster_start || exit 1
	cluster_run "$@"
	code=$?
	if cluster_crashes >&2; then
		[ $code -ne 0 ] || code=1
	fi
	exit $code
	;;
esac
