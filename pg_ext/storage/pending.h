/* storage/pending.h -- Chains of pages with the entries inserted since the last flush, and their reader.
 *
 * There are IFP_CHAINS open chains, so that backends seldom meet. An entry is appended under the lock of the chain's last page
 * alone, by a record of a few dozen bytes. A closed chain takes no more entries; it is flushed, that is made into a run, by
 * whoever gets its lock. Pages are never compacted or filled again. Bytes: FORMAT.md, "Pending entries" and "Sums of pages".
 */
#ifndef IFP_STORAGE_PENDING_H
#define IFP_STORAGE_PENDING_H

#include "pg_ext/base/engine.h"

#include "core/model/key.h"
#include "core/page/leaf.h"
#include "pg_ext/storage/index.h"

/* Where a backend last appended; a hint that is checked under the page's lock. Start with zeros. */
struct ifp_append_hint {
	uint32 clock;
	BlockNumber block;
};

static inline uint16 ifp_pending_entry_bytes(unsigned n_values)
{
	return (uint16)(24 + 8 * n_values);
}

/* Appends an entry to this backend's chain. Returns the chain's number of pages if the entry began a new page, else 0. */
uint32 ifp_pending_append(Relation relation, unsigned n_values, struct ifp_append_hint *place,
			  const struct iforest_entry *entry);

/* Closes this backend's open chain, or all open chains. False where there is no room for another closed chain; then they
 * stay open. */
bool ifp_pending_close(Relation relation, bool all);

/* The keys of n entries that stand as they were appended, sorted. The first key is at first_key, each next one `stride` bytes
 * on. palloc'd. */
struct iforest_arrival *ifp_pending_keys_sorted(const struct iforest_key *first_key, Size stride, uint32 n);

/* Reads the entries of a chain, page by page, up to the last page that it had when it was copied from the metapage. Requires
 * that it had one, or clock 0. */
struct ifp_chain_reader {
	struct ifp_index *index;
	struct ifp_chain chain;
	BlockNumber next;
	uint32 n_pages;	  /* read so far */
	uint32 n_entries; /* of the page that was read */
	uint8 content[IFP_CONTENT_BYTES];
};

void ifp_chain_open(struct ifp_chain_reader *reader, struct ifp_index *index, const struct ifp_chain *chain);

/* Reads the next page. False at the end of the chain. Where the chain has gone meanwhile, and its page belongs to somebody
 * else, index->met_foreign_page is set, and false returned. Raises "corrupt" errors. */
bool ifp_chain_next(struct ifp_chain_reader *reader);

/* Entry i of the page, and its key alone. */
void ifp_chain_entry(const struct ifp_chain_reader *reader, uint32 i, struct iforest_entry *entry);
void ifp_chain_key(const struct ifp_chain_reader *reader, uint32 i, struct iforest_key *key);

/* The entries of an index that are not in a run yet, as one reader wants them: read and chosen, as they came;
 * then kept or not, while neighbours are rows of one heap block; then, as few as are left, sorted by key. */

struct ifp_pending_entries {
	struct iforest_entry *entries; /* as they came, until they are sorted */
	uint32 n, n_reserved;
	uint64 n_read; /* chosen or not */
};

/* Reads the chains that the index's copy of the metapage names, up to what was their last page then: what was appended since
 * is of transactions that no snapshot from before sees. What is visible must be asked only afterwards (storage/heap_visibility.h): the map
 * may have been copied before the row came that an entry read now leads to. False where a page belongs to somebody else by now:
 * the index has to be read again. */
bool ifp_pending_entries_read(struct ifp_index *index, bool (*is_chosen)(void *context, const struct iforest_key *key),
			      void *context, struct ifp_pending_entries *rows);

/* Drops those that are not kept. */
void ifp_pending_entries_keep(struct ifp_pending_entries *rows,
			      bool (*is_kept)(void *context, const struct iforest_entry *entry), void *context);

/* Sorts them by key. */
void ifp_pending_entries_sort(struct ifp_pending_entries *rows);

/* Of sorted ones the first entry at or after the key; rows->n if there is none. */
uint32 ifp_pending_entries_find(const struct ifp_pending_entries *rows, const struct iforest_key *key);

/* Adds entries [from, to) to the aggregate: rows, values, and times where they are not NULL. */
void ifp_pending_entries_fold(const struct ifp_pending_entries *rows, uint32 from, uint32 to,
			      const struct iforest_node_schema *fields, struct iforest_aggregate *aggregate);

#endif
