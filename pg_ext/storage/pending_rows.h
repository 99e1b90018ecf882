/* pending_rows.h -- the entries of an index that are not in a run yet, as one reader wants them: read and chosen, as they came;
 * then kept or not, while neighbours are rows of one heap block; then, as few as are left, sorted by key. */
#ifndef IFOREST_PG_PENDING_ROWS_H
#define IFOREST_PG_PENDING_ROWS_H

#include "pg_ext/storage/pending.h"

struct iforest_pending_rows {
	struct iforest_entry *entries; /* as they came, until they are sorted */
	uint32 n, n_reserved;
	uint64 n_read;                 /* chosen or not */
};

/* Reads the chains that the index's copy of the metapage names, up to what was their last page then: what was appended since
 * is of transactions that no snapshot from before sees. What is visible must be asked only afterwards (visibility.h): the map
 * may have been copied before the row came that an entry read now leads to. False where a page belongs to somebody else by now:
 * the index has to be read again. */
bool iforest_pending_rows_read(struct iforest_index *index,
			       bool (*is_chosen)(void *context, const struct iforest_key *key), void *context,
			       struct iforest_pending_rows *rows);

/* Drops those that are not kept. */
void iforest_pending_rows_keep(struct iforest_pending_rows *rows,
			       bool (*is_kept)(void *context, const struct iforest_entry *entry), void *context);

/* Sorts them by key. */
void iforest_pending_rows_sort(struct iforest_pending_rows *rows);

/* Of sorted ones the first entry at or after the key; rows->n if there is none. */
uint32 iforest_pending_rows_find(const struct iforest_pending_rows *rows, const struct iforest_key *key);

/* Adds entries [from, to) to the aggregate: rows, values, and times where they are not NULL. */
void iforest_pending_rows_fold(const struct iforest_pending_rows *rows, uint32 from, uint32 to,
			       const struct iforest_fields *fields, struct iforest_aggregate *aggregate);

#endif
