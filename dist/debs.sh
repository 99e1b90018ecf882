#!/bin/sh
# Builds the Debian packages for a release of Debian, in one of its own (tests/dist/chroot.sh; as root), into FOLDER.
#
#   dist/debs.sh SUITE FOLDER      bookworm, trixie; LINTIAN=yes as in dist/deb.sh
#
# What it needs stands in docs/install.md. The same commit gives the same bytes. The Debian stays, with the sources in root/iforest/source.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tests/dist/chroot.sh
. tests/dist/chroot.sh
reason=$(chroot_missing)
[ -z "$reason" ] || { echo "$reason" >&2; exit 1; }
folder=$(mkdir -p "$2" && cd "$2" && pwd)
needed=$(sed -n 's/^sudo apt-get install \(build-essential .*\)/\1/p' docs/install.md)
[ -n "$needed" ]

# The list is words to be split.
# shellcheck disable=SC2086
chroot_make "$1" build $needed lintian
chroot_sources root/iforest/source
rm -rf "$chroot_root/root/iforest/out" "$folder"/*.deb
# The inner shell expands it.
# shellcheck disable=SC2016
chroot_run sh -c 'cd /root/iforest/source && exec env LINTIAN="$0" SOURCE_DATE_EPOCH="$1" dist/deb.sh /root/iforest/out' "${LINTIAN:-no}" "$(git log -1 --format=%ct)"
cp "$chroot_root"/root/iforest/out/*.deb "$folder"
