#include "pg_ext/storage/extents.h"

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/meta.h"

enum { SLOTS = (IFP_CONTENT_BYTES - sizeof(struct ifp_sum)) / sizeof(struct ifp_extent), MAX_LIST_PAGES = 64 };

/* Maximum of extents that wait for their last possible reader; the list has room for ten times as many extents. */
enum { MOST_WAITING = 2048 };

/* Blocks by which extents may exceed the file: a restored server has extents that were allocated but never written. A run
 * allocates a sixteenth of its pages ahead, sketches fewer than the pages of their run, a chain 16 blocks. */
enum { MOST_AHEAD = 2048 };

/* Blocks by which the file is extended while the list is locked: the extent of a chain. */
enum { MOST_UNDER_LOCK = 16 };

/* All pages of the list, locked exclusively. */
struct extent_list {
	Relation index;
	uint32 n_pages;
	Buffer buffers[MAX_LIST_PAGES];
};

static const char IMPOSSIBLE[] = "An extent that it lists is impossible.";
static const char WRONG_SUM[] = "The checksum of its extents is wrong.";
static const char LACKING[] = "The list lacks an extent.";
static const char CIRCLE[] = "The pages of the list of extents form a circle.";

static struct ifp_extent *slots_of(Page page)
{
	return (struct ifp_extent *)ifp_content(page);
}

static uint32 n_slots(Page page)
{
	return ifp_content_used(page) / sizeof(struct ifp_extent);
}

static void close_list(struct extent_list *list)
{
	while (list->n_pages > 0)
		UnlockReleaseBuffer(list->buffers[--list->n_pages]);
}

static struct ifp_extent *extent_at(const struct extent_list *list, uint32 at)
{
	return &slots_of(BufferGetPage(list->buffers[at / SLOTS]))[at % SLOTS];
}

/* Iterates over the slots of the list: for (uint32 at = 0; next_slot(list, &at); at++) */
static bool next_slot(const struct extent_list *list, uint32 *at)
{
	while (*at / SLOTS < list->n_pages) {
		if (*at % SLOTS < n_slots(BufferGetPage(list->buffers[*at / SLOTS])))
			return true;
		*at = (*at / SLOTS + 1) * SLOTS;
	}
	return false;
}

/* ---- checks ---- */

static bool is_possible(const struct ifp_extent *extent, uint64 n_blocks)
{
	uint64 most = Min(2 * n_blocks + MOST_AHEAD, MaxBlockNumber);

	return extent->n_blocks == 0 ||
	       (extent->start >= IFP_FIRST_FREE_BLOCK && (uint64)extent->start + extent->n_blocks <= most &&
		(uint64)extent->first + extent->n_blocks <= most &&
		(extent->owner <= IFP_OWNER_INDEX || extent->owner > IFP_FIRST_CLOCK));
}

static int compare_starts(const void *left, const void *right)
{
	const struct ifp_extent *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

bool ifp_extents_overlap(struct ifp_extent *extents, uint32 n)
{
	bool overlap = false;

	qsort(extents, n, sizeof *extents, compare_starts);
	for (uint32 i = 1; i < n && !overlap; i++)
		overlap = (uint64)extents[i - 1].start + extents[i - 1].n_blocks > extents[i].start;
	return overlap;
}

/* Returns a description of damage of the list; NULL if there is none. With a damaged list, blocks in use might be allocated, or
 * the file extended too far. Sorts the extents. */
static const char *find_fault(struct ifp_extent *used, uint32 n)
{
	BlockNumber end = IFP_FIRST_FREE_BLOCK;

	if (ifp_extents_overlap(used, n))
		return "Two extents of the list overlap.";
	for (uint32 i = 0; i < n; i++) {
		if (used[i].start != end)
			return LACKING;
		end += used[i].n_blocks;
	}
	return NULL;
}

static void check_list(const struct extent_list *list)
{
	const char *wrong;
	uint64 n_blocks = RelationGetNumberOfBlocks(list->index);
	struct ifp_extent *used = palloc((Size)list->n_pages * IFP_CONTENT_BYTES);
	uint32 n = 0;

	for (uint32 at = 0; next_slot(list, &at); at++) {
		if (!is_possible(extent_at(list, at), n_blocks))
			ifp_page_wrong(list->index, BufferGetBlockNumber(list->buffers[at / SLOTS]), IMPOSSIBLE);
		if (extent_at(list, at)->n_blocks > 0)
			used[n++] = *extent_at(list, at);
	}
	wrong = find_fault(used, n);
	if (wrong)
		ifp_page_wrong(list->index, IFP_EXTENTS_BLOCK, wrong);
	pfree(used);
}

static bool is_in_list(const struct extent_list *list, BlockNumber block)
{
	bool found = false;

	for (uint32 i = 0; i < list->n_pages && !found; i++)
		found = BufferGetBlockNumber(list->buffers[i]) == block;
	return found;
}

/* The type of a page of the list never changes. It is checked before waiting for the lock: this backend may already have locked
 * a page that is not of the list, such as the metapage. */
static Buffer lock_list_page(Relation index, BlockNumber block)
{
	Buffer buffer = ifp_page_read(index, block);
	Page page = BufferGetPage(buffer);
	bool is_listed = ifp_page_looks_like(page, IFP_PAGE_EXTENTS);

	if (is_listed)
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!is_listed || !ifp_page_is(page, IFP_PAGE_EXTENTS, 0))
		ifp_page_wrong(index, block, "It is no page of the list of extents.");
	if (!ifp_page_is_whole(ifp_content(page), ifp_content_used(page), ifp_special(page), ifp_sum(page), block))
		ifp_page_wrong(index, block, WRONG_SUM);
	return buffer;
}

static void open_list(struct extent_list *list, Relation index)
{
	BlockNumber block = IFP_EXTENTS_BLOCK;

	list->index = index;
	list->n_pages = 0;
	while (block != InvalidBlockNumber) {
		if (list->n_pages == MAX_LIST_PAGES || is_in_list(list, block))
			ifp_page_wrong(index, block, CIRCLE);
		list->buffers[list->n_pages] = lock_list_page(index, block);
		block = ifp_special(BufferGetPage(list->buffers[list->n_pages]))->next;
		list->n_pages++;
	}
	check_list(list);
}

/* ---- changes: one atomic record for one or two slots ---- */

static void put(struct extent_list *list, const uint32 *at, const struct ifp_extent *extents, int n)
{
	GenericXLogState *state = GenericXLogStart(list->index);

	for (int i = 0; i < n; i++) {
		Page page = GenericXLogRegisterBuffer(state, list->buffers[at[i] / SLOTS], 0);
		uint32 slot = at[i] % SLOTS;

		if (n_slots(page) <= slot)
			ifp_content_set_used(page, (slot + 1) * sizeof(struct ifp_extent));
		slots_of(page)[slot] = extents[i];
		ifp_page_sum(page, BufferGetBlockNumber(list->buffers[at[i] / SLOTS]));
	}
	GenericXLogFinish(state);
}

static BlockNumber end_of_list(const struct extent_list *list)
{
	BlockNumber end = IFP_FIRST_FREE_BLOCK;

	for (uint32 at = 0; next_slot(list, &at); at++)
		if (extent_at(list, at)->n_blocks > 0)
			end = Max(end, extent_at(list, at)->start + extent_at(list, at)->n_blocks);
	return end;
}

void ifp_extents_ensure_file(Relation index, BlockNumber end)
{
	/* one lock for each block: a backend that needs only the next block does not wait for all */
	while (RelationGetNumberOfBlocks(index) < end) {
		if (!RELATION_IS_LOCAL(index))
			LockRelationForExtension(index, ExclusiveLock);
		if (RelationGetNumberOfBlocks(index) < end)
			ReleaseBuffer(ReadBufferExtended(index, MAIN_FORKNUM, P_NEW, RBM_NORMAL, NULL));
		if (!RELATION_IS_LOCAL(index))
			UnlockRelationForExtension(index, ExclusiveLock);
	}
}

/* Returns n blocks beyond the end of the list. An earlier attempt may have left some of them in the file. */
static struct ifp_extent extend(struct extent_list *list, uint32 n)
{
	struct ifp_extent extent = { .start = end_of_list(list), .n_blocks = n };

	ifp_extents_ensure_file(list->index, extent.start + n);
	return extent;
}

static uint32 append_slot(struct extent_list *list, uint32 page)
{
	return page * SLOTS + n_slots(BufferGetPage(list->buffers[page]));
}

/* Returns an unused slot. A full list grows by a page, whose own extent is its first slot. */
static uint32 unused_slot(struct extent_list *list)
{
	uint32 last = list->n_pages - 1;
	GenericXLogState *state;
	struct ifp_extent own;
	Buffer buffer;
	Page page;

	for (uint32 at = 0; next_slot(list, &at); at++)
		if (extent_at(list, at)->n_blocks == 0)
			return at;
	if (n_slots(BufferGetPage(list->buffers[last])) < SLOTS)
		return append_slot(list, last);
	if (list->n_pages == MAX_LIST_PAGES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("index \"%s\" has too many extents", RelationGetRelationName(list->index)),
			errhint("Please REINDEX it."));
	own = extend(list, 1);
	own.owner = IFP_OWNER_INDEX;
	buffer = ReadBuffer(list->index, own.start);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(list->index);
	page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
	ifp_page_init(page, IFP_PAGE_EXTENTS, 0);
	slots_of(page)[0] = own;
	ifp_content_set_used(page, sizeof own);
	ifp_page_sum(page, own.start);
	page = GenericXLogRegisterBuffer(state, list->buffers[last], 0);
	ifp_special(page)->next = own.start;
	ifp_page_sum(page, BufferGetBlockNumber(list->buffers[last]));
	GenericXLogFinish(state);
	list->buffers[list->n_pages++] = buffer;
	return append_slot(list, last + 1);
}

/* ---- free extents ---- */

static bool is_free(const struct ifp_extent *extent)
{
	return extent->n_blocks > 0 && extent->owner == IFP_OWNER_NONE;
}

/* Joins a free extent with its free neighbours. */
static void join(struct extent_list *list, uint32 at)
{
	bool joined = true;

	while (joined) {
		joined = false;
		for (uint32 other = 0; !joined && next_slot(list, &other); other++) {
			struct ifp_extent a = *extent_at(list, at), b = *extent_at(list, other);
			struct ifp_extent both[2] = { a, { 0 } };
			uint32 places[2] = { at, other };

			if (other == at || !is_free(&b) || (a.start + a.n_blocks != b.start && b.start + b.n_blocks != a.start))
				continue;
			both[0].start = Min(a.start, b.start);
			both[0].n_blocks = a.n_blocks + b.n_blocks;
			put(list, places, both, 2);
			joined = true;
		}
	}
}

static void set_free(struct extent_list *list, uint32 at)
{
	struct ifp_extent extent = { .start = extent_at(list, at)->start, .n_blocks = extent_at(list, at)->n_blocks };

	put(list, &at, &extent, 1);
	join(list, at);
}

/* Frees extents whose last possible reader is gone. If very many wait for an old snapshot, also frees the one that has waited
 * longest; a backend that still reads it restarts. */
static void ripen(struct extent_list *list)
{
	uint32 n_waiting = 0, oldest = 0;
	uint64 oldest_freed = 0;

	for (uint32 at = 0; next_slot(list, &at); at++) {
		uint64 freed = extent_at(list, at)->freed;

		if (freed && GlobalVisCheckRemovableFullXid(NULL, FullTransactionIdFromU64(freed))) {
			set_free(list, at);
		} else if (freed) {
			n_waiting++;
			if (oldest_freed == 0 || freed < oldest_freed) {
				oldest = at;
				oldest_freed = freed;
			}
		}
	}
	if (n_waiting > MOST_WAITING)
		set_free(list, oldest);
}

/* Finds the smallest free extent with n_wanted blocks, or else the largest. */
static bool find_free(const struct extent_list *list, uint32 n_wanted, uint32 *best)
{
	uint32 n_best = 0;

	for (uint32 at = 0; next_slot(list, &at); at++) {
		const struct ifp_extent *extent = extent_at(list, at);
		uint32 n = extent->n_blocks;

		if (!is_free(extent))
			continue;
		if (n_best == 0 || (n >= n_wanted && (n_best < n_wanted || n < n_best)) || (n < n_wanted && n > n_best)) {
			*best = at;
			n_best = n;
		}
	}
	/* small pieces would make many extents out of a large run */
	return n_best >= n_wanted || (n_best > 0 && n_best >= n_wanted / 8);
}

/* Finds an extent that this one continues, in the file and for its owner. Extents of IFP_OWNER_INDEX have no order. */
static bool find_predecessor(const struct extent_list *list, const struct ifp_extent *extent, uint32 *at)
{
	for (*at = 0; next_slot(list, at); ++*at) {
		const struct ifp_extent *other = extent_at(list, *at);

		if (other->n_blocks > 0 && other->owner == extent->owner && !other->freed &&
		    other->start + other->n_blocks == extent->start &&
		    (extent->owner == IFP_OWNER_INDEX || other->first + other->n_blocks == extent->first))
			return true;
	}
	return false;
}

/* The end of the blocks that would be allocated next. */
static BlockNumber next_end(const struct extent_list *list, uint32 n_wanted)
{
	uint32 at;

	if (!find_free(list, n_wanted, &at))
		return end_of_list(list) + n_wanted;
	return extent_at(list, at)->start + Min(extent_at(list, at)->n_blocks, n_wanted);
}

/* Opens the list when the file is long enough for n_wanted blocks, or nearly so. Extending it by many blocks takes too long under
 * the lock, for which inserting backends wait with the metapage locked: while runs of 0.5 GB were written beside 75 000 rows a
 * second, they waited half of the time. Other backends may take the blocks before the list is locked again. */
static void open_list_with_file(struct extent_list *list, Relation index, uint32 n_wanted)
{
	open_list(list, index);
	ripen(list);
	for (;;) {
		BlockNumber end = next_end(list, n_wanted);

		if (end <= (uint64)RelationGetNumberOfBlocks(index) + MOST_UNDER_LOCK)
			return;
		close_list(list);
		ifp_extents_ensure_file(index, end);
		ifp_test_point("file extended");
		open_list(list, index);
	}
}

struct ifp_extent ifp_extents_allocate(Relation index, uint32 owner, uint32 first, uint32 n_wanted)
{
	struct ifp_extent pieces[3], taken;
	uint32 places[3], before;
	struct extent_list list;
	int n_pieces = 1;

	open_list_with_file(&list, index, n_wanted);
	if (find_free(&list, n_wanted, &places[0])) {
		pieces[0] = *extent_at(&list, places[0]);
		ifp_extents_ensure_file(index, pieces[0].start + Min(pieces[0].n_blocks, n_wanted));
		if (pieces[0].n_blocks > n_wanted) {
			pieces[1] = (struct ifp_extent){ .start = pieces[0].start + n_wanted,
							 .n_blocks = pieces[0].n_blocks - n_wanted };
			pieces[0].n_blocks = n_wanted;
			places[1] = unused_slot(&list);
			n_pieces = 2;
		}
	} else {
		places[0] = unused_slot(&list);
		pieces[0] = extend(&list, n_wanted);
	}
	pieces[0].owner = owner;
	pieces[0].first = first;
	taken = pieces[0];
	if (find_predecessor(&list, &taken, &before)) {
		struct ifp_extent longer = *extent_at(&list, before);

		longer.n_blocks += taken.n_blocks;
		pieces[0] = (struct ifp_extent){ .start = 0 };
		places[n_pieces] = before;
		pieces[n_pieces++] = longer;
		if (owner != IFP_OWNER_INDEX)
			taken = longer;
	}
	put(&list, places, pieces, n_pieces);
	close_list(&list);
	return taken;
}

void ifp_extents_trim(Relation index, uint32 owner, uint32 n_used)
{
	struct extent_list list;

	open_list(&list, index);
	for (uint32 at = 0; next_slot(&list, &at); at++) {
		struct ifp_extent extent = *extent_at(&list, at);
		struct ifp_extent pieces[2] = { extent, extent };
		uint32 places[2] = { at };

		if (extent.n_blocks == 0 || extent.owner != owner || extent.freed || extent.first + extent.n_blocks <= n_used)
			continue;
		if (extent.first >= n_used) {
			set_free(&list, at);
			continue;
		}
		pieces[0].n_blocks = n_used - extent.first;
		pieces[1] = (struct ifp_extent){ .start = extent.start + pieces[0].n_blocks,
						 .n_blocks = extent.n_blocks - pieces[0].n_blocks };
		places[1] = unused_slot(&list);
		put(&list, places, pieces, 2);
		join(&list, places[1]);
	}
	close_list(&list);
}

static void free_when_unread(struct extent_list *list, uint32 at)
{
	struct ifp_extent extent = *extent_at(list, at);

	/* only this backend reads an index that nobody else sees, and it restarts when it meets a foreign page */
	if (ifp_is_unshared(list->index)) {
		set_free(list, at);
		return;
	}
	extent.freed = U64FromFullTransactionId(ReadNextFullTransactionId());
	put(list, &at, &extent, 1);
}

void ifp_extents_free(Relation index, uint32 owner, bool at_once)
{
	struct extent_list list;

	open_list(&list, index);
	for (uint32 at = 0; next_slot(&list, &at); at++) {
		if (extent_at(&list, at)->n_blocks == 0 || extent_at(&list, at)->owner != owner || extent_at(&list, at)->freed)
			continue;
		if (at_once)
			set_free(&list, at);
		else
			free_when_unread(&list, at);
	}
	close_list(&list);
}

static bool is_named(uint32 owner, const uint32 *owners, uint32 n_owners)
{
	bool found = owner == IFP_OWNER_INDEX || owner == IFP_OWNER_NONE;

	for (uint32 i = 0; i < n_owners && !found; i++)
		found = owners[i] == owner;
	return found;
}

uint64 ifp_extents_sweep(Relation index, const uint32 *owners, uint32 n_owners)
{
	BlockNumber n_present = RelationGetNumberOfBlocks(index);
	struct extent_list list;
	uint64 n_found = 0;
	BlockNumber end;

	open_list(&list, index);
	ripen(&list);
	for (uint32 at = 0; next_slot(&list, &at); at++) {
		const struct ifp_extent *extent = extent_at(&list, at);

		if (extent->n_blocks > 0 && !extent->freed && !is_named(extent->owner, owners, n_owners)) {
			n_found += extent->n_blocks;
			set_free(&list, at);
		}
	}
	end = end_of_list(&list);
	if (n_present > end) {
		struct ifp_extent extent = { .start = end, .n_blocks = n_present - end };
		uint32 at = unused_slot(&list);

		/* the list itself may just have grown into these */
		if (end_of_list(&list) == end) {
			put(&list, &at, &extent, 1);
			join(&list, at);
			n_found += extent.n_blocks;
		}
	}
	close_list(&list);
	return n_found;
}

/* Checks a copy of a one-page list; copies of several pages may be of different moments. */
static void check_copy(Relation index, const struct ifp_extent *extents, uint32 n, uint32 n_pages)
{
	uint64 n_blocks = 0, end = IFP_FIRST_FREE_BLOCK;

	for (uint32 i = 0; i < n; i++) {
		n_blocks += extents[i].n_blocks;
		end = Max(end, (uint64)extents[i].start + extents[i].n_blocks);
	}
	if (n_pages == 1 && end != IFP_FIRST_FREE_BLOCK + n_blocks)
		ifp_page_wrong(index, IFP_EXTENTS_BLOCK, LACKING);
}

struct ifp_extent *ifp_extents_read(Relation index, uint32 *n_extents)
{
	struct ifp_extent *extents = NULL;
	BlockNumber block = IFP_EXTENTS_BLOCK;
	uint32 n = 0, n_pages = 0;

	while (block != InvalidBlockNumber) {
		struct ifp_special special;
		struct ifp_sum sum;
		uint32 n_bytes, before = n;
		BlockNumber n_blocks;

		if (n_pages++ == MAX_LIST_PAGES)
			ifp_page_wrong(index, block, CIRCLE);
		extents = extents ? repalloc(extents, n * sizeof *extents + IFP_CONTENT_BYTES) : palloc(IFP_CONTENT_BYTES);
		n_bytes = ifp_page_copy(index, block, IFP_PAGE_EXTENTS, (uint8 *)(extents + n), &special, &sum);
		if (!ifp_page_is_whole((const uint8 *)(extents + n), n_bytes, &special, &sum, block))
			ifp_page_wrong(index, block, WRONG_SUM);
		n_blocks = RelationGetNumberOfBlocks(index);
		for (uint32 i = 0; i < n_bytes / sizeof *extents; i++) {
			if (!is_possible(&extents[before + i], n_blocks))
				ifp_page_wrong(index, block, IMPOSSIBLE);
			if (extents[before + i].n_blocks > 0)
				extents[n++] = extents[before + i];
		}
		block = special.next;
	}
	check_copy(index, extents, n, n_pages);
	*n_extents = n;
	return extents;
}
