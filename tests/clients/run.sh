#!/bin/sh
# Client programs ask the questions of clients.txt, with the index and without; reports TAP. A client's answers must be the same,
# and what is answered from the index what clients.txt says.
#
#   tests/pg/cluster.sh run tests/clients/run.sh [CLIENT...]    all, or those named; make check-clients
#
# Packages that are not installed are fetched by apt-get and npm into a temporary folder, which goes at the end. A client that is
# not to be had is skipped. IFOREST_CLIENTS_TABLE=FILE: writes what was found to FILE, in the form of clients.txt.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/iforest-clients.XXXXXX") || exit 1
relay=
trap '[ -z "$relay" ] || kill "$relay"; rm -rf "$work"' EXIT
n=0
failed=0

report() { # RESULT NAME
	n=$((n + 1))
	[ "$1" = ok ] || failed=1
	echo "$1 $n - clients $2"
}

# Unpacks Debian packages, and what they need and is not installed, into $work/debian.
unpack() {
	command -v apt-get >/dev/null || return 1
	missing=$(apt-get -s -o DPkg::Lock::Timeout=600 install --no-install-recommends "$@" 2>/dev/null | awk '/^Inst / { print $2 }')
	mkdir -p "$work/archives" "$work/debian"
	# the names are words to be split
	# shellcheck disable=SC2086
	[ -z "$missing" ] || (cd "$work/archives" && apt-get -q download $missing >"$work/apt.log" 2>&1) || return 1
	for archive in "$work"/archives/*.deb; do
		[ ! -e "$archive" ] || dpkg -x "$archive" "$work/debian" || return 1
	done
	rm -f "$work"/archives/*
}

# Installs packages of Node into a folder, and runs no scripts of theirs: what these fetch is not in the registry.
node_packages() { # FOLDER PACKAGE...
	command -v npm >/dev/null || return 1
	folder=$work/$1
	shift
	[ ! -d "$folder" ] || return 0
	mkdir -p "$folder"
	(cd "$folder" && npm install --no-audit --no-fund --ignore-scripts --loglevel=error "$@" >"$work/npm.log" 2>&1)
}

# Prisma's generator asks for an engine that changes schemas, which is no package, and does not call it: any program will do.
prisma_client() {
	node_packages prisma prisma @prisma/client @prisma/adapter-pg || return 1
	cp "$here/spans.prisma" "$work/prisma/schema.prisma"
	(cd "$work/prisma" && PRISMA_SCHEMA_ENGINE_BINARY=/bin/true CHECKPOINT_DISABLE=1 node_modules/.bin/prisma generate --schema schema.prisma >"$work/npm.log" 2>&1)
}

start_relay() {
	[ -z "$relay" ] || return 0
	python3 "$here/relay.py" >"$work/port" 2>"$work/relay.log" &
	relay=$!
	while [ ! -s "$work/port" ] && kill -0 "$relay" 2>/dev/null; do sleep 0.1; done
	CLIENT_PORT=$(cat "$work/port")
	export CLIENT_PORT
}

python_path() { echo "$work/debian/usr/lib/python3/dist-packages:/usr/lib/python3/dist-packages"; }

# Makes what a client needs. Fails if that is not to be had.
prepare() {
	case $1 in
	sqlalchemy) unpack python3-sqlalchemy python3-psycopg2 ;;
	django) unpack python3-django python3-psycopg2 ;;
	jdbc)
		command -v javac >/dev/null && unpack libpostgresql-jdbc-java && start_relay &&
			cp "$(ls "$work"/debian/usr/share/java/postgresql.jar /usr/share/java/postgresql.jar 2>/dev/null | head -n 1)" "$work/postgresql.jar"
		;;
	dbplyr) command -v Rscript >/dev/null && unpack r-cran-dbplyr r-cran-rpostgresql ;;
	prisma) prisma_client ;;
	cube) node_packages cube pg @cubejs-backend/schema-compiler ;;
	# another version of antlr4ts, which npm takes for a newer one, lacks files
	malloy) node_packages malloy @malloydata/malloy @malloydata/db-postgres antlr4ts@0.5.0-alpha.4 ;;
	*) node_packages node pg postgres knex kysely drizzle-orm sequelize typeorm ;;
	esac
}

# Runs a client as the role of PGUSER.
ask() {
	case $1 in
	sqlalchemy | django) PYTHONPATH=$(python_path) python3 "$here/client_$1.py" ;;
	jdbc) java -cp "$work/postgresql.jar" "$here/Jdbc.java" ;;
	dbplyr) R_LIBS_SITE="$work/debian/usr/lib/R/site-library:/usr/lib/R/site-library" Rscript --no-save "$here/dbplyr.R" ;;
	prisma | cube | malloy) node "$here/node.mjs" "$work/$1" "$1" ;;
	*) node "$here/node.mjs" "$work/node" "$1" ;;
	esac
}

# From the log's plans: each question, and how its statements over spans were answered: by the node of aggregates, of the largest
# values or of first rows (index), by a scan of the index (scan), or by neither (no).
read_plans() {
	awk '
		/^client\|/ { split($0, part, "|"); name = part[2]; is_plan = /LOG:  duration: .* plan:/ }
		!is_plan { next }
		/IForest/ { found[name] = 3 }
		/Index.* Scan .*using spans.*_if on spans/ { if (found[name] < 2) found[name] = 2 }
		/Scan .*on spans/ { if (!found[name]) found[name] = 1 }
		END { for (name in found) print name, (found[name] == 3 ? "index" : found[name] == 2 ? "scan" : "no") }' "$1" | LC_ALL=C sort
}

run_client() {
	client=$1
	if ! prepare "$client"; then
		echo "ok $((n += 1)) - clients $client # SKIP it is not to be had here"
		return
	fi
	before=$(wc -c <"$PGHOST/server.log")
	PGUSER=with_index ask "$client" >"$work/with" 2>"$work/errors" || { sed 's/^/# /' "$work/errors"; report "not ok" "$client: asks with the index"; return; }
	tail -c +$((before + 1)) "$PGHOST/server.log" >"$work/log"
	PGUSER=without_index ask "$client" >"$work/without" 2>"$work/errors" || { sed 's/^/# /' "$work/errors"; report "not ok" "$client: asks without"; return; }
	if [ -s "$work/with" ] && cmp -s "$work/with" "$work/without"; then
		report ok "$client: $(wc -l <"$work/with") questions have the same answers"
	else
		diff "$work/without" "$work/with" | cut -c 1-300 | sed 's/^/# /'
		report "not ok" "$client: the same answers"
	fi
	read_plans "$work/log" | sed "s/^/$client /" >"$work/found"
	[ -z "${IFOREST_CLIENTS_TABLE:-}" ] || cat "$work/found" >>"$IFOREST_CLIENTS_TABLE"
	awk -v client="$client" '$1 == client { print $1, $2, $3 }' "$here/clients.txt" | LC_ALL=C sort >"$work/expected"
	if LC_ALL=C sort "$work/found" | cmp -s - "$work/expected"; then
		report ok "$client: $(grep -vc ' no$' "$work/found") of $(wc -l <"$work/found") from the index, as clients.txt has it"
	else
		diff "$work/expected" "$work/found" | sed 's/^/# /'
		report "not ok" "$client: answered from the index as clients.txt has it"
	fi
}

psql -X -q -v ON_ERROR_STOP=1 -f "$here/tables.sql" || exit 1
psql -X -q -c "ALTER SYSTEM SET log_line_prefix = 'client|%a|%u|'" -c 'SELECT pg_reload_conf()' >/dev/null
for client in ${*:-$(sed -n 's/^\([a-z]*\): .*/\1/p' "$here/clients.txt")}; do
	run_client "$client"
done
echo "1..$n"
exit $failed
