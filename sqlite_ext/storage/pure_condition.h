/* storage/pure_condition.h -- Condition of an index, rewritten so that it is the same in each connection, at any time.
 *
 * A partial index of SQLite's takes LIKE and functions of dates, too, and relies on two things: that nobody sets PRAGMA
 * case_sensitive_like, and that SQLite raises an error where such a function meets 'now'. An index that readers and triggers
 * follow can rely on neither. So they are written in other words:
 *
 *   x LIKE 'ab_%'       x GLOB '[aA][bB]?*'
 *   date(x, '+1 day')   date(iif(lower(x) IN ('now', 'subsec', 'subsecond'), NULL, x), '+1 day')
 */
#ifndef IFS_STORAGE_PURE_CONDITION_H
#define IFS_STORAGE_PURE_CONDITION_H

#include <stdbool.h>

#include "sqlite_ext/storage/engine.h"

struct ifs_pure_condition {
	char *sql;     /* from sqlite3_malloc() */
	bool has_like; /* it is meant as SQLite has it by default: letters a to z in any case are the same */
};

/* Rewrites a condition. What is not SQL goes through as it is; SQLite refuses it later.
 * Errors  by name: LIKE with anything but a text in quotes, a time or a modifier that means now or here. */
int ifs_pure_condition_write(const char *text, struct ifs_pure_condition *pure, struct ifs_error *error);

#endif
