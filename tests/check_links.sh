#!/bin/sh
# Does every relative link and anchor of the Markdown files resolve, and is no page of docs/ longer than a sitting? In TAP's words.
if ! command -v python3 >/dev/null 2>&1; then
	echo "1..0 # SKIP there is no python3"
	exit 0
fi
echo 1..3
code=0

# a tree of which some links are broken
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
mkdir "$temporary/sub"
cat >"$temporary/a.md" <<'END'
# One `two_three`: [four](b.md), *five*
## Twice
## Twice
[right](sub/b.md) [right](sub) [right](sub/b.md#there) [right](#twice) [right](#twice-1) [right](#one-two_three-four-five)
[right](https://example.org/none.md#none) `[code](none.md)` ![right](<sub/b.md> "title")
[wrong](none.md) [wrong](sub/b.md#none)
[wrong](#twice-2)
```
# Code
[code](none.md)
```
[wrong](#code) [right][reference]

[reference]: sub/none.md
END
echo '<a id="there"></a> [wrong](b.md#a) [wrong](../b.md) [right](../a.md)' >"$temporary/sub/b.md"
cat >"$temporary/expected" <<'END'
a.md:1: b.md: there is no such file
a.md:6: none.md: there is no such file
a.md:6: sub/b.md#none: there is no such heading
a.md:7: #twice-2: there is no such heading
a.md:12: #code: there is no such heading
a.md:14: sub/none.md: there is no such file
sub/b.md:1: ../b.md: there is no such file
sub/b.md:1: b.md#a: there is no such heading
END
if python3 tests/check_links.py "$temporary" 2>/dev/null | diff -u "$temporary/expected" - >&2; then
	echo "ok 1 - broken links are found"
else
	echo "not ok 1 - broken links are found"
	code=1
fi

if python3 tests/check_links.py . >&2; then
	echo "ok 2 - all links resolve"
else
	echo "not ok 2 - some links lead nowhere"
	code=1
fi

too_long=$(wc -w docs/*.md | awk -v most=2500 '$2 != "total" && $1 > most { print $2 ": " $1 " words, more than " most }')
if [ -z "$too_long" ]; then
	echo "ok 3 - no page of docs/ has more than 2500 words"
else
	echo "$too_long" >&2
	echo "not ok 3 - a page of docs/ has more than 2500 words"
	code=1
fi
exit $code
