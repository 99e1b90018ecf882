#!/bin/sh
# A release: what CHANGELOG.md and the documents say of a version that is out, and whether a tag may be published.
#
#   dist/release.sh notes FILE     writes what CHANGELOG.md says of the version: what is under its heading or, before it is released, under "Unreleased"
#   dist/release.sh commit         in a clean tree of git: the heading "Unreleased" becomes that of the version, with today's date, and the documents no longer
#                                  call it unreleased; commits that, and tags it vVERSION. Pushes nothing
#   dist/release.sh check TAG      an error that says what to do, if TAG is not the version's, or CHANGELOG.md has no heading for it
#
# The version is default_version in sql/pg/iforest.control. CONTRIBUTING.md says when to raise it.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" sql/pg/iforest.control)

fail() {
	echo "$*" >&2
	exit 1
}

is_released() { grep -q "^## $version, " CHANGELOG.md; }

# under HEADING: the lines that follow it, up to the next one
under() { awk -v heading="## $1" 'index($0 ",", heading ",") == 1 { inside = 1; next } /^## / { inside = 0 } inside' CHANGELOG.md; }

notes() {
	if is_released; then
		under "$version" >"$1"
	else
		under Unreleased >"$1"
	fi
	grep -q . "$1" || fail "CHANGELOG.md says nothing of version $version"
}

commit() {
	[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed"
	! is_released || fail "version $version is released: raise default_version in sql/pg/iforest.control, as CONTRIBUTING.md says"
	[ "$(grep -c '^## Unreleased$' CHANGELOG.md)" = 1 ] || fail "CHANGELOG.md has no heading \"Unreleased\""
	sed -i "s/^## Unreleased$/## $version, $(date -u +%Y-%m-%d)/" CHANGELOG.md
	sed -i "s/^| $version, not released yet |/| $version |/" docs/postgres.md
	git commit -q -m "CHANGELOG: version $version" CHANGELOG.md docs/postgres.md
	git tag -a -m "iforest $version" "v$version"
	echo "Tagged v$version. To publish it: git push --follow-tags"
}

check() {
	[ "$1" = "v$version" ] || fail "the tag $1 is not v$version, the version of sql/pg/iforest.control"
	is_released || fail "CHANGELOG.md has no heading for version $version: tags are made by dist/release.sh commit"
}

case ${1:-}:$# in
notes:2 | check:2) "$1" "$2" ;;
commit:1) commit ;;
*) fail "$(sed -n '2,/^set/s/^# \{0,1\}//p' "$0")" ;;
esac
