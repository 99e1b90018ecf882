/* storage/pending.h -- Pending entries: chains of pages with the entries inserted since the last flush, and their readers.
 *
 * There are IFP_CHAINS open chains, so that backends seldom contend. An entry is appended under the lock of the chain's last
 * page alone, by a WAL record of a few dozen bytes. A closed chain takes no more entries; it is flushed, that is made into a
 * run, by the backend that gets its lock. Pages are never compacted or filled again.
 *
 * A reader copies the entries that it needs into a batch (core/run/batch.h): it chooses them in the order of arrival, and drops
 * the invisible ones while neighbours are rows of one heap block. Only then are the few that are left sorted.
 */
#ifndef IFP_STORAGE_PENDING_H
#define IFP_STORAGE_PENDING_H

#include "pg_ext/base/engine.h"

#include "core/run/batch.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending_entry.h"

/* ---- appending ---- */

/* The place of a backend's last append: a hint, checked under the page's lock. Zeros at first. */
struct ifp_append_hint {
	uint32 clock;
	BlockNumber block;
	uint32 end; /* of the entries that the page had */
};

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
	uint32 n_pages;		      /* read so far */
	struct ifp_pending_page page; /* that was read */
};

/* Starts at the first page. Requires  the chain has a page, or its clock is 0. */
void ifp_chain_open(struct ifp_chain_reader *reader, struct ifp_index *index, const struct ifp_chain *chain);

/* Reads the next page. Returns false at the end of the chain. If the chain has gone meanwhile, and its page has another owner,
 * it sets index->met_foreign_page and returns false. Raises "corrupt" errors. */
bool ifp_chain_next(struct ifp_chain_reader *reader);

/* Chooses entries by their keys. */
struct ifp_pending_choice {
	/* Writes the numbers of the chosen ones of a page's keys, ascending. Returns how many they are. */
	uint32 (*choose)(void *context, const struct iforest_key *keys, uint32 n_keys, uint16 *chosen);
	void *context;
};

/* Adds the entries of a chain to the batch; `choice` is NULL if all are wanted. A batch without value columns gets keys alone.
 * Returns the number of entries read. As ifp_chain_next(), it may stop and set index->met_foreign_page. */
uint64 ifp_chain_read(struct ifp_index *index, const struct ifp_chain *chain, const struct ifp_pending_choice *choice,
		      struct iforest_batch *batch);

/* Reads the chains that the index's copy of the metapage names, up to what was their last page then: entries that were appended
 * since are of transactions that no earlier snapshot sees. Visibility must be checked only afterwards
 * (storage/heap_visibility.h): a map that was copied before may be older than the row of an entry read now. Returns false if a
 * page has another owner by now and the index has to be read again. *n_read: entries read, chosen or not. */
bool ifp_pending_read(struct ifp_index *index, const struct ifp_pending_choice *choice, struct iforest_batch *batch,
		      uint64 *n_read);

#endif
