#!/bin/sh
# The zip for PGXN is taken by the PGXN client as docs/install.md says, in a clean Debian: built, installed, created, checked by the
# extension's own tests, asked the README's query, and uninstalled. As root. TAP.
#
#   tests/dist/pgxn.sh [SUITE...]     bookworm, or those named
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/setup.sh
. "$here/setup.sh"
setup "$(chroot_missing)"
report_log=$build/pgxn.log
[ $# -gt 0 ] || set -- bookworm

# command PATTERN: the commands of docs/install.md that begin with it
command_of_docs() { sed -n "s/^\(sudo \)\{0,1\}\($1\)/\2/p" docs/install.md; }

# client WORD: what docs/install.md says that the client does, as root, who is a superuser of the server, too
client() {
	commands=$(command_of_docs "pgxn $1") && [ -n "$commands" ] && chroot_run sh -c "cd / && $commands"
}

takes_a_server() {
	rm -rf "$build"/iforest-*.zip && make -s dist-pgxn BUILD="$build/.." && mkdir -p "$chroot_root/build/dist" && cp "$build"/iforest-*.zip "$chroot_root/build/dist" &&
		version=$(chroot_run sh -c 'ls /usr/lib/postgresql') &&
		chroot_run pg_createcluster "$version" main
}

# a server for this one command
with_server() {
	chroot_run sh -c 'pg_ctlcluster '"$version"' main start && su postgres -c "createuser -s root" 2>/dev/null; '"$1"
}

is_created_and_asked() {
	chroot_readme_postgres >"$chroot_root/readme_pg.sql"
	with_server "cd / && $(command_of_docs 'pgxn load') && psql -X -v ON_ERROR_STOP=1 -f /readme_pg.sql postgres" >"$build/answer" 2>&1
	cat "$build/answer"
	grep -q 'Custom Scan (IForestAggregate)' "$build/answer"
}

is_checked() { with_server "cd / && $(command_of_docs 'pgxn check')"; }

is_gone() {
	uninstall=$(sed -n 's/.*`sudo \(pgxn uninstall [^`]*\)`.*/\1/p' docs/install.md) && [ -n "$uninstall" ] && chroot_run sh -c "cd / && yes | $uninstall" &&
		! find "$chroot_root/usr" -name '*iforest*' | grep .
}

for suite in "$@"; do
	report_of="$suite: "
	chroot_make "$suite" pgxn build-essential pgxnclient postgresql postgresql-server-dev-all || exit 1
	chroot_copy "$chroot_root"
	report "the zip is made" takes_a_server
	report "pgxn install takes it" client install
	report "pgxn load creates it, and it answers the README's query" is_created_and_asked
	report "pgxn check" is_checked
	report "pgxn uninstall leaves nothing" is_gone
	chroot_drop
done
report_end
