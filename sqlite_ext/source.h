/* source.h -- the table that an index is made of: what is refused, and the triggers that notice changes.
 *
 * The triggers are plain SQL on the table, so writers need no extension:
 *
 *   CREATE TRIGGER "spans_if_insert" AFTER INSERT ON "spans" BEGIN UPDATE "spans_if_changed" SET changed = 1 WHERE changed = 0; END
 *
 * and the same for UPDATE and DELETE, and BEFORE each. A row that INSERT OR REPLACE deletes fires no DELETE trigger, but the
 * INSERT does.
 */
#ifndef IFOREST_SQLITE_SOURCE_H
#define IFOREST_SQLITE_SOURCE_H

#include "sqlite_ext/definition.h"

/* The table as it stands today. */
struct iforest_source {
	char *name;          /* as the schema spells it */
	char *rowid_column;  /* its INTEGER PRIMARY KEY */
};

/* Inspects definition->content in the schema, refuses what cannot be indexed, and fills in definition->by_types.
 * On success the source is the caller's to release. */
int iforest_source_inspect(struct iforest_source *source, sqlite3 *db, const char *schema,
			   struct iforest_definition *definition, struct iforest_error *error);
void iforest_source_release(struct iforest_source *source);

/* Refuses names of triggers that are taken: a new index must not replace triggers of others. */
int iforest_source_make_room(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error);

/* The columns of an index as the triggers name them, from sqlite3_mprintf(): the `columns` of the functions below. */
char *iforest_source_columns(const struct iforest_definition *definition);

/* Makes the triggers of the index on the table, after dropping those of the same names. */
int iforest_source_watch(sqlite3 *db, const char *schema, const char *index, const char *table, const char *columns,
			 struct iforest_error *error);
int iforest_source_unwatch(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error);

/* The table that the triggers stand on, followed through renames: *table is from sqlite3_mprintf(), or NULL where a trigger is missing,
 * is not the text that we would write, or the three do not stand on one table. */
int iforest_source_find(sqlite3 *db, const char *schema, const char *index, const char *columns, char **table,
			struct iforest_error *error);

#endif
