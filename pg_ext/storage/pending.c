#include "pg_ext/storage/pending.h"

#include "miscadmin.h"

#include "pg_ext/base/test_points.h"

enum { TIME_IS_NULL = 1 << 15, MOST_EXTENT = 16, ZERO_AT = 12, MOST_RESERVED = 1 << 17 };

/* ---- entries as bytes ---- */

static void write_entry(const struct iforest_entry *entry, unsigned n_values, uint8 *bytes)
{
	iforest_store32(bytes, (uint32_t)entry->key.series);
	iforest_store16(bytes + 4, (uint16_t)(entry->present | (entry->key.time_is_null ? TIME_IS_NULL : 0)));
	iforest_store16(bytes + 6, (uint16_t)(entry->key.ref & 0xffff));
	iforest_store32(bytes + 8, (uint32_t)(entry->key.ref >> 16));
	iforest_store32(bytes + 12, 0);
	iforest_store64(bytes + 16, (uint64_t)entry->key.time);
	for (unsigned v = 0; v < n_values; v++)
		iforest_store64(bytes + 24 + 8 * v, (uint64_t)entry->values[v].integer);
}

static void read_key(const uint8 *bytes, struct iforest_key *key)
{
	key->series = iforest_load32(bytes);
	key->time_is_null = (iforest_load16(bytes + 4) & TIME_IS_NULL) != 0;
	key->time = (int64_t)iforest_load64(bytes + 16);
	key->ref = (int64_t)iforest_load32(bytes + 8) << 16 | iforest_load16(bytes + 6);
}

static void read_entry(const uint8 *bytes, unsigned n_values, struct iforest_entry *entry)
{
	read_key(bytes, &entry->key);
	entry->present = iforest_load16(bytes + 4) & ((1u << n_values) - 1);
	for (unsigned v = 0; v < n_values; v++)
		entry->values[v].integer = (int64_t)iforest_load64(bytes + 24 + 8 * v);
}

/* ---- the checksum ---- */

/* True if the constant bits of an entry are right. */
static bool is_entry(const uint8 *bytes, unsigned n_values)
{
	return iforest_load16(bytes + 6) != 0 && iforest_load32(bytes + ZERO_AT) == 0 &&
	       (iforest_load16(bytes + 4) & ~(TIME_IS_NULL | ((1u << n_values) - 1))) == 0;
}

/* Returns what is wrong with the content of a page, as a sentence; NULL if nothing is. `sum` is the page's, NULL if it has
 * none. */
static const char *find_fault(const uint8 *content, uint32 n_used, unsigned n_values, const struct ifp_special *special,
			      BlockNumber block, const struct ifp_sum *sum)
{
	uint16 n_bytes = ifp_pending_entry_bytes(n_values);
	struct ifp_sum found = ifp_sum_begin(special, block);

	if (n_used % n_bytes != 0 || (sum && (sum->n_bytes > n_used || sum->n_bytes % n_bytes != 0)))
		return "The length of its entries is wrong.";
	for (uint32 at = 0; at < n_used; at += n_bytes) {
		if (!is_entry(content + at, n_values))
			return "It has an impossible entry.";
		if (sum && at < sum->n_bytes)
			ifp_sum_up(&found, content + at, n_bytes);
	}
	return sum && found.checksum != sum->checksum ? "The checksum of its entries is wrong." : NULL;
}

/* ---- appending ---- */

/* Appends an entry. Entries that an earlier version appended to the page are not in the sum, nor are those that follow. */
static void append_entry(Relation relation, Buffer buffer, const uint8 *entry, uint16 n_bytes)
{
	Page page = BufferGetPage(buffer);
	bool is_summed = ifp_special(page)->flags & IFP_PAGE_SUMMED;
	struct ifp_sum sum = { 0 };

	if (is_summed) {
		sum = *ifp_sum(page);
		is_summed = sum.n_bytes == ifp_content_used(page);
	}
	if (is_summed)
		ifp_sum_up(&sum, entry, n_bytes);
	ifp_page_append(relation, buffer, entry, n_bytes, is_summed ? &sum : NULL);
}

/* Appends at the place of the hint, if that is the last page of an open chain and has room. */
static bool append_here(Relation relation, const struct ifp_append_hint *place, const uint8 *entry, uint16 n_bytes)
{
	bool done = false;
	Buffer buffer;
	Page page;

	if (place->clock == 0)
		return false;
	buffer = ReadBuffer(relation, place->block); /* which was in the file when the metapage named it */
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (ifp_page_is(page, IFP_PAGE_PENDING, place->clock) && ifp_special(page)->next == InvalidBlockNumber &&
	    !(ifp_special(page)->flags & IFP_CHAIN_CLOSED) && ifp_content_used(page) + n_bytes <= ifp_content_room(page)) {
		append_entry(relation, buffer, entry, n_bytes);
		done = true;
	}
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

static void init_page(Page page, BlockNumber block, uint32 clock, BlockNumber last)
{
	ifp_page_init(page, IFP_PAGE_PENDING, clock);
	ifp_special(page)->last = last;
	ifp_page_begin_sum(page, block);
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
	init_page(page, block, chain->clock, last);
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
	uint8 bytes[24 + 8 * IFOREST_MAX_VALUES];
	uint16 n_bytes = ifp_pending_entry_bytes(n_values);
	uint32 n_pages = 0, new_clock = 0;

	write_entry(entry, n_values, bytes);
	while (!append_here(relation, place, bytes, n_bytes)) {
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
	reader->n_entries = 0;
}

/* Copies a page under its lock. Returns false if it has another owner. */
static bool copy_page(struct ifp_chain_reader *reader, BlockNumber block, struct ifp_special *special, struct ifp_sum *sum,
		      uint32 *n_used)
{
	Buffer buffer = ifp_page_read(reader->index->relation, block);
	Page page = BufferGetPage(buffer);
	bool is_ours;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	is_ours = ifp_page_is(page, IFP_PAGE_PENDING, reader->chain.clock);
	if (is_ours) {
		*n_used = ifp_content_used(page);
		*special = *ifp_special(page);
		*sum = *ifp_sum(page);
		memcpy(reader->content, ifp_content(page), *n_used);
	}
	UnlockReleaseBuffer(buffer);
	return is_ours;
}

bool ifp_chain_next(struct ifp_chain_reader *reader)
{
	Relation relation = reader->index->relation;
	unsigned n_values = reader->index->manifest.fields.n_values;
	BlockNumber block = reader->next;
	struct ifp_special special;
	struct ifp_sum sum;
	const char *wrong;
	uint32 n_used;

	reader->n_entries = 0;
	reader->next = InvalidBlockNumber;
	if (block == InvalidBlockNumber)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (!copy_page(reader, block, &special, &sum, &n_used)) {
		ifp_index_met_foreign(reader->index, reader->chain.clock, block);
		return false;
	}
	wrong = find_fault(reader->content, n_used, n_values, &special, block, special.flags & IFP_PAGE_SUMMED ? &sum : NULL);
	if (++reader->n_pages < reader->chain.n_pages)
		reader->next = special.next;
	if (!wrong && (block == reader->chain.tail) != (reader->next == InvalidBlockNumber))
		wrong = "Its chain is of another length.";
	if (wrong)
		ifp_page_wrong(relation, block, wrong);
	reader->n_entries = n_used / ifp_pending_entry_bytes(n_values);
	return true;
}

void ifp_chain_entry(const struct ifp_chain_reader *reader, uint32 i, struct iforest_entry *entry)
{
	unsigned n_values = reader->index->manifest.fields.n_values;

	read_entry(reader->content + (size_t)i * ifp_pending_entry_bytes(n_values), n_values, entry);
}

void ifp_chain_key(const struct ifp_chain_reader *reader, uint32 i, struct iforest_key *key)
{
	read_key(reader->content + (size_t)i * ifp_pending_entry_bytes(reader->index->manifest.fields.n_values), key);
}

/* Makes room at once for as many entries as the pages have, within reason: the number of pages may be damaged. */
static void reserve(struct ifp_index *index, uint64 n_pages, struct iforest_batch *batch)
{
	uint64 n = n_pages * (IFP_CONTENT_BYTES / ifp_pending_entry_bytes(index->manifest.fields.n_values));

	ifp_index_require(index, iforest_batch_reserve(batch, Min(n, MOST_RESERVED)));
}

uint64 ifp_chain_read(struct ifp_index *index, const struct ifp_chain *chain, const struct ifp_pending_choice *choice,
		      struct iforest_batch *batch)
{
	struct ifp_chain_reader *reader = palloc(sizeof *reader);
	struct iforest_entry entry;
	enum iforest_status status;
	uint64 n_read = 0;

	ifp_chain_open(reader, index, chain);
	while (ifp_chain_next(reader)) {
		n_read += reader->n_entries;
		for (uint32 i = 0; i < reader->n_entries; i++) {
			ifp_chain_key(reader, i, &entry.key);
			if (choice && !choice->is_chosen(choice->context, &entry.key))
				continue;
			if (batch->n_values > 0)
				ifp_chain_entry(reader, i, &entry);
			else
				entry.present = 0;
			status = iforest_batch_add(batch, &entry);
			if (status)
				ifp_index_require(index, status);
		}
	}
	pfree(reader);
	return n_read;
}

bool ifp_pending_read(struct ifp_index *index, const struct ifp_pending_choice *choice, struct iforest_batch *batch,
		      uint64 *n_read)
{
	reserve(index, ifp_pending_pages(&index->meta), batch);
	*n_read = 0;
	for (unsigned c = 0; c < IFP_CHAINS && !index->met_foreign_page; c++)
		*n_read += ifp_chain_read(index, &index->meta.open[c], choice, batch);
	for (uint32 c = 0; c < index->meta.n_closed && !index->met_foreign_page; c++)
		*n_read += ifp_chain_read(index, &index->meta.closed[c], choice, batch);
	return !index->met_foreign_page;
}
