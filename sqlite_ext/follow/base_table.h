/* follow/base_table.h -- Base table of an index: its rowid column, its column types, and the tables that cannot be indexed. */
#ifndef IFS_FOLLOW_BASE_TABLE_H
#define IFS_FOLLOW_BASE_TABLE_H

#include "sqlite_ext/storage/definition.h"

/* Looks up definition->content in the schema, refuses what cannot be indexed, and sets definition->by_types. The condition is
 * judged by itself (condition.h). On success the caller releases *base_table. */
int ifs_base_table_inspect(struct ifs_base_table *base_table, sqlite3 *db, const char *schema,
			   struct ifs_definition *definition, struct ifs_error *error);

/* Finds the rowid column of a table, and sets all members of *base_table except the name. rowid_column stays NULL if columns
 * of the table take all names of the rowid. Refuses a table whose rows .dump may renumber in another order.
 * Requires  the table has rowids */
int ifs_base_table_find_rowid(struct ifs_base_table *base_table, sqlite3 *db, const char *schema, const char *table,
			      struct ifs_error *error);

/* Returns the affinity of a declared type, which may be NULL: TEXT, INTEGER, REAL, NUMERIC or BLOB. */
const char *ifs_affinity_of(const char *type, bool is_strict);

#endif
