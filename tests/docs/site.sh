#!/bin/sh
# The site of the documents: it is made, its links lead somewhere, and its search finds what people look for. In TAP's words.
set -u
here=$(cd "$(dirname "$0")" && pwd)
reason=
for program in python3 mkdocs node; do
	command -v $program >/dev/null || reason="there is no $program"
done
[ -d /usr/share/mkdocs/themes/material ] || reason=${reason:-there is no mkdocs-material}
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason"
	exit 0
fi
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
trap 'exit 143' HUP INT TERM
# shellcheck source=tests/dist/report.sh
. "$here/../dist/report.sh"
report_log=$temporary/log
html=$temporary/site/html

breaks_are_found() {
	sed -i 's/id="apdex"/id="none"/' "$html/docs/recipes.html"
	[ "$(python3 "$here/site_links.py" "$html")" = "docs/recipes.html: #apdex: there is no such place in it" ]
}

report "the site is made" "$here/../../dist/site.py" "$temporary/site"
report "its links lead somewhere" python3 "$here/site_links.py" "$html"
report "its search finds what people look for" node "$here/site_search.mjs" "$html"
report "a link that leads nowhere is found" breaks_are_found
report_end
