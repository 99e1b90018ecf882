#!/bin/sh
# What scripts print of names that a stranger chose has no characters that a terminal takes for commands; and no script makes commands of
# psql or of a shell out of rows. TAP.
set -u
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
# shellcheck source=tests/dist/report.sh
. tests/dist/report.sh
report_log=$temporary/log
# shellcheck source=sql/shown.sh
. sql/shown.sh

# is_harmless FILE: printable characters, newlines and tabs; of UTF-8 none of the characters that tools/terminal.c escapes
is_harmless() {
	LC_ALL=C tr -d '\011\012\040-\176\200-\377' <"$1" | cmp -s - /dev/null || return 1
	for range in '\302[\200-\237]' '\330\234' '\342\200[\213-\217]' '\342\200[\250-\256]' '\342\201[\240-\257]' '\357\273\277' '\363\240[\200-\201]'; do
		# shellcheck disable=SC2059
		! LC_ALL=C grep -q "$(printf "$range")" "$1" || return 1
	done
}

all_bytes_are_harmless() {
	i=0
	while [ $i -lt 256 ]; do
		# shellcheck disable=SC2059
		printf "\\$(printf %o $i)"
		i=$((i + 1))
	done >"$temporary/bytes"
	i=128
	while [ $i -lt 192 ]; do
		for before in '\302' '\330' '\342\200' '\342\201' '\357\273' '\363\240\200' '\363\240\201'; do
			# shellcheck disable=SC2059
			printf "$before\\$(printf %o $i) "
		done
		i=$((i + 1))
	done >>"$temporary/bytes"
	shown <"$temporary/bytes" >"$temporary/shown" && is_harmless "$temporary/shown"
}

texts_stay() {
	printf 'a\tb\nä € 語 😀\n' >"$temporary/text"
	shown <"$temporary/text" | cmp - "$temporary/text"
}

# an escape that sets the title of the window, in the name of a trace that is not there, and of one that is none
timeline_prints_names() {
	hostile=$(printf '%s/n\033]0;PWN\007\r\302\2330m.json' "$temporary")
	echo 'no trace' >"$hostile"
	for file in "$hostile" "$hostile.none"; do
		(MAKEFLAGS='' BUILD=${IFOREST_BUILD:-build} sh examples/timeline/timeline.sh "$file") >"$temporary/printed" 2>&1 && return 1
		grep -q 'PWN' "$temporary/printed" && is_harmless "$temporary/printed" || { cat -v "$temporary/printed"; return 1; }
	done
}

# demo NAME TEXT: make demo of a trace that has this name and text, up to its second part; what it prints is in $temporary/printed
demo() {
	rm -rf "$temporary/demo"
	mkdir "$temporary/demo"
	ln -s "$(cd "${IFOREST_BUILD:-build}" && pwd)"/iforest.so "$(cd "${IFOREST_BUILD:-build}" && pwd)"/chrometrace.so "$temporary/demo"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\ncase $* in *5_million*) exit 1 ;; esac\nexec sqlite3 "$@"\n' >"$temporary/demo/sqlite3"
	chmod 755 "$temporary/demo/sqlite3"
	printf '%s\n' "$2" >"$temporary/demo/$1"
	HOSTILE=$temporary/hostile BUILD=$temporary/demo SQLITE3=$temporary/demo/sqlite3 TRACE=$temporary/demo/$1 sh sql/sqlite/demo.sh >"$temporary/printed" 2>&1 || true
}

# names that would end the text of a statement, were their backslashes read, or their quotes and lines not
demo_runs_no_names() {
	for hostile in 'a\0047);\n.shell echo >"$HOSTILE"\nSELECT (\0047.json' "$(printf "b');\n.shell echo >\"\$HOSTILE\"\nSELECT ('.json")" 'c\c.json' 'd%s%n.json'; do
		demo "$hostile" '[{"ph":"X","name":"a","ts":1,"dur":5,"pid":1,"tid":1}]'
		[ ! -e "$temporary/hostile" ] && grep -q '5_million' "$temporary/printed" &&
			LC_ALL=C grep -qF "$(printf %s "$hostile" | head -n 1)" "$temporary/demo/demo/timeline.svg" || { cat -v "$temporary/printed"; return 1; }
	done
}

demo_prints_errors() {
	demo "$(printf 'e\033]0;PWN\007\302\2330m\342\200\213.json')" 'no trace'
	grep -q 'PWN.*no trace format' "$temporary/printed" && is_harmless "$temporary/printed" || { cat -v "$temporary/printed"; return 1; }
}

# a command line to be pasted has a name as one word, and as no option
words_are_quoted() {
	for hostile in 'a;touch $(b) `c`' "it's" '\0047 "' '*'; do
		[ "$(eval "printf %s $(shown_word "$hostile")")" = "$hostile" ] || return 1
	done
	! grep -nE '\$BUILD/trace2[a-z]+ .*\| shown' sql/*/*.sh examples/*/*.sh
}

errors_keep_the_status() {
	shown_errors sh -c 'printf "a\033b\n" >&2; echo out; exit 3' >"$temporary/out" 2>"$temporary/printed" && return 1
	[ $? = 3 ] && grep -q 'a?b' "$temporary/printed" && [ "$(cat "$temporary/out")" = out ] && echo in | shown_errors cat | grep -q in
}

# a page with a trace within has the trace's name as an attribute, and nothing more of it
names_are_no_markup() {
	python3 - "$temporary" <<-'PYTHON'
		import html.parser, os, sys
		sys.dont_write_bytecode = True
		sys.path.insert(0, 'dist')
		from live_pages import timeline_with
		for name in ['a"><script>alert(1)<', "b' onload='", 'c&quot;', 'd<!--', 'e.json']:
		    tags = []
		    parser = html.parser.HTMLParser()
		    parser.handle_starttag = lambda tag, attributes: tags.append((tag, attributes))
		    path = os.path.join(sys.argv[1], name)
		    open(path, 'w', encoding='utf-8').close()
		    parser.feed(timeline_with('<script id="worker"></script>', path))
		    assert tags == [('script', [('id', 'trace'), ('type', 'text/plain'), ('data-name', name)]), ('script', [('id', 'worker')])], tags
	PYTHON
}

# psql reads a row that holds \! as a command, where a script makes lines for it of rows
no_commands_are_made_of_rows() {
	! grep -nE "format\(E?'\\\\+[a-z!]" sql/*/*.sh sql/*/*.sql examples/*/*.sh bench/*.sh
}

report "of all bytes nothing is left that a terminal obeys" all_bytes_are_harmless
report "other texts stay as they are" texts_stay
if echo '#include <microhttpd.h>' | cc -E - >/dev/null 2>&1; then
	report "timeline.sh prints names so" timeline_prints_names
else
	skip "timeline.sh prints names so" "there is no libmicrohttpd"
fi
if [ -e "${IFOREST_BUILD:-build}/chrometrace.so" ] && command -v sqlite3 >/dev/null 2>&1; then
	report "the demo makes no commands of a trace's name" demo_runs_no_names
	report "the demo prints errors so" demo_prints_errors
else
	skip "the demo makes no commands of a trace's name, and prints errors so" "there is no chrometrace.so or no sqlite3"
fi
if command -v python3 >/dev/null 2>&1; then
	report "a trace's name is no markup" names_are_no_markup
else
	skip "a trace's name is no markup" "there is no python3"
fi
report "a name in a command line is one word" words_are_quoted
report "errors are printed so, and the status stays" errors_keep_the_status
report "no commands are made of rows" no_commands_are_made_of_rows
report_end
