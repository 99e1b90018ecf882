#!/bin/sh
# The extension by PostgreSQL's own tools: the zip for PGXN is the same bytes twice and has all that is needed; from it the extension is
# built and installed as docs/install.md says, with the bitcode for LLVM where clang is there, asked by installcheck, and removed. TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pg/cluster.sh
. "$here/../pg/cluster.sh"
reason=$(cluster_missing)
for program in python3 git; do
	command -v $program >/dev/null || reason="there is no $program"
done
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason"
	exit 0
fi
BUILD=${IFOREST_BUILD:-build}
PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
export BUILD PG_CONFIG
temporary=$(mktemp -d) || exit 1
trap 'cluster_stop; rm -rf "$temporary"' EXIT
trap 'exit 143' HUP INT TERM
# shellcheck source=tests/dist/report.sh
. "$here/report.sh"
report_log=$temporary/log
jobs=-j$(($(nproc 2>/dev/null || echo 2) + 1))

quietly() { MAKEFLAGS='' make -s --no-print-directory "$@"; }

is_the_same_twice() {
	dist/pgxn.py "$temporary/a" && sleep 2 && dist/pgxn.py "$temporary/b" && (cd "$temporary/a" && sha256sum ./*.zip) >"$temporary/sums" || return
	(cd "$temporary/b" && sha256sum -c "$temporary/sums") && python3 -m zipfile -e "$temporary"/a/iforest-*.zip "$temporary" &&
		source=$(ls -d "$temporary"/iforest-*) && (cd "$source" && find . | sort) >"$temporary/files"
}

# the version is that of the control file, and the files that it names are there
describes_itself() {
	python3 - "$source" sql/pg/iforest.control <<-'END_OF_PYTHON'
		import json, os, re, sys
		meta = json.load(open(os.path.join(sys.argv[1], 'META.json')))
		provided = meta['provides']['iforest']
		version = re.search("^default_version = '(.*)'", open(sys.argv[2]).read(), re.M).group(1)
		assert meta['version'] == provided['version'] and (meta['version'] + '.').startswith(version + '.'), meta['version']
		assert re.fullmatch(r'\d+\.\d+\.\d+', meta['version']) and meta['meta-spec']['version'] == '1.0.0'
		assert all(meta[name] for name in ('name', 'abstract', 'maintainer', 'license'))
		assert os.path.basename(sys.argv[1]) == meta['name'] + '-' + meta['version']
		for name in ('file', 'docfile'):
		    assert os.path.exists(os.path.join(sys.argv[1], provided[name])), provided[name]
	END_OF_PYTHON
}

source_is_as_it_was() { (cd "$source" && find . | sort) | diff "$temporary/files" -; }

# docs_block NAME: the commands of docs/install.md's block of that name, for a root that needs no sudo
docs_block() { awk -v fence='```sh '"$1" 'inside && /^```$/ { exit } inside { print } $0 == fence { inside = 1 }' docs/install.md | sed 's/^sudo //'; }

# what docs/install.md says, with a server that has it, without optimization, which takes longest, of bitcode, too; one test of the suite stands for all of them, which tests/pg/regress.sh runs
does_as_documented() {
	docs_block pgxs >"$temporary/commands" && grep -q installcheck "$temporary/commands" && cluster_start || return
	(cd "$source" && DESTDIR="$temporary/root" MAKEFLAGS="-s $jobs COPT=-O0 BITCODE_CFLAGS=-O0 REGRESS=scan" sh -e "$temporary/commands")
}

cleans() {
	(cd "$source" && find . -name '*.o' | tar -cf "$temporary/objects.tar" -T -) && quietly -C "$source/pg_ext" clean && source_is_as_it_was
}

# outside of the folder; nothing is written beside the sources. What was compiled inside stands for all but one object of each folder, as one rule
# makes them.
builds_outside() {
	mkdir "$temporary/outside" && tar -xf "$temporary/objects.tar" -C "$temporary/outside" || return
	(cd "$temporary/outside" && find . -name '*.o' | sort) >"$temporary/objects"
	sed 's|/[^/]*$||' "$temporary/objects" | sort -u >"$temporary/folders"
	while read -r folder; do
		grep -m 1 "^$folder/[^/]*$" "$temporary/objects"
	done <"$temporary/folders" | (cd "$temporary/outside" && xargs rm) || return
	quietly "$jobs" -C "$temporary/outside" -f "$source/pg_ext/Makefile" COPT=-O0 with_llvm=no && [ -e "$temporary/outside/iforest.so" ] &&
		(cd "$temporary/outside" && find . -name '*.o' | sort) | diff "$temporary/objects" - &&
		[ "$(find "$temporary/outside" -name '*.d' | wc -l)" = "$(wc -l <"$temporary/folders")" ] && source_is_as_it_was
}

# what PostgreSQL looks for, in its folders, and nothing else
files_are_where_they_belong() {
	share=$("$PG_CONFIG" --sharedir)/extension library=$("$PG_CONFIG" --pkglibdir)
	{
		echo "$library/iforest.so"
		(cd "$source/sql/pg" && ls iforest*) | sed "s|^|$share/|"
	} | sort >"$temporary/expected"
	(cd "$temporary/root" && find . -type f ! -path '*/bitcode/*' | sed 's/^\.//' | sort) | diff "$temporary/expected" -
}

has_bitcode() {
	bitcode="$temporary/root$("$PG_CONFIG" --pkglibdir)/bitcode"
	(cd "$source" && ls core/*/*.c pg_ext/*.c pg_ext/*/*.c) | sed 's/c$/bc/' | sort >"$temporary/expected"
	(cd "$bitcode/iforest" && find . -type f | sed 's/^\.\///' | sort) | diff "$temporary/expected" - && [ -s "$bitcode/iforest.index.bc" ]
}

uninstalls() {
	quietly -C "$source/pg_ext" uninstall DESTDIR="$temporary/root" &&
		find "$temporary/root" ! -type d | sed 's/^/is left: /' | (! grep .)
}

# an expected file is changed, as if the library were wrong
fails_if_wrong() {
	expected=$source/tests/pg/regress/expected/scan.out
	sed -i 's/^([2-9][0-9]* rows)$/(0 rows)/' "$expected" && ! cmp -s "$expected" tests/pg/regress/expected/scan.out || return
	quietly -C "$source/pg_ext" installcheck REGRESS=scan && return 1
	grep -q '^+([2-9][0-9]* rows)' "$source/regression.diffs"
}

# CONTRIB_TESTDB may name a database of the user, as the PGXN client does
leaves_others_alone() {
	createdb kept && psql -X -q -d kept -c 'CREATE TABLE kept()' && quietly -C "$source/pg_ext" installcheck REGRESS=opclass CONTRIB_TESTDB=kept &&
		psql -X -d kept -c 'TABLE kept'
}

# with_llvm as the server was configured; its clang may be missing
variable() { printf 'PGXS = %s\ninclude $(PGXS)\nshow:\n\t@echo $(%s)\n' "$("$PG_CONFIG" --pgxs)" "$1" | quietly -f - show; }

report "the zip is the same bytes twice" is_the_same_twice
report "META.json has its version and names files that are there" describes_itself
report "builds, installs and is asked as docs/install.md says" does_as_documented
report "its files are where PostgreSQL looks for them" files_are_where_they_belong
if [ "$(variable with_llvm)" = yes ] && command -v "$(variable CLANG)" >/dev/null; then
	report "among them the bitcode of each source, and its index" has_bitcode
else
	skip "bitcode" "the server was built without LLVM, or its clang is missing"
fi
report "installcheck notices what is wrong" fails_if_wrong
report "and leaves other databases alone" leaves_others_alone
report "uninstall leaves nothing" uninstalls
report "clean leaves the sources as they were" cleans
report "builds in another folder (VPATH)" builds_outside
report_end
