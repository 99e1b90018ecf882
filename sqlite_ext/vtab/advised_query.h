/* vtab/advised_query.h -- Translation of a SELECT over one table into a query over an index of it, with the same answer.
 *
 * A SELECT is understood in full, or not translated: each token must be one whose meaning over the index is known, and what the
 * rows of the table hold now (classes of values, forms of times) decides what is equal. So the table is read once. Conditions on
 * the time become a window; those on other columns, which thereby become by columns, are copied.
 *
 * If the SELECT groups by all by columns, rows of the index are its groups. Otherwise they are aggregated once more:
 *
 *   sum(dur) GROUP BY track     "sum_dur"          or  sum("sum_dur") ... GROUP BY "track"
 */
#ifndef IFS_VTAB_ADVISED_QUERY_H
#define IFS_VTAB_ADVISED_QUERY_H

#include "sqlite_ext/vtab/advised_times.h"

struct ifs_advised_query {
	char *arguments; /* of the index, after content= and time=: ", value=(...), by=(...)" */
	char *query;
	char *reason; /* why there is no query; then the others are NULL */
};

/* Translates the SELECT, over an index called `index`. Release the result in any case.
 * Requires  a SELECT that SQLite has prepared over such a table
 * Cost      reads the table once */
int ifs_advised_query_make(sqlite3 *db, const struct ifs_advised_table *table, const char *index, const char *sql,
			   struct ifs_advised_query *advised, struct ifs_error *error);

void ifs_advised_query_release(struct ifs_advised_query *advised);

#endif
