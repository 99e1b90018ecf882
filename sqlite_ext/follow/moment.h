/* moment.h -- has anything changed since? A cheap look at what would show it: SQLite counts what it commits, and what it finds
 * that others have committed.
 *
 * A moment is known only while the connection reads in a transaction of its own and writes nothing: what it writes is not
 * counted before it is committed, and what is rolled back never. So a state that was read at a known moment is the state at
 * each one that is the same.
 * Of a database that was deserialized no moment is known.
 */
#ifndef IFOREST_SQLITE_MOMENT_H
#define IFOREST_SQLITE_MOMENT_H

#include "sqlite_ext/storage/shadow_tables.h"

struct iforest_moment iforest_moment_now(sqlite3 *db, const char *schema);

/* Does what is read now stay, but for what the connection itself has not committed? Not so what others have not, which PRAGMA
 * read_uncommitted shows in a shared cache; nor anything of a database that may be replaced. */
bool iforest_moment_is_lasting(sqlite3 *db, const char *schema);

/* Both known, and nothing between them? */
static inline bool iforest_moment_is_same(const struct iforest_moment *a, const struct iforest_moment *b)
{
	return a->is_known && b->is_known && a->version == b->version && a->temp_version == b->temp_version;
}

#endif
