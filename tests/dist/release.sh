#!/bin/sh
# A release in a copy of this repository (dist/release.sh): before it no tag may be published, after it the one that was made, with the notes that stood under
# "Unreleased"; a second one is refused until the version is raised. TAP.
set -u
if ! git rev-parse HEAD >/dev/null 2>&1; then
	echo "1..0 # SKIP there is no repository of git"
	exit 0
fi
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
trap 'exit 143' HUP INT TERM
# shellcheck source=tests/dist/report.sh
. "$(dirname "$0")/report.sh"
report_log=$temporary/log
copy=$temporary/copy
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" sql/pg/iforest.control)

# as the tree is, with one more thing to tell of, where all of it has been released
copies() {
	git clone -q . "$copy" && for file in CHANGELOG.md dist/release.sh docs/postgres.md sql/pg/iforest.control; do cp "$file" "$copy/$file" || return; done
	cd "$copy" || return
	git config user.name tester && git config user.email tester@example.invalid
	if ! grep -q '^## Unreleased$' CHANGELOG.md; then
		version=$version.9
		sed -i "s/^default_version = .*/default_version = '$version'/" sql/pg/iforest.control
		sed -i '0,/^## /s//## Unreleased\n\n- Something new.\n\n&/' CHANGELOG.md
	fi
	sed -i "s/^| ${version%.9}[ ,].*/| $version, not released yet | something new |/" docs/postgres.md
	git add -A && git commit -q --allow-empty -m "a tree to be released"
}

# refuses WORDS COMMAND...: the command fails, with these words
refuses() {
	words=$1
	shift
	! "$@" >"$temporary/said" 2>&1 && cat "$temporary/said" && grep -q "$words" "$temporary/said"
}

is_dated() {
	grep -x "## $version, $(date -u +%Y-%m-%d)" CHANGELOG.md && ! grep -x '## Unreleased' CHANGELOG.md && ! grep 'not released yet' docs/postgres.md &&
		[ -z "$(git status --porcelain)" ] && [ "$(git cat-file -t "v$version")" = tag ] && [ "$(git rev-parse "v$version^{commit}")" = "$(git rev-parse HEAD)" ]
}

# the bullets that stand there, and none of the version before
notes_are_its_own() {
	dist/release.sh notes "$temporary/after" && cmp "$temporary/before" "$temporary/after" &&
		awk '/^## / { n++; next } n == 1' CHANGELOG.md | cmp - "$temporary/after"
}

refuses_changes() {
	echo >>README.md && refuses "not committed" dist/release.sh commit && git checkout -q README.md
}

copies >"$report_log" 2>&1 || { cat "$report_log"; exit 1; }
report "notes are there before" dist/release.sh notes "$temporary/before"
report "a tag of what is not released is refused" refuses "no heading for version $version" dist/release.sh check "v$version"
report "a tree with changes is refused" refuses_changes
report "the release is committed and tagged" dist/release.sh commit
report "dated in CHANGELOG.md and in the documents" is_dated
report "its tag may be published" dist/release.sh check "v$version"
report "another one may not" refuses "is not v$version" dist/release.sh check "v$version.1"
report "its notes are what stood there before" notes_are_its_own
report "the same version is not released again" refuses "raise default_version" dist/release.sh commit
report_end
