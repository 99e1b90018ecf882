/* follow/condition.h -- Condition of a partial index: the rows of the base table that it contains (where=...).
 *
 * The condition is SQL over the columns of one row. It is always evaluated by a statement over the table, also in triggers, so
 * that it has the same result as in SELECT ... FROM t WHERE condition, with the affinities and collations of the columns. Its
 * result must not depend on the connection, or on the functions and collations that the connection has defined.
 *
 * It is also text out of a database file, which a stranger may have made, and it becomes part of statements that SQLite takes for
 * the user's own: neither DIRECTONLY nor PRAGMA trusted_schema restrains them. So each connection judges it before it uses it.
 * SQLite's own parser does that, in a connection apart that has nothing but an empty table with the same columns: there the text
 * must be one expression, between parentheses and without, and an authorizer sees each function, column and SELECT in it.
 * docs/sqlite_security.md lists what is accepted.
 */
#ifndef IFS_FOLLOW_CONDITION_H
#define IFS_FOLLOW_CONDITION_H

#include "sqlite_ext/storage/definition.h"

/* Judges definition->where, if there is one, over the columns that the table has now; on success
 * ifs_definition_condition() returns it from then on. Refuses, with a message that names it, what is not a single expression
 * over the table's columns, subqueries, parameters, all functions but those that are SQLite's own and on the list, and what may
 * have another result in another connection or at another time.
 * Cost  a connection to an empty database in memory, and a few statements: 0.1 to 0.2 ms */
int ifs_condition_judge(sqlite3 *db, const char *schema, const char *table, struct ifs_definition *definition,
			struct ifs_error *error);

/* Refuses a LIKE in a connection where it is not the built-in one: whoever wrote it may have meant that.  */
int ifs_condition_check_like(sqlite3 *db, const struct ifs_definition *definition, struct ifs_error *error);

/* True if the condition may read the column: the name occurs in its text. */
bool ifs_condition_names(const struct ifs_definition *definition, const char *column);

#endif
