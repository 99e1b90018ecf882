#!/bin/sh
# The timeline example in a browser: what it shows of a small trace of each format, name by name and time by time; what its box for SQL
# refuses; and a walk of 300 moves by its keys and wheel, where every frame comes, labels stand where their spans
# are, and the pointer finds the span that the table has. TAP. Prints the time of a frame, of which it asserts nothing.
#
# TIMELINE_DATABASE=file.db walks through that one (examples/timeline/README.md); otherwise 200 000 spans are made up. TIMELINE_PICTURE=file.png
# is a picture of the page after the walk; TIMELINE_PICTURES=folder has one of each small trace.
set -u
. "$(dirname "$0")/timeline_traces.sh"
# shellcheck source=tests/examples/browser.sh
. "$(dirname "$0")/browser.sh"
build=${IFOREST_BUILD:-build}
case $build in /*) ;; *) build=$(pwd)/$build ;; esac
skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

for command in chromium chromedriver curl sqlite3; do
	command -v $command >/dev/null || skip "there is no $command"
done
echo '#include <microhttpd.h>' | cc -E - >/dev/null 2>&1 || skip "there is no libmicrohttpd"

n=0 failed=0
report() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; failed=1; fi
}

make_up() {
	{
		cat sql/sqlite/demo_table.sql
		cat <<-'SQL'
			WITH RECURSIVE request(n, ts, dur, track) AS (
			  SELECT 0, 0, 900, 0
			  UNION ALL
			  SELECT n + 1, ts + 400 + (n * 7919) % 700, 900 + iif(n % 997 = 0, 400000, (n * 104729) % 3000), n % 8 FROM request WHERE n < 66666)
			INSERT INTO spans(ts_ns, dur_ns, track, depth, name)
			SELECT ts * 1000, dur * 1000 * share / 100, 'worker ' || track, depth, call || ' ' || (n % 100)
			FROM (SELECT n, track, dur, max(ts, coalesce(lag(ts + dur) OVER (PARTITION BY track ORDER BY n), 0)) AS ts FROM request),
			     (SELECT 0 AS depth, 100 AS share, 'GET' AS call UNION ALL SELECT 1, 60, 'query' UNION ALL SELECT 2, 20, 'parse');
		SQL
		echo 'ALTER TABLE spans RENAME ts_ns TO ts; ALTER TABLE spans RENAME dur_ns TO dur;'
		echo ".load '$build/iforest'"
		cat examples/timeline/index.sql
	} | sql "$1"
}

database=${TIMELINE_DATABASE:-$temporary/spans.db}
[ -e "$database" ] || make_up "$database" || exit 1
cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -o "$temporary/server" examples/timeline/*.c -lmicrohttpd -lsqlite3 -pthread
report "the server compiles" $?

IFOREST=$build/iforest.so "$temporary/server" "$database" >"$temporary/server.log" 2>&1 &
servers="$servers $!"
address=$(line_of "$temporary/server.log" '^http')
report "it serves" $?

# code ADDRESS OPTION...: with a page's token, which stands behind the # of the server's address
code() {
	page=$1
	shift
	curl -s -m 300 -o "$temporary/body" -w '%{http_code}' --path-as-is -H "X-Timeline: ${page#*#}" "$@"
}
# get ADDRESS PATH OPTION...
get() {
	whole=$1 path=$2
	shift 2
	code "$whole" "$@" "${whole%%#*}$path"
}

for answer in '400 frame?t0=5&t1=5&n=10&from=0&to=1' '400 frame?t0=0&t1=9&n=x&from=0&to=1' '400 frame?t0=0&t1=9&n=4&from=0&to=100000' '400 frame?t0=0&t1=9&n=4&from=4294967295&to=1' '404 span?id=-5' '404 instant?id=1' '404 ../server.c' '404 box.c' '200 trace' '200 file' '200 arrows?t0=0&t1=9&from=0&to=1' '400 arrows?t0=9&t1=9&from=0&to=1' '200 sql?q=SELECT+1&t0=0&t1=1' '200 stop'; do
	[ "$(get "$address" "${answer#* }")" = "${answer%% *}" ]
	report "${answer#* } is ${answer%% *}" $?
done

# other users of the machine, who do not know the token, get the page and nothing else
token=${address#*#}
[ "${#token}" = 32 ] && [ -z "$(printf %s "$token" | tr -d 0-9a-f)" ]
report "the address has a token" $?
for answer in '200 ' '200 server.js' '403 trace' '403 frame?t0=0&t1=9&n=4&from=0&to=1' '403 arrows?t0=0&t1=9&from=0&to=1' '403 span?id=1' '403 instant?id=1' '403 sql?q=SELECT+1&t0=0&t1=1' '403 stop' '403 nothing'; do
	status=0
	for other in '' 1 "${token%?}" "${token}0" "${token%?}g" "g${token#?}" "$(printf %s "$token" | tr 0-9a-f 1-9a-f0)" "$(printf %s "$token" | tr a-f A-F | tr 0 O)0"; do
		[ "$(code "#$other" "${address%%#*}${answer#* }")" = "${answer%% *}" ] || { echo "# with token $other"; status=1; }
	done
	report "without the token ${answer#* } is ${answer%% *}" $status
done
[ "$(curl -s -o "$temporary/body" -w '%{http_code}' "${address%%#*}trace?token=$token")" = 403 ] && grep -q 'what stands behind its #' "$temporary/body"
report "nor does an address do that has it elsewhere; it says what to do" $?

# a foreign page whose name leads here (DNS rebinding) must not read the trace
for host in evil.example evil.example:80 127.0.0.1.evil.example localhost.evil.example:80 localhost:80.evil.example 1.127.0.0.1; do
	[ "$(get "$address" trace -H "Host: $host")" = 403 ] && grep -q 'Open the address that it printed' "$temporary/body"
	report "a request for $host is refused, and says what to do" $?
done
[ "$(get "$address" trace --http1.0 -H Host:)" = 403 ]
report "so is one for no host" $?
for host in 127.0.0.1 localhost localhost:8080 LocalHost:1 '[::1]' '[::1]:8080'; do
	[ "$(get "$address" trace -H "Host: $host")" = 200 ]
	report "a request for $host is answered" $?
done

# a table of one's own, written to meanwhile
small=$temporary/small.db
{
	echo ".load '$build/iforest'"
	echo 'CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT, depth INTEGER, name TEXT);'
	cat examples/timeline/index.sql
} | sql "$small"
serve_small() { IFOREST=$build/iforest.so "$temporary/server" "$small" "$@" >"$temporary/small.log" 2>&1; }
serve_small
grep -q 'there are no spans, instants or counters' "$temporary/small.log"
report "of a table without spans it says so" $?
serve_small 65536
[ $? = 2 ] && grep -q '^usage' "$temporary/small.log"
report "a port that is none is refused" $?
sql "$small" "INSERT INTO spans VALUES (1, 1000, NULL, 'io', 0, 'open'), (2, 2000, 500, 'cpu', 0, 'run')"
TIMELINE_SECONDS=1 IFOREST=$build/iforest.so "$temporary/server" "$small" >"$temporary/small.log" 2>&1 &
small_server=$! servers="$servers $!"
small_address=$(line_of "$temporary/small.log" '^http')
for handle in /proc/$small_server/fd/*; do
	[ "$(readlink "$handle")" != "$(readlink -f "$small")" ] || sed -n 's/^flags:.*\(.\)$/\1/p' "/proc/$small_server/fdinfo/${handle##*/}"
done >"$temporary/modes"
[ "$(sort -u "$temporary/modes")" = 0 ]
report "the database is open for reading alone" $?
[ "$(get "$small_address" 'frame?t0=0&t1=1500&n=4&from=0&to=2')" = 200 ] && [ "$(od -A n -t u4 -N 4 "$temporary/body" | tr -d ' ')" = 16 ]
report "a span without a duration is drawn, as one that was never closed" $?
{
	printf 'BEGIN EXCLUSIVE;\n.shell touch "%s"\n' "$temporary/locked"
	sleep 1
	echo 'COMMIT;'
} | sql "$small" &
for _ in $(seq 3000); do [ ! -e "$temporary/locked" ] || break; sleep 0.1; done
[ "$(get "$small_address" 'frame?t0=0&t1=1500&n=4&from=0&to=2')" = 200 ]
report "a frame waits for who writes" $?
sql "$small" 'DROP TRIGGER spans_if_insert'
[ "$(get "$small_address" 'frame?t0=0&t1=1500&n=4&from=0&to=2')" = 500 ] && grep -q 'detached from its table' "$temporary/body"
report "an error says why" $?
sql "$temporary/plain.db" 'CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT, depth INTEGER, name TEXT)'
IFOREST=$build/iforest.so "$temporary/server" "$temporary/plain.db" >"$temporary/plain.log" 2>&1
[ $? = 1 ] && grep -q 'has no spans_if: load the trace again' "$temporary/plain.log"
report "of a table without an index it says what to do" $?

# a stranger's database: what its views, triggers and indexes may not do, and what takes for ever
hostile() {
	rm -f "$temporary/hostile.db" "$temporary/hostile.log"
	{
		echo ".load '$build/iforest'"
		echo 'CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT, depth INTEGER, name TEXT);'
		cat examples/timeline/index.sql
		echo "INSERT INTO spans VALUES (1, 1000, 500, 'io', 0, 'open');"
		echo "$1"
	} | sql "$temporary/hostile.db"
	TIMELINE_SECONDS=1 IFOREST=$build/iforest.so "$temporary/server" "$temporary/hostile.db" >"$temporary/hostile.log" 2>&1 &
	hostile_server=$!
	servers="$servers $hostile_server"
	hostile_address=$(line_of "$temporary/hostile.log" '^http|^timeline:')
}
end_hostile() { { kill $hostile_server && wait $hostile_server; } 2>/dev/null; }
endless='WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c'
hostile "ALTER TABLE spans RENAME TO s; CREATE VIEW spans AS SELECT id, ts, dur, track, depth, ($endless) AS name FROM s;"
[ "$(get "$hostile_address" 'span?id=1')" = 500 ] && grep -q 'takes too long: TIMELINE_SECONDS' "$temporary/body"
report "an endless view behind a span is stopped" $?
[ "$(get "$hostile_address" 'frame?t0=0&t1=600&n=100&from=0&to=1')" = 500 ] && grep -q 'takes too long' "$temporary/body"
report "and behind a frame" $?
[ "$(get "$hostile_address" trace)" = 200 ]
report "and the server goes on" $?
end_hostile
hostile "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'by=(track, depth)', 'by=(track, depth), sync=append, where=(($endless) > 0)') WHERE name = 'spans_if';"
printf %s "$hostile_address" | grep -q 'timeline: spans_if: detached from its table: .*subqueries prohibited' || { echo "# $hostile_address"; false; }
report "an endless condition is refused" $?
end_hostile
hostile "ALTER TABLE spans RENAME TO s; CREATE VIEW spans AS SELECT id, ts, dur, track, depth, load_extension('x') AS name FROM s;"
printf %s "$hostile_address" | grep -q 'unsafe use of load_extension'
report "a view runs no function that reaches out" $?
end_hostile
hostile "ALTER TABLE spans RENAME TO s; CREATE VIEW spans AS SELECT id, ts, dur, track, depth, (SELECT max(file) FROM pragma_database_list) AS name FROM s;"
printf %s "$hostile_address" | grep -q 'unsafe use of virtual table'
report "nor does it read a table that tells of more than the file" $?
end_hostile
hostile "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE spans(' || char(27) || ']0;title' || char(7) WHERE name = 'spans';"
printf %s "$hostile_address" | grep -q '^timeline:' && [ -z "$(printf %s "$hostile_address" | tr -d '\040-\176')" ]
report "what it says of a file has no effect on a terminal" $?
end_hostile

sql "$temporary/nsys.db" 'CREATE TABLE StringIds(id INTEGER, value TEXT); CREATE TABLE NVTX_EVENTS(start INTEGER)'
IFOREST=$build/iforest.so "$temporary/server" "$temporary/nsys.db" >"$temporary/nsys.log" 2>&1
[ $? = 1 ] && grep -q 'nsys.db is an export of Nsight Systems, .*docs/nsys.md' "$temporary/nsys.log"
report "of a report of Nsight Systems it says where to look" $?
IFOREST=$build/iforest.so "$temporary/server" "$temporary/hidden-none.db" >"$temporary/none.log" 2>&1
[ $? = 1 ] && grep -q 'unable to open' "$temporary/none.log"
report "of a file that is not there, too" $?

# the box for SQL: only reads, only this database, and not for ever
ask_box() { code "$1" -G "${1%%#*}sql" -d t0=1000 -d t1=2000 --data-urlencode "q=$2"; }
mkdir "$temporary/hidden"
echo '{"traceEvents": []}' >"$temporary/hidden/trace.json"
sql "$temporary/hidden/other.db" 'CREATE TABLE secret(a)'
sql "$small" 'CREATE TABLE read_trace_of_its_own(a)' # no reader of files, but the name of one
before=$(cksum <"$small")
while IFS='|' read -r says question; do
	[ "$(ask_box "$small_address" "$question")" = 400 ] && grep -q "$says" "$temporary/body"
	report "the box refuses $(printf %s "$question" | sed "s|$temporary|...|")" $?
done <<-END
	only reads|DELETE FROM spans
	only reads|INSERT INTO spans(id) VALUES (9)
	only reads|UPDATE spans SET name = 'x'
	only reads|INSERT INTO spans_if(spans_if) VALUES ('rebuild')
	only reads|CREATE TABLE x(a)
	only reads|CREATE TEMP TABLE x(a)
	only reads|CREATE VIRTUAL TABLE temp.x USING iforest_overlap(spans_if)
	only reads|DROP TABLE spans
	only reads|ALTER TABLE spans ADD COLUMN a
	only reads|ATTACH '$temporary/hidden/other.db' AS other
	only reads|DETACH main
	only reads|VACUUM INTO '$temporary/hidden/new.db'
	only reads|BEGIN
	only reads|SAVEPOINT a
	only reads|REINDEX
	only reads|ANALYZE
	only reads|PRAGMA query_only = 0
	only reads|PRAGMA journal_mode = WAL
	only reads|PRAGMA mmap_size
	only reads|PRAGMA cache_size = -9000000
	only reads|PRAGMA schema_version = 9
	only reads|PRAGMA temp_store_directory = '$temporary/hidden'
	may not be modified|UPDATE sqlite_schema SET sql = ''
	may not be modified|DELETE FROM sqlite_schema
	only reads|SELECT * FROM read_trace('$temporary/hidden/trace.json')
	only reads|SELECT * FROM read_trace_report('$temporary/hidden/trace.json')
	only reads|SELECT * FROM read_trace_of_its_own
	no such table|SELECT * FROM other.secret
	load_extension|SELECT load_extension('$build/chrometrace.so')
	no such function|SELECT readfile('$temporary/hidden/trace.json')
	one statement|SELECT 1; DELETE FROM spans
	no statement|-- nothing
	syntax error|SELECT FROM
	too big|SELECT zeroblob(1000000000)
	stopped after 1 second|WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c
END
[ "$before" = "$(cksum <"$small")" ] && [ ! -e "$temporary/hidden/new.db" ]
report "and changes nothing" $?
[ "$(ask_box "$small_address" "SELECT id, dur, name, dur * 1.5 AS r, x'00ff', 9007199254740993 FROM spans WHERE ts >= :t0 AND ts < :t1 -- in view")" = 200 ] &&
	[ "$(sql :memory: "SELECT json_extract(CAST(readfile('$temporary/body') AS TEXT), '\$.rows')")" = '[["intnbi","1","","open","","X'"'00ff'"'","9007199254740993"]]' ]
report "it answers about the window in view" $?
[ "$(ask_box "$small_address" 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 5000) SELECT n FROM c')" = 200 ] &&
	[ "$(sql :memory: "SELECT json_array_length(j, '\$.rows') || json_extract(j, '\$.is_cut') FROM (SELECT CAST(readfile('$temporary/body') AS TEXT) AS j)")" = 10001 ]
report "at most 1000 rows" $?
curl -s -o "$temporary/long" -G -H "X-Timeline: $token" "${address%%#*}sql" -d t0=0 -d t1=1 --data-urlencode 'q=WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c' &
long=$!
[ "$(get "$address" 'span?id=1')" = 200 ] && kill -0 $long
report "frames do not wait for it" $?
while kill -0 $long 2>/dev/null; do
	get "$address" stop >/dev/null
	sleep 0.05
done
[ "$(cat "$temporary/long")" = stopped ]
report "it can be stopped" $?

# flows that share a bucket at one end, and none at the other, are all found
flow() { # flow ID FROM TO
	printf '{"ph":"s","pid":1,"tid":1,"ts":%s,"id":%s,"name":"f"},{"ph":"f","bp":"e","pid":1,"tid":2,"ts":%s,"id":%s,"name":"f"},' "$2" "$1" "$3" "$1"
}
spans='{"ph":"X","pid":1,"tid":1,"ts":0,"dur":200000,"name":"a"},{"ph":"X","pid":1,"tid":2,"ts":0,"dur":200000,"name":"b"}'
for case in "true $(flow 1 1 5000)$(flow 2 2 9000)$(flow 3 3 13000)" "false $(flow 1 1 5000)$(flow 2 2 5001)$(flow 3 3 5002)" "false $(flow 1 1 5000)$(flow 2 2 99000)"; do
	echo "[${case#* }$spans]" >"$temporary/flows.json"
	rm -f "$temporary/flows.log" "$temporary/body"
	"$build/trace2sqlite" --replace "$temporary/flows.db" "$temporary/flows.json" >/dev/null || echo "# no flows.db"
	IFOREST=$build/iforest.so "$temporary/server" "$temporary/flows.db" >"$temporary/flows.log" 2>&1 &
	flows_server=$!
	get "$(line_of "$temporary/flows.log" '^http')" 'arrows?t0=0&t1=32000000&from=0&to=3' >/dev/null
	kill $flows_server && wait $flows_server 2>/dev/null
	[ "$(sql :memory: "SELECT CASE json_extract(CAST(readfile('$temporary/body') AS TEXT), '\$.all') WHEN 1 THEN 'true' WHEN 0 THEN 'false' END")" = "${case%% *}" ]
	report "flows are said to be all: ${case%% *}" $?
	[ "${case%% *}" = false ] || [ "$(sql :memory: "SELECT json_array_length(CAST(readfile('$temporary/body') AS TEXT), '\$.arrows')")" = "$(echo "$case" | grep -o '"ph":"s"' | wc -l)" ]
	report "and are there" $?
done

# the worker of the page without a server
if command -v node >/dev/null; then
	node tests/examples/worker_memory.mjs
	report "the worker answers each request over a memory that grows" $?
else
	report "the worker answers each request over a memory that grows # SKIP there is no node" 0
fi

# the script keeps nothing of a trace that cannot be loaded: the reason is told each time
echo 'no trace' >"$temporary/none-$$.json"
printf '[{"ph":"X","ts":1,"dur":1,"name":"a"},' | gzip | head -c 40 >"$temporary/cut-$$.json.gz"
for file in none-$$.json cut-$$.json.gz; do
	for time in first second; do
		(MAKEFLAGS='' BUILD=$build sh examples/timeline/timeline.sh "$temporary/$file") >"$temporary/failed.log" 2>&1
		status=$?
		[ $status -ne 0 ] && grep -q "$file: " "$temporary/failed.log" && grep -q 'nothing was loaded' "$temporary/failed.log" && ! ls "$build/timeline/$file"-* >/dev/null 2>&1
		report "$file: the script says why it cannot be loaded, the $time time" $?
		sed 's/^/# /' "$temporary/failed.log"
	done
done

# the script, from where the traces are: two of one name
script=$(pwd)/examples/timeline/timeline.sh
others=$servers
run_script() { MAKEFLAGS='' BUILD=$build exec sh "$script" "$1"; }
# end_script FILE: and removes what it has made of the file
end_script() {
	kill $script_server && wait $script_server 2>/dev/null
	servers=$others
	rm -f "$temporary/script.log" "$build/timeline/$(basename "$1")-$(printf %s "$1" | cksum | cut -d ' ' -f 1).sqlite"
}
for folder in 'a folder' another; do
	mkdir "$temporary/$folder"
	echo "{\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1, \"dur\": 2, \"name\": \"of $folder\"}]}" >"$temporary/$folder/test-$$.json"
	(cd "$temporary/$folder" && run_script "test-$$.json") >"$temporary/script.log" 2>&1 &
	script_server=$! servers="$others $!"
	get "$(line_of "$temporary/script.log" '^http')" 'span?id=1' >/dev/null
	grep -q "\"of $folder\"" "$temporary/body"
	report "the script shows the trace of $folder" $?
	end_script "$temporary/$folder/test-$$.json"
done

browser_start
report "a browser has started" $?
if [ -z "$session" ]; then
	sed 's/^/# /' "$temporary/driver.log"
	echo "1..$n"
	exit 1
fi

# a trace with an event of another clock, hours away: the page begins where the others are
{
	echo '{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "far"}'
	for i in $(seq 99); do echo ", {\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": $((7200000000 + i * 10)), \"dur\": 9, \"name\": \"near\"}"; done
	echo ']}'
} >"$temporary/far.json"
cat >"$temporary/begins.js" <<-'JS'
	(async () => {
		while (!trace || isAsking || isStale)
			await new Promise(resolve => setTimeout(resolve, 1));
		const isNamed = document.title.startsWith('far.json-') && document.title.endsWith(' - timeline');
		const isNear = isNamed && view.t0 > 3.6e12 && view.t0 <= 7200000009000 && view.t1 >= 7200000999000;
		const saysAll = document.getElementById('where').textContent.match(/of 7200[.0-9]* s in all \(key 0\)/) !== null;
		window.dispatchEvent(new KeyboardEvent('keydown', { key: '0', bubbles: true }));
		leaveReport(`${isNear} ${saysAll} ${view.t0 < 0 && view.t1 > trace.length}`);
	})();
JS
(run_script "$temporary/far.json") >"$temporary/script.log" 2>&1 &
script_server=$! servers="$others $!"
go_to "$(line_of "$temporary/script.log" '^http')"
[ "$(run_in_page "$temporary/begins.js")" = 'true true true' ]
report "the page begins where nearly all is, says so, and 0 shows all" $?
end_script "$temporary/far.json"

# a trace of each format, and a database of one
write_traces "$temporary"
"$build/trace2sqlite" "$temporary/loaded.db" "$temporary/chrome.json" >/dev/null
before=$(cksum <"$temporary/loaded.db")
for format in chrome.json loaded.db otlp.json perfetto.pftrace spall.spall; do
	(run_script "$temporary/$format") >"$temporary/script.log" 2>&1 &
	script_server=$! servers="$others $!"
	go_to "$(line_of "$temporary/script.log" '^http')"
	run_in_page tests/examples/timeline_report.js >"$temporary/shown"
	expected_of $format >"$temporary/expected"
	diff "$temporary/expected" "$temporary/shown" >"$temporary/differences"
	report "$format is shown as it is" $?
	sed 's/^/# /' "$temporary/differences"
	[ -z "${TIMELINE_PICTURES:-}" ] || take_picture "$TIMELINE_PICTURES/$format.png"
	end_script "$temporary/$format"
done
[ "$before" = "$(cksum <"$temporary/loaded.db")" ]
report "the database is as it was" $?
go_to "$address"
told=$(run_in_page examples/timeline/walk.js)
[ -n "$told" ] && [ -z "$(value "$told" '$.error')" ]
report "the walk came to its end $(value "$told" '$.error')" $?

[ -z "${TIMELINE_PICTURE:-}" ] || take_picture "$TIMELINE_PICTURE"

printf '%s' "$told" >"$temporary/report"
ask() { sql "$database" "WITH r(j) AS (SELECT CAST(readfile('$temporary/report') AS TEXT)), label AS (SELECT value AS l FROM r, json_each(j, '\$.labels')) $1"; }
[ "$(ask "SELECT json_extract(j, '\$.moves') = 300 AND json_extract(j, '\$.frames') >= 300 FROM r")" = 1 ]
report "every move has a frame" $?
[ -n "${TIMELINE_DATABASE:-}" ] || [ "$(ask "SELECT count(*) >= 20 AND count(DISTINCT json_extract(l, '\$.label')) > 1 FROM label")" = 1 ]
report "there are labels, not all the same, in the spans that are made up" $?
[ "$(ask "SELECT count(*) FROM label JOIN spans ON id = json_extract(l, '\$.id') WHERE name IS NOT json_extract(l, '\$.label') OR name IS NOT json_extract(l, '\$.hover')")" = 0 ]
report "labels and what the pointer shows are the names in the table" $?
[ "$(ask "SELECT count(*) FROM label WHERE NOT json_extract(l, '\$.isDrawn') OR NOT json_extract(l, '\$.isShown')")" = 0 ]
report "spans are drawn where they are said to be" $?
for limit in isEmptyBehindTheEnd staysAtDeepestZoom axisTellsMomentsApart touchpadScrollsByPixels lastRowIsWhole firstRowsComeBack; do
	[ "$(value "$told" "$.limits.$limit")" = 1 ]
	report "limits: $limit" $?
done
ask "SELECT printf('# %d spans, %d frames of %.0f spans: median %.1f ms, p95 %.1f ms, most %.1f ms from the question to the picture', (SELECT max(id) FROM spans),
	json_extract(j, '\$.frames'), json_extract(j, '\$.spans'), json_extract(j, '\$.median_ms'), json_extract(j, '\$.p95_ms'), json_extract(j, '\$.most_ms')) FROM r"
echo "1..$n"
exit $failed
