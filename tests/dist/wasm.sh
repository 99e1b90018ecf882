#!/bin/sh
# The WebAssembly module in node, and the timeline that is one page without a server in headless Chromium: it shows a small trace of each
# format as the server's page does, and of a trace of 50 MB its frames are byte for byte those of the server. As root. TAP.
#
#   tests/dist/wasm.sh          needs what dist/wasm.sh does, node, chromium, chromedriver, libmicrohttpd; prints how long the large trace takes
#
# WASM=folder takes what is made there already. WASM_PICTURES=folder has a picture of each trace. Real traces lie in IFOREST_TRACES (default
# ../shared/data/traces); without them the large one is left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/chroot.sh
. "$here/chroot.sh"
reason=$([ -n "${WASM:-}" ] || chroot_missing; for program in node curl sqlite3 chromium chromedriver python3; do command -v $program >/dev/null || echo "this needs $program"; done)
echo '#include <microhttpd.h>' | cc -E - >/dev/null 2>&1 || reason="$reason this needs libmicrohttpd"
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason" | tr '\n' ' '
	echo
	exit 0
fi
build=$(mkdir -p "${IFOREST_BUILD:-build}/dist" && cd "${IFOREST_BUILD:-build}" && pwd) || exit 1
wasm=${WASM:-$build/dist/wasm}
traces=${IFOREST_TRACES:-../shared/data/traces}
# shellcheck source=tests/examples/browser.sh
. "$here/../examples/browser.sh"
# shellcheck source=tests/examples/timeline_traces.sh
. "$here/../examples/timeline_traces.sh"
# shellcheck source=tests/dist/report.sh
. "$here/report.sh"
report_log=$temporary/log

tour() { node "$here/wasm_shell.mjs" "$wasm/npm" <sql/sqlite/tour.sql | diff sql/sqlite/tour.expected -; }

# with the small traces, and the real ones
loads_as_the_program_does() {
	for trace in "$temporary"/small/* "$traces"/*.json.gz; do
		[ -e "$trace" ] || continue
		rm -f "$temporary"/native.db "$temporary"/wasm.db
		"$build/trace2sqlite" "$temporary/native.db" "$trace" >/dev/null && node "$here/wasm_load.mjs" "$wasm/npm" "$trace" "$temporary/wasm.db" || return
		for table in spans counters instants flows tracks left_out; do
			echo "SELECT * FROM $table ORDER BY rowid;"
		done >"$temporary/tables.sql"
		echo "SELECT * FROM spans_if; SELECT * FROM spans_overlap(0, 2000000000000000000, 7); INSERT INTO spans_if(spans_if) VALUES('integrity-check');" >"$temporary/index.sql"
		for maker in native wasm; do
			sql -cmd ".load $build/iforest" "$temporary/$maker.db" ".read $temporary/tables.sql" ".read $temporary/index.sql" >"$temporary/$maker.txt" || return
		done
		[ -s "$temporary/native.txt" ] && cmp "$temporary/native.txt" "$temporary/wasm.txt" || return
	done
}

# choose FILE: in the page that is open, and waits until it is shown
choose() {
	echo '{"using": "css selector", "value": "#file"}' >"$temporary/request"
	post "$session/element" "$temporary/request" >"$temporary/answer"
	element=$(sql :memory: "SELECT value FROM json_tree(CAST(readfile('$temporary/answer') AS TEXT)) WHERE key LIKE 'element-%'")
	echo "{\"text\": \"$1\"}" >"$temporary/request"
	post "$session/element/$element/value" "$temporary/request" >/dev/null
}

remove_report() {
	echo '{"script": "document.getElementById(`report`).remove()", "args": []}' >"$temporary/request"
	post "$session/execute/sync" "$temporary/request" >/dev/null
}

show() { go_to "file://$wasm/timeline.html" && choose "$1"; }

take() { [ -z "${WASM_PICTURES:-}" ] || take_picture "$WASM_PICTURES/$1.png"; }

shows() {
	show "$temporary/small/$1" && run_in_page tests/examples/timeline_report.js >"$temporary/shown"
	take "$1"
	expected_of "$1" | diff - "$temporary/shown"
}

says_what_is_wrong() {
	echo hello >"$temporary/broken.json"
	show "$temporary/broken.json" && run_in_page "$here/wasm_broken.js" >"$temporary/shown"
	cat "$temporary/shown"
	grep -q 'broken.json.*nothing was loaded' "$temporary/shown"
}

# In the same page, after the one that was no trace.
takes_another_file() {
	remove_report && choose "$temporary/small/chrome.json" && run_in_page tests/examples/timeline_report.js >"$temporary/shown"
	expected_of chrome.json | diff - "$temporary/shown"
}

compile_server() { cc -std=c11 -D_GNU_SOURCE -O2 -o "$temporary/server" examples/timeline/*.c -lmicrohttpd -lsqlite3 -pthread; }

# frames_are_those_of_the_server FILE DATABASE: of the file in the page, and by the server of the database made of it, at the same addresses
frames_are_those_of_the_server() {
	IFOREST=$build/iforest.so "$temporary/server" "$2" >"$temporary/server.log" &
	servers="$servers $!"
	address=$(line_of "$temporary/server.log" '^http') || return
	token=${address#*#} served=${address%%#*}
	show "$1" && run_in_page "$here/wasm_frames.js" >"$temporary/frames"
	[ "$(grep -c '^[0-9a-f]* ' "$temporary/frames")" -ge 20 ] || { cat "$temporary/frames"; return 1; }
	grep '^[0-9a-f]* ' "$temporary/frames" | while read -r sum path; do
		[ "$(curl -s -H "X-Timeline: $token" "$served$path" | sha256sum)" = "$sum  -" ] || { echo "$path differs"; exit 1; }
	done
}

# larger than the memory that the page begins with, which grows while frames are computed
generate_database() {
	{
		echo ".load '$build/iforest'"
		echo 'PRAGMA journal_mode = off; PRAGMA synchronous = off;'
		echo '.parameter set :spans 5000000'
		echo '.read sql/sqlite/demo_table.sql'
		echo '.read sql/sqlite/demo_generate.sql'
		echo 'ALTER TABLE spans RENAME ts_ns TO ts; ALTER TABLE spans RENAME dur_ns TO dur;'
		cat examples/timeline/index.sql
	} | sql "$temporary/generated.db" >/dev/null && [ "$(wc -c <"$temporary/generated.db")" -gt 250000000 ]
}

opens() {
	go_to "file://$wasm/timeline.html" && choose "$temporary/large.json" && run_in_page "$here/wasm_open.js" >"$temporary/opened" && cat "$temporary/opened" && remove_report
}

# walks FILE: through the trace in the page, with a report there
walks() {
	run_in_page examples/timeline/walk.js >"$1"
	[ "$(value "$(cat "$1")" '$.moves')" = 300 ] || { cat "$1"; return 1; }
}

frame_times() {
	sql :memory: "WITH r(j) AS (SELECT CAST(readfile('$2') AS TEXT)) SELECT printf('# $1: %d frames of %.0f spans, median %.1f ms, p95 %.1f ms, most %.1f ms from the question to the picture',
		json_extract(j, '\$.frames'), json_extract(j, '\$.spans'), json_extract(j, '\$.median_ms'), json_extract(j, '\$.p95_ms'), json_extract(j, '\$.most_ms')) FROM r"
}

if [ -z "${WASM:-}" ]; then
	rm -rf "$wasm"
	report "the module and the page are made" dist/wasm.sh "$wasm"
fi
mkdir "$temporary/small" && write_traces "$temporary/small"
report "the tour in node" tour
report "traces are loaded as by trace2sqlite" loads_as_the_program_does
report "a browser has started" browser_start
for format in chrome.json otlp.json perfetto.pftrace spall.spall; do
	report "the page shows $format" shows $format
done
"$build/trace2sqlite" "$temporary/small/loaded.db" "$temporary/small/chrome.json" >/dev/null
report "the page shows a database" shows loaded.db
report "the page says what is wrong with a file" says_what_is_wrong
report "and takes another one" takes_another_file
report "the server compiles" compile_server
report "a database of more than 250 MB" generate_database
report "its frames are byte for byte those of the server" frames_are_those_of_the_server "$temporary/generated.db" "$temporary/generated.db"
rm -f "$temporary/generated.db"
if [ -e "$traces/pytorch_hta_rank0.json.gz" ]; then
	report "a trace of 50 MB" "$here/large_trace.py" 50000000 "$temporary/large.json" "$traces/pytorch_hta_rank0.json.gz" "$traces/chrome_thread_time.json.gz"
	report "is loaded" eval '"$build/trace2sqlite" "$temporary/large.db" "$temporary/large.json" >"$temporary/loaded"'
	report "its frames are byte for byte those of the server" frames_are_those_of_the_server "$temporary/large.json" "$temporary/large.db"
	report "it is opened" opens
	report "a walk of 300 moves through it" walks "$temporary/walk"
	take large
	go_to "$address"
	report "and the same walk through the server's page" walks "$temporary/server_walk"
	sed 's/^/# /' "$temporary/opened"
	sed -n '1s/.*\((.*\)/# trace2sqlite: \1/p' "$temporary/loaded"
	frame_times "without a server" "$temporary/walk"
	frame_times "with the server" "$temporary/server_walk"
fi
report_end
