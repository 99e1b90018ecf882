#!/bin/sh
# Puts SQLite's source, as one file with its headers, into FOLDER: of a version that npm has within better-sqlite3, checked by its sum.
#
#   dist/sqlite.sh FOLDER
set -eu
package=better-sqlite3@12.11.1
sum=60d2f39a3726cd6b9021da6f4e868608d66fbb6528a9f513dc8ffcc640493422
folder=$(mkdir -p "$1" && cd "$1" && pwd)
! [ -e "$folder/sqlite3.c" ] || exit 0
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cd "$temporary"
npm pack --silent $package >/dev/null
tar -xzf better-sqlite3-*.tgz package/deps/sqlite3
echo "$sum  package/deps/sqlite3/sqlite3.c" | sha256sum --quiet -c
cp package/deps/sqlite3/sqlite3*.h "$folder"
cp package/deps/sqlite3/sqlite3.c "$folder/sqlite3.c.new"
mv "$folder/sqlite3.c.new" "$folder/sqlite3.c"
