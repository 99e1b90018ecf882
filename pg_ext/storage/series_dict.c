#include "pg_ext/storage/series_dict.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "core/base/array.h"
#include "core/base/bits.h"

enum { RECORD_HEADER = 2 };

/* Rows may alternate between the indexes of many partitions, and a dropped copy must be read again page by page. So copies are
 * dropped only if there are many, or if they take much memory. */
enum { FEW_DICTS = 16, MOST_DICTS = 256, MANY_SERIES = 100000 };

/* A session of few questions searches the pages for a key, which takes a fraction of the time of a copy with a hash table, and
 * no memory. */
enum { FEW_SEARCHES = 8 };

struct key {
	const uint8 *bytes;
	uint32 n_bytes;
};

/* A series that a search of the pages found. */
struct found_series {
	struct key key;
	uint32 id;
};

/* An element of the hash table of lib/simplehash.h. */
struct hashed_series {
	uint32 hash, id;
	char status;
};

/* A place in the chain of pages. */
struct place {
	BlockNumber block;  /* invalid before the first page */
	uint32 used;	    /* bytes of its content before the place */
	struct ifp_sum sum; /* of these */
};

struct ifp_series_dict {
	struct ifp_series_dict *next; /* the next less recently used one */
	MemoryContext context;
	uint64 index_id;
	Oid file;
	struct place end; /* of what has been copied */
	uint8 *keys;	  /* by id, one after another */
	Size *key_ends;	  /* by id: where in `keys` a key ends */
	size_t n_bytes_reserved, n_ends_reserved;
	uint32 n_series;	    /* in the copy */
	struct series_hash *by_key; /* of the copy; NULL until there have been FEW_SEARCHES */
	struct key sought;	    /* has SOUGHT_ID in by_key */
	int n_searches, n_found;
	struct found_series found[FEW_SEARCHES];
	bool is_whole; /* false while it is changed: an error leaves a copy that must be discarded */
};

static struct ifp_series_dict *dicts; /* most recently used first */

/* ---- copies ---- */

static struct ifp_series_dict *new_cache(uint64 index_id, Oid file)
{
	MemoryContext context = AllocSetContextCreate(CacheMemoryContext, "iforest series", ALLOCSET_SMALL_SIZES);
	struct ifp_series_dict *dict = MemoryContextAllocZero(context, sizeof *dict);

	dict->context = context;
	dict->index_id = index_id;
	dict->file = file;
	dict->end.block = InvalidBlockNumber;
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

/* ---- keys in memory ---- */

#define SOUGHT_ID PG_UINT32_MAX /* of no series */

static inline struct key copied_key(const struct ifp_series_dict *dict, uint32 id)
{
	Size start = id > 0 && id != SOUGHT_ID ? dict->key_ends[id - 1] : 0;

	return id == SOUGHT_ID ? dict->sought
			       : (struct key){ .bytes = dict->keys + start, .n_bytes = (uint32)(dict->key_ends[id] - start) };
}

static inline bool are_equal(struct key a, struct key b)
{
	return a.n_bytes == b.n_bytes && memcmp(a.bytes, b.bytes, a.n_bytes) == 0;
}

static inline uint32 hash_key(struct key key)
{
	return hash_bytes(key.bytes, (int)key.n_bytes);
}

#define SH_PREFIX series
#define SH_ELEMENT_TYPE struct hashed_series
#define SH_KEY_TYPE uint32
#define SH_KEY id
#define SH_HASH_KEY(table, id) hash_key(copied_key((table)->private_data, id))
#define SH_EQUAL(table, a, b) are_equal(copied_key((table)->private_data, a), copied_key((table)->private_data, b))
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static void require_new(Relation index, bool is_there)
{
	if (is_there)
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: its dictionary has a series twice", RelationGetRelationName(index)),
			errhint("Please REINDEX it."));
}

static void add_to_hash(Relation index, struct ifp_series_dict *dict, uint32 id)
{
	bool is_there;

	(void)series_insert(dict->by_key, id, &is_there);
	require_new(index, is_there);
}

static void hash_keys(Relation index, struct ifp_series_dict *dict)
{
	dict->is_whole = false;
	dict->by_key = series_create(dict->context, dict->n_series, dict);
	for (uint32 id = 0; id < dict->n_series; id++)
		add_to_hash(index, dict, id);
	dict->is_whole = true;
}

/* ---- reading the pages ---- */

/* True if a page's sum matches its records, or it has none. Records that an earlier version appended are not in the sum. */
static bool is_whole(struct place *place, const uint8 *content, uint32 n_bytes, const struct ifp_special *special,
		     const struct ifp_sum *sum)
{
	struct ifp_sum found = place->used > 0 ? place->sum : ifp_sum_begin(special, place->block), whole;
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
	place->sum = found;
	return true;
}

/* Returns the record at the place, and moves behind it. Requires  place->used < n_bytes */
static struct key next_record(Relation index, struct place *place, const uint8 *content, uint32 n_bytes)
{
	uint32 start = place->used + RECORD_HEADER;
	uint32 length = start > n_bytes ? 0 : iforest_load16(content + place->used);

	if (length == 0 || length > IFP_MAX_SERIES_BYTES || start + length > n_bytes)
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: block %u has a wrong record of a series",
			       RelationGetRelationName(index), place->block),
			errhint("Please REINDEX it."));
	place->used = start + length;
	return (struct key){ .bytes = content + start, .n_bytes = length };
}

/* What is done with each key that is read. */
typedef void take_key(void *state, struct key key);

/* Reads from the place to the end of the chain, and moves the place there. */
static void read_chain(Relation index, struct place *place, take_key *take, void *state)
{
	uint8 *content = palloc(IFP_CONTENT_BYTES);
	BlockNumber n_read = 0, n_blocks = 0;

	while (place->block != InvalidBlockNumber) {
		struct ifp_special special;
		struct ifp_sum sum;
		uint32 n_bytes = ifp_page_copy(index, place->block, IFP_PAGE_SERIES, content, &special, &sum);

		if (!is_whole(place, content, n_bytes, &special, &sum))
			ifp_page_wrong(index, place->block, "The checksum of its series is wrong.");
		while (place->used < n_bytes)
			take(state, next_record(index, place, content, n_bytes));
		if (special.next == InvalidBlockNumber)
			break;
		if (++n_read > n_blocks) /* the file is asked for its size only once */
			n_blocks = RelationGetNumberOfBlocks(index);
		if (n_read > n_blocks)
			ifp_page_wrong(index, place->block, "The pages of the dictionary form a circle.");
		*place = (struct place){ .block = special.next };
		CHECK_FOR_INTERRUPTS();
	}
	pfree(content);
}

static BlockNumber first_block(Relation index)
{
	struct ifp_meta meta;

	ifp_meta_read(index, &meta);
	return meta.series_head;
}

/* ---- the copy ---- */

struct copying {
	Relation index;
	struct ifp_series_dict *dict;
};

static void copy_key(void *state, struct key key)
{
	struct copying *copying = state;
	struct ifp_series_dict *dict = copying->dict;
	uint32 id = dict->n_series;
	Size start = id > 0 ? dict->key_ends[id - 1] : 0;
	MemoryContext before = MemoryContextSwitchTo(dict->context);

	(void)iforest_array_reserve(&ifp_palloc_allocator, &dict->keys, 1, start + key.n_bytes, &dict->n_bytes_reserved);
	(void)iforest_array_reserve(&ifp_palloc_allocator, &dict->key_ends, sizeof *dict->key_ends, id + (Size)1,
				    &dict->n_ends_reserved);
	MemoryContextSwitchTo(before);
	memcpy(dict->keys + start, key.bytes, key.n_bytes);
	dict->key_ends[id] = start + key.n_bytes;
	dict->n_series++;
	if (dict->by_key)
		add_to_hash(copying->index, dict, id);
}

/* True if the last page that was copied has nothing new, and no page follows it. */
static bool is_read_to_end(Relation index, struct ifp_series_dict *dict)
{
	struct place *end = &dict->end;
	Buffer buffer = ifp_page_lock(index, end->block, IFP_PAGE_SERIES, BUFFER_LOCK_SHARE);
	Page page = BufferGetPage(buffer);
	bool is_read = end->used > 0 && ifp_content_used(page) == end->used && ifp_special(page)->next == InvalidBlockNumber &&
		       is_whole(end, ifp_content(page), end->used, ifp_special(page), ifp_sum(page));

	UnlockReleaseBuffer(buffer);
	return is_read;
}

uint32 ifp_series_dict_refresh(Relation index, struct ifp_series_dict *dict)
{
	struct copying copying = { .index = index, .dict = dict };

	if (dict->end.block == InvalidBlockNumber)
		dict->end.block = first_block(index);
	else if (is_read_to_end(index, dict))
		return dict->n_series;
	dict->is_whole = false;
	read_chain(index, &dict->end, copy_key, &copying);
	dict->is_whole = true;
	return dict->n_series;
}

const uint8 *ifp_series_dict_key_of(Relation index, struct ifp_series_dict *dict, uint32 id, uint32 *n_bytes)
{
	struct key key;

	for (int i = 0; i < dict->n_found && id >= dict->n_series; i++)
		if (dict->found[i].id == id) {
			*n_bytes = dict->found[i].key.n_bytes;
			return dict->found[i].key.bytes;
		}
	if (id >= dict->n_series)
		ifp_series_dict_refresh(index, dict);
	key = copied_key(dict, id);
	*n_bytes = key.n_bytes;
	return key.bytes;
}

/* ---- finding a series ---- */

struct search {
	Relation index;
	struct key key;
	uint32 n_read, id;
	bool is_found;
};

static void compare_key(void *state, struct key key)
{
	struct search *search = state;

	if (are_equal(key, search->key)) {
		require_new(search->index, search->is_found);
		search->is_found = true;
		search->id = search->n_read;
	}
	search->n_read++;
}

/* Searches the pages, and keeps what is found. */
static bool search_pages(Relation index, struct ifp_series_dict *dict, struct key key, uint32 *id)
{
	struct search search = { .index = index, .key = key };
	struct place place = { .block = first_block(index) };
	uint8 *kept;

	read_chain(index, &place, compare_key, &search);
	dict->n_searches++;
	if (!search.is_found)
		return false;
	kept = MemoryContextAlloc(dict->context, key.n_bytes);
	memcpy(kept, key.bytes, key.n_bytes);
	dict->found[dict->n_found++] = (struct found_series){ .key = { kept, key.n_bytes }, .id = search.id };
	*id = search.id;
	return true;
}

/* Looks the key up in the copy, which is hashed before and read on if it lacks the key. */
static bool look_up(Relation index, struct ifp_series_dict *dict, struct key key, uint32 *id)
{
	struct hashed_series *series;

	if (!dict->by_key) {
		ifp_series_dict_refresh(index, dict);
		hash_keys(index, dict);
	}
	dict->sought = key;
	series = series_lookup(dict->by_key, SOUGHT_ID);
	if (!series) {
		ifp_series_dict_refresh(index, dict);
		series = series_lookup(dict->by_key, SOUGHT_ID);
	}
	if (series)
		*id = series->id;
	return series != NULL;
}

bool ifp_series_dict_find(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes, uint32 *id)
{
	struct key sought = { .bytes = key, .n_bytes = n_bytes };

	if (dict->by_key)
		return look_up(index, dict, sought, id);
	for (int i = 0; i < dict->n_found; i++)
		if (are_equal(dict->found[i].key, sought)) {
			*id = dict->found[i].id;
			return true;
		}
	return dict->n_searches < FEW_SEARCHES ? search_pages(index, dict, sought, id) : look_up(index, dict, sought, id);
}

/* ---- adding a series ---- */

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
	if (dict->end.block == InvalidBlockNumber) {
		*is_full = true;
		return false;
	}
	buffer = ifp_page_lock(index, dict->end.block, IFP_PAGE_SERIES, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	is_last = ifp_special(page)->next == InvalidBlockNumber && ifp_content_used(page) == dict->end.used;
	*is_full = is_last && dict->end.used + RECORD_HEADER + n_bytes > ifp_content_room(page);
	if (!is_last || *is_full) {
		UnlockReleaseBuffer(buffer);
		return false;
	}
	iforest_store16(record, (uint16_t)n_bytes);
	memcpy(record + RECORD_HEADER, key, n_bytes);
	sum = *ifp_sum(page);
	is_summed = ifp_special(page)->flags & IFP_PAGE_SUMMED && sum.n_bytes == dict->end.used;
	ifp_sum_up(&sum, record, (uint16)(RECORD_HEADER + n_bytes));
	ifp_page_append(index, buffer, record, (uint16)(RECORD_HEADER + n_bytes), is_summed ? &sum : NULL);
	UnlockReleaseBuffer(buffer);
	return true;
}

uint32 ifp_series_dict_obtain(Relation index, struct ifp_series_dict *dict, const uint8 *key, uint32 n_bytes)
{
	BlockNumber full = InvalidBlockNumber; /* the last page read, if it was not the metapage's last page */
	uint32 id;

	if (ifp_series_dict_find(index, dict, key, n_bytes, &id))
		return id;
	while (!look_up(index, dict, (struct key){ .bytes = key, .n_bytes = n_bytes }, &id)) {
		bool is_full;

		if (dict->n_series == UINT32_MAX)
			ifp_require(IFOREST_TOO_LARGE, index, NULL);
		if (append_record(index, dict, key, n_bytes, &is_full) || !is_full)
			continue;
		struct ifp_meta_edit edit;

		ifp_meta_begin(index, &edit);
		/* if another backend was faster, there is a page that we have not read */
		if (edit.meta->series_tail == dict->end.block) {
			append_page(index, &edit);
			continue;
		}
		ifp_meta_cancel(&edit);
		if (full != InvalidBlockNumber && full == dict->end.block)
			ifp_page_wrong(index, full, "It is the dictionary's last page, and the metapage names another.");
		full = dict->end.block;
	}
	return id;
}
