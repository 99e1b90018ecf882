#!/bin/sh
# Compiles SQLite with iforest and the readers of traces for WebAssembly, packs it for npm, and writes the timeline as one page, into FOLDER.
#
#   dist/wasm.sh FOLDER        npm/ (the files of the package), iforest-wasm-VERSION.tgz, timeline.html
#   dist/wasm.sh --missing     why that cannot be without a network; nothing where it can
#
# It does so in a Debian 12 of its own (tests/dist/chroot.sh; as root), which has emscripten; SQLite is npm's (dist/sqlite.sh), zlib and
# nanopb are Debian's sources. The same sources give the same bytes.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tests/dist/chroot.sh
. tests/dist/chroot.sh
reason=$(chroot_missing)
if [ "$1" = --missing ]; then
	[ -e "$chroot_folder/wasm-bookworm/root/third/sqlite/sqlite3.c" ] || echo "emscripten has not been fetched yet"
	[ -z "$reason" ] || echo "$reason"
	exit 0
fi
[ -z "$reason" ] || { echo "$reason" >&2; exit 1; }
folder=$(mkdir -p "$1" && cd "$1" && pwd)

chroot_make bookworm wasm emscripten python3 libjsmn-dev dpkg-dev xz-utils
third=$chroot_root/root/third
[ -e "$third/ready" ] || {
	rm -rf "$third"
	mkdir -p "$third"
	echo "deb-src $chroot_mirror bookworm main" >"$chroot_root/etc/apt/sources.list.d/source.list"
	# The inner shell expands it.
	# shellcheck disable=SC2016
	chroot_run sh -c 'apt-get update && cd /root/third && apt-get source zlib nanopb && mv zlib-*/ zlib && mv nanopb-*/ nanopb && cp /usr/include/jsmn.h . &&
		touch ready' >"$chroot_root.third.log" 2>&1 || { tail -n 20 "$chroot_root.third.log" >&2; exit 1; }
}
dist/sqlite.sh "$third/sqlite"
chroot_sources root/iforest
chroot_run sh -c 'cd /root/iforest && rm -rf /root/out && exec dist/wasm/build.sh /root/third /root/out'
out=$chroot_root/root/out
rm -rf "$folder/npm" "$folder"/*.tgz
mkdir "$folder/npm"
cp "$out/module.js" "$out/iforest.wasm" dist/wasm/index.js dist/wasm/index.d.ts dist/wasm/README.md "$folder/npm"
chmod 644 "$folder"/npm/*
dist/npm.py --wasm "$folder/npm" "$folder"
dist/wasm/page.py "$out" "$folder/timeline.html"
