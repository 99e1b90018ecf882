/* follow/condition.h -- Condition of a partial index: the rows of the base table that it contains (where=...).
 *
 * The condition is SQL over the columns of one row. It is always evaluated by a statement over the table, also in triggers, so
 * that it has the same result as in SELECT ... FROM t WHERE condition, with the affinities and collations of the columns. Its
 * result must not depend on the connection, or on the functions and collations that the connection has defined.
 */
#ifndef IFS_FOLLOW_CONDITION_H
#define IFS_FOLLOW_CONDITION_H

#include "sqlite_ext/storage/definition.h"

/* Refuses a condition that SQLite does not allow in CREATE INDEX ... WHERE: subqueries, parameters, nondeterministic functions.
 * Refuses, with a message that names it, whatever may have another result in another connection or at another time: functions
 * and collations that are not built in, a LIKE that is not the built-in one, string literals in double quotes. */
int ifs_condition_check(sqlite3 *db, const char *schema, const char *table, const struct ifs_definition *definition,
			struct ifs_error *error);

/* True if the condition may read the column: the name occurs in its text. */
bool ifs_condition_names(const struct ifs_definition *definition, const char *column);

#endif
