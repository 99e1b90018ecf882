#include "pg_ext/storage/series_dict.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "core/base/array.h"
#include "core/base/bits.h"

enum { RECORD_HEADER = 2 };

/* Rows may alternate between the indexes of many partitions, and a dropped copy must be read again page by page. So copies are
 * dropped only if there are many, or if they take much memory. */
enum { FEW_DICTS = 16, MOST_DICTS = 256, MANY_SERIES = 100000 };

/* The bytes of a key in the hash table. */
struct name {
	const uint8 *bytes;
	uint32 n_bytes;
};

struct named_series {
	struct name name;
	uint32 id;
};

struct ifp_series_dict {
	struct ifp_series_dict *next; /* the next less recently used one */
	MemoryContext context;
	uint64 index_id;
	Oid file;
	HTAB *by_name;
	struct name *names; /* by id */
	uint32 n_series;
	size_t n_reserved;
	BlockNumber block; /* read up to byte `used` of this page */
	uint32 used;
	struct ifp_sum sum; /* of the part read so far */
	bool is_whole;	    /* false while it is changed: an error leaves a copy that must be discarded */
};

static struct ifp_series_dict *dicts; /* most recently used first */

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
	struct ifp_series_dict *dict = MemoryContextAllocZero(context, sizeof *dict);
	HASHCTL control = { .keysize = sizeof(struct name),
			    .entrysize = sizeof(struct named_series),
			    .hash = hash_name,
			    .match = compare_names,
			    .hcxt = context };

	dict->context = context;
	dict->index_id = index_id;
	dict->file = file;
	dict->by_name = hash_create("iforest series", 64, &control, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	dict->block = InvalidBlockNumber;
	dict->is_whole = true;
	return dict;
}

/* Removes a copy from the list. */
static void unlink_dict(struct ifp_series_dict *dict)
{
	struct ifp_series_dict **at = &dicts;

	while (*at != dict)
		at = &(*at)->next;
	*at = dict->next;
}

static void drop_cache(struct ifp_series_dict *dict)
{
	unlink_dict(dict);
	MemoryContextDelete(dict->context);
}

struct ifp_series_dict *ifp_series_dict_get(Relation index, uint64 index_id)
{
	struct ifp_series_dict *dict = dicts, *oldest = dicts;
	Oid file = index->rd_rel->relfilenode;
	uint64 n_series = 0;
	int n = 0;

	for (; dict && (dict->index_id != index_id || dict->file != file); dict = dict->next, n++) {
		oldest = dict;
		n_series += dict->n_series;
	}
	if (dict && dict == dicts && dict->is_whole)
		return dict;
	if (dict && !dict->is_whole) {
		drop_cache(dict);
		dict = NULL;
	} else if (!dict && (n >= MOST_DICTS || (n >= FEW_DICTS && n_series > MANY_SERIES))) {
		drop_cache(oldest);
	}
	if (dict)
		unlink_dict(dict);
	else
		dict = new_cache(index_id, file);
	dict->next = dicts;
	dicts = dict;
	return dict;
}

/* Adds a series to the copy. Returns false if it is there already. */
static bool remember(struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes)
{
	MemoryContext before = MemoryContextSwitchTo(dict->context);
	struct name name = { .bytes = memcpy(palloc(n_bytes + 1), key, n_bytes), .n_bytes = n_bytes };
	struct named_series *series;
	bool found;

	(void)iforest_array_reserve(&ifp_palloc_allocator, &dict->names, sizeof name, dict->n_series + (Size)1,
				    &dict->n_reserved);
	series = hash_search(dict->by_name, &name, HASH_ENTER, &found);
	if (!found) {
		series->id = dict->n_series;
		dict->names[dict->n_series++] = name;
	}
	MemoryContextSwitchTo(before);
	return !found;
}

bool ifp_series_dict_find(struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes, uint32 *id)
{
	struct name name = { .bytes = key, .n_bytes = n_bytes };
	struct named_series *series = hash_search(dict->by_name, &name, HASH_FIND, NULL);

	if (series)
		*id = series->id;
	return series != NULL;
}

uint32 ifp_series_dict_n(const struct ifp_series_dict *dict)
{
	return dict->n_series;
}

const uint8 *ifp_series_dict_key_of(const struct ifp_series_dict *dict, uint32 id, uint32 *n_bytes)
{
	*n_bytes = dict->names[id].n_bytes;
	return dict->names[id].bytes;
}

/* ---- pages ---- */

/* True if a page's sum matches its records, or it has none. Records that an earlier version appended are not in the sum. */
static bool is_whole(struct ifp_series_dict *dict, const uint8 *content, uint32 n_bytes, const struct ifp_special *special,
		     const struct ifp_sum *sum)
{
	struct ifp_sum found = dict->used > 0 ? dict->sum : ifp_sum_begin(special, dict->block), whole;
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
	dict->sum = found;
	return true;
}

/* Reads the records of a page's content from cache->used on. */
static void read_records(Relation index, struct ifp_series_dict *dict, const uint8 *content, uint32 n_bytes)
{
	dict->is_whole = false;
	while (dict->used < n_bytes) {
		uint32 length = n_bytes - dict->used < RECORD_HEADER ? n_bytes : iforest_load16(content + dict->used);

		if (length == 0 || length > IFP_MAX_SERIES_BYTES || dict->used + RECORD_HEADER + length > n_bytes)
			ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
				errmsg("index \"%s\" is corrupt: block %u has a wrong record of a series",
				       RelationGetRelationName(index), dict->block),
				errhint("REINDEX INDEX makes it anew from the table."));
		if (!remember(dict, content + dict->used + RECORD_HEADER, length))
			ifp_page_wrong(index, dict->block, "It has a series that stands in the dictionary already.");
		dict->used += RECORD_HEADER + length;
	}
	dict->is_whole = true;
}

/* True if the last page that was read has nothing new, and no page follows it. */
static bool is_read_to_end(Relation index, struct ifp_series_dict *dict)
{
	Buffer buffer = ifp_page_lock(index, dict->block, IFP_PAGE_SERIES, BUFFER_LOCK_SHARE);
	Page page = BufferGetPage(buffer);
	bool is_read = dict->used > 0 && ifp_content_used(page) == dict->used &&
		       ifp_special(page)->next == InvalidBlockNumber &&
		       is_whole(dict, ifp_content(page), dict->used, ifp_special(page), ifp_sum(page));

	UnlockReleaseBuffer(buffer);
	return is_read;
}

static void read_from(Relation index, struct ifp_series_dict *dict, BlockNumber head)
{
	uint8 *content;
	BlockNumber n_read = 0;

	if (dict->block == InvalidBlockNumber)
		dict->block = head;
	else if (is_read_to_end(index, dict))
		return;
	content = palloc(IFP_CONTENT_BYTES);
	while (dict->block != InvalidBlockNumber) {
		struct ifp_special special;
		struct ifp_sum sum;
		uint32 n_bytes = ifp_page_copy(index, dict->block, IFP_PAGE_SERIES, content, &special, &sum);

		if (!is_whole(dict, content, n_bytes, &special, &sum))
			ifp_page_wrong(index, dict->block, "The checksum of its series is wrong.");
		read_records(index, dict, content, n_bytes);
		if (special.next == InvalidBlockNumber)
			break;
		if (++n_read > RelationGetNumberOfBlocks(index))
			ifp_page_wrong(index, dict->block, "The pages of the dictionary form a circle.");
		dict->block = special.next;
		dict->used = 0;
	}
	pfree(content);
}

uint32 ifp_series_dict_refresh(Relation index, struct ifp_series_dict *dict)
{
	struct ifp_meta meta;

	if (dict->block == InvalidBlockNumber) {
		ifp_meta_read(index, &meta);
		read_from(index, dict, meta.series_head);
	} else {
		read_from(index, dict, InvalidBlockNumber);
	}
	return dict->n_series;
}

/* Sets the next page. It is added to the sum unless an earlier version appended records that are not in it. */
static void set_next(Page page, BlockNumber next)
{
	ifp_special(page)->next = next;
	if (ifp_special(page)->flags & IFP_PAGE_SUMMED && ifp_sum(page)->n_bytes == ifp_content_used(page))
		ifp_sum_close(ifp_sum(page), next);
}

/* Adds a page to the chain, which may have none yet. Requires  the metapage is locked. */
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

/* Appends a record to the last page, if that is still the one that was read to its end and there is room. The page's lock makes
 * ids unique. */
static bool append_record(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes, bool *is_full)
{
	uint8 record[RECORD_HEADER + IFP_MAX_SERIES_BYTES];
	Buffer buffer;
	struct ifp_sum sum;
	bool is_last, is_summed;
	Page page;

	*is_full = false;
	if (dict->block == InvalidBlockNumber) {
		*is_full = true;
		return false;
	}
	buffer = ifp_page_lock(index, dict->block, IFP_PAGE_SERIES, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	is_last = ifp_special(page)->next == InvalidBlockNumber && ifp_content_used(page) == dict->used;
	*is_full = is_last && dict->used + RECORD_HEADER + n_bytes > ifp_content_room(page);
	if (!is_last || *is_full) {
		UnlockReleaseBuffer(buffer);
		return false;
	}
	iforest_store16(record, (uint16_t)n_bytes);
	memcpy(record + RECORD_HEADER, key, n_bytes);
	sum = *ifp_sum(page);
	is_summed = ifp_special(page)->flags & IFP_PAGE_SUMMED && sum.n_bytes == dict->used;
	ifp_sum_up(&sum, record, (uint16)(RECORD_HEADER + n_bytes));
	ifp_page_append(index, buffer, record, (uint16)(RECORD_HEADER + n_bytes), is_summed ? &sum : NULL);
	UnlockReleaseBuffer(buffer);
	return true;
}

uint32 ifp_series_dict_obtain(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes)
{
	BlockNumber full = InvalidBlockNumber; /* the last page read, if it was not the metapage's last page */
	uint32 id;

	while (!ifp_series_dict_find(dict, key, n_bytes, &id)) {
		bool is_full;

		if (ifp_series_dict_refresh(index, dict) == UINT32_MAX)
			ifp_require(IFOREST_TOO_LARGE, index, NULL);
		if (ifp_series_dict_find(dict, key, n_bytes, &id))
			break;
		if (append_record(index, dict, key, n_bytes, &is_full) || !is_full)
			continue;
		struct ifp_meta_edit edit;

		ifp_meta_begin(index, &edit);
		/* if another backend was faster, there is a page that we have not read */
		if (edit.meta->series_tail == dict->block) {
			append_page(index, &edit);
			continue;
		}
		ifp_meta_cancel(&edit);
		if (full != InvalidBlockNumber && full == dict->block)
			ifp_page_wrong(index, full, "It is the dictionary's last page, and the metapage names another.");
		full = dict->block;
	}
	return id;
}
