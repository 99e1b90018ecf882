/* storage/pure_condition.h -- Condition of an index, rewritten so that it has the same result in any connection at any time.
 *
 * SQLite allows LIKE and date functions in partial indexes, and relies on two things: that nobody sets PRAGMA
 * case_sensitive_like, and that such a function raises an error if its argument is 'now'. Conditions in triggers and queries
 * can rely on neither. So they are rewritten:
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
	bool has_like; /* the condition has a LIKE, which was taken to ignore the case of a to z, as by default */
};

/* Rewrites a condition. Text that is not SQL stays unchanged; SQLite refuses it later.
 * Errors  LIKE with a pattern that is not a string literal; a time or modifier that depends on the clock or the time zone. */
int ifs_pure_condition_write(const char *text, struct ifs_pure_condition *pure, struct ifs_error *error);

#endif
