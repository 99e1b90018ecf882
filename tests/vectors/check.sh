#!/bin/sh
# Is tests/vectors/vectors.txt what tests/vectors/make.py writes? In TAP's words.
if ! command -v python3 >/dev/null 2>&1; then
	echo "1..0 # SKIP there is no python3"
	exit 0
fi
echo 1..1
if python3 tests/vectors/make.py | diff -u tests/vectors/vectors.txt - >&2; then
	echo "ok 1 - vectors.txt is what make.py writes"
else
	echo "not ok 1 - vectors.txt is not what make.py writes: tests/vectors/make.py >tests/vectors/vectors.txt"
	exit 1
fi
