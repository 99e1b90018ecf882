/* follow/condition.h -- Condition: which rows of the base table an index takes (where=...).
 *
 * The condition is SQL over the columns of one row. Only statements over the table evaluate it, in triggers too, so that a row is
 * judged as by SELECT ... FROM t WHERE condition, with the affinities and collations of its columns. It must give the same in each
 * connection, whatever that has defined.
 */
#ifndef IFS_FOLLOW_CONDITION_H
#define IFS_FOLLOW_CONDITION_H

#include "sqlite_ext/storage/definition.h"

/* Refuses a condition that SQLite would not take in CREATE INDEX ... WHERE: subqueries, parameters, functions that give another
 * value each time. Refuses by name what may mean something else in another connection, or at another time: functions and
 * collations that are not SQLite's own, another LIKE than SQLite's, texts in double quotes. */
int ifs_condition_check(sqlite3 *db, const char *schema, const char *table, const struct ifs_definition *definition,
			struct ifs_error *error);

/* True if the condition may read that column: it has its name. */
bool ifs_condition_names(const struct ifs_definition *definition, const char *column);

#endif
