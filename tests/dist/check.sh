#!/bin/sh
# Every part of this folder, and the live pages of the site, in turn: a line for each, with its seconds, what it skipped, by name, and the end of what a failed one says.
#
#   tests/dist/check.sh [PART...]     all, or those named, such as "debian suite". As root
#
# Logs are in BUILD/check-dist/logs. What needs a tool that is not there is skipped; the status is 0 if nothing failed.
set -u
build=${BUILD:-build}
out=$build/check-dist
# each before those that take what it has made
[ $# -gt 0 ] || set -- release amalgamation pgxs languages packages platforms wasm live fresh pgxn debian upgrade suite
rm -rf "$out"
mkdir -p "$out"
for part in "$@"; do
	folder=dist
	[ "$part" != live ] || folder=docs
	IFOREST_BUILD=$build BUILD=$out LIMIT=14400 tests/run.sh check-dist "tests/$folder/$part.sh"
	sed -n 's/^ok [0-9]* - \(.*\) # SKIP/    skipped: \1,/p; s/^1\.\.0 # SKIP/    skipped:/p' "$out/logs/check-dist-$folder-$part.sh.log"
done
printf 'make check-dist: '
BUILD=$out tests/run.sh --sum
