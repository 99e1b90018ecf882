/* page/leaf.h -- Leaf page format: packed entries in key order, in blocks of at most 64; writer and block reader.
 *
 * Bytes: FORMAT.md, "Leaf page"; code outside leaf.c and column.c never sees them.
 *
 * If the refs of a page ascend, as they do for rows that came in order, a flag in its header says so, and the directory bounds
 * the refs of each block. A removal only sets a bit, so a page never outgrows its space, and first keys do not change.
 */
#ifndef IFOREST_PAGE_LEAF_H
#define IFOREST_PAGE_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/model/key.h"
#include "core/page/column.h"
#include "core/page/node.h"
#include "core/page/page.h"

/* One entry, as passed to a run writer. Bit v of present is set if it has value v. */
struct iforest_entry {
	struct iforest_key key;
	union iforest_number values[IFOREST_MAX_VALUES];
	uint32_t present;
};

/* The entries of one block, column by column. */
struct iforest_block {
	uint64_t series;
	bool time_is_null;
	unsigned n;
	uint64_t dead;
	int64_t times[IFOREST_BLOCK_ENTRIES];
	int64_t refs[IFOREST_BLOCK_ENTRIES];
	int64_t values[IFOREST_MAX_VALUES][IFOREST_BLOCK_ENTRIES]; /* the bits of a double for FLOAT64 columns */
	uint64_t present[IFOREST_MAX_VALUES];
};

/* ---- Writing ---- */

#define IFOREST_MAX_BLOCKS (IFOREST_MAX_PAGE_BYTES / 32)

/* A leaf page under construction. */
struct iforest_leaf_writer {
	const struct iforest_node_schema *fields;
	uint32_t page_bytes;
	unsigned n_blocks, n_entries;
	uint32_t n_body;  /* bytes of columns so far */
	bool refs_ascend; /* the refs so far ascend, and end with last_ref */
	int64_t last_ref;
	uint8_t directory[IFOREST_MAX_PAGE_BYTES];
	uint8_t body[IFOREST_MAX_PAGE_BYTES];
};

void iforest_leaf_writer_start(struct iforest_leaf_writer *writer, const struct iforest_node_schema *fields,
			       uint32_t page_bytes);

/* Packs entries [from, to) of the block as one block of the page, if they fit.
 * Requires  from < to <= block->n; entries in key order and after all others of the page.
 * Returns   true if taken. An empty page takes any block of one entry. */
bool iforest_leaf_writer_add(struct iforest_leaf_writer *writer, const struct iforest_block *block, unsigned from, unsigned to);

/* Writes the page.
 * Requires  page has page_bytes; at least one block.
 * Returns   its length. */
uint32_t iforest_leaf_writer_finish(struct iforest_leaf_writer *writer, uint8_t *page, uint64_t run_id, uint32_t number);

/* ---- Reading ---- */

/* Entries of a block that count as removed although they are live on the page. */
struct iforest_block_exclusion {
	uint64_t entries; /* their bits; all were live */
	int64_t sum;	  /* if has_sum: sum of the first value column over the entries that remain live */
	bool has_sum;	  /* that column is of integers, the block lacks none, and their sum fits */
};

/* A checked leaf page. The bytes belong to the caller. */
struct iforest_leaf {
	const struct iforest_node_schema *fields;
	const uint8_t *page;
	const struct iforest_block_exclusion *excluded; /* one per block, or NULL; header.n_dead includes them */
	struct iforest_page_header header;
};

/* Opens a page: checks it and its directory, unless is_checked. Nothing is excluded.
 * Errors  IFOREST_CORRUPT or IFOREST_FORMAT with *what (page.h). */
enum iforest_status iforest_leaf_open(struct iforest_leaf *leaf, const struct iforest_node_schema *fields, const uint8_t *page,
				      uint32_t n_bytes, uint64_t run_id, uint32_t number, bool is_checked, const char **what);

/* Copies the blocks [from, to) to `bytes`, as a leaf page of their own, `copy`, which then does not need the page. Returns
 * false, with `bytes` undefined, if they do not fit, or if the page is forged.
 * Requires  from < to <= number of blocks; nothing is excluded. */
bool iforest_leaf_copy_blocks(const struct iforest_leaf *leaf, unsigned from, unsigned to, struct iforest_leaf *copy,
			      uint8_t *bytes, size_t n_bytes);

/* A block's entry in the directory. */
struct iforest_block_info {
	struct iforest_key first;
	unsigned n;
	uint64_t dead;
};

struct iforest_block_info iforest_leaf_block(const struct iforest_leaf *leaf, unsigned block);

/* Gives number of entries and sum of the first value column of a block, from its summary or from leaf->excluded. Returns false
 * if the block has removed entries, missing values or no summary.
 * Requires  an IFOREST_INT64 column. */
bool iforest_leaf_block_sum(const struct iforest_leaf *leaf, unsigned block, unsigned *n, int64_t *sum);

/* Gives number of entries, summary and header of the first value column of a block. Returns false if the block has removed
 * entries or no summary, or its bytes are wrong. */
bool iforest_leaf_first_column(const struct iforest_leaf *leaf, unsigned block, unsigned *n, struct iforest_summary *summary,
			       struct iforest_column *column);

/* Prefetches memory of blocks from one to another, both included as far as they exist. */
void iforest_leaf_prefetch(const struct iforest_leaf *leaf, unsigned from, unsigned to);

/* Prefetches all columns of a block. */
void iforest_leaf_prefetch_block(const struct iforest_leaf *leaf, unsigned block);

/* Gives bounds of the refs of a block from the directory. Returns false for the last block, and if the refs of the page do not
 * ascend. */
bool iforest_leaf_refs(const struct iforest_leaf *leaf, unsigned block, int64_t *low, int64_t *high);

/* Returns the last block whose first key is at or before the key; 0 if there is none. Cost: log2(blocks). */
unsigned iforest_leaf_find_block(const struct iforest_leaf *leaf, const struct iforest_key *key);

/* Returns the last block, from a block on, whose first key is at or before the key; that block if there is none. Cost: log2 of
 * the distance. */
unsigned iforest_leaf_find_block_from(const struct iforest_leaf *leaf, unsigned from, const struct iforest_key *key);

/* A block being read: columns are unpacked when first asked for. */
struct iforest_block_reader {
	const struct iforest_leaf *leaf;
	unsigned number;
	unsigned n_found;    /* columns found so far, in page order */
	uint32_t unpacked;   /* bit c: column c is in `block` */
	unsigned n_picked;   /* numbers read from packed columns, by iforest_block_pick() */
	bool was_sought;     /* iforest_block_find() has searched the packed times */
	unsigned sought;     /* and found this entry */
	int64_t sought_time; /* with this time */
	const uint8_t *next; /* bytes of the first column not found yet */
	struct iforest_column columns[2 + IFOREST_MAX_VALUES];
	struct iforest_summary summaries[IFOREST_MAX_VALUES]; /* of all the block's entries, removed or not; without n */
	bool has_summary[IFOREST_MAX_VALUES];
	struct iforest_block block;
};

/* Columns of a block, for iforest_block_need(): times, refs, value v is 2 + v. */
enum { IFOREST_TIMES = 0, IFOREST_REFS = 1, IFOREST_VALUES = 2 };

/* Starts on a block: series, n, dead map are set, no column is unpacked. The leaf must stay in place. */
void iforest_block_start(struct iforest_block_reader *reader, const struct iforest_leaf *leaf, unsigned number);

/* Opens a column as reader->columns[column], and reads the summary of a value column.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_find_column(struct iforest_block_reader *reader, unsigned column);

/* Unpacks a column into reader->block unless it is there.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_need(struct iforest_block_reader *reader, unsigned column);

/* Gives number i of a column. The first few are read from the packed column; after that it is unpacked.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_pick(struct iforest_block_reader *reader, unsigned column, unsigned i, int64_t *number);

/* Finds the first entry of the block at or after the key (n if there is none). Errors: IFOREST_CORRUPT. */
enum iforest_status iforest_block_find(struct iforest_block_reader *reader, const struct iforest_key *key, unsigned *entry);

/* Finds the entries [*from, *to) of the block with times in [low, high), without unpacking them.
 * Requires  low <= high; entries that have a time.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_block_find_times(struct iforest_block_reader *reader, int64_t low, int64_t high, unsigned *from,
					     unsigned *to);

/* Finds the entry with a ref, and puts the reader on its block; *found is false if there is none.
 * Requires  the refs of the page ascend (IFOREST_PAGE_REFS_ASCEND).
 * Cost      log2(blocks), and log2(entries of a block) numbers of a column.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_find_ref(const struct iforest_leaf *leaf, int64_t ref, struct iforest_block_reader *reader,
					  unsigned *entry, bool *found);

/* Gives entry i of a block whose times, refs and value columns in `values` (bits) are unpacked. Other values are not
 * present. */
void iforest_block_entry(const struct iforest_block *block, unsigned i, uint32_t values, struct iforest_entry *entry);

/* ---- Removal ---- */

/* Sets the dead bit of an entry in a writable copy of a checked leaf page, and counts it in the header. Call
 * iforest_page_finish(page, header) after the last removal. */
void iforest_leaf_remove(uint8_t *page, struct iforest_page_header *header, unsigned block, unsigned entry);

#endif
