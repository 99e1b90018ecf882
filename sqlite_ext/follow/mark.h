/* follow/mark.h -- Mark: rows that are renumbered when those of a table without INTEGER PRIMARY KEY may be.
 *
 * SQLite numbers the rows of such a table anew, from 1 on in the order they had, when VACUUM finds no index on it, and when it
 * is copied row by row (.dump, .clone). That changes no rowid while they are 1, 2 .. n without a gap. So there is a table
 *
 *   x_mark(mark)             of a table with a PRIMARY KEY or UNIQUE in its schema: x_mark(mark UNIQUE)
 *
 *   rows 1 and 2     there is no gap
 *   row 2            there may be one since the rows were read
 *   row 1, or none   the rows of the table may have been numbered anew since then
 *
 * for whatever numbers the rows of the table anew does so to these, as the two tables are of one kind. The triggers delete row 1
 * when a row is deleted before the last one, when a rowid is given or changed, and when REPLACE might delete a row (triggers.h);
 * so the mark may tell of a gap where there is none.
 *
 * A table that is made anew, by the steps that SQLite's documentation gives for changes that ALTER TABLE cannot make, gets new
 * rowids, too, and then the triggers that it had. It then comes after x_mark_order in the schema, a trigger of x_mark that does
 * nothing, and that each build makes anew.
 *
 * The schema cookie, which VACUUM moves, would not do: triggers cannot read it where PRAGMA trusted_schema is off, a database
 * restored from a dump may have the same one, and any other change of the schema moves it as well.
 */
#ifndef IFS_FOLLOW_MARK_H
#define IFS_FOLLOW_MARK_H

#include "sqlite_ext/storage/shadow_tables.h"

enum { IFS_MARK_FIRST = 1, IFS_MARK_LAST = 2 };

/* For a table that was just read, before the index is published: makes the mark, if the table needs one and there is none, and
 * notes a gap in it if there is one. *is_dense: they have none, or cannot change.
 * Cost  counts the rows of the table, unless it has an INTEGER PRIMARY KEY */
int ifs_mark_prepare(struct ifs_index *index, const struct ifs_base_table *base_table, bool *is_dense, struct ifs_error *error);

/* After that, once the index is published: forgets what the mark told of the rows before. */
int ifs_mark_renew(struct ifs_index *index, bool is_dense, struct ifs_error *error);

/* After a flush of n rows: notes the gaps of rows that were added without triggers, and forgets those that are no more if most of
 * the table was flushed.
 * Cost  counts the rows of the table if at least half of them were flushed */
int ifs_mark_update(struct ifs_index *index, uint64_t n_flushed, sqlite3_int64 last_flushed, sqlite3_int64 last_rowid,
		    struct ifs_error *error);

/* Returns an error if the rows of the table may have been numbered anew since they were read. Sets *has_mark if the index has
 * a mark. table is NULL if it is not known which one it is. */
int ifs_mark_check(struct ifs_index *index, const char *table, bool *has_mark, struct ifs_error *error);

#endif
