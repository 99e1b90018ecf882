/* storage/series_dict.h -- Dictionary of series ids: an append-only chain of pages, and each backend's copy.
 *
 *   content of a page: records  u16 n_bytes, then the key (core/model/series_key.h) of the next series; ids count from 0 through
 *   the chain
 *   before the special space, where SUMMED: struct ifp_sum, which takes up each record as it is appended, and `next` when
 *   there is a next page
 *
 * A series is written, and its record logged, before the first entry that bears its id; it stays when that entry's
 * transaction fails. Without by columns there is one series, 0, and no page.
 */
#ifndef IFP_STORAGE_SERIES_DICT_H
#define IFP_STORAGE_SERIES_DICT_H

#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/extents.h"

#define IFP_MAX_SERIES_BYTES 1000 /* an eighth of a page */

struct ifp_series_dict;

/* This backend's copy of the dictionary of an index, empty at first. Good until the next call of this function; do not keep
 * it. It is of the file that the index is in: one that is moved to another tablespace has the same id there, and what was
 * added to the dictionary since goes when that is rolled back. */
struct ifp_series_dict *ifp_series_dict_get(Relation index, uint64 index_id);

/* The id of a series; it is appended if it is new. */
uint32 ifp_series_dict_obtain(Relation index, struct ifp_series_dict *cache, const uint8 *key, uint32 n_bytes);

/* Reads what was appended since. Returns the number of series. */
uint32 ifp_series_dict_refresh(Relation index, struct ifp_series_dict *cache);

/* Is there such a series, as far as the copy goes? */
bool ifp_series_dict_find(struct ifp_series_dict *cache, const uint8 *key, uint32 n_bytes, uint32 *id);

/* The key of a series below the number that refresh returned; good until the next call. */
const uint8 *ifp_series_dict_key_of(const struct ifp_series_dict *cache, uint32 id, uint32 *n_bytes);

#endif
