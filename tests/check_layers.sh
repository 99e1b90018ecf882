#!/bin/sh
# Proof of the layers: which folder may know which, by the includes of the sources and by the symbols of what was built in $BUILD (default build).
#
#   core        libc alone       base < model < page < run < query; forest over base and model
#   sqlite_ext  core             storage < follow < maintain < query < vtab; trace (a module of its own) over the trace readers
#   pg_ext      core             base < types < storage < am < planner < exec < sql
#   trace       libc, jsmn, nanopb, zlib
#   tools       trace, libpq; trace2sqlite.c SQLite and its extension instead
#
# Also: no circle of includes among modules, a header of its name for each source, each module in its folder's README, no struct tag and no exported name in two folders,
# and a prefix that shows the folder.
set -u
build=${BUILD:-build}
failed=0

fail() {
	printf 'layers: %s\n' "$1" >&2
	failed=1
}

sources() { find "$@" -name '*.[ch]' | sort; }

# includes FOLDER ALLOWED: every include of the folder's files matches the pattern
includes() {
	bad=$(sources "$1" | xargs grep -nE '^#[[:space:]]*include' /dev/null | grep -vE "$2")
	[ -z "$bad" ] || fail "$1 includes what it may not know:
$bad"
}

# below LOWER FOLDER: nothing in LOWER includes anything of FOLDER
below() {
	bad=$(sources "$1" | xargs grep -nE "^#[[:space:]]*include \"$2/" /dev/null)
	[ -z "$bad" ] || fail "$1 lies below $2, but:
$bad"
}

# order FOLDER LAYER...: each layer knows only those before it
order() {
	folder=$1
	shift
	for lower in "$@"; do
		shift
		for upper in "$@"; do below "$folder/$lower" "$folder/$upper"; done
	done
}

# modules FOLDER: pairs of modules, the first of which includes the second's header; a module is a path without .h or .c
modules() {
	sources "$1" | xargs grep -HE "^#[[:space:]]*include \"$1/" /dev/null |
		sed -E 's/^([^:]*)\.[ch]:#[[:space:]]*include "([^"]*)\.h".*/\1 \2/' | awk '$1 != $2' | sort -u
}

# no_circles FOLDER: the modules can be put in an order in which each includes only those before it
no_circles() {
	circles=$(modules "$1" | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^-].*\)$/\1/p' | grep / | tr '\n' ' ')
	[ -z "$circles" ] || fail "$1 has modules that include one another: $circles"
}

# is_listed FOLDER: each module is in the tables of modules of the folder's README
is_listed() {
	unlisted=$(sources "$1" | sed 's/\.[ch]$//' | sort -u | while read -r module; do
		grep -qE "\`${module##*/}(\.c)?\`" "$1/README.md" || echo "$module"
	done | tr '\n' ' ')
	[ -z "$unlisted" ] || fail "$1/README.md lists no module $unlisted"
}

# has_headers FOLDER EXCEPT: each source has a header of its name
has_headers() {
	bad=$(find "$1" -name '*.c' | sort | while read -r source; do
		[ -e "${source%.c}.h" ] || echo "$source"
	done | grep -vE "^($2)\$" | tr '\n' ' ')
	[ -z "$bad" ] || fail "without a header of the same name: $bad"
}

libc='<(assert|ctype|errno|inttypes|limits|locale|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|strings|unistd|time|fcntl|sys/[a-z]+)\.h>'
pure='<(assert|inttypes|limits|math|stdbool|stddef|stdint|string)\.h>'
path='[a-z_0-9/]+\.h'

includes core "\"core/$path\"|$pure|^core/base/platform\\.c:.*<(pthread|sys/mman|stdatomic|time|windows)\\.h>"
includes trace "\"trace/$path\"|<jsmn\\.h>|<pb_decode\\.h>|<zlib\\.h>|$libc"
includes sqlite_ext "\"(core|sqlite_ext|trace)/$path\"|<sqlite3ext\\.h>|$libc"
includes pg_ext "\"(core|pg_ext)/$path\"|\"(postgres|fmgr|funcapi|miscadmin|pgstat|pgtime|varatt)\\.h\"|\"(access|catalog|commands|common|datatype|executor|foreign|lib|mb|nodes|optimizer|parser|port|postmaster|rewrite|storage|tcop|utils)/[a-zA-Z_0-9]+\\.h\"|<(float|math)\\.h>"
includes tools "\"(tools|trace)/$path\"|<(libpq-fe|getopt|signal)\\.h>|^tools/trace2sqlite\\.c:.*<sqlite3\\.h>|$libc"

order core base model page run query
for layer in page run query; do
	below core/forest core/$layer
	below core/$layer core/forest
done
below core/base core/forest
below core/model core/forest
order sqlite_ext storage follow maintain query vtab
order pg_ext base types storage am planner exec sql
for layer in storage follow maintain query vtab; do
	below sqlite_ext/$layer sqlite_ext/trace
	below sqlite_ext/$layer trace
done
for folder in core sqlite_ext pg_ext trace tools; do no_circles $folder; is_listed $folder; done
for folder in core trace; do has_headers $folder ''; done
# what only the server, SQL or a shell calls
has_headers pg_ext 'pg_ext/extension\.c|pg_ext/sql/(advise|aggregate_states|index_functions|line_aggregates|overlap_spans|peak_aggregates|row_aggregates)\.c'
has_headers sqlite_ext 'sqlite_ext/vtab/extension\.c|sqlite_ext/trace/chrometrace\.c'
has_headers tools 'tools/trace2(pg|sqlite)\.c'

versions=$(sources pg_ext | xargs grep -l PG_VERSION_NUM | grep -v '^pg_ext/base/compat\.h$')
[ -z "$versions" ] || fail "only pg_ext/base/compat.h knows PostgreSQL's versions, not $versions"

# a struct tag belongs to one folder
tags=$(for folder in core sqlite_ext pg_ext trace tools; do
	sources $folder | xargs sed -nE "s/^(struct|union|enum) ([a-z_0-9]+) \{.*/\2 $folder/p" /dev/null | sort -u
done | awk '{ in_folders[$1] = in_folders[$1] " " $2; n[$1]++ } END { for (tag in n) if (n[tag] > 1) printf "%s (%s) ", tag, substr(in_folders[tag], 2) }')
[ -z "$tags" ] || fail "tags defined twice: $tags"

# objects FOLDER: of the sources that there are now, and have been built
objects() {
	built=$build/obj
	[ "$1" != pg_ext ] || built=$build/pg
	find "$1" -name '*.c' | sort | while read -r source; do
		[ ! -e "$built/${source%.c}.o" ] || echo "$built/${source%.c}.o"
	done
}

# exported FOLDER: the names that its objects give to others
exported() { objects "$1" | xargs -r nm -g --defined-only | awk 'NF == 3 { print $3 }' | grep -v '^__'; }

names=$(for folder in core sqlite_ext pg_ext trace tools; do exported $folder | sort -u; done | sort | uniq -d | grep -vE '^(main|_init)$' | tr '\n' ' ')
[ -z "$names" ] || fail "names exported by two folders: $names"

# prefix FOLDER PATTERN: the exported names show whose they are
prefix() {
	bad=$(exported "$1" | grep -vE "^($2)" | tr '\n' ' ')
	[ -z "$bad" ] || fail "$1 exports names without its prefix: $bad"
}

prefix core iforest_
prefix sqlite_ext 'ifs_|sqlite3_'
prefix trace trace_
# what SQL names keeps its name (sql/pg/iforest--*.sql)
prefix pg_ext 'ifp_|iforest_|pg_finfo_|Pg_magic_func|_PG_init'
sql_names=$(cat sql/pg/iforest--*.sql | grep -oE '\biforest_[a-z_0-9]+' | sort -u)
bad=$(exported pg_ext | grep '^iforest_' | grep -vxE 'iforest_(worker_main|build_worker)' | while read -r name; do
	echo "$sql_names" | grep -qx "$name" || echo "$name"
done | tr '\n' ' ')
[ -z "$bad" ] || fail "pg_ext exports names of core's prefix that no SQL script names: $bad"

# core calls nothing but memory functions (and the 128-bit arithmetic of the compiler), and in one file for address space, a clock and threads:
# no malloc, no files, no engine
foreign=$(nm -u "$build"/obj/core/base/platform.o | awk '$1 == "U" { print $2 }' |
	grep -vE '^(m(map|unmap|protect)|munmap|madvise|clock_gettime|pthread_(create|join)|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$')
[ -z "$foreign" ] || fail "core/base/platform.c calls $(echo "$foreign" | tr '\n' ' ')"
foreign=$(objects core | grep -v /platform.o | xargs nm -u | awk '$1 == "U" { print $2 }' | sort -u |
	grep -vE '^(mem(cpy|move|set|cmp)|strlen|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|iforest_[a-z0-9_]+|__(u?divti3|u?modti3|u?divmodti4|float(un)?tidf))$')
[ -z "$foreign" ] || fail "core calls $(echo "$foreign" | tr '\n' ' ')"
foreign=$(nm -u "$build/libtrace.a" 2>/dev/null | awk '$1 == "U" { print $2 }' | grep -E '^(sqlite3|iforest|Pg|pg_)')
[ -z "$foreign" ] || fail "trace calls $(echo "$foreign" | tr '\n' ' ')"
foreign=$(objects tools | grep -v /trace2sqlite.o | xargs -r nm -u | awk '$1 == "U" { print $2 }' | grep -E '^(sqlite3|iforest|gz|inflate)')
[ -z "$foreign" ] || fail "tools calls $(echo "$foreign" | tr '\n' ' ')"

# a module exports its entry point and nothing else
for module in iforest chrometrace; do
	[ -e "$build/$module.so" ] || continue
	public=$(nm -D --defined-only "$build/$module.so" | awk '$2 ~ /[TDBR]/ { print $3 }' | tr '\n' ' ')
	[ "$public" = "sqlite3_${module}_init " ] || fail "$module.so exports $public"
done

if [ -e "$build/pg/iforest.so" ]; then
	public=$(nm -D --defined-only "$build/pg/iforest.so" | awk '$2 ~ /[TDBR]/ { print $3 }' |
		sed 's/^pg_finfo_//' | sort -u | grep -vE '^(Pg_magic_func|_PG_init|iforest_worker_main|iforest_build_worker)$' | while read -r name; do
			echo "$sql_names" | grep -qx "$name" || echo "$name"
		done | tr '\n' ' ')
	[ -z "$public" ] || fail "pg/iforest.so exports what no SQL script names: $public"
fi

[ $failed -eq 0 ] && printf 'layers: every arrow points the right way\n'
exit $failed
