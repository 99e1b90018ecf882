#include "pg_ext/storage/pending.h"

#include "miscadmin.h"

#include "pg_ext/base/test_points.h"

enum { MOST_EXTENT = 16, MOST_RESERVED = 1 << 17 };

/* ---- appending ---- */

/* True if this is the last page of the hint's open chain, with packed entries: pages of earlier versions take no more. */
static bool is_open(Page page, const struct ifp_append_hint *place)
{
	const struct ifp_special *special = ifp_special(page);

	return ifp_page_is(page, IFP_PAGE_PENDING, place->clock) && special->next == InvalidBlockNumber &&
	       (special->flags & (IFP_CHAIN_CLOSED | IFP_PAGE_PACKED)) == IFP_PAGE_PACKED;
}

/* Appends at the place of the hint, if that is the last page of an open chain and has room. */
static bool append_here(Relation relation, unsigned n_values, struct ifp_append_hint *place, const struct iforest_entry *entry)
{
	bool done;
	Buffer buffer;

	if (place->clock == 0)
		return false;
	buffer = ReadBuffer(relation, place->block); /* which was in the file when the metapage named it */
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	done = is_open(BufferGetPage(buffer), place) && ifp_pending_page_append(relation, buffer, n_values, entry, &place->end);
	UnlockReleaseBuffer(buffer);
	return done;
}

static unsigned chain_of_backend(void)
{
	return (unsigned)MyProcPid % IFP_CHAINS;
}

/* Locks the last page of a chain. */
static Buffer lock_tail(Relation relation, const struct ifp_chain *chain)
{
	Buffer buffer = ifp_page_lock(relation, chain->tail, IFP_PAGE_PENDING, BUFFER_LOCK_EXCLUSIVE);
	const struct ifp_special *special = ifp_special(BufferGetPage(buffer));

	if (special->owner != chain->clock || special->next != InvalidBlockNumber || special->last < chain->tail ||
	    special->last - chain->tail >= MOST_EXTENT)
		ifp_page_wrong(relation, chain->tail, "It is not the last page of its chain.");
	return buffer;
}

static void init_page(Page page, uint32 clock, BlockNumber last)
{
	ifp_page_init(page, IFP_PAGE_PENDING, clock);
	ifp_special(page)->last = last;
	ifp_special(page)->flags = IFP_PAGE_PACKED;
}

/* Adds a last page to the chain, which may have none yet. Requires  the metapage is locked. */
static struct ifp_chain extend_chain(Relation relation, struct ifp_meta_edit *edit, struct ifp_chain *chain, uint32 new_clock)
{
	struct ifp_chain extended;
	Buffer tail = InvalidBuffer, buffer;
	BlockNumber last = InvalidBlockNumber, block;
	Page page;

	if (chain->clock == 0)
		*chain = (struct ifp_chain){ .clock = new_clock, .head = InvalidBlockNumber, .tail = InvalidBlockNumber };
	if (chain->n_pages > 0) {
		tail = lock_tail(relation, chain);
		last = ifp_special(BufferGetPage(tail))->last;
	}
	if (chain->n_pages > 0 && chain->tail != last) {
		block = chain->tail + 1;
		ifp_extents_ensure_file(relation, block + 1);
	} else {
		/* doubles the chain, so that little data takes little space */
		struct ifp_extent extent =
			ifp_extents_allocate(relation, chain->clock, chain->n_pages, Min(Max(chain->n_pages, 1), MOST_EXTENT));

		block = extent.start + (chain->n_pages - extent.first);
		last = extent.start + extent.n_blocks - 1;
	}
	if (BufferIsValid(tail) && block == chain->tail)
		ifp_page_wrong(relation, IFP_EXTENTS_BLOCK, "It lists the last page of a chain as free.");
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
	page = GenericXLogRegisterBuffer(edit->state, buffer, GENERIC_XLOG_FULL_IMAGE);
	init_page(page, chain->clock, last);
	if (BufferIsValid(tail))
		ifp_special(GenericXLogRegisterBuffer(edit->state, tail, 0))->next = block;
	else
		chain->head = block;
	chain->tail = block;
	chain->n_pages++;
	extended = *chain;
	ifp_meta_finish(edit);
	UnlockReleaseBuffer(buffer);
	if (BufferIsValid(tail))
		UnlockReleaseBuffer(tail);
	return extended;
}

uint32 ifp_pending_append(Relation relation, unsigned n_values, struct ifp_append_hint *place,
			  const struct iforest_entry *entry)
{
	uint32 n_pages = 0, new_clock = 0;

	while (!append_here(relation, n_values, place, entry)) {
		struct ifp_meta_edit edit;
		struct ifp_chain *chain, found;

		ifp_meta_begin(relation, &edit);
		chain = &edit.meta->open[chain_of_backend()];
		found = *chain;
		if (found.clock == 0 && new_clock == 0) {
			ifp_meta_cancel(&edit);
			new_clock = ifp_meta_tick(relation);
			continue;
		}
		if (found.clock != 0 && (found.clock != place->clock || found.tail != place->block)) {
			ifp_meta_cancel(&edit);
		} else {
			found = extend_chain(relation, &edit, chain, new_clock);
			n_pages = found.n_pages;
			/* a number is used once: if this chain is closed before our entry is in it, we begin another */
			new_clock = 0;
			ifp_test_point("chain extended");
		}
		*place = (struct ifp_append_hint){ .clock = found.clock, .block = found.tail };
	}
	return n_pages;
}

/* ---- closing ---- */

/* Moves an open chain to the closed ones. The flag on its last page tells backends whose hint points there. */
static bool close_chain(Relation relation, unsigned c)
{
	struct ifp_meta_edit edit;
	struct ifp_chain *chain;
	bool done = true;

	ifp_meta_begin(relation, &edit);
	chain = &edit.meta->open[c];
	if (chain->clock != 0 && edit.meta->n_closed < IFP_MAX_CLOSED) {
		Buffer tail = lock_tail(relation, chain);

		ifp_special(GenericXLogRegisterBuffer(edit.state, tail, 0))->flags |= IFP_CHAIN_CLOSED;
		edit.meta->closed[edit.meta->n_closed++] = *chain;
		*chain = (struct ifp_chain){ .clock = 0 };
		ifp_meta_finish(&edit);
		UnlockReleaseBuffer(tail);
	} else {
		done = chain->clock == 0;
		ifp_meta_cancel(&edit);
	}
	return done;
}

bool ifp_pending_close(Relation relation, bool all)
{
	bool done = true;

	if (!all)
		return close_chain(relation, chain_of_backend());
	for (unsigned c = 0; c < IFP_CHAINS; c++)
		done = close_chain(relation, c) && done;
	return done;
}

/* ---- reading ---- */

void ifp_chain_open(struct ifp_chain_reader *reader, struct ifp_index *index, const struct ifp_chain *chain)
{
	reader->index = index;
	reader->chain = *chain;
	reader->n_pages = 0;
	reader->next = chain->clock ? chain->head : InvalidBlockNumber;
	reader->page.n_entries = 0;
}

/* Copies a page under its lock. Returns false if it has another owner. */
static bool copy_page(struct ifp_chain_reader *reader, BlockNumber block)
{
	Buffer buffer = ifp_page_read(reader->index->relation, block);
	Page page = BufferGetPage(buffer);
	bool is_ours;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	is_ours = ifp_page_is(page, IFP_PAGE_PENDING, reader->chain.clock);
	if (is_ours)
		ifp_pending_page_copy(&reader->page, reader->index->manifest.fields.n_values, page);
	UnlockReleaseBuffer(buffer);
	return is_ours;
}

bool ifp_chain_next(struct ifp_chain_reader *reader)
{
	BlockNumber block = reader->next;
	const char *wrong;

	reader->page.n_entries = 0;
	reader->next = InvalidBlockNumber;
	if (block == InvalidBlockNumber)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (!copy_page(reader, block)) {
		ifp_index_met_foreign(reader->index, reader->chain.clock, block);
		return false;
	}
	wrong = ifp_pending_page_open(&reader->page, block, ifp_index_has_verified(reader->index, block, reader->page.lsn));
	if (++reader->n_pages < reader->chain.n_pages)
		reader->next = reader->page.special.next;
	if (!wrong && (block == reader->chain.tail) != (reader->next == InvalidBlockNumber))
		wrong = "Its chain is of another length.";
	if (wrong)
		ifp_page_wrong(reader->index->relation, block, wrong);
	ifp_index_note_verified(reader->index, block, reader->page.lsn);
	return true;
}

/* Makes room at once for about as many entries as the pages have, within reason: the number of pages may be damaged. */
static void reserve(struct ifp_index *index, uint64 n_pages, struct iforest_batch *batch)
{
	double n = ifp_pending_guess((double)n_pages, index->manifest.fields.n_values);

	ifp_index_require(index, iforest_batch_reserve(batch, (uint64)Min(n, MOST_RESERVED)));
}

static void add_entry(const struct ifp_chain_reader *reader, uint32 i, struct iforest_batch *batch)
{
	struct iforest_entry entry;
	enum iforest_status status;

	if (batch->n_values > 0)
		ifp_pending_page_entry(&reader->page, i, &entry);
	else
		entry = (struct iforest_entry){ .key = reader->page.keys[i] };
	status = iforest_batch_add(batch, &entry);
	if (status)
		ifp_index_require(reader->index, status);
}

uint64 ifp_chain_read(struct ifp_index *index, const struct ifp_chain *chain, const struct ifp_pending_choice *choice,
		      struct iforest_batch *batch)
{
	struct ifp_chain_reader *reader = palloc(sizeof *reader);
	uint16 *chosen = palloc(IFP_MOST_PENDING * sizeof *chosen);
	uint64 n_read = 0;

	ifp_chain_open(reader, index, chain);
	while (ifp_chain_next(reader)) {
		uint32 n = reader->page.n_entries;

		n_read += n;
		if (choice)
			n = choice->choose(choice->context, reader->page.keys, n, chosen);
		for (uint32 i = 0; i < n; i++)
			add_entry(reader, choice ? chosen[i] : i, batch);
	}
	pfree(chosen);
	pfree(reader);
	return n_read;
}

bool ifp_pending_read(struct ifp_index *index, const struct ifp_pending_choice *choice, struct iforest_batch *batch,
		      uint64 *n_read)
{
	uint32 n_pages = ifp_pending_pages(&index->meta);

	*n_read = 0;
	if (n_pages == 0)
		return true;
	reserve(index, n_pages, batch);
	for (unsigned c = 0; c < IFP_CHAINS && !index->met_foreign_page; c++)
		if (index->meta.open[c].clock)
			*n_read += ifp_chain_read(index, &index->meta.open[c], choice, batch);
	for (uint32 c = 0; c < index->meta.n_closed && !index->met_foreign_page; c++)
		*n_read += ifp_chain_read(index, &index->meta.closed[c], choice, batch);
	return !index->met_foreign_page;
}
