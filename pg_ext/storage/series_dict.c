#include "pg_ext/storage/series_dict.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "core/base/bits.h"

enum { RECORD_HEADER = 2 };

/* Rows go to the indexes of partitions in turn, and a copy is made anew page by page: so copies are dropped where they are
 * many, or take much memory. */
enum { FEW_CACHES = 16, MOST_CACHES = 256, MANY_SERIES = 100000 };

/* The bytes of a key, as the hash table knows them. */
struct name {
	const uint8 *bytes;
	uint32 n_bytes;
};

struct named_series {
	struct name name;
	uint32 id;
};

struct ifp_series_dict {
	struct ifp_series_dict *next; /* the next longer unused one */
	MemoryContext context;
	uint64 index_id;
	Oid file;
	HTAB *by_name;
	struct name *names; /* by id */
	uint32 n_series, n_reserved;
	BlockNumber block; /* read up to byte `used` of this page */
	uint32 used;
	struct ifp_sum sum; /* of what was read of it */
	bool is_whole;	    /* false while it is changed: an error in between leaves something to be thrown away */
};

static struct ifp_series_dict *caches; /* the last used one first */

/* ---- the copy in memory ---- */

static uint32 hash_name(const void *key, Size size)
{
	const struct name *name = key;

	(void)size;
	return hash_bytes(name->bytes, (int)name->n_bytes);
}

static int compare_names(const void *left, const void *right, Size size)
{
	const struct name *a = left, *b = right;

	(void)size;
	return a->n_bytes != b->n_bytes || memcmp(a->bytes, b->bytes, a->n_bytes) != 0;
}

static struct ifp_series_dict *new_cache(uint64 index_id, Oid file)
{
	MemoryContext context = AllocSetContextCreate(CacheMemoryContext, "iforest series", ALLOCSET_DEFAULT_SIZES);
	struct ifp_series_dict *cache = MemoryContextAllocZero(context, sizeof *cache);
	HASHCTL control = { .keysize = sizeof(struct name),
			    .entrysize = sizeof(struct named_series),
			    .hash = hash_name,
			    .match = compare_names,
			    .hcxt = context };

	cache->context = context;
	cache->index_id = index_id;
	cache->file = file;
	cache->by_name = hash_create("iforest series", 64, &control, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	cache->block = InvalidBlockNumber;
	cache->is_whole = true;
	return cache;
}

/* Takes a cache out of the list. */
static void unlink_cache(struct ifp_series_dict *cache)
{
	struct ifp_series_dict **at = &caches;

	while (*at != cache)
		at = &(*at)->next;
	*at = cache->next;
}

static void drop_cache(struct ifp_series_dict *cache)
{
	unlink_cache(cache);
	MemoryContextDelete(cache->context);
}

struct ifp_series_dict *ifp_series_dict_get(Relation index, uint64 index_id)
{
	struct ifp_series_dict *cache = caches, *oldest = caches;
	Oid file = index->rd_rel->relfilenode;
	uint64 n_series = 0;
	int n = 0;

	for (; cache && (cache->index_id != index_id || cache->file != file); cache = cache->next, n++) {
		oldest = cache;
		n_series += cache->n_series;
	}
	if (cache && cache == caches && cache->is_whole)
		return cache;
	if (cache && !cache->is_whole) {
		drop_cache(cache);
		cache = NULL;
	} else if (!cache && (n >= MOST_CACHES || (n >= FEW_CACHES && n_series > MANY_SERIES))) {
		drop_cache(oldest);
	}
	if (cache)
		unlink_cache(cache);
	else
		cache = new_cache(index_id, file);
	cache->next = caches;
	caches = cache;
	return cache;
}

/* False: there is such a series already. */
static bool remember(struct ifp_series_dict *cache, const uint8 *key, uint32 n_bytes)
{
	MemoryContext before = MemoryContextSwitchTo(cache->context);
	struct name name = { .bytes = memcpy(palloc(n_bytes + 1), key, n_bytes), .n_bytes = n_bytes };
	struct named_series *series;
	bool found;

	if (cache->n_series == cache->n_reserved) {
		cache->n_reserved = Max(64, 2 * cache->n_reserved);
		cache->names = cache->names ? repalloc_huge(cache->names, cache->n_reserved * sizeof name)
					    : palloc(cache->n_reserved * sizeof name);
	}
	series = hash_search(cache->by_name, &name, HASH_ENTER, &found);
	if (!found) {
		series->id = cache->n_series;
		cache->names[cache->n_series++] = name;
	}
	MemoryContextSwitchTo(before);
	return !found;
}

bool ifp_series_dict_find(struct ifp_series_dict *cache, const uint8 *key, uint32 n_bytes, uint32 *id)
{
	struct name name = { .bytes = key, .n_bytes = n_bytes };
	struct named_series *series = hash_search(cache->by_name, &name, HASH_FIND, NULL);

	if (series)
		*id = series->id;
	return series != NULL;
}

const uint8 *ifp_series_dict_key_of(const struct ifp_series_dict *cache, uint32 id, uint32 *n_bytes)
{
	*n_bytes = cache->names[id].n_bytes;
	return cache->names[id].bytes;
}

/* ---- pages ---- */

/* Has a page the sum of its records, or none? Records that an earlier version appended are not summed up. */
static bool is_whole(struct ifp_series_dict *cache, const uint8 *content, uint32 n_bytes, const struct ifp_special *special,
		     const struct ifp_sum *sum)
{
	struct ifp_sum found = cache->used > 0 ? cache->sum : ifp_sum_begin(special, cache->block), whole;
	uint32 at = found.n_bytes;

	if (!(special->flags & IFP_PAGE_SUMMED))
		return true;
	if (sum->n_bytes > n_bytes || sum->has_next > 1)
		return false;
	while (at + RECORD_HEADER <= sum->n_bytes) {
		uint32 length = RECORD_HEADER + iforest_load16(content + at);

		if (length > sum->n_bytes - at)
			return false;
		ifp_sum_up(&found, content + at, (uint16)length);
		at += length;
	}
	whole = found;
	if (sum->has_next)
		ifp_sum_close(&whole, special->next);
	if (memcmp(&whole, sum, sizeof whole) != 0)
		return false;
	cache->sum = found;
	return true;
}

/* Reads the records of a page's content from cache->used on. */
static void read_records(Relation index, struct ifp_series_dict *cache, const uint8 *content, uint32 n_bytes)
{
	cache->is_whole = false;
	while (cache->used < n_bytes) {
		uint32 length = n_bytes - cache->used < RECORD_HEADER ? n_bytes : iforest_load16(content + cache->used);

		if (length == 0 || length > IFP_MAX_SERIES_BYTES || cache->used + RECORD_HEADER + length > n_bytes)
			ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
				errmsg("index \"%s\" is corrupt: block %u has a wrong record of a series",
				       RelationGetRelationName(index), cache->block),
				errhint("REINDEX INDEX makes it anew from the table."));
		if (!remember(cache, content + cache->used + RECORD_HEADER, length))
			ifp_page_wrong(index, cache->block, "It has a series that stands in the dictionary already.");
		cache->used += RECORD_HEADER + length;
	}
	cache->is_whole = true;
}

static void read_from(Relation index, struct ifp_series_dict *cache, BlockNumber head)
{
	uint8 *content = palloc(IFP_CONTENT_BYTES);
	BlockNumber n_read = 0;

	if (cache->block == InvalidBlockNumber)
		cache->block = head;
	while (cache->block != InvalidBlockNumber) {
		struct ifp_special special;
		struct ifp_sum sum;
		uint32 n_bytes = ifp_page_copy(index, cache->block, IFP_PAGE_SERIES, content, &special, &sum);

		if (!is_whole(cache, content, n_bytes, &special, &sum))
			ifp_page_wrong(index, cache->block, "The checksum of its series is wrong.");
		read_records(index, cache, content, n_bytes);
		if (special.next == InvalidBlockNumber)
			break;
		if (++n_read > RelationGetNumberOfBlocks(index))
			ifp_page_wrong(index, cache->block, "The pages of the dictionary form a circle.");
		cache->block = special.next;
		cache->used = 0;
	}
	pfree(content);
}

uint32 ifp_series_dict_refresh(Relation index, struct ifp_series_dict *cache)
{
	struct ifp_meta meta;

	if (cache->block == InvalidBlockNumber) {
		ifp_meta_read(index, &meta);
		read_from(index, cache, meta.series_head);
	} else {
		read_from(index, cache, InvalidBlockNumber);
	}
	return cache->n_series;
}

/* Says where the chain goes on. What an earlier version appended is not in the sum, nor is this then. */
static void set_next(Page page, BlockNumber next)
{
	ifp_special(page)->next = next;
	if (ifp_special(page)->flags & IFP_PAGE_SUMMED && ifp_sum(page)->n_bytes == ifp_content_used(page))
		ifp_sum_close(ifp_sum(page), next);
}

/* A page for the end of the chain, which may be empty as yet. The metapage is locked. */
static void append_page(Relation index, struct ifp_meta_edit *edit)
{
	struct ifp_extent extent = ifp_extents_allocate(index, IFP_OWNER_INDEX, 0, 1);
	Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, extent.start, RBM_ZERO_AND_LOCK, NULL), tail = InvalidBuffer;
	Page page = GenericXLogRegisterBuffer(edit->state, buffer, GENERIC_XLOG_FULL_IMAGE);

	ifp_page_init(page, IFP_PAGE_SERIES, 0);
	ifp_page_begin_sum(page, extent.start);
	if (edit->meta->series_tail == InvalidBlockNumber) {
		edit->meta->series_head = extent.start;
	} else {
		if (extent.start == edit->meta->series_tail)
			ifp_page_wrong(index, IFP_EXTENTS_BLOCK, "It lists a page of the dictionary as free.");
		tail = ifp_page_lock(index, edit->meta->series_tail, IFP_PAGE_SERIES, BUFFER_LOCK_EXCLUSIVE);
		set_next(GenericXLogRegisterBuffer(edit->state, tail, 0), extent.start);
	}
	edit->meta->series_tail = extent.start;
	ifp_meta_finish(edit);
	UnlockReleaseBuffer(buffer);
	if (BufferIsValid(tail))
		UnlockReleaseBuffer(tail);
}

/* Appends a record to the last page, if that is still the one that was read to its end, and there is room.
 * The page's lock is what makes ids unique. */
static bool append_record(Relation index, struct ifp_series_dict *cache, const uint8 *key, uint32 n_bytes, bool *is_full)
{
	uint8 record[RECORD_HEADER + IFP_MAX_SERIES_BYTES];
	Buffer buffer;
	struct ifp_sum sum;
	bool is_last, is_summed;
	Page page;

	*is_full = false;
	if (cache->block == InvalidBlockNumber) {
		*is_full = true;
		return false;
	}
	buffer = ifp_page_lock(index, cache->block, IFP_PAGE_SERIES, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	is_last = ifp_special(page)->next == InvalidBlockNumber && ifp_content_used(page) == cache->used;
	*is_full = is_last && cache->used + RECORD_HEADER + n_bytes > ifp_content_room(page);
	if (!is_last || *is_full) {
		UnlockReleaseBuffer(buffer);
		return false;
	}
	iforest_store16(record, (uint16_t)n_bytes);
	memcpy(record + RECORD_HEADER, key, n_bytes);
	sum = *ifp_sum(page);
	is_summed = ifp_special(page)->flags & IFP_PAGE_SUMMED && sum.n_bytes == cache->used;
	ifp_sum_up(&sum, record, (uint16)(RECORD_HEADER + n_bytes));
	ifp_page_append(index, buffer, record, (uint16)(RECORD_HEADER + n_bytes), is_summed ? &sum : NULL);
	UnlockReleaseBuffer(buffer);
	return true;
}

uint32 ifp_series_dict_obtain(Relation index, struct ifp_series_dict *cache, const uint8 *key, uint32 n_bytes)
{
	BlockNumber full = InvalidBlockNumber; /* the last page, as read, when it was not the metapage's */
	uint32 id;

	while (!ifp_series_dict_find(cache, key, n_bytes, &id)) {
		bool is_full;

		if (ifp_series_dict_refresh(index, cache) == UINT32_MAX)
			ifp_require(IFOREST_TOO_LARGE, index, NULL);
		if (ifp_series_dict_find(cache, key, n_bytes, &id))
			break;
		if (append_record(index, cache, key, n_bytes, &is_full) || !is_full)
			continue;
		struct ifp_meta_edit edit;

		ifp_meta_begin(index, &edit);
		/* somebody else may have been faster: then there is a page that we have not read */
		if (edit.meta->series_tail == cache->block) {
			append_page(index, &edit);
			continue;
		}
		ifp_meta_cancel(&edit);
		if (full != InvalidBlockNumber && full == cache->block)
			ifp_page_wrong(index, full, "It is the dictionary's last page, and the metapage names another.");
		full = cache->block;
	}
	return id;
}
