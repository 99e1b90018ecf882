# A headless Chromium, led by chromedriver. To be sourced. However the script ends, the browser, and the processes $servers, end too.
# shellcheck shell=sh
#
#   $temporary                     a folder, which goes away at the end
#   browser_start                  a browser with one page, whose answers $session has; empty if there is none
#   go_to ADDRESS                  opens a page
#   run_in_page FILE               prints what the script leaves in the page's element `report` (by leaveReport(TEXT)), or an error, after ten minutes at most
#   take_picture FILE.png
#   sql DATABASE..., value JSON PATH, line_of FILE PATTERN   the shell of SQLite, a value in JSON, the first line that matches

temporary=$(mktemp -d) || exit 1
driver= session= servers=

browser_end() {
	[ -z "$session" ] || curl -s -X DELETE "$session" >/dev/null
	for process in $driver $servers; do
		{ kill "$process" && wait "$process"; } 2>/dev/null
	done
	rm -rf "$temporary"
}
trap browser_end EXIT
trap 'exit 143' HUP INT TERM

sql() { sqlite3 -batch -bail -init /dev/null "$@"; }

value() { printf '%s' "$1" >"$temporary/json"; sql :memory: "SELECT json_extract(CAST(readfile('$temporary/json') AS TEXT), '$2')"; }

# post PATH JSON-FILE: to the browser
post() { curl -s -X POST -H 'Content-Type: application/json' --data-binary "@$2" "$1"; }

# Waits until a file has the line: some minutes, as a busy machine may have much else to do.
line_of() {
	for _ in $(seq 3000); do
		grep -s -m 1 -E "$2" "$1" && return
		sleep 0.1
	done
	return 1
}

browser_start() {
	chromedriver --port=0 >"$temporary/driver.log" 2>&1 &
	driver=$!
	port=$(line_of "$temporary/driver.log" 'started successfully on port' | sed 's/.* port \([0-9]*\).*/\1/')
	cat >"$temporary/request" <<-JSON
		{"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": {"args": ["--headless", "--no-sandbox", "--disable-gpu",
		 "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		 "--window-size=2070,1000", "--user-data-dir=$temporary/profile"]}}}}
	JSON
	session=$(value "$(post "http://127.0.0.1:$port/session" "$temporary/request")" '$.value.sessionId')
	[ -n "$session" ] && session=http://127.0.0.1:$port/session/$session
}

go_to() {
	[ -n "$1" ] || { echo "# there is no address to go to" >&2; return 1; }
	echo "{\"url\": \"$1\"}" >"$temporary/request"
	post "$session/url" "$temporary/request" >"$temporary/answer"
	reason=$(value "$(cat "$temporary/answer")" '$.value.error')
	[ -z "$reason" ] || { echo "# $1: $reason" >&2; return 1; }
}

run_in_page() {
	sql :memory: "SELECT json_object('script', CAST(readfile('tests/examples/leave_report.js') || readfile('$1') AS TEXT), 'args', json_array())" >"$temporary/request"
	post "$session/execute/sync" "$temporary/request" >"$temporary/answer"
	echo '{"script": "const report = document.getElementById(`report`); return report ? report.textContent : null", "args": []}' >"$temporary/request"
	for _ in $(seq 6000); do
		left=$(value "$(post "$session/execute/sync" "$temporary/request")" '$.value')
		[ -z "$left" ] || break
		sleep 0.1
	done
	printf '%s\n' "$left"
}

take_picture() { value "$(curl -s "$session/screenshot")" '$.value' | base64 -d >"$1"; }
