#!/bin/sh
# The live pages of the site, in headless Chromium, from a plain file server: the tour's answers are those of the native sqlite3, step by step and
# after a change, and the timeline draws the trace that is bundled with it. TAP.
#
# Needs what `make wasm` leaves in dist/wasm of the build folder, not older than the sources, or WASM=folder. PICTURES=folder has a picture of each page.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${IFOREST_BUILD:-build}
case $build in /*) ;; *) build=$(pwd)/$build ;; esac
wasm=${WASM:-$build/dist/wasm}
reason=
for program in python3 mkdocs chromium chromedriver curl sqlite3; do
	command -v $program >/dev/null || reason="there is no $program"
done
[ -d /usr/share/mkdocs/themes/material ] || reason=${reason:-there is no mkdocs-material}
if ! [ -e "$wasm/timeline.html" ]; then
	reason=${reason:-there is no WebAssembly module: make wasm}
elif [ -z "${WASM:-}" ] && find core trace sqlite_ext tools dist/wasm examples/timeline -type f -newer "$wasm/timeline.html" | grep -q .; then
	reason=${reason:-the WebAssembly module is older than the sources: make wasm}
fi
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason"
	exit 0
fi
# shellcheck source=tests/examples/browser.sh
. "$here/../examples/browser.sh"
# shellcheck source=tests/examples/timeline_traces.sh
. "$here/../examples/timeline_traces.sh"
# shellcheck source=tests/dist/report.sh
. "$here/../dist/report.sh"
report_log=$temporary/log

serves() {
	python3 -u -m http.server 0 --bind 127.0.0.1 -d "$temporary/site/html" >"$temporary/server.log" 2>&1 &
	servers=$!
	address=http://127.0.0.1:$(line_of "$temporary/server.log" 'port [0-9]+' | sed 's/.* port \([0-9]*\).*/\1/')
	[ "$(curl -s -o "$temporary/page" -w '%{http_code}' "$address/tour.html")" = 200 ]
}

take() { [ -z "${PICTURES:-}" ] || take_picture "$PICTURES/$1.png"; }

# Of what the shell prints, the answers.
answers() { sed '/^[0-9]*\. /d; /^$/d'; }

tour_says_what_sqlite_says() {
	go_to "$address/tour.html" && run_in_page "$here/live_tour.js" >"$temporary/tour"
	take tour
	sed "s|\./build/|$build/|" sql/sqlite/tour.sql | sqlite3 -batch :memory: 2>&1 | answers >"$temporary/native"
	[ "$(wc -l <"$temporary/native")" -gt 40 ] && sed '/^then: /d' "$temporary/tour" | diff "$temporary/native" -
}

# A step makes those before it, a box runs what is typed into it, and what is wrong is said.
boxes_can_be_changed() {
	{
		printf 'then: what was expected is gone\nthen: 2 rows before it\nthen: 5 rows before it\n'
		awk '/^5\. /{on = 1; next} /^$/{on = 0} on {print "then: " $0}' sql/sqlite/tour.expected
		printf 'then: Runexpected answer: and is there\nthen: n\nthen: 3\nthen: near "nothing": syntax error\n'
		printf 'then: 0 boxes with an answer after stopping, Runexpected answer:\n'
	} >"$temporary/expected"
	grep '^then: ' "$temporary/tour" | diff "$temporary/expected" -
}

# spans, instants, counters and flows where they are, names, and the box for SQL
timeline_draws_its_trace() {
	go_to "$address/live/timeline.html" && run_in_page tests/examples/timeline_report.js >"$temporary/shown"
	expected_of chrome.json | diff - "$temporary/shown"
}

timeline_is_in_its_page() {
	cat >"$temporary/framed.js" <<-'JS'
		(async () => {
			const page = document.querySelector('iframe').contentWindow;
			while (page.document.readyState !== 'complete' || !/ms/.test(page.document.getElementById('times').textContent))
				await new Promise(resolve => setTimeout(resolve, 20));
			leaveReport(page.document.getElementById('bar').textContent);
		})();
	JS
	go_to "$address/timeline.html" && run_in_page "$temporary/framed.js" >"$temporary/framed"
	take timeline
	grep 'chrome.json, opened in' "$temporary/framed"
}

# Without the module both pages say so, and nothing of them is loaded.
pages_without_module_say_so() {
	dist/site.py "$temporary/without" && ! [ -e "$temporary/without/html/live" ] &&
		grep -q 'built without the WebAssembly module' "$temporary/without/html/tour.html" &&
		grep -q 'built without the WebAssembly module' "$temporary/without/html/timeline.html" &&
		! grep -q 'tour.js' "$temporary/without/html/tour.html" && python3 "$here/site_links.py" "$temporary/without/html"
}

mkdir "$temporary/small" && write_traces "$temporary/small"
report "the site is made with its live pages" dist/site.py "$temporary/site" "$wasm" "$temporary/small/chrome.json"
report "their links lead somewhere" python3 "$here/site_links.py" "$temporary/site/html"
report "a plain file server has it" serves
report "a browser has started" browser_start
report "the tour says what sqlite3 says" tour_says_what_sqlite_says
report "boxes can be changed" boxes_can_be_changed
report "the timeline draws the bundled trace" timeline_draws_its_trace
report "and stands in its page" timeline_is_in_its_page
report "without the module the pages say so" pages_without_module_say_so
report_end
