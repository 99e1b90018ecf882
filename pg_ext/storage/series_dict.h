/* storage/series_dict.h -- Dictionary of series ids: an append-only chain of pages, and each backend's copy.
 *
 * Bytes: FORMAT.md, "Other pages in PostgreSQL" and "Sums of pages".
 *
 * A series is written and logged before the first entry with its id, and stays if that entry's transaction aborts. Without by
 * columns there is one series, 0, and no page.
 */
#ifndef IFP_STORAGE_SERIES_DICT_H
#define IFP_STORAGE_SERIES_DICT_H

#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/extents.h"

#define IFP_MAX_SERIES_BYTES 1000 /* an eighth of a page */

struct ifp_series_dict;

/* Returns this backend's copy of the dictionary of an index, empty at first. Valid until the next call of this function. Copies
 * are per file: an index moved to another tablespace keeps its id, but series added since vanish if the move is rolled back. */
struct ifp_series_dict *ifp_series_dict_get(Relation index, uint64 index_id);

/* Returns the id of a series; appends the series if it is new. */
uint32 ifp_series_dict_obtain(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes);

/* Reads records appended since the last refresh. Returns the number of series. */
uint32 ifp_series_dict_refresh(Relation index, struct ifp_series_dict *dict);

/* Returns the number of series in the copy. */
uint32 ifp_series_dict_n(const struct ifp_series_dict *dict);

/* Finds a series in the copy. Returns false if it is not there. */
bool ifp_series_dict_find(struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes, uint32 *id);

/* Returns the key of a series, valid until the next call. Requires  id is below the number that refresh returned. */
const uint8 *ifp_series_dict_key_of(const struct ifp_series_dict *dict, uint32 id, uint32 *n_bytes);

#endif
