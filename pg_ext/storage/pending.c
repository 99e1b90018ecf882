#include "pg_ext/storage/pending.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg_ext/base/test_points.h"

enum { TIME_IS_NULL = 1 << 15, MOST_EXTENT = 16, ZERO_AT = 12 };

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

struct iforest_arrival *ifp_pending_keys_sorted(const struct iforest_key *first_key, Size stride, uint32 n)
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

static void read_chain(struct ifp_chain_reader *reader, bool (*is_chosen)(void *context, const struct iforest_key *key),
		       void *context, struct ifp_pending_entries *pending)
{
	while (ifp_chain_next(reader)) {
		CHECK_FOR_INTERRUPTS();
		if (pending->n + reader->n_entries > pending->n_reserved) {
			pending->n_reserved = 2 * (pending->n + reader->n_entries);
			pending->entries = repalloc_huge(pending->entries, pending->n_reserved * sizeof *pending->entries);
		}
		pending->n_read += reader->n_entries;
		for (uint32 i = 0; i < reader->n_entries; i++) {
			struct iforest_key key;

			ifp_chain_key(reader, i, &key);
			if (is_chosen(context, &key))
				ifp_chain_entry(reader, i, &pending->entries[pending->n++]);
		}
	}
}

bool ifp_pending_entries_read(struct ifp_index *index, bool (*is_chosen)(void *context, const struct iforest_key *key),
			      void *context, struct ifp_pending_entries *pending)
{
	struct ifp_chain_reader *reader = palloc(sizeof *reader);

	*pending = (struct ifp_pending_entries){ .entries = palloc(sizeof *pending->entries), .n_reserved = 1 };
	for (uint32 c = 0; c < IFP_CHAINS + index->meta.n_closed && !index->met_foreign_page; c++) {
		ifp_chain_open(reader, index, c < IFP_CHAINS ? &index->meta.open[c] : &index->meta.closed[c - IFP_CHAINS]);
		read_chain(reader, is_chosen, context, pending);
	}
	pfree(reader);
	return !index->met_foreign_page;
}

void ifp_pending_entries_keep(struct ifp_pending_entries *pending,
			      bool (*is_kept)(void *context, const struct iforest_entry *entry), void *context)
{
	uint32 n = 0;

	for (uint32 i = 0; i < pending->n; i++)
		if (is_kept(context, &pending->entries[i]))
			pending->entries[n++] = pending->entries[i];
	pending->n = n;
}

/* Moves entries along the cycle of the permutation that contains place i. In place, which is faster than writing new memory. */
static void move_cycle(struct iforest_entry *entries, struct iforest_arrival *arrivals, uint32 i)
{
	struct iforest_entry first;
	uint32 to = i, from = arrivals[i].entry;

	if (from == i)
		return;
	first = entries[i];
	for (; from != i; to = from, from = arrivals[to].entry) {
		entries[to] = entries[from];
		arrivals[to].entry = to;
	}
	entries[to] = first;
	arrivals[to].entry = to;
}

void ifp_pending_entries_sort(struct ifp_pending_entries *pending)
{
	struct iforest_arrival *arrivals =
		ifp_pending_keys_sorted(&pending->entries->key, sizeof *pending->entries, pending->n);

	for (uint32 i = 0; i < pending->n; i++)
		move_cycle(pending->entries, arrivals, i);
	pfree(arrivals);
}

uint32 ifp_pending_entries_find(const struct ifp_pending_entries *pending, const struct iforest_key *key)
{
	uint32 low = 0, high = pending->n;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (iforest_key_compare(&pending->entries[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_value(const struct iforest_entry *entry, unsigned v, enum iforest_value_type type,
		      struct iforest_value_aggregate *into)
{
	struct iforest_extreme row = { .value = entry->values[v],
				       .time = entry->key.time,
				       .ref = entry->key.ref,
				       .time_is_null = entry->key.time_is_null,
				       .is_set = true };

	iforest_value_add(into, row.value, type);
	iforest_extreme_min(&into->min, &row, type);
	iforest_extreme_max(&into->max, &row, type);
	iforest_extreme_first(&into->first, &row);
	iforest_extreme_last(&into->last, &row);
}

/* Returns the number in a column of accumulators; *has becomes false if it is NULL. */
static int64 number_of(const struct iforest_entry *entry, unsigned column, bool *has)
{
	if (column == IFOREST_TIME_COLUMN) {
		*has = *has && !entry->key.time_is_null;
		return entry->key.time;
	}
	*has = *has && entry->present >> column & 1;
	return entry->values[column].integer;
}

static void add_to_accumulators(const struct iforest_entry *entry, const struct iforest_accumulators *accumulators,
				struct iforest_aggregate *aggregate)
{
	for (unsigned a = 0; a < accumulators->n; a++) {
		const struct iforest_accumulator *accumulator = &accumulators->list[a];
		bool has = true;
		int64 number = number_of(entry, accumulator->value, &has);
		int64 other = accumulator->second == IFOREST_NO_VALUE ? 0 : number_of(entry, accumulator->second, &has);

		if (has)
			iforest_accumulator_lift(accumulators, a,
						 &(struct iforest_lift){ .numbers = &number, .others = &other, .which = 1 },
						 aggregate->words + accumulator->word);
	}
}

void ifp_pending_entries_fold(const struct ifp_pending_entries *pending, uint32 from, uint32 to,
			      const struct iforest_node_schema *fields, struct iforest_aggregate *aggregate)
{
	for (uint32 i = from; i < to; i++) {
		const struct iforest_entry *entry = &pending->entries[i];

		aggregate->n_rows++;
		if (!entry->key.time_is_null)
			iforest_aggregate_add_time(aggregate, entry->key.time);
		for (unsigned v = 0; v < fields->n_values; v++)
			if (entry->present >> v & 1)
				add_value(entry, v, (enum iforest_value_type)fields->value_types[v], &aggregate->values[v]);
		add_to_accumulators(entry, &fields->accumulators, aggregate);
	}
}
