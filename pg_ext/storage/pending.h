/* storage/pending.h -- Pending entries: chains of pages with the entries inserted since the last flush, and their readers.
 *
 * There are IFP_CHAINS open chains, so that backends seldom contend. An entry is appended under the lock of the chain's last
 * page alone, by a WAL record of a few dozen bytes. A closed chain takes no more entries; it is flushed, that is made into a
 * run, by the backend that gets its lock. Pages are never compacted or filled again. Bytes: FORMAT.md, "Pending entries" and
 * "Sums of pages".
 *
 * A reader of many series copies the entries that it needs (struct ifp_pending_entries): it reads and chooses them in the order
 * of arrival, drops the invisible ones while neighbours are rows of one heap block, and then sorts the few that are left.
 */
#ifndef IFP_STORAGE_PENDING_H
#define IFP_STORAGE_PENDING_H

#include "pg_ext/base/engine.h"

#include "core/model/key.h"
#include "core/page/leaf.h"
#include "pg_ext/storage/index.h"

/* ---- appending ---- */

/* The place of a backend's last append: a hint, checked under the page's lock. Zeros at first. */
struct ifp_append_hint {
	uint32 clock;
	BlockNumber block;
};

static inline uint16 ifp_pending_entry_bytes(unsigned n_values)
{
	return (uint16)(24 + 8 * n_values);
}

/* Appends an entry to this backend's chain. Returns the chain's number of pages if the entry began a new page; else 0. */
uint32 ifp_pending_append(Relation relation, unsigned n_values, struct ifp_append_hint *place,
			  const struct iforest_entry *entry);

/* Closes this backend's open chain, or all open chains. Returns false if there is no room for another closed chain; such chains
 * stay open. */
bool ifp_pending_close(Relation relation, bool all);

/* ---- reading a chain ---- */

/* Reads the entries of a chain, page by page, up to the last page that it had when it was copied from the metapage. */
struct ifp_chain_reader {
	struct ifp_index *index;
	struct ifp_chain chain;
	BlockNumber next;
	uint32 n_pages;	  /* read so far */
	uint32 n_entries; /* of the page that was read */
	uint8 content[IFP_CONTENT_BYTES];
};

/* Starts at the first page. Requires  the chain has a page, or its clock is 0. */
void ifp_chain_open(struct ifp_chain_reader *reader, struct ifp_index *index, const struct ifp_chain *chain);

/* Reads the next page. Returns false at the end of the chain. If the chain has gone meanwhile, and its page has another owner,
 * it sets index->met_foreign_page and returns false. Raises "corrupt" errors. */
bool ifp_chain_next(struct ifp_chain_reader *reader);

/* Read entry i of the page; its key alone. */
void ifp_chain_entry(const struct ifp_chain_reader *reader, uint32 i, struct iforest_entry *entry);
void ifp_chain_key(const struct ifp_chain_reader *reader, uint32 i, struct iforest_key *key);

/* Sorts the keys of n entries in order of arrival. The first key is at first_key, each next one `stride` bytes on. The result
 * is palloc'd. */
struct iforest_arrival *ifp_pending_keys_sorted(const struct iforest_key *first_key, Size stride, uint32 n);

/* ---- chosen entries of all chains ---- */

struct ifp_pending_entries {
	struct iforest_entry *entries; /* in order of arrival, until they are sorted */
	uint32 n, n_reserved;
	uint64 n_read; /* chosen or not */
};

/* Reads the chains that the index's copy of the metapage names, up to what was their last page then: entries that were appended
 * since are of transactions that no earlier snapshot sees. Visibility must be checked only afterwards
 * (storage/heap_visibility.h): a map that was copied before may be older than the row of an entry read now. Returns false if a
 * page has another owner by now and the index has to be read again. */
bool ifp_pending_entries_read(struct ifp_index *index, bool (*is_chosen)(void *context, const struct iforest_key *key),
			      void *context, struct ifp_pending_entries *pending);

/* Drops the entries for which is_kept() is false. */
void ifp_pending_entries_keep(struct ifp_pending_entries *pending,
			      bool (*is_kept)(void *context, const struct iforest_entry *entry), void *context);

/* Sorts the entries by key. */
void ifp_pending_entries_sort(struct ifp_pending_entries *pending);

/* Returns the number of the first entry at or after the key; pending->n if there is none. Requires  the entries are sorted. */
uint32 ifp_pending_entries_find(const struct ifp_pending_entries *pending, const struct iforest_key *key);

/* Adds entries [from, to) to the aggregate: rows, values, and times that are not NULL. */
void ifp_pending_entries_fold(const struct ifp_pending_entries *pending, uint32 from, uint32 to,
			      const struct iforest_node_schema *fields, struct iforest_aggregate *aggregate);

#endif
