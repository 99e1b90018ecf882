#!/bin/sh
# The sources as one file (dist/amalgamate.py) compile without a warning, as a module and as a part of a program, and answer as the
# module and the library do that are built of many: the tour, and the forest's example. TAP.
set -u
if ! command -v python3 >/dev/null 2>&1; then
	echo "1..0 # SKIP there is no python3"
	exit 0
fi
build=$(cd "${IFOREST_BUILD:-build}" && pwd) || exit 1
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
# shellcheck source=tests/dist/report.sh
. "$(dirname "$0")/report.sh"
report_log=$temporary/log

is_without_warnings() {
	compiler=$1
	shift
	command -v "$compiler" >/dev/null || return 0
	"$compiler" -Wall -Wextra -Werror -fsyntax-only "$@"
}

prints_the_tour() {
	(cd "$temporary" && gcc -Wall -Wextra -Werror -shared -fPIC iforest.c -o iforest.so -pthread -lm) || return 1
	[ "$(nm -D --defined-only "$temporary/iforest.so" | awk '{ print $3 }')" = sqlite3_iforest_init ] || return 1
	sed "s|\./build/iforest|$temporary/iforest|; s|\./build/|$build/|" sql/sqlite/tour.sql |
		sqlite3 -batch -init /dev/null :memory: 2>&1 | diff sql/sqlite/tour.expected -
}

# each database of the program has it
is_part_of_a_program() {
	cat >"$temporary/program.c" <<-'END'
		#include <stdio.h>
		#include "iforest.h"
		int main(void)
		{
			sqlite3 *db;
			sqlite3_stmt *statement;
			sqlite3_auto_extension((void (*)(void))sqlite3_iforest_init);
			if (sqlite3_open(":memory:", &db) ||
			    sqlite3_exec(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts, dur); INSERT INTO spans(ts, dur) VALUES (1, 5), (3, 7), (9, 2);"
				"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)", NULL, NULL, NULL) ||
			    sqlite3_prepare_v2(db, "SELECT count, sum_dur, iforest_version() FROM spans_if(1, 9)", -1, &statement, NULL) ||
			    sqlite3_step(statement) != SQLITE_ROW)
				return puts(sqlite3_errmsg(db));
			printf("%s %s %d\n", sqlite3_column_text(statement, 0), sqlite3_column_text(statement, 1),
			       !sqlite3_stricmp((const char *)sqlite3_column_text(statement, 2), IFOREST_VERSION));
			return 0;
		}
	END
	# Debian has SQLite as a library alone; that one serves as the sources would
	(cd "$temporary" && gcc -Wall -Wextra -Werror -DSQLITE_CORE iforest.c program.c -o program -lsqlite3 -pthread -lm) &&
		[ "$("$temporary/program")" = "2 12 1" ]
}

prints_the_example() {
	sed 's|#include <iforest/.*>|#include "iforest_forest.h"|' examples/forest/forest_example.c >"$temporary/example.c"
	(cd "$temporary" && gcc -std=c11 -Wall -Wextra -Werror example.c iforest_forest.c -o example -pthread -lm) &&
		(cd "$temporary" && ./example) | diff examples/forest/forest_example.expected -
}

report "iforest.c is written" dist/amalgamate.py sqlite "$temporary"
report "iforest_forest.c is written" dist/amalgamate.py forest "$temporary"
report "the same bytes again" sh -c 'dist/amalgamate.py sqlite "$0/again" && cmp "$0/iforest.c" "$0/again/iforest.c"' "$temporary"
report "clang has no warning" is_without_warnings clang "$temporary/iforest.c" "$temporary/iforest_forest.c"
report "nor inside a program" is_without_warnings clang -DSQLITE_CORE "$temporary/iforest.c"
report "the module prints the tour, and exports its entry point alone" prints_the_tour
report "inside a program, all databases have it" is_part_of_a_program
report "the forest's example prints what it should" prints_the_example
report_end
