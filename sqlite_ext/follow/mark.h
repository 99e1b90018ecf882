/* follow/mark.h -- Mark: detects that the rows of a table without INTEGER PRIMARY KEY may have been renumbered.
 *
 * SQLite renumbers the rows of such a table from 1 on, in their present order, if VACUUM finds no index on it, and if it is
 * copied row by row (.dump, .clone). No rowid changes as long as they are 1, 2 .. n without a gap. The mark is a table
 *
 *   x_mark(mark)             of a table with a PRIMARY KEY or UNIQUE in its schema: x_mark(mark UNIQUE)
 *
 *   rows 1 and 2     the rowids have no gap
 *   row 2            there may be a gap since the rows were read
 *   row 1, or none   the rows of the base table may have been renumbered since then
 *
 * Whatever renumbers the rows of the base table also renumbers those of the mark, because both tables are of the same kind. The
 * triggers delete row 1 if a row before the last one is deleted, if a rowid is given or changed, and if REPLACE might delete a
 * row (triggers.h). So the mark may report a gap that does not exist.
 *
 * A table that is recreated, by the steps in SQLite's documentation for changes that ALTER TABLE cannot make, gets new rowids,
 * too, and its old triggers. It then comes after x_mark_order in the schema. That is a trigger on x_mark that does nothing, and
 * that each build recreates.
 *
 * The schema cookie, which VACUUM changes, is no substitute: triggers cannot read it if PRAGMA trusted_schema is off, a
 * database restored from a dump may have the same cookie, and any other change of the schema changes it, too.
 */
#ifndef IFS_FOLLOW_MARK_H
#define IFS_FOLLOW_MARK_H

#include "sqlite_ext/storage/shadow_tables.h"

enum { IFS_MARK_FIRST = 1, IFS_MARK_LAST = 2 };

/* Creates the mark if the table needs one and has none, and records a gap in the rowids. *is_dense becomes true if they have
 * no gap, or cannot change. Called after the table was read and before the index is published.
 * Cost  counts the rows of the table, unless it has an INTEGER PRIMARY KEY */
int ifs_mark_prepare(struct ifs_index *index, const struct ifs_base_table *base_table, bool *is_dense, struct ifs_error *error);

/* Resets the mark after the index was published, with the *is_dense of ifs_mark_prepare(). */
int ifs_mark_renew(struct ifs_index *index, bool is_dense, struct ifs_error *error);

/* Updates the mark after a flush of n_flushed rows: with sync=append records a gap if the flushed rowids have one, and clears
 * the gap if the rowids are found to be dense.
 * Cost  counts the rows of the table if n_flushed >= last_rowid / 2, and with a condition and sync=append always */
int ifs_mark_update(struct ifs_index *index, uint64_t n_flushed, sqlite3_int64 last_flushed, sqlite3_int64 last_rowid,
		    struct ifs_error *error);

/* Returns an error if the rows of the table may have been renumbered since they were read. Sets *has_mark to whether the index
 * has a mark. table is NULL if it is not known. */
int ifs_mark_check(struct ifs_index *index, const char *table, bool *has_mark, struct ifs_error *error);

#endif
