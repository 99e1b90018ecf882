/* watch.h -- the triggers by which a table tells its index what changes (sync=log).
 *
 * They are plain SQL on the table, so writers need no extension, and write to two ordinary tables:
 *
 *   x_log(seq INTEGER PRIMARY KEY, id INTEGER, was INTEGER, time, by_0, by_1, ...)
 *
 *   seq     in the order of the changes
 *   id      rowid of the row that is about to change, or was inserted
 *   was     1: the row is there, and its time and by values are those given; NULL: of the row before, nothing is known
 *
 *   x_front(block INTEGER)                         one row
 *
 *   block   of IFOREST_FRONT_ROWS rowids, into which rows are inserted at the end of the table: rowid >> 7
 *
 *      in the runs, perhaps      not in the runs                the front
 *   ...------------------------|------------------------|--------------------|
 *                         last sealed               block << 7       + 127     rowid
 *
 * The log tells of all that is done to rows before the front; of rows that are inserted in it, or replaced, it does not, for
 * the runs hold none of them: who reads what is pending reads the front each time (tail.h). So a row at the end of a table
 * costs its writer two looks into a table of one row. One that comes after the front moves it, and is logged. It moves up
 * alone, but where a seal or a rebuild puts it behind the last row.
 *
 * A rowid that the log names, or above the last one sealed, is pending. What the runs hold of it is told by its first row of
 * the log: `was` and the key, or nothing; and nothing if it is above the last one sealed. What it is now the table tells. So
 * rows too many do no harm, which makes it right whatever comes of a statement:
 *
 *   BEFORE INSERT   the rows that REPLACE would delete, of which no trigger tells (recursive_triggers is off by default):
 *                   that with the new rowid, unless it is of the front, and those with its values in a UNIQUE index. REPLACE
 *                   puts the default into a NOT NULL column that is given NULL, but afterwards: then those with a literal
 *                   default, or with anything where the default is an expression
 *   AFTER INSERT    the new rowid, unless it is of the front
 *   BEFORE UPDATE   the same of the rows that it would replace, the old key, the new rowid if it is another; unless no column
 *                   matters that has changed
 *   BEFORE DELETE   the old key
 *
 * A rowid that SQLite is yet to choose reads as -1 in BEFORE INSERT, and then nothing is looked up: that would cost as much as
 * the rest of an insert. So the row with rowid -1, where there is one, is in the log at all times, under the key that the runs
 * have.
 *
 * before and not after, so that triggers of the user, which may run first and end the others, hide nothing. AFTER INSERT is not
 * safe from these: SQLite runs temporary triggers first, then the one made last, and RAISE(IGNORE) and a failure under FAIL end
 * those that follow, but keep the row. So a trigger that runs before ours is refused if it says IGNORE or FAIL; a rebuild makes
 * ours the last one. Nobody sees it coming where such a trigger fails by itself under INSERT OR FAIL, or temporary ones of
 * other connections.
 */
#ifndef IFOREST_SQLITE_WATCH_H
#define IFOREST_SQLITE_WATCH_H

#include "sqlite_ext/storage/definition.h"
#include "sqlite_ext/follow/base_table.h"

/* Of fewer rows the front moves more often, of more each reader reads more of it: both are noise at this size. */
#define IFOREST_FRONT_SHIFT 7
#define IFOREST_FRONT_ROWS (1 << IFOREST_FRONT_SHIFT)

/* Refuses names of triggers that are taken: a new index must not replace triggers of others. */
int iforest_watch_make_room(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error);

/* Makes the triggers of the index on the table, after dropping those of the same names. */
int iforest_watch_start(sqlite3 *db, const char *schema, const char *index, const struct iforest_source *source,
			const struct iforest_definition *definition, struct iforest_error *error);
int iforest_watch_stop(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error);

/* The table that the triggers stand on, followed through renames: source->name is NULL where a trigger is missing, is not the
 * text that we would write today, they do not stand on one table, or there is no log or front. Release the source in any
 * case. */
int iforest_watch_find(sqlite3 *db, const char *schema, const char *index, const struct iforest_definition *definition,
		       struct iforest_source *source, struct iforest_error *error);

/* Puts the front, whatever there is of it, right behind the last row of the table. */
int iforest_watch_make_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			     struct iforest_error *error);

/* Puts the front behind a rowid where it lies before: at any time, for the log then tells more. */
int iforest_watch_raise_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			      struct iforest_error *error);

/* Puts it right behind the last row of the table, in the transaction that seals all rows. */
int iforest_watch_lower_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			      struct iforest_error *error);

/* Prepares the statement that empties the log once all of it is in the runs, but for the row with rowid -1, which is logged
 * again at once: so nothing but that statement is left to fail. */
int iforest_watch_prepare_empty(sqlite3 *db, const char *schema, const char *index, const struct iforest_source *source,
				const struct iforest_definition *definition, sqlite3_stmt **statement,
				struct iforest_error *error);

/* The table that the first trigger stands on, from sqlite3_mprintf(), whatever its text is: so a rebuild finds a table that was
 * renamed. NULL if there is none. */
int iforest_watch_table(sqlite3 *db, const char *schema, const char *index, char **table, struct iforest_error *error);

#endif
