#include "pg_ext/storage/sidecar.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/page/page.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/index.h"

/* The bytes of a run's sketches. Their pages have the run's clock number as owner and are freed with the run. Two stamps in one
 * read mean that the pages are being written, or that a crash interrupted the write. Bytes: FORMAT.md, "Sketches in
 * PostgreSQL".
 */

struct ifp_kept_sketch {
	uint64 n_dead; /* with number, kind, value and level, the name of the sketch */
	uint32 number;
	uint32 offset, n_bytes;
	uint8 kind, value, level;
	uint8 *bytes; /* NULL: not read */
};

/* The sketches of a run. */
struct ifp_kept_sketches {
	const struct iforest_run *run;
	uint64 stamp;
	uint32 n;
	struct ifp_kept_sketch *sketches;
};

enum {
	PAGE_HEADER_BYTES = 24,
	PAGE_DATA_BYTES = IFP_CONTENT_BYTES - PAGE_HEADER_BYTES,
	STREAM_HEADER_BYTES = 16,
	ENTRY_BYTES = 24,
	STREAM_MAGIC = 0x73734649
};

/* Compares sketches by their order in a list. */
static int kept_sketch_compare(const struct ifp_kept_sketch *a, const struct ifp_kept_sketch *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static BlockNumber block_of(struct ifp_index *index, const struct iforest_run *run, uint32 page)
{
	return ifp_index_run_block(index, &run->place, iforest_run_pages(&index->manifest, run) + page);
}

/* ---- reading ---- */

/* Copies a page's content. Returns false if it is not of this run or stamp. */
static bool read_page(struct ifp_index *index, const struct iforest_run *run, uint32 number, const uint64 *stamp,
		      uint8 *content)
{
	BlockNumber block = block_of(index, run, number);
	uint32 n_bytes = 0;
	Buffer buffer;
	Page page;

	if (block == InvalidBlockNumber || block >= RelationGetNumberOfBlocks(index->relation))
		return false;
	ifp_vacuum_delay_point();
	buffer = ReadBuffer(index->relation, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (ifp_page_is(page, IFP_PAGE_SKETCH, ifp_run_clock(run))) {
		n_bytes = Min(ifp_content_used(page), IFP_CONTENT_BYTES);
		memcpy(content, ifp_content(page), n_bytes);
	}
	UnlockReleaseBuffer(buffer);
	if (n_bytes < PAGE_HEADER_BYTES)
		return false;
	memset(content + n_bytes, 0, IFP_CONTENT_BYTES - n_bytes);
	return iforest_load64(content) == run->place.run_id && (!stamp || iforest_load64(content + 8) == *stamp);
}

static bool read_stream(struct ifp_index *index, const struct iforest_run *run, uint64 stamp, uint32 offset, uint32 n_bytes,
			uint8 *to)
{
	uint8 *content = palloc(IFP_CONTENT_BYTES);
	bool is_whole = true;

	while (n_bytes > 0 && is_whole) {
		uint32 start = offset % PAGE_DATA_BYTES, n = Min(n_bytes, PAGE_DATA_BYTES - start);

		is_whole = read_page(index, run, offset / PAGE_DATA_BYTES, &stamp, content);
		memcpy(to, content + PAGE_HEADER_BYTES + start, n);
		to += n;
		offset += n;
		n_bytes -= n;
	}
	pfree(content);
	return is_whole;
}

/* Parses the list of a stream. Returns false if it is damaged. */
static bool read_entries(const uint8 *stream, uint32 n_bytes, struct ifp_kept_sketches *kept)
{
	uint32 list_bytes = STREAM_HEADER_BYTES + kept->n * ENTRY_BYTES, end = list_bytes;

	if (iforest_load32(stream + 4) != (uint32)iforest_xxh64(stream + 8, list_bytes - 8))
		return false;
	for (uint32 i = 0; i < kept->n; i++) {
		const uint8 *entry = stream + STREAM_HEADER_BYTES + i * ENTRY_BYTES;
		struct ifp_kept_sketch *sketch = &kept->sketches[i];

		*sketch = (struct ifp_kept_sketch){ .n_dead = iforest_load64(entry),
						    .number = iforest_load32(entry + 8),
						    .offset = iforest_load32(entry + 12),
						    .n_bytes = iforest_load32(entry + 16),
						    .value = entry[20],
						    .level = entry[21],
						    .kind = entry[22] };
		if (sketch->offset < end || sketch->offset > n_bytes || sketch->n_bytes > n_bytes - sketch->offset)
			return false;
		end = sketch->offset + sketch->n_bytes;
		if (i > 0 && kept_sketch_compare(sketch - 1, sketch) >= 0)
			return false;
	}
	return true;
}

/* Reads the list of a run's sketches, without the sketches, in the current memory context. n is 0 if there are none. The run
 * must outlive the list. */
static void kept_sketches_read(struct ifp_index *index, const struct iforest_run *run, struct ifp_kept_sketches *kept)
{
	uint8 *content = palloc(IFP_CONTENT_BYTES), *stream;
	uint32 n_bytes, n;

	*kept = (struct ifp_kept_sketches){ .run = run };
	if (read_page(index, run, 0, NULL, content) && iforest_load32(content + PAGE_HEADER_BYTES) == STREAM_MAGIC) {
		kept->stamp = iforest_load64(content + 8);
		n_bytes = iforest_load32(content + 16);
		n = iforest_load32(content + PAGE_HEADER_BYTES + 8);
		/* memory is allocated before the list's checksum is known to be right */
		if (n_bytes >= STREAM_HEADER_BYTES && n <= (n_bytes - STREAM_HEADER_BYTES) / ENTRY_BYTES &&
		    n_bytes / BLCKSZ <= RelationGetNumberOfBlocks(index->relation)) {
			kept->n = n;
			kept->sketches = MemoryContextAllocHuge(CurrentMemoryContext, (n + 1) * sizeof *kept->sketches);
			stream = MemoryContextAllocHuge(CurrentMemoryContext, STREAM_HEADER_BYTES + (Size)n * ENTRY_BYTES);
			if (!read_stream(index, run, kept->stamp, 0, STREAM_HEADER_BYTES + n * ENTRY_BYTES, stream) ||
			    !read_entries(stream, n_bytes, kept))
				kept->n = 0;
			pfree(stream);
		}
	}
	pfree(content);
	ifp_test_point("sketch list read");
}

/* Reads a sketch of the list, in the current memory context. Returns false if it has been overwritten since. */
static bool kept_sketch_load(struct ifp_index *index, const struct ifp_kept_sketches *kept, struct ifp_kept_sketch *sketch)
{
	uint8 *bytes = MemoryContextAllocHuge(CurrentMemoryContext, sketch->n_bytes + 1);
	bool is_whole = read_stream(index, kept->run, kept->stamp, sketch->offset, sketch->n_bytes, bytes);

	if (is_whole)
		sketch->bytes = bytes;
	else
		pfree(bytes);
	return is_whole;
}

/* ---- writing ---- */

static uint8 *make_stream(const struct ifp_kept_sketches *kept, uint32 *n_bytes)
{
	uint32 list_bytes = STREAM_HEADER_BYTES + kept->n * ENTRY_BYTES, end = list_bytes;
	uint8 *stream;

	for (uint32 i = 0; i < kept->n; i++) {
		kept->sketches[i].offset = end;
		end += kept->sketches[i].n_bytes;
	}
	stream = MemoryContextAllocExtended(CurrentMemoryContext, end, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	iforest_store32(stream, STREAM_MAGIC);
	iforest_store32(stream + 8, kept->n);
	for (uint32 i = 0; i < kept->n; i++) {
		const struct ifp_kept_sketch *sketch = &kept->sketches[i];
		uint8 *entry = stream + STREAM_HEADER_BYTES + i * ENTRY_BYTES;

		iforest_store64(entry, sketch->n_dead);
		iforest_store32(entry + 8, sketch->number);
		iforest_store32(entry + 12, sketch->offset);
		iforest_store32(entry + 16, sketch->n_bytes);
		entry[20] = sketch->value;
		entry[21] = sketch->level;
		entry[22] = sketch->kind;
		memcpy(stream + sketch->offset, sketch->bytes, sketch->n_bytes);
	}
	iforest_store32(stream + 4, (uint32)iforest_xxh64(stream + 8, list_bytes - 8));
	*n_bytes = end;
	return stream;
}

/* Writes a page as those of runs: one record of the whole page, or none in a build, which logs the file at its end. */
static void write_page(struct ifp_index *index, const struct iforest_run *run, uint32 number, uint64 stamp, const uint8 *stream,
		       uint32 n_bytes)
{
	uint32 start = number * PAGE_DATA_BYTES, n = Min(PAGE_DATA_BYTES, n_bytes - start);
	BlockNumber block = block_of(index, run, number);
	Buffer buffer;
	uint8 *content;
	Page page;

	if (block == InvalidBlockNumber)
		ifp_page_wrong(index->relation, IFP_EXTENTS_BLOCK, "The list of extents lacks pages of a run.");
	ifp_extents_ensure_file(index->relation, block + 1);
	buffer = ReadBufferExtended(index->relation, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
	page = BufferGetPage(buffer);
	content = ifp_content(page);
	START_CRIT_SECTION();
	ifp_page_init(page, IFP_PAGE_SKETCH, ifp_run_clock(run));
	iforest_store64(content, run->place.run_id);
	iforest_store64(content + 8, stamp);
	iforest_store32(content + 16, n_bytes);
	iforest_store32(content + 20, 0);
	memcpy(content + PAGE_HEADER_BYTES, stream + start, n);
	ifp_content_set_used(page, PAGE_HEADER_BYTES + n);
	MarkBufferDirty(buffer);
	if (!index->is_build && RelationNeedsWAL(index->relation))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* Writes a list in place of the old one, and fills in its offsets.
 * Requires  the list is in order, all its sketches are loaded, and the maintenance lock is held or nobody else knows the index.
 */
static void kept_sketches_write(struct ifp_index *index, const struct ifp_kept_sketches *kept)
{
	const struct iforest_run *run = kept->run;
	uint32 n_bytes, n_pages, n_present = 0;
	uint64 first = iforest_run_pages(&index->manifest, run), stamp = ifp_random();
	uint8 *stream = make_stream(kept, &n_bytes);

	ifp_index_forget_extents(index);
	n_pages = (n_bytes + PAGE_DATA_BYTES - 1) / PAGE_DATA_BYTES;
	while (n_present < n_pages && block_of(index, run, n_present) != InvalidBlockNumber)
		n_present++;
	while (n_present < n_pages) {
		struct ifp_extent extent = ifp_extents_allocate(index->relation, ifp_run_clock(run), (uint32)first + n_present,
								n_pages - n_present);

		n_present = extent.first + extent.n_blocks - (uint32)first;
	}
	for (uint32 i = 0; i < n_pages; i++) {
		CHECK_FOR_INTERRUPTS();
		ifp_vacuum_delay_point();
		write_page(index, run, i, stamp, stream, n_bytes);
	}
	pfree(stream);
}

/* The sketches of a kind, as a context of core's sidecar. */
struct sidecar_part {
	struct ifp_sketch_sidecar *sidecar;
	enum iforest_digest_kind kind;
};

struct ifp_sketch_sidecar {
	struct ifp_index *index;
	struct sidecar_part parts[IFOREST_N_DIGESTS];
	MemoryContext context;
	struct ifp_kept_sketches *runs; /* by number of the run in the manifest; run is NULL: not read yet */

	/* while sketches are made: the new ones of the current run */
	struct ifp_kept_sketches *filled;
	struct ifp_kept_sketch *added;
	size_t n_added, n_reserved;
};

struct ifp_sketch_sidecar *ifp_sidecar_open(struct ifp_index *index)
{
	struct ifp_sketch_sidecar *sidecar = palloc0(sizeof *sidecar);

	sidecar->index = index;
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++)
		sidecar->parts[kind] = (struct sidecar_part){ sidecar, (enum iforest_digest_kind)kind };
	sidecar->context = CurrentMemoryContext;
	sidecar->runs = palloc0((index->manifest.n_runs + 1) * sizeof *sidecar->runs);
	return sidecar;
}

/* ---- reading ---- */

static struct ifp_kept_sketch named(const struct sidecar_part *part, const struct iforest_sidecar_name *name)
{
	return (struct ifp_kept_sketch){ .kind = (uint8)part->kind,
					 .value = (uint8)name->value,
					 .level = (uint8)name->level,
					 .number = (uint32)name->number,
					 .n_dead = name->n_dead };
}

/* Returns the sketches of a run, which are read on first use. */
static struct ifp_kept_sketches *kept_of(struct ifp_sketch_sidecar *sidecar, uint64 run_id)
{
	uint32 r = iforest_manifest_find(&sidecar->index->manifest, run_id);
	MemoryContext before;

	if (r == sidecar->index->manifest.n_runs)
		return NULL;
	if (!sidecar->runs[r].run) {
		before = MemoryContextSwitchTo(sidecar->context);
		kept_sketches_read(sidecar->index, &sidecar->index->manifest.runs[r], &sidecar->runs[r]);
		MemoryContextSwitchTo(before);
	}
	return &sidecar->runs[r];
}

static struct ifp_kept_sketch *find_kept(const struct sidecar_part *part, const struct ifp_kept_sketches *kept,
					 const struct iforest_sidecar_name *name)
{
	struct ifp_kept_sketch wanted = named(part, name);
	uint32 low = 0, high = kept ? kept->n : 0;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;
		int order = kept_sketch_compare(&kept->sketches[middle], &wanted);

		if (order == 0)
			return kept->sketches[middle].n_dead == name->n_dead ? &kept->sketches[middle] : NULL;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static enum iforest_status get(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
			       bool *found)
{
	const struct sidecar_part *part = context;
	struct ifp_sketch_sidecar *sidecar = part->sidecar;
	const struct ifp_kept_sketches *kept = kept_of(sidecar, name->run_id);
	struct ifp_kept_sketch *place = find_kept(part, kept, name), loaded;

	*found = false;
	if (!place)
		return IFOREST_OK;
	loaded = *place;
	if (!kept_sketch_load(sidecar->index, kept, &loaded))
		return IFOREST_OK;
	*found = true;
	*bytes = loaded.bytes;
	*n_bytes = loaded.n_bytes;
	return IFOREST_OK;
}

struct iforest_sidecar ifp_sidecar_for_reader(struct ifp_sketch_sidecar *sidecar, enum iforest_digest_kind kind)
{
	return (struct iforest_sidecar){ .context = sidecar ? &sidecar->parts[kind] : NULL, .get = get };
}

/* ---- filling ---- */

/* Finds a new sketch. Children are added before their parents, so it is near the end. */
static struct ifp_kept_sketch *find_added(const struct sidecar_part *part, const struct iforest_sidecar_name *name)
{
	const struct ifp_sketch_sidecar *sidecar = part->sidecar;
	struct ifp_kept_sketch wanted = named(part, name);

	for (uint32 i = sidecar->n_added; i > 0; i--)
		if (kept_sketch_compare(&sidecar->added[i - 1], &wanted) == 0)
			return &sidecar->added[i - 1];
	return NULL;
}

/* A sketch that cannot be loaded counts as missing: a crash left it half written. */
static enum iforest_status has_kept(void *context, const struct iforest_sidecar_name *name, bool *found)
{
	const struct sidecar_part *part = context;
	struct ifp_sketch_sidecar *sidecar = part->sidecar;
	struct ifp_kept_sketch *place = find_kept(part, sidecar->filled, name);

	*found = place && (place->bytes || kept_sketch_load(sidecar->index, sidecar->filled, place));
	return IFOREST_OK;
}

static enum iforest_status get_kept(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
				    bool *found)
{
	const struct ifp_kept_sketch *added = find_added(context, name);

	if (!added)
		return get(context, name, bytes, n_bytes, found);
	*found = true;
	*n_bytes = added->n_bytes;
	*bytes = palloc(added->n_bytes);
	memcpy(*bytes, added->bytes, added->n_bytes);
	return IFOREST_OK;
}

static enum iforest_status put(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes, size_t n_bytes)
{
	const struct sidecar_part *part = context;
	struct ifp_sketch_sidecar *sidecar = part->sidecar;
	struct ifp_kept_sketch *added;

	added = iforest_array_add(&ifp_palloc_allocator, &sidecar->added, sizeof *added, &sidecar->n_added,
				  &sidecar->n_reserved);
	*added = named(part, name);
	added->n_bytes = (uint32)n_bytes;
	added->bytes = palloc(n_bytes);
	memcpy(added->bytes, bytes, n_bytes);
	return IFOREST_OK;
}

static int compare(const void *left, const void *right)
{
	return kept_sketch_compare(left, right);
}

/* Writes the new sketches, and the old ones of other nodes that are still needed. */
static void write_all(struct ifp_sketch_sidecar *sidecar, const uint32 *values)
{
	struct ifp_kept_sketches all = *sidecar->filled;
	uint32 n = sidecar->n_added;

	all.sketches = MemoryContextAllocHuge(CurrentMemoryContext, (sidecar->filled->n + n) * sizeof *all.sketches);
	memcpy(all.sketches, sidecar->added, n * sizeof *all.sketches);
	qsort(sidecar->added, n, sizeof *sidecar->added, compare);
	for (uint32 i = 0; i < sidecar->filled->n; i++) {
		struct ifp_kept_sketch *sketch = &sidecar->filled->sketches[i];

		if (sketch->kind < IFOREST_N_DIGESTS && (values[sketch->kind] >> sketch->value & 1) &&
		    !bsearch(sketch, sidecar->added, sidecar->n_added, sizeof *sketch, compare) &&
		    (sketch->bytes || kept_sketch_load(sidecar->index, sidecar->filled, sketch)))
			all.sketches[n++] = *sketch;
	}
	all.n = n;
	qsort(all.sketches, n, sizeof *all.sketches, compare);
	kept_sketches_write(sidecar->index, &all);
}

/* Lets core make the sketches of a run, of each kind and value column. */
static void make_sketches(struct ifp_index *index, const struct iforest_run *run, const uint32 *values,
			  enum iforest_digest_kind kind, const struct iforest_sidecar *sidecar)
{
	for (unsigned v = 0; v < IFOREST_MAX_VALUES; v++)
		if (values[kind] >> v & 1)
			ifp_index_require(index, (kind == IFOREST_DIGEST_DISTINCT ? iforest_run_keep_distincts
										  : iforest_run_keep_sketches)(
							 &index->store, &index->manifest, run, v, sidecar));
}

static void keep_run(struct ifp_index *index, const struct iforest_run *run, const uint32 *values)
{
	struct ifp_sketch_sidecar *sidecar = ifp_sidecar_open(index);

	sidecar->filled = kept_of(sidecar, run->place.run_id);
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++) {
		struct iforest_sidecar filling = {
			.context = &sidecar->parts[kind], .has = has_kept, .get = get_kept, .put = put
		};

		make_sketches(index, run, values, (enum iforest_digest_kind)kind, &filling);
	}
	if (sidecar->n_added > 0)
		write_all(sidecar, values);
}

/* Calls the function for each run, in a separate memory context. */
static void for_each_run(struct ifp_index *index,
			 void (*do_run)(struct ifp_index *, const struct iforest_run *, const uint32 *values))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest sketches", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	struct ifp_definition definition;
	bool has_some = false;

	ifp_definition_read(index->relation, &definition);
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++)
		has_some = has_some || definition.sketches[kind];
	for (uint32 r = 0; has_some && r < index->manifest.n_runs; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];

		CHECK_FOR_INTERRUPTS();
		if ((index->is_build || ifp_run_clock(run) < index->meta.worklist_below) && !run->removal_in_progress)
			do_run(index, run, definition.sketches);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
}

void ifp_sidecar_keep(struct ifp_index *index)
{
	for_each_run(index, keep_run);
}

/* ---- checking ---- */

static void check_run(struct ifp_index *index, const struct iforest_run *run, const uint32 *values)
{
	struct ifp_sketch_sidecar *sidecar = ifp_sidecar_open(index);

	for (int kind = 0; kind < IFOREST_N_DIGESTS && kept_of(sidecar, run->place.run_id)->n > 0; kind++) {
		struct iforest_sidecar kept = ifp_sidecar_for_reader(sidecar, (enum iforest_digest_kind)kind);
		struct iforest_sidecar_comparison comparison = { .kept = &kept,
								 .store = &index->store,
								 .what = IFOREST_SKETCH_WRONG };
		struct iforest_sidecar comparing = iforest_sidecar_comparing(&comparison);

		make_sketches(index, run, values, (enum iforest_digest_kind)kind, &comparing);
	}
}

void ifp_sidecar_check(struct ifp_index *index)
{
	for_each_run(index, check_run);
}
