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

# is_harmless FILE: printable characters, newlines and tabs; of UTF-8 neither C1 nor what turns the direction of a text
is_harmless() {
	LC_ALL=C tr -d '\011\012\040-\176\200-\377' <"$1" | cmp -s - /dev/null &&
		! LC_ALL=C grep -q "$(printf '\302[\200-\237]')" "$1" && ! LC_ALL=C grep -q "$(printf '\342\200[\252-\256]')" "$1"
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
		# shellcheck disable=SC2059
		printf "\\302\\$(printf %o $i) \\342\\200\\$(printf %o $i) \\342\\201\\$(printf %o $i)\\n"
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
report "no commands are made of rows" no_commands_are_made_of_rows
report_end
