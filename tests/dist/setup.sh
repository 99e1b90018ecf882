# What a script of this folder begins with. To be sourced, with $here, this folder; brings chroot.sh and report.sh.
# shellcheck shell=sh
#
#   lacks PROGRAM...           why nothing can be tried without these; nothing where they are there
#   setup REASON               ends the script with a line, if there is a reason. Else there are $build, the folder dist of the build; $temporary, a folder
#                              that goes away at the end, as a copy of a Debian does; and $report_log. at_end(), which a script may define, comes before that
#   readme_sqlite FOLDER       README.md's first query for SQLite, and its answers: readme.sql, expected

# shellcheck source=tests/dist/chroot.sh
. "${here:?}/chroot.sh"
# shellcheck source=tests/dist/report.sh
. "$here/report.sh"

lacks() {
	for program; do
		command -v "$program" >/dev/null || echo "this needs $program"
	done
}

at_end() { :; }

setup() {
	if [ -n "$1" ]; then
		echo "1..0 # SKIP $1" | tr '\n' ' '
		echo
		exit 0
	fi
	build=$(mkdir -p "${IFOREST_BUILD:-build}/dist" && cd "${IFOREST_BUILD:-build}/dist" && pwd) || exit 1
	temporary=$(mktemp -d) || exit 1
	report_log=$temporary/log chroot_root=
	trap 'at_end; chroot_drop; rm -rf "$temporary"' EXIT
	trap 'exit 143' HUP INT TERM
}

readme_sqlite() {
	awk '/^```sql$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >"$1/readme.sql"
	sed -n 's/^-- //p' "$1/readme.sql" >"$1/expected"
}
