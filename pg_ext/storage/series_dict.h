/* storage/series_dict.h -- Dictionary of series ids: an append-only chain of pages, and what each backend keeps of it.
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

/* Returns what this backend keeps of the dictionary of an index, nothing at first. Valid until the next call of this function.
 * It is kept per file: an index moved to another tablespace keeps its id, but series added since vanish if the move is rolled
 * back. */
struct ifp_series_dict *ifp_series_dict_get(Relation index, uint64 index_id);

/* Returns the id of a series; appends the series if it is new.
 * Cost  as ifp_series_dict_find(); a new series has the dictionary copied */
uint32 ifp_series_dict_obtain(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes);

/* Finds a series. Returns false if the dictionary does not have it.
 * Cost  reading the n series for the first eight keys; then they are copied and hashed, and it is O(1) on average, and reading
 *       what was appended since if the copy lacks the key. Keys that were found before cost O(1). */
bool ifp_series_dict_find(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes, uint32 *id);

/* Copies the series, or reads those appended since. Returns their number.
 * Memory  of the copy, for each series: its key, 8 bytes, and 13 to 27 once it is hashed */
uint32 ifp_series_dict_refresh(Relation index, struct ifp_series_dict *dict);

/* Returns the key of a series, valid until the next call; copies the dictionary if neither a copy nor ifp_series_dict_find() had
 * it. Requires  the dictionary has the id */
const uint8 *ifp_series_dict_key_of(Relation index, struct ifp_series_dict *dict, uint32 id, uint32 *n_bytes);

#endif
