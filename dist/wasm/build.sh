#!/bin/sh
# Compiles SQLite with iforest and the readers of traces for WebAssembly, by emscripten. dist/wasm.sh calls it in a Debian that has it.
#
#   dist/wasm/build.sh SOURCES FOLDER     SOURCES has sqlite/, zlib/ and nanopb/, each as its authors publish it, and jsmn.h
#
# FOLDER gets module.js and iforest.wasm, which index.js is over, and worker.js and worker.wasm, the timeline's worker.
set -eu
sources=$(cd "$1" && pwd)
folder=$(mkdir -p "$2" && cd "$2" && pwd)
objects=$folder/objects
rm -rf "$objects"
mkdir -p "$objects/one" "$objects/timeline" "$objects/include"

# the headers of the system are of another machine
cp "$sources"/nanopb/pb*.h "$sources/jsmn.h" "$sources"/zlib/zlib.h "$sources"/zlib/zconf.h "$sources"/sqlite/sqlite3*.h "$objects/include"
dist/amalgamate.py sqlite "$objects/one"
sed -n "s/^default_version = '\(.*\)'/#define IFOREST_VERSION \"\1\"/p" sql/pg/iforest.control >"$objects/include/version.h"

options="-std=gnu11 -D_GNU_SOURCE -O3 -I. -I$objects/include -include $objects/include/version.h -DSQLITE_CORE -DSQLITE_OMIT_LOAD_EXTENSION"
# one thread, memory for temporary tables, and nothing that reaches out of the module
sqlite="-O3 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_SHARED_CACHE -DSQLITE_OMIT_LOCALTIME -DSQLITE_DQS=0 \
	-DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_OMIT_DEPRECATED -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_FTS5 \
	-DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_MAX_MMAP_SIZE=0 -DSQLITE_USE_URI=1"

# job FILE OPTION...: a line for the compiler
job() {
	source=$1
	shift
	echo "$source -o $objects/$(printf %s "${source#"$sources"/}" | sed 's|^/||; s|.*objects/||; s|[/.]|_|g').o $*"
}
{
	# those that take longest first
	job "$sources/sqlite/sqlite3.c" "$sqlite"
	job "$objects/one/iforest.c" "$options"
	for source in trace/*.c sqlite_ext/trace/*.c tools/interrupt.c tools/rows.c tools/terminal.c tools/time_sample.c tools/trace2sqlite.c dist/wasm/*.c; do job "$source" "$options"; done
	for source in "$sources"/nanopb/pb_common.c "$sources"/nanopb/pb_decode.c; do job "$source" "$options"; done
	for source in adler32 crc32 inffast inflate inftrees zutil; do job "$sources/zlib/$source.c" -O3; done
	for source in answers box bytes database frames layout static/worker; do
		job "examples/timeline/$source.c" "$options"
	done
} | xargs -P "$(nproc)" -I '{}' sh -c 'exec emcc -c {}'
mv "$objects"/examples_timeline_*.o "$objects/timeline"

# link FILE OPTION...: trace2sqlite's main() is called by name, as often as files are loaded
link() {
	file=$1
	shift
	emcc -O3 -o "$file" "$@" -s INVOKE_RUN=0 -s MODULARIZE=1 -s EXPORT_NAME=createModule -s WASM_BIGINT=1 -s ENVIRONMENT=web,worker \
		-s ALLOW_MEMORY_GROWTH=1 -s MAXIMUM_MEMORY=4GB -s FILESYSTEM=1
}
methods=callMain,FS,UTF8ToString,stringToUTF8,lengthBytesUTF8
functions=_main,_malloc,_free,_wasm_start
sqlite=_sqlite3_open_v2,_sqlite3_close_v2,_sqlite3_errmsg,_sqlite3_prepare_v2,_sqlite3_step,_sqlite3_finalize,_sqlite3_bind_null,_sqlite3_bind_int64,\
_sqlite3_bind_double,_sqlite3_bind_text,_sqlite3_bind_blob,_sqlite3_column_count,_sqlite3_column_name,_sqlite3_column_type,_sqlite3_column_int64,\
_sqlite3_column_double,_sqlite3_column_text,_sqlite3_column_blob,_sqlite3_column_bytes
link "$folder/iforest.mjs" "$objects"/*.o -s EXPORT_ES6=1 -s USE_ES6_IMPORT_META=0 -s EXPORTED_RUNTIME_METHODS=$methods -s EXPORTED_FUNCTIONS=$functions,$sqlite
mv "$folder/iforest.mjs" "$folder/module.js"
link "$folder/worker.js" "$objects"/*.o "$objects"/timeline/*.o -lworkerfs.js -s EXPORTED_RUNTIME_METHODS=$methods,WORKERFS \
	-s EXPORTED_FUNCTIONS=$functions,_timeline_open,_timeline_get
rm -rf "$objects"
