# A tiny trace of each format for timeline.sh, which reads this, and what is to be seen of it: write_traces FOLDER; expected_of FILE.

# text WORD: in hexadecimal digits. field TAG HEX: a field of protobuf with its length, which is below 128.
text() { printf %s "$1" | od -A n -t x1 | tr -d ' \n'; }
field() { printf '%s%02x%s' "$1" $((${#2} / 2)) "$2"; }
write_hex() { sqlite3 -batch -init /dev/null :memory: "SELECT writefile('$1', x'$2')" >/dev/null; }

# Two processes, in the order of their sort indexes; operations that run at once, one of which is nested; names that are markup, or long; a span
# that takes no time, and one that is never closed.
write_chrome() {
	long=$(printf '%0300d' 0 | tr 0 w)
	cat >"$1" <<-JSON
		{"traceEvents": [
		{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "app <img src=x onerror=window.hurt=1>"}},
		{"ph": "M", "pid": 1, "name": "process_sort_index", "args": {"sort_index": 5}},
		{"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "first"}},
		{"ph": "M", "pid": 2, "name": "process_sort_index", "args": {"sort_index": -1}},
		{"ph": "M", "pid": 1, "tid": 11, "name": "thread_name", "args": {"name": "main"}},
		{"ph": "M", "pid": 1, "tid": 11, "name": "thread_sort_index", "args": {"sort_index": 2}},
		{"ph": "M", "pid": 1, "tid": 12, "name": "thread_name", "args": {"name": "$long"}},
		{"ph": "M", "pid": 1, "tid": 12, "name": "thread_sort_index", "args": {"sort_index": 1}},
		{"ph": "X", "pid": 1, "tid": 11, "ts": 0, "dur": 1000, "name": "<script>window.hurt=1</script>", "args": {"a": "<img src=x onerror=window.hurt=1>"}},
		{"ph": "X", "pid": 1, "tid": 11, "ts": 100, "dur": 400, "name": "layout"},
		{"ph": "X", "pid": 1, "tid": 11, "ts": 600, "dur": 0, "name": "moment"},
		{"ph": "B", "pid": 1, "tid": 12, "ts": 200, "name": "$long"},
		{"ph": "X", "pid": 2, "tid": 21, "ts": 400, "dur": 200, "name": "handle"},
		{"ph": "b", "cat": "net", "id": 1, "pid": 1, "tid": 11, "ts": 100, "name": "fetch"},
		{"ph": "b", "cat": "net", "id": 2, "pid": 1, "tid": 11, "ts": 300, "name": "fetch"},
		{"ph": "b", "cat": "net", "id": 2, "pid": 1, "tid": 11, "ts": 350, "name": "connect"},
		{"ph": "e", "cat": "net", "id": 2, "pid": 1, "tid": 11, "ts": 450, "name": "connect"},
		{"ph": "e", "cat": "net", "id": 1, "pid": 1, "tid": 11, "ts": 500, "name": "fetch"},
		{"ph": "e", "cat": "net", "id": 2, "pid": 1, "tid": 11, "ts": 700, "name": "fetch"},
		{"ph": "b", "cat": "net", "id": 3, "pid": 1, "tid": 11, "ts": 600, "name": "fetch"},
		{"ph": "e", "cat": "net", "id": 3, "pid": 1, "tid": 11, "ts": 800, "name": "fetch"},
		{"ph": "i", "s": "t", "pid": 1, "tid": 11, "ts": 50, "name": "click"},
		{"ph": "i", "s": "g", "pid": 1, "tid": 11, "ts": 900, "name": "mark"},
		{"ph": "s", "cat": "f", "id": 9, "pid": 1, "tid": 11, "ts": 150, "name": "call"},
		{"ph": "f", "cat": "f", "id": 9, "pid": 2, "tid": 21, "ts": 450, "name": "call", "bp": "e"},
		{"ph": "C", "pid": 1, "ts": 0, "name": "memory", "args": {"used": 10}},
		{"ph": "C", "pid": 1, "ts": 500, "name": "memory", "args": {"used": 30}},
		{"ph": "N", "pid": 1, "ts": 1, "name": "object", "id": 1},
		]}
	JSON
}

write_otlp() {
	cat >"$1" <<-'JSON'
		{"resourceSpans": [
		{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}, "scopeSpans": [{"spans": [
		 {"traceId": "9b458af7378cba65253d7042d34fc72e", "spanId": "cd7cf7bf939930b7", "name": "GET /cart", "startTimeUnixNano": "1703985537000000000", "endTimeUnixNano": "1703985537000001000",
		  "events": [{"timeUnixNano": "1703985537000000500", "name": "retry"}]}]}]},
		{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "bank"}}]}, "scopeSpans": [{"spans": [
		 {"traceId": "9b458af7378cba65253d7042d34fc72e", "spanId": "d58cf2d702a061e0", "parentSpanId": "cd7cf7bf939930b7", "name": "charge", "startTimeUnixNano": "1703985537000000200", "endTimeUnixNano": "1703985537000000600",
		  "links": [{"traceId": "9b458af7378cba65253d7042d34fc72e", "spanId": "cd7cf7bf939930b7"}]}]}]}]}
	JSON
}

# packet TIMESTAMP FIELDS: of sequence 1; the timestamp is below 128.
packet() { field 0a "40$(printf %02x "$1")5001$2"; }
# event TYPE TRACK FIELDS: 01 begins a span, 02 ends it, 03 is an instant, 04 a value of a counter
event() { field 5a "48${1}58${2}$3"; }
descriptor() { field e203 "$1"; }

write_perfetto() {
	process=$(packet 1 "$(descriptor "0801$(field 1a "0807$(field 32 "$(text game)")")")")
	thread=$(packet 1 "$(descriptor "0802$(field 22 "08071009$(field 2a "$(text render)")")")")
	track=$(packet 1 "$(descriptor "08032801$(field 12 "$(text download)")")")
	counter=$(packet 1 "$(descriptor "08042801$(field 12 "$(text fps)")$(field 42 "$(field 32 "$(text frames)")")")")
	flow=f9020500000000000000
	write_hex "$1" "$process$thread$track$counter$(packet 10 "$(event 01 02 "$(field ba01 "$(text frame)")$flow")")$(packet 20 "$(event 03 02 "$(field ba01 "$(text vsync)")")"
	)$(packet 30 "$(event 01 03 "$(field ba01 "$(text file)")$flow")")$(packet 40 "$(event 04 04 f00103)")$(packet 60 "$(event 04 04 f00107)")$(packet 50 "$(event 02 02 '')")$(packet 90 "$(event 02 03 '')")"
}

# Version 1: a header with the unit of one microsecond; begin: type, category, process, thread, time, lengths and texts; end
write_spall() {
	write_hex "$1" "0df0ad0b000000000100000000000000000000000000f03f000000000000000003000100000002000000000000000000f03f0400$(text load
	)0300010000000200000000000000000000400500$(text parse)040100000002000000000000000000084004010000000200000000000000000010400300010000000200000000000000000014400400$(text stay)"
}

write_traces() {
	write_chrome "$1/chrome.json"
	write_otlp "$1/otlp.json"
	write_perfetto "$1/perfetto.pftrace"
	write_spall "$1/spall.spall"
}

# The lines of timeline_report.js.
expected_of() {
	case $1 in
	chrome.json | loaded.db)
		cat <<-END
			global 0
			first (2)
			  thread 21 0
			app <img src=x onerror=window.hurt=1> (1)
			  memory: used 10 30 null
			  www (300) 0
			  main 0
			  - 1
			fetch 0
			- 0
			- 1
			span 0 1000000 on main/0: <script>window.hurt=1</script>
			span 100000 500000 on fetch/0: fetch
			span 100000 500000 on main/1: layout
			span 200000 Infinity on www (300)/0: www (300)
			span 300000 700000 on fetch/0: fetch
			span 350000 450000 on fetch/1: connect
			span 400000 600000 on thread 21/0: handle
			span 600000 600000 on main/1: 
			span 600000 800000 on fetch/0: fetch
			instant 50000 on main/0: click
			instant 900000 on global/0: mark, named
			sample 10 on memory: used
			sample 30 on memory: used
			flow 150000 main/1 to 450000 thread 21/0
			details of handle: dur 200000, 1 flows
			1 left out, 1 mended: left out 1 phase N mended 1 comma too many
		END
		expected_box 9 '<script>window.hurt=1</script>'
		;;
	otlp.json)
		cat <<-END
			bank 0
			shop 0
			span 0 1000 on shop/0: GET /cart
			span 200 600 on bank/0: charge
			instant 500 on shop/0: retry
			flow 0 shop/0 to 200 bank/0
			details of charge: dur 400, 1 flows
			nothing left out: 
		END
		expected_box 2 'GET /cart'
		;;
	perfetto.pftrace)
		cat <<-END
			game (7)
			  fps 3 7 frames
			  render 0
			  download 0
			span 0 40 on render/0: frame
			span 20 80 on download/0: file
			instant 10 on render/0: vsync
			sample 3 on fps
			sample 7 on fps
			flow 0 render/0 to 20 download/0
			details of frame: dur 40, 1 flows
			nothing left out: 
		END
		expected_box 2 frame
		;;
	spall.spall)
		cat <<-END
			process 1
			  thread 2 0
			  - 1
			span 0 3000 on thread 2/0: load
			span 1000 2000 on thread 2/1: parse
			span 4000 Infinity on thread 2/0: stay
			details of load: dur 3000, 0 flows
			nothing left out: 
		END
		expected_box 3 load
		;;
	esac
}

# expected_box SPANS NAME
expected_box() {
	cat <<-END
		the picture is above the box
		answer: $1|1
		answer: $2
		error: this box only reads the database that is shown: not authorized
		error: near "nothing": syntax error
		a click on a row shows it
	END
}
