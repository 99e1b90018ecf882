/* follow/base_table.h -- Base table that an index is built on: its rowid, its column types, and what is refused. */
#ifndef IFS_FOLLOW_BASE_TABLE_H
#define IFS_FOLLOW_BASE_TABLE_H

#include "sqlite_ext/storage/definition.h"

/* Looks up definition->content in the schema, refuses what cannot be indexed, and sets definition->by_types. On success
 * the caller releases *base_table. */
int ifs_base_table_inspect(struct ifs_base_table *base_table, sqlite3 *db, const char *schema,
			   struct ifs_definition *definition, struct ifs_error *error);

/* Finds by which column the rows of a table are told apart, and fills in all of *base_table but the name. Leaves rowid_column
 * NULL where no name is left for the rowid. Refuses a table whose rows may be numbered anew in another order. Takes the table to
 * have rowids. */
int ifs_base_table_find_rowid(struct ifs_base_table *base_table, sqlite3 *db, const char *schema, const char *table,
			      struct ifs_error *error);

/* Returns the affinity of a declared type, which may be NULL: TEXT, INTEGER, REAL, NUMERIC or BLOB. */
const char *ifs_affinity_of(const char *type, bool is_strict);

#endif
