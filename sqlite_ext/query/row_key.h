/* row_key.h -- where in the index a row of the table stands: its series and time, looked up in the table by its rowid. */
#ifndef IFOREST_SQLITE_ROW_KEY_H
#define IFOREST_SQLITE_ROW_KEY_H

#include "core/model/key.h"
#include "sqlite_ext/follow/snapshot.h"

/* The key that the index has the row under. *found is false where the table has no such row, or the snapshot not its series.
 * Requires  an index that follows its table (not sync=manual), the snapshot just opened, and !iforest_index_is_passing().
 * Cost      two searches, in the table and in the dictionary. */
int iforest_row_key(struct iforest_index *index, const struct iforest_snapshot *snapshot, sqlite3_int64 id,
		    struct iforest_key *key, bool *found, struct iforest_error *error);

#endif
