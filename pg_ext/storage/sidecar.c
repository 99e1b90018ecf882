#include "pg_ext/storage/sketch_pages.h"

#include "access/xloginsert.h"
#include "miscadmin.h"

#include "core/base/bits.h"
#include "core/page/page.h"
#include "core/base/xxh64.h"
#include "pg_ext/base/test_points.h"

enum {
	PAGE_HEADER_BYTES = 24,
	PAGE_DATA_BYTES = IFOREST_CONTENT_BYTES - PAGE_HEADER_BYTES,
	STREAM_HEADER_BYTES = 16,
	ENTRY_BYTES = 24,
	STREAM_MAGIC = 0x73734649
};

static BlockNumber block_of(struct iforest_index *index, const struct iforest_run *run, uint32 page)
{
	return iforest_run_block(index, &run->place, iforest_run_pages(&index->manifest, run) + page);
}

/* ---- reading ---- */

/* Copies a page's content. False where it is not of this run, or not of this stamp. */
static bool read_page(struct iforest_index *index, const struct iforest_run *run, uint32 number, const uint64 *stamp,
		      uint8 *content)
{
	BlockNumber block = block_of(index, run, number);
	uint32 n_bytes = 0;
	Buffer buffer;
	Page page;

	if (block == InvalidBlockNumber || block >= RelationGetNumberOfBlocks(index->relation))
		return false;
	iforest_vacuum_delay_point();
	buffer = ReadBuffer(index->relation, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (iforest_page_is(page, IFOREST_KIND_SKETCH, iforest_run_clock(run))) {
		n_bytes = Min(iforest_content_used(page), IFOREST_CONTENT_BYTES);
		memcpy(content, iforest_content(page), n_bytes);
	}
	UnlockReleaseBuffer(buffer);
	if (n_bytes < PAGE_HEADER_BYTES)
		return false;
	memset(content + n_bytes, 0, IFOREST_CONTENT_BYTES - n_bytes);
	return iforest_load64(content) == run->place.run_id && (!stamp || iforest_load64(content + 8) == *stamp);
}

static bool read_stream(struct iforest_index *index, const struct iforest_run *run, uint64 stamp, uint32 offset, uint32 n_bytes,
			uint8 *to)
{
	uint8 *content = palloc(IFOREST_CONTENT_BYTES);
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

/* Takes foreign bytes apart. False where they are not what was written. */
static bool read_entries(const uint8 *stream, uint32 n_bytes, struct iforest_kept_sketches *kept)
{
	uint32 list_bytes = STREAM_HEADER_BYTES + kept->n * ENTRY_BYTES, end = list_bytes;

	if (iforest_load32(stream + 4) != (uint32)iforest_checksum64(stream + 8, list_bytes - 8))
		return false;
	for (uint32 i = 0; i < kept->n; i++) {
		const uint8 *entry = stream + STREAM_HEADER_BYTES + i * ENTRY_BYTES;
		struct iforest_kept_sketch *sketch = &kept->sketches[i];

		*sketch = (struct iforest_kept_sketch){ .n_dead = iforest_load64(entry), .number = iforest_load32(entry + 8),
							.offset = iforest_load32(entry + 12),
							.n_bytes = iforest_load32(entry + 16), .value = entry[20],
							.level = entry[21] };
		if (sketch->offset < end || sketch->offset > n_bytes || sketch->n_bytes > n_bytes - sketch->offset)
			return false;
		end = sketch->offset + sketch->n_bytes;
		if (i > 0 && iforest_kept_sketch_compare(sketch - 1, sketch) >= 0)
			return false;
	}
	return true;
}

void iforest_kept_sketches_read(struct iforest_index *index, const struct iforest_run *run, struct iforest_kept_sketches *kept)
{
	uint8 *content = palloc(IFOREST_CONTENT_BYTES), *stream;
	uint32 n_bytes, n;

	*kept = (struct iforest_kept_sketches){ .run = run };
	if (read_page(index, run, 0, NULL, content) && iforest_load32(content + PAGE_HEADER_BYTES) == STREAM_MAGIC) {
		kept->stamp = iforest_load64(content + 8);
		n_bytes = iforest_load32(content + 16);
		n = iforest_load32(content + PAGE_HEADER_BYTES + 8);
		/* the list's checksum comes after room was made for it */
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
	iforest_pause("sketch list read");
}

int iforest_kept_sketch_compare(const struct iforest_kept_sketch *a, const struct iforest_kept_sketch *b)
{
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

bool iforest_kept_sketch_load(struct iforest_index *index, const struct iforest_kept_sketches *kept,
			      struct iforest_kept_sketch *sketch)
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

static uint8 *make_stream(const struct iforest_kept_sketches *kept, uint32 *n_bytes)
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
		const struct iforest_kept_sketch *sketch = &kept->sketches[i];
		uint8 *entry = stream + STREAM_HEADER_BYTES + i * ENTRY_BYTES;

		iforest_store64(entry, sketch->n_dead);
		iforest_store32(entry + 8, sketch->number);
		iforest_store32(entry + 12, sketch->offset);
		iforest_store32(entry + 16, sketch->n_bytes);
		entry[20] = sketch->value;
		entry[21] = sketch->level;
		memcpy(stream + sketch->offset, sketch->bytes, sketch->n_bytes);
	}
	iforest_store32(stream + 4, (uint32)iforest_checksum64(stream + 8, list_bytes - 8));
	*n_bytes = end;
	return stream;
}

/* As pages of runs are written: a record of the whole page, and none in a build, which logs the file at its end. */
static void write_page(struct iforest_index *index, const struct iforest_run *run, uint32 number, uint64 stamp,
		       const uint8 *stream, uint32 n_bytes)
{
	uint32 start = number * PAGE_DATA_BYTES, n = Min(PAGE_DATA_BYTES, n_bytes - start);
	BlockNumber block = block_of(index, run, number);
	Buffer buffer;
	uint8 *content;
	Page page;

	if (block == InvalidBlockNumber)
		iforest_page_wrong(index->relation, IFOREST_SPACE_BLOCK, "The list of extents lacks pages of a run.");
	iforest_space_ensure(index->relation, block + 1);
	buffer = ReadBufferExtended(index->relation, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
	page = BufferGetPage(buffer);
	content = iforest_content(page);
	START_CRIT_SECTION();
	iforest_page_init(page, IFOREST_KIND_SKETCH, iforest_run_clock(run));
	iforest_store64(content, run->place.run_id);
	iforest_store64(content + 8, stamp);
	iforest_store32(content + 16, n_bytes);
	iforest_store32(content + 20, 0);
	memcpy(content + PAGE_HEADER_BYTES, stream + start, n);
	iforest_content_set_used(page, PAGE_HEADER_BYTES + n);
	MarkBufferDirty(buffer);
	if (!index->is_build && RelationNeedsWAL(index->relation))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

void iforest_kept_sketches_write(struct iforest_index *index, const struct iforest_kept_sketches *kept)
{
	const struct iforest_run *run = kept->run;
	uint32 n_bytes, n_pages, n_present = 0;
	uint64 first = iforest_run_pages(&index->manifest, run), stamp = iforest_pg_random();
	uint8 *stream = make_stream(kept, &n_bytes);

	iforest_extents_forget(index);
	n_pages = (n_bytes + PAGE_DATA_BYTES - 1) / PAGE_DATA_BYTES;
	while (n_present < n_pages && block_of(index, run, n_present) != InvalidBlockNumber)
		n_present++;
	while (n_present < n_pages) {
		struct iforest_extent extent = iforest_space_take(index->relation, iforest_run_clock(run),
								  (uint32)first + n_present, n_pages - n_present);

		n_present = extent.first + extent.n_blocks - (uint32)first;
	}
	for (uint32 i = 0; i < n_pages; i++) {
		CHECK_FOR_INTERRUPTS();
		iforest_vacuum_delay_point();
		write_page(index, run, i, stamp, stream, n_bytes);
	}
	pfree(stream);
}
