#include "pg_ext/pending.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bits.h"
#include "pg_ext/pause.h"

enum { TIME_IS_NULL = 1 << 15, MOST_EXTENT = 16 };

/* ---- an entry as bytes ---- */

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

/* ---- appending ---- */

/* Appends where the hint says, if that is the last page of an open chain and has room. */
static bool append_here(Relation relation, const struct iforest_pending_place *place, const uint8 *entry, uint16 n_bytes)
{
	bool done = false;
	Buffer buffer;
	Page page;

	if (place->clock == 0)
		return false;
	buffer = ReadBuffer(relation, place->block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (iforest_page_is(page, IFOREST_KIND_PENDING, place->clock) && iforest_special(page)->next == InvalidBlockNumber &&
	    !(iforest_special(page)->flags & IFOREST_CHAIN_CLOSED) &&
	    iforest_content_used(page) + n_bytes <= IFOREST_CONTENT_BYTES) {
		iforest_page_append(relation, buffer, entry, n_bytes);
		done = true;
	}
	UnlockReleaseBuffer(buffer);
	return done;
}

static unsigned chain_of_backend(void)
{
	return (unsigned)MyProcPid % IFOREST_CHAINS;
}

/* A new last page for the chain, which may be without any as yet. The metapage is locked. */
static struct iforest_chain extend_chain(Relation relation, struct iforest_meta_edit *edit, struct iforest_chain *chain,
					 uint32 new_clock)
{
	struct iforest_chain extended;
	Buffer tail = InvalidBuffer, buffer;
	BlockNumber last = InvalidBlockNumber, block;
	Page page;

	if (chain->clock == 0)
		*chain = (struct iforest_chain){ .clock = new_clock, .head = InvalidBlockNumber,
						 .tail = InvalidBlockNumber };
	if (chain->n_pages > 0) {
		tail = iforest_page_lock(relation, chain->tail, IFOREST_KIND_PENDING, BUFFER_LOCK_EXCLUSIVE);
		last = iforest_special(BufferGetPage(tail))->last;
	}
	if (chain->n_pages > 0 && chain->tail != last) {
		block = chain->tail + 1;
		iforest_space_ensure(relation, block + 1);
	} else {
		/* as many again as there are: little space for little data */
		struct iforest_extent extent = iforest_space_take(relation, chain->clock, chain->n_pages,
								  Min(Max(chain->n_pages, 1), MOST_EXTENT));

		block = extent.start + (chain->n_pages - extent.first);
		last = extent.start + extent.n_blocks - 1;
	}
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
	page = GenericXLogRegisterBuffer(edit->state, buffer, GENERIC_XLOG_FULL_IMAGE);
	iforest_page_init(page, IFOREST_KIND_PENDING, chain->clock);
	iforest_special(page)->last = last;
	if (BufferIsValid(tail))
		iforest_special(GenericXLogRegisterBuffer(edit->state, tail, 0))->next = block;
	else
		chain->head = block;
	chain->tail = block;
	chain->n_pages++;
	extended = *chain;
	iforest_meta_finish(edit);
	UnlockReleaseBuffer(buffer);
	if (BufferIsValid(tail))
		UnlockReleaseBuffer(tail);
	return extended;
}

uint32 iforest_pending_append(Relation relation, unsigned n_values, struct iforest_pending_place *place,
			      const struct iforest_entry *entry)
{
	uint8 bytes[24 + 8 * IFOREST_MAX_VALUES];
	uint16 n_bytes = iforest_pending_entry_bytes(n_values);
	uint32 n_pages = 0, new_clock = 0;

	write_entry(entry, n_values, bytes);
	while (!append_here(relation, place, bytes, n_bytes)) {
		struct iforest_meta_edit edit;
		struct iforest_chain *chain, found;

		iforest_meta_begin(relation, &edit);
		chain = &edit.meta->open[chain_of_backend()];
		found = *chain;
		if (found.clock == 0 && new_clock == 0) {
			iforest_meta_cancel(&edit);
			new_clock = iforest_meta_tick(relation);
			continue;
		}
		if (found.clock != 0 && (found.clock != place->clock || found.tail != place->block)) {
			iforest_meta_cancel(&edit);
		} else {
			found = extend_chain(relation, &edit, chain, new_clock);
			n_pages = found.n_pages;
			/* given once: closed before our entry is in it, the chain may be waiting still when we begin another */
			new_clock = 0;
			iforest_pause("chain extended");
		}
		*place = (struct iforest_pending_place){ .clock = found.clock, .block = found.tail };
	}
	return n_pages;
}

/* ---- closing ---- */

/* Moves one open chain to the closed ones; the flag on its last page tells those who have it in mind. */
static bool close_chain(Relation relation, unsigned c)
{
	struct iforest_meta_edit edit;
	struct iforest_chain *chain;
	bool done = true;

	iforest_meta_begin(relation, &edit);
	chain = &edit.meta->open[c];
	if (chain->clock != 0 && edit.meta->n_closed < IFOREST_MAX_CLOSED) {
		Buffer tail = iforest_page_lock(relation, chain->tail, IFOREST_KIND_PENDING, BUFFER_LOCK_EXCLUSIVE);

		iforest_special(GenericXLogRegisterBuffer(edit.state, tail, 0))->flags |= IFOREST_CHAIN_CLOSED;
		edit.meta->closed[edit.meta->n_closed++] = *chain;
		*chain = (struct iforest_chain){ .clock = 0 };
		iforest_meta_finish(&edit);
		UnlockReleaseBuffer(tail);
	} else {
		done = chain->clock == 0;
		iforest_meta_cancel(&edit);
	}
	return done;
}

bool iforest_pending_close(Relation relation, bool all)
{
	bool done = true;

	if (!all)
		return close_chain(relation, chain_of_backend());
	for (unsigned c = 0; c < IFOREST_CHAINS; c++)
		done = close_chain(relation, c) && done;
	return done;
}

/* ---- reading ---- */

struct iforest_arrival *iforest_arrivals_sorted(const struct iforest_key *first_key, Size stride, uint32 n)
{
	struct iforest_arrival *arrivals = MemoryContextAllocHuge(CurrentMemoryContext, ((Size)n + 1) * sizeof *arrivals);
	struct iforest_arrival *room = MemoryContextAllocHuge(CurrentMemoryContext, ((Size)n + 1) * sizeof *room);

	for (uint32 i = 0; i < n; i++)
		arrivals[i] =
			(struct iforest_arrival){ .key = *(const struct iforest_key *)((const char *)first_key + i * stride),
						  .entry = i };
	iforest_key_sort(arrivals, room, n);
	pfree(room);
	return arrivals;
}

void iforest_chain_open(struct iforest_chain_reader *reader, struct iforest_index *index, const struct iforest_chain *chain)
{
	reader->index = index;
	reader->clock = chain->clock;
	reader->next = chain->clock ? chain->head : InvalidBlockNumber;
	reader->n_entries = 0;
}

bool iforest_chain_next(struct iforest_chain_reader *reader)
{
	Relation relation = reader->index->relation;
	Buffer buffer;
	Page page;
	bool is_ours;

	reader->n_entries = 0;
	if (reader->next == InvalidBlockNumber)
		return false;
	CHECK_FOR_INTERRUPTS();
	buffer = ReadBuffer(relation, reader->next);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	is_ours = iforest_page_is(page, IFOREST_KIND_PENDING, reader->clock);
	if (is_ours) {
		memcpy(reader->content, iforest_content(page), iforest_content_used(page));
		reader->n_entries = iforest_content_used(page) /
				    iforest_pending_entry_bytes(reader->index->manifest.fields.n_values);
		reader->next = iforest_special(page)->next;
	} else {
		reader->index->met_foreign_page = true;
		reader->next = InvalidBlockNumber;
	}
	UnlockReleaseBuffer(buffer);
	return is_ours;
}

void iforest_chain_entry(const struct iforest_chain_reader *reader, uint32 i, struct iforest_entry *entry)
{
	unsigned n_values = reader->index->manifest.fields.n_values;

	read_entry(reader->content + (size_t)i * iforest_pending_entry_bytes(n_values), n_values, entry);
}

void iforest_chain_key(const struct iforest_chain_reader *reader, uint32 i, struct iforest_key *key)
{
	read_key(reader->content + (size_t)i * iforest_pending_entry_bytes(reader->index->manifest.fields.n_values), key);
}
