/* follow/triggers.h -- Triggers on the base table that log its changes for the index (sync=log), and the log itself.
 *
 * The triggers are plain SQL, so writers do not need the extension. They write to two ordinary tables:
 *
 *   x_log(seq INTEGER PRIMARY KEY, id INTEGER, was INTEGER, time, by_0, by_1, ...)
 *
 *   seq     ascends in the order of the changes
 *   id      rowid of the row that is about to change, or was inserted
 *   was     1: the row existed, met the index's condition, and had the time and by values given here; NULL: no earlier row is
 *           known, or it did not meet the condition
 *
 *   x_front(block INTEGER)                         one row
 *
 *   block   of IFS_FRONT_ROWS rowids, into which rows are inserted at the end of the table: rowid >> 7
 *
 *      perhaps in the runs       not in the runs                the front
 *   ...------------------------|------------------------|--------------------|
 *                         last flushed               block << 7      + 127     rowid
 *
 * The log records every change of a row before the front. It does not record rows inserted or replaced in the front: the
 * runs contain none of them, and each reader of pending rows reads the front from the table (delta.h). So a row appended to a
 * table costs its writer two lookups in a table of one row. A row inserted behind the front moves the front and is logged.
 * Writers only move the front up; a flush or a rebuild moves it to right behind the last row.
 *
 * A rowid is pending if the log names it, or if it is above the last one flushed. Its first row in the log tells which entry
 * the runs contain for it: the one with the logged key if `was` is 1, else none. Above the last rowid flushed there is none.
 * The present state of the row is read from the table. Logging a row that did not change is harmless, so the log is correct
 * even if the statement fails afterwards.
 *
 *   BEFORE INSERT   logs the rows that REPLACE would delete, for which no trigger fires (recursive_triggers is off by
 *                   default): the one with the new rowid, unless it is in the front, and those with its values in a
 *                   UNIQUE index. REPLACE puts the default into a NOT NULL column that is given NULL, but only later: so
 *                   also those with a literal default, or with any value if the default is an expression
 *   AFTER INSERT    logs the new rowid, unless it is in the front
 *   BEFORE UPDATE   logs the rows that it would replace, the old key, and the new rowid if it differs; nothing if no
 *                   indexed column has changed
 *   BEFORE DELETE   logs the old key
 *
 * In BEFORE INSERT, new.rowid is -1 if SQLite has yet to choose the rowid. The trigger then looks nothing up: a lookup would
 * cost as much as the rest of the insert. So if there is a row with rowid -1, the log always contains it, with the key that it
 * has in the runs.
 *
 * With a condition (condition.h) the triggers look up the row that is about to change in the table, to evaluate the condition
 * as readers do. They log the row whether it meets the condition or not: readers evaluate the condition of its new state.
 *
 * The triggers are BEFORE triggers where possible, because a user trigger that runs earlier could skip them. AFTER INSERT is
 * not safe from that: SQLite runs temporary triggers first, then the newest one, and RAISE(IGNORE) or a failure under FAIL
 * skips the remaining triggers but keeps the row. So a user trigger that runs before ours is refused if it contains IGNORE or
 * FAIL; a rebuild makes ours the newest. Not detected: a trigger that fails by itself under INSERT OR FAIL, and temporary
 * triggers of other connections.
 */
#ifndef IFS_FOLLOW_TRIGGERS_H
#define IFS_FOLLOW_TRIGGERS_H

#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/storage/definition.h"

/* A smaller front moves more often; a larger one costs each reader more. Both are noise at this size. */
#define IFS_FRONT_SHIFT 7
#define IFS_FRONT_ROWS (1 << IFS_FRONT_SHIFT)

/* Returns an error if a trigger name is taken: a new index must not replace triggers that are not its own. */
int ifs_triggers_check_names(sqlite3 *db, const char *schema, const char *index, struct ifs_error *error);

/* Creates the triggers of the index on the table; drops existing ones of the same names first. */
int ifs_triggers_create(sqlite3 *db, const char *schema, const char *index, const struct ifs_base_table *base_table,
			const struct ifs_definition *definition, struct ifs_error *error);
int ifs_triggers_drop(sqlite3 *db, const char *schema, const char *index, struct ifs_error *error);

/* Finds the table that the triggers belong to, also after it was renamed. base_table->name is NULL if a trigger is missing,
 * differs from the text that this version would write, or belongs to another table, or if there is no log or front. Refuses
 * user triggers that may hide rows from ours. Release base_table in any case. */
int ifs_triggers_find_table(sqlite3 *db, const char *schema, const char *index, const struct ifs_definition *definition,
			    struct ifs_base_table *base_table, struct ifs_error *error);

/* Replaces the content of x_front by a front right behind the last row of the table. */
int ifs_triggers_make_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			    struct ifs_error *error);

/* Moves the front behind a rowid unless it is there already. Allowed at any time, because the log then records more. */
int ifs_triggers_raise_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			     struct ifs_error *error);

/* Moves the front back to right behind the last row of the table, in the transaction that flushes all rows. */
int ifs_triggers_lower_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			     struct ifs_error *error);

/* Prepares the statement that empties the log after all of it was flushed. The row with rowid -1 is logged again first, and
 * the statement keeps it. Afterwards only that statement can fail. */
int ifs_triggers_prepare_log_reset(sqlite3 *db, const char *schema, const char *index, const struct ifs_base_table *base_table,
				   const struct ifs_definition *definition, sqlite3_stmt **statement, struct ifs_error *error);

/* Finds the table that the first trigger belongs to, whatever its text, so that a rebuild finds a renamed table. *table is
 * from sqlite3_mprintf(), NULL if there is none. */
int ifs_triggers_table(sqlite3 *db, const char *schema, const char *index, char **table, struct ifs_error *error);

#endif
