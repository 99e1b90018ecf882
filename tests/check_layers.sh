#!/bin/sh
# Proves which folder may know which:
#
#   sqlite_ext -> core, trace        pg_ext -> core        tools -> trace, libpq        core -> libc alone        trace -> libc, yajl, zlib
#
# by the includes of the sources, and by the symbols of what was built in $BUILD (default build).
set -u
build=${BUILD:-build}
failed=0

fail() {
	printf 'layers: %s\n' "$1" >&2
	failed=1
}

# includes FOLDER ALLOWED: every include of the folder's files matches the pattern
includes() {
	bad=$(grep -rnE --include='*.[ch]' '^#[[:space:]]*include' "$1" | grep -vE "$2")
	[ -z "$bad" ] || fail "$1 includes what it may not know:
$bad"
}

libc='<(assert|ctype|errno|inttypes|limits|locale|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|strings|unistd|time|fcntl|sys/[a-z]+)\.h>'
pure='<(assert|inttypes|limits|math|stdbool|stddef|stdint|string)\.h>'

includes core "\"core/[a-z]+/[a-z_0-9]+\\.h\"|$pure|^core/base/platform\\.c:.*<(pthread|stdatomic|sys/mman)\\.h>"
includes trace "\"trace/[a-z_0-9]+\\.h\"|<yajl/yajl_[a-z]+\\.h>|<zlib\\.h>|<setjmp\\.h>|$libc"
includes sqlite_ext "\"(core|sqlite_ext|trace)/([a-z]+/)?[a-z_0-9]+\\.h\"|<sqlite3ext\\.h>|$libc"
includes pg_ext "\"(core|pg_ext)/([a-z]+/)?[a-z_0-9]+\\.h\"|\"(postgres|fmgr|funcapi|miscadmin|pgstat|pgtime|varatt)\.h\"|\"(access|catalog|commands|common|datatype|executor|lib|mb|nodes|optimizer|parser|port|postmaster|rewrite|storage|tcop|utils)/[a-zA-Z_0-9]+\\.h\"|<(float|math)\\.h>"
includes tools "\"(tools|trace)/[a-z_0-9]+\\.h\"|<(libpq-fe|getopt|signal)\\.h>|$libc"

versions=$(grep -rl --include='*.[ch]' PG_VERSION_NUM pg_ext | grep -vE '^pg_ext/([a-z]+/)?compat\.h$')
[ -z "$versions" ] || fail "only pg_ext/base/compat.h knows PostgreSQL's versions, not $versions"
engines=$(grep -rlE --include='*.[ch]' 'include.*(sqlite3(ext)?|postgres|fmgr)\.h' core trace)
[ -z "$engines" ] || fail "an engine's header outside its folder: $engines"
readers=$(grep -rlE --include='*.[ch]' '"trace/' sqlite_ext | grep -vE '^sqlite_ext/(chrometrace|trace/)')
[ -z "$readers" ] || fail "iforest.so must not know the trace reader: $readers"

# core calls nothing but memory functions (and the 128-bit arithmetic of the compiler), and in one file for address space and threads:
# no malloc, no files, no engine
foreign=$(nm -u "$build"/obj/core/base/platform.o | awk '$1 == "U" { print $2 }' |
	grep -vE '^(m(map|unmap|protect)|munmap|madvise|pthread_(create|join)|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$')
[ -z "$foreign" ] || fail "core/base/platform.c calls $(echo "$foreign" | tr '\n' ' ')"
foreign=$(find "$build/obj/core" -name '*.o' ! -name platform.o -exec nm -u {} + | awk '$1 == "U" { print $2 }' | sort -u |
	grep -vE '^(mem(cpy|move|set|cmp)|strlen|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|iforest_[a-z0-9_]+|__(u?divti3|u?modti3|divmodti4|float(un)?tidf))$')
[ -z "$foreign" ] || fail "core calls $(echo "$foreign" | tr '\n' ' ')"
foreign=$(nm -u "$build/libtrace.a" | awk '$1 == "U" { print $2 }' | grep -E '^(sqlite3|iforest|Pg|pg_)')
[ -z "$foreign" ] || fail "trace calls $(echo "$foreign" | tr '\n' ' ')"

foreign=$(nm -u "$build"/obj/tools/*.o 2>/dev/null | awk '$1 == "U" { print $2 }' | grep -E '^(sqlite3|iforest|yajl|gz|inflate)')
[ -z "$foreign" ] || fail "tools calls $(echo "$foreign" | tr '\n' ' ')"

# a module exports its entry point and nothing else
for module in iforest chrometrace; do
	exported=$(nm -D --defined-only "$build/$module.so" | awk '$2 ~ /[TDBR]/ { print $3 }' | tr '\n' ' ')
	[ "$exported" = "sqlite3_${module}_init " ] || fail "$module.so exports $exported"
done

if [ -e "$build/pg/iforest.so" ]; then
	exported=$(nm -D --defined-only "$build/pg/iforest.so" | awk '$2 ~ /[TDBR]/ { print $3 }' |
		grep -vE '^(Pg_magic_func|_PG_init|(pg_finfo_)?iforest_(handler|(merge|check|stats|runs)_index|page_(info|entries)|create_index_functions|follow_rename|asks_support|line|overlap_(index(_support)?|spans|asks)|bucket_(number|of_time|starts|ends)|window_(asks|last)|span_(ends|earliest)|row_((min|max|first|last)_(add|combine)|serialize|deserialize|ctid|time|value)|sketch_((add|remove)_(number|sketch)|combine_states|serialize|deserialize|result|numbers|quantile_(real|integer)))|iforest_worker_main)$')
	[ -z "$exported" ] || fail "pg/iforest.so exports $(echo "$exported" | tr '\n' ' ')"
fi

[ $failed -eq 0 ] && printf 'layers: every arrow points the right way\n'
exit $failed
