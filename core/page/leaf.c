#include "core/page/leaf.h"

#include "core/base/bits.h"

/* byte offsets in a directory entry, which starts with the series */
enum {
	COLUMNS_OFFSET = 4,
	N_OFFSET = 6,
	TIME_IS_NULL_OFFSET = 7,
	TIME_OFFSET = 8,
	REF_OFFSET = 16,
	DEAD_OFFSET = 24,
	DIRECTORY_ENTRY = 32
};

enum { CACHE_LINE = 64 };

void iforest_leaf_writer_start(struct iforest_leaf_writer *writer, const struct iforest_node_schema *fields,
			       uint32_t page_bytes)
{
	writer->fields = fields;
	writer->page_bytes = page_bytes;
	writer->n_blocks = writer->n_entries = 0;
	writer->n_body = 0;
	writer->refs_ascend = true;
	writer->last_ref = INT64_MIN;
}

static void follow_refs(struct iforest_leaf_writer *writer, const int64_t *refs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		writer->refs_ascend = writer->refs_ascend && refs[i] > writer->last_ref;
		writer->last_ref = refs[i];
	}
}

bool iforest_leaf_writer_add(struct iforest_leaf_writer *writer, const struct iforest_block *block, unsigned from, unsigned to)
{
	uint8_t packed[(2 + IFOREST_MAX_VALUES) * (IFOREST_MAX_COLUMN_BYTES + IFOREST_MAX_SUMMARY_BYTES)];
	uint8_t *entry = writer->directory + writer->n_blocks * DIRECTORY_ENTRY;
	unsigned n = to - from, n_packed = 0;
	uint64_t all = iforest_low_bits(n);
	uint32_t n_used = IFOREST_PAGE_HEADER + (writer->n_blocks + 1) * DIRECTORY_ENTRY + writer->n_body;

	if (n_used + IFOREST_COLUMN_SLACK > writer->page_bytes)
		return false;
	for (unsigned v = 0; v < writer->fields->n_values; v++) {
		enum iforest_value_type type = (enum iforest_value_type)writer->fields->value_types[v];
		uint64_t present = block->present[v] >> from & all;
		struct iforest_summary summary;

		iforest_summarize(&summary, block->values[v] + from, present, type);
		n_packed += iforest_summary_write(&summary, type, packed + n_packed);
		n_packed += iforest_column_pack(packed + n_packed, block->values[v] + from, present, n, 0);
	}
	if (!block->time_is_null)
		n_packed += iforest_column_pack(packed + n_packed, block->times + from, all, n, block->times[from]);
	n_packed += iforest_column_pack(packed + n_packed, block->refs + from, all, n, block->refs[from]);
	if (n_used + n_packed + IFOREST_COLUMN_SLACK > writer->page_bytes)
		return false;

	iforest_store32(entry, (uint32_t)block->series);
	iforest_store16(entry + COLUMNS_OFFSET, (uint16_t)writer->n_body); /* relative to the first column until the end */
	entry[N_OFFSET] = (uint8_t)n;
	entry[TIME_IS_NULL_OFFSET] = block->time_is_null;
	iforest_store64(entry + TIME_OFFSET, (uint64_t)(block->time_is_null ? 0 : block->times[from]));
	iforest_store64(entry + REF_OFFSET, (uint64_t)block->refs[from]);
	iforest_store64(entry + DEAD_OFFSET, 0);
	memcpy(writer->body + writer->n_body, packed, n_packed);
	follow_refs(writer, block->refs + from, n);
	writer->n_body += n_packed;
	writer->n_blocks++;
	writer->n_entries += n;
	return true;
}

uint32_t iforest_leaf_writer_finish(struct iforest_leaf_writer *writer, uint8_t *page, uint64_t run_id, uint32_t number)
{
	uint32_t n_directory = writer->n_blocks * DIRECTORY_ENTRY;
	uint32_t start = IFOREST_PAGE_HEADER + n_directory;
	uint32_t length = start + writer->n_body + IFOREST_COLUMN_SLACK;
	struct iforest_page_header header = { .run_id = run_id,
					      .number = number,
					      .length = (uint16_t)length,
					      .n_items = (uint16_t)writer->n_blocks,
					      .n_entries = (uint16_t)writer->n_entries,
					      .flags = writer->refs_ascend ? IFOREST_PAGE_REFS_ASCEND : 0 };

	for (unsigned b = 0; b < writer->n_blocks; b++) {
		uint8_t *entry = writer->directory + b * DIRECTORY_ENTRY;

		iforest_store16(entry + COLUMNS_OFFSET, (uint16_t)(iforest_load16(entry + COLUMNS_OFFSET) + start));
	}
	memcpy(page + IFOREST_PAGE_HEADER, writer->directory, n_directory);
	memcpy(page + start, writer->body, writer->n_body);
	memset(page + start + writer->n_body, 0, IFOREST_COLUMN_SLACK);
	iforest_page_finish(page, &header);
	return length;
}

static const uint8_t *directory_entry(const struct iforest_leaf *leaf, unsigned block)
{
	return leaf->page + IFOREST_PAGE_HEADER + block * DIRECTORY_ENTRY;
}

/* Returns the first column of a block. */
static const uint8_t *columns_of(const struct iforest_leaf *leaf, unsigned block)
{
	return leaf->page + iforest_load16(directory_entry(leaf, block) + COLUMNS_OFFSET);
}

enum iforest_status iforest_leaf_open(struct iforest_leaf *leaf, const struct iforest_node_schema *fields, const uint8_t *page,
				      uint32_t n_bytes, uint64_t run_id, uint32_t number, bool is_checked, const char **what)
{
	enum iforest_status status;
	struct iforest_page_header *header = &leaf->header;
	uint32_t n_entries = 0, start;

	leaf->fields = fields;
	leaf->page = page;
	leaf->excluded = NULL;
	status = iforest_page_check(page, n_bytes, run_id, 0, number, is_checked, header, what);
	if (status)
		return status;
	*what = "the page's block directory is wrong";
	start = IFOREST_PAGE_HEADER + header->n_items * (uint32_t)DIRECTORY_ENTRY;
	if (is_checked)
		return IFOREST_OK;
	if (header->n_items == 0 || start + IFOREST_COLUMN_SLACK > header->length)
		return IFOREST_CORRUPT;
	for (unsigned b = 0; b < header->n_items; b++) {
		const uint8_t *entry = directory_entry(leaf, b);
		uint16_t offset = iforest_load16(entry + COLUMNS_OFFSET);

		if (offset < start || offset > header->length - IFOREST_COLUMN_SLACK || entry[N_OFFSET] == 0 ||
		    entry[N_OFFSET] > IFOREST_BLOCK_ENTRIES || entry[TIME_IS_NULL_OFFSET] > 1)
			return IFOREST_CORRUPT;
		n_entries += entry[N_OFFSET];
	}
	return n_entries == header->n_entries ? IFOREST_OK : IFOREST_CORRUPT;
}

/* Returns the end of a block's columns. */
static const uint8_t *columns_end(const struct iforest_leaf *leaf, unsigned block)
{
	bool is_last = block + 1u == leaf->header.n_items;

	return is_last ? leaf->page + leaf->header.length - IFOREST_COLUMN_SLACK : columns_of(leaf, block + 1);
}

bool iforest_leaf_copy_blocks(const struct iforest_leaf *leaf, unsigned from, unsigned to, struct iforest_leaf *copy,
			      uint8_t *bytes, size_t n_bytes)
{
	const uint8_t *columns = columns_of(leaf, from), *end = columns_end(leaf, to - 1);
	uint32_t n_directory = (to - from) * DIRECTORY_ENTRY, start = IFOREST_PAGE_HEADER + n_directory, length;

	length = start + (uint32_t)(end - columns) + IFOREST_COLUMN_SLACK;
	if (end < columns || length > n_bytes)
		return false;
	memcpy(bytes + IFOREST_PAGE_HEADER, directory_entry(leaf, from), n_directory);
	for (uint8_t *entry = bytes + IFOREST_PAGE_HEADER; entry < bytes + start; entry += DIRECTORY_ENTRY) {
		int offset = iforest_load16(entry + COLUMNS_OFFSET) - (int)(columns - leaf->page);

		if (offset < 0 || offset > end - columns) /* the page is forged */
			return false;
		iforest_store16(entry + COLUMNS_OFFSET, (uint16_t)(start + (unsigned)offset));
	}
	memcpy(bytes + start, columns, (size_t)(end - columns));
	memset(bytes + length - IFOREST_COLUMN_SLACK, 0, IFOREST_COLUMN_SLACK);
	*copy = (struct iforest_leaf){ .fields = leaf->fields, .page = bytes, .header = leaf->header };
	copy->header.n_items = (uint16_t)(to - from);
	copy->header.length = (uint16_t)length;
	return true;
}

static inline uint64_t dead_entries(const struct iforest_leaf *leaf, unsigned block)
{
	const uint8_t *entry = directory_entry(leaf, block);

	return (iforest_load64(entry + DEAD_OFFSET) | (leaf->excluded ? leaf->excluded[block].entries : 0)) &
	       iforest_low_bits(entry[N_OFFSET]);
}

struct iforest_block_info iforest_leaf_block(const struct iforest_leaf *leaf, unsigned block)
{
	const uint8_t *entry = directory_entry(leaf, block);

	return (struct iforest_block_info){
		.first = { .series = iforest_load32(entry),
			   .time_is_null = entry[TIME_IS_NULL_OFFSET],
			   .time = iforest_load_int64(entry + TIME_OFFSET),
			   .ref = iforest_load_int64(entry + REF_OFFSET) },
		.n = entry[N_OFFSET],
		.dead = dead_entries(leaf, block),
	};
}

bool iforest_leaf_block_sum(const struct iforest_leaf *leaf, unsigned block, unsigned *n, int64_t *sum)
{
	const uint8_t *bytes = columns_of(leaf, block), *end = leaf->page + leaf->header.length - IFOREST_COLUMN_SLACK;

	*n = directory_entry(leaf, block)[N_OFFSET];
	if (leaf->excluded && leaf->excluded[block].has_sum) {
		*n -= iforest_popcount(dead_entries(leaf, block));
		*sum = leaf->excluded[block].sum;
		return true;
	}
	if (dead_entries(leaf, block))
		return false;
	bytes = iforest_summary_read_sum(bytes, end, sum);
	return bytes && end - bytes >= 2 && !iforest_column_has_gaps(bytes);
}

bool iforest_leaf_first_column(const struct iforest_leaf *leaf, unsigned block, unsigned *n, struct iforest_summary *summary,
			       struct iforest_column *column)
{
	const uint8_t *bytes = columns_of(leaf, block), *end = leaf->page + leaf->header.length - IFOREST_COLUMN_SLACK;
	bool has_summary;

	*n = directory_entry(leaf, block)[N_OFFSET];
	if (dead_entries(leaf, block))
		return false;
	bytes = iforest_summary_read(summary, IFOREST_INT64, bytes, end, &has_summary);
	return bytes && has_summary && summary->low < *n && summary->high < *n &&
	       iforest_column_open(column, bytes, end, *n, 0) == IFOREST_OK;
}

void iforest_leaf_prefetch_block(const struct iforest_leaf *leaf, unsigned block)
{
	const uint8_t *end = columns_end(leaf, block);

	for (const uint8_t *at = columns_of(leaf, block); at < end; at += CACHE_LINE)
		__builtin_prefetch(at);
}

void iforest_leaf_prefetch(const struct iforest_leaf *leaf, unsigned from, unsigned to)
{
	for (unsigned b = from; b <= to && b < leaf->header.n_items; b++)
		__builtin_prefetch(columns_of(leaf, b));
}

static int64_t first_ref(const struct iforest_leaf *leaf, unsigned block)
{
	return iforest_load_int64(directory_entry(leaf, block) + REF_OFFSET);
}

bool iforest_leaf_refs(const struct iforest_leaf *leaf, unsigned block, int64_t *low, int64_t *high)
{
	int64_t first, next;

	if (!(leaf->header.flags & IFOREST_PAGE_REFS_ASCEND) || block + 1u >= leaf->header.n_items)
		return false;
	first = first_ref(leaf, block);
	next = first_ref(leaf, block + 1);
	if (next <= first) /* the page is forged */
		return false;
	*low = first;
	*high = next - 1;
	return true;
}

/* True if a block's first key is at or before the key. */
static bool begins_by(const struct iforest_leaf *leaf, unsigned block, const struct iforest_key *key)
{
	struct iforest_key first = iforest_leaf_block(leaf, block).first;

	return iforest_key_compare(&first, key) <= 0;
}

/* Returns the last of the blocks [low, high) that begins by the key; `low` if there is none. */
static unsigned bisect_blocks(const struct iforest_leaf *leaf, unsigned low, unsigned high, const struct iforest_key *key)
{
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (begins_by(leaf, middle, key))
			low = middle;
		else
			high = middle;
	}
	return low;
}

unsigned iforest_leaf_find_block(const struct iforest_leaf *leaf, const struct iforest_key *key)
{
	return bisect_blocks(leaf, 0, leaf->header.n_items, key);
}

unsigned iforest_leaf_find_block_from(const struct iforest_leaf *leaf, unsigned from, const struct iforest_key *key)
{
	unsigned n = leaf->header.n_items, low = from, step = 1;

	for (; low + step < n && begins_by(leaf, low + step, key); step *= 2)
		low += step;
	return bisect_blocks(leaf, low, low + step < n ? low + step : n, key);
}

void iforest_block_start(struct iforest_block_reader *reader, const struct iforest_leaf *leaf, unsigned number)
{
	const uint8_t *entry = directory_entry(leaf, number);

	reader->leaf = leaf;
	reader->number = number;
	reader->unpacked = 0;
	reader->n_picked = 0;
	reader->was_sought = false;
	reader->next = columns_of(leaf, number);
	reader->block.series = iforest_load32(entry);
	reader->block.time_is_null = entry[TIME_IS_NULL_OFFSET];
	reader->block.n = entry[N_OFFSET];
	reader->block.dead = dead_entries(leaf, number);
	reader->n_found = 0;
	if (reader->block.time_is_null) {
		memset(reader->block.times, 0, sizeof reader->block.times);
		reader->unpacked |= 1u << IFOREST_TIMES;
	}
}

/* Opens the next column in page order, which is `column`. */
static enum iforest_status find_next(struct iforest_block_reader *reader, unsigned column)
{
	const struct iforest_node_schema *fields = reader->leaf->fields;
	const uint8_t *entry = directory_entry(reader->leaf, reader->number);
	const uint8_t *end = reader->leaf->page + reader->leaf->header.length - IFOREST_COLUMN_SLACK;
	unsigned n = reader->block.n, v = column - IFOREST_VALUES;
	int64_t reference = 0;

	if (column == IFOREST_TIMES && reader->block.time_is_null)
		return IFOREST_OK; /* NULL times have no column */
	if (column < IFOREST_VALUES) {
		reference = iforest_load_int64(entry + (column == IFOREST_TIMES ? TIME_OFFSET : REF_OFFSET));
	} else {
		struct iforest_summary *summary = &reader->summaries[v];

		reader->next = iforest_summary_read(summary, (enum iforest_value_type)fields->value_types[v], reader->next, end,
						    &reader->has_summary[v]);
		if (!reader->next || (reader->has_summary[v] && (summary->low >= n || summary->high >= n)))
			return IFOREST_CORRUPT;
	}
	if (iforest_column_open(&reader->columns[column], reader->next, end, n, reference))
		return IFOREST_CORRUPT;
	reader->next = reader->columns[column].end;
	return IFOREST_OK;
}

enum iforest_status iforest_block_find_column(struct iforest_block_reader *reader, unsigned column)
{
	unsigned n_values = reader->leaf->fields->n_values;
	unsigned place = column >= IFOREST_VALUES ? column - IFOREST_VALUES : n_values + column;
	enum iforest_status status = IFOREST_OK;

	while (reader->n_found <= place && !status) {
		unsigned at = reader->n_found;

		status = find_next(reader, at < n_values ? IFOREST_VALUES + at : at - n_values);
		if (!status)
			reader->n_found++;
	}
	return status;
}

static int64_t *numbers_of(struct iforest_block *block, unsigned column)
{
	if (column == IFOREST_TIMES)
		return block->times;
	return column == IFOREST_REFS ? block->refs : block->values[column - IFOREST_VALUES];
}

enum iforest_status iforest_block_need(struct iforest_block_reader *reader, unsigned column)
{
	struct iforest_block *block = &reader->block;
	enum iforest_status status;
	int64_t *numbers;

	if (reader->unpacked >> column & 1)
		return IFOREST_OK;
	status = iforest_block_find_column(reader, column);
	if (status)
		return status;
	numbers = numbers_of(block, column);
	iforest_column_unpack(&reader->columns[column], block->n, numbers);
	if (column >= IFOREST_VALUES)
		block->present[column - IFOREST_VALUES] = reader->columns[column].present;
	reader->unpacked |= 1u << column;
	return IFOREST_OK;
}

/* Numbers read from packed columns before they are unpacked: times and refs of two entries. For more, unpacking is cheaper,
 * because each read adds up the packed differences before i. */
enum { MOST_PICKED = 4 };

enum iforest_status iforest_block_pick(struct iforest_block_reader *reader, unsigned column, unsigned i, int64_t *number)
{
	bool is_unpacked = reader->unpacked >> column & 1;
	enum iforest_status status;

	if (column == IFOREST_TIMES && reader->was_sought && reader->sought == i) {
		*number = reader->sought_time;
		return IFOREST_OK;
	}
	if (!is_unpacked && reader->n_picked < MOST_PICKED) {
		reader->n_picked++;
		status = iforest_block_find_column(reader, column);
		if (!status)
			*number = iforest_column_at(&reader->columns[column], i);
		return status;
	}
	status = iforest_block_need(reader, column);
	if (!status)
		*number = numbers_of(&reader->block, column)[i];
	return status;
}

static struct iforest_key key_of(const struct iforest_block *block, unsigned i)
{
	return (struct iforest_key){
		.series = block->series, .time_is_null = block->time_is_null, .time = block->times[i], .ref = block->refs[i]
	};
}

/* Searches the packed times for a key whose ref is INT64_MIN. */
static enum iforest_status find_packed(struct iforest_block_reader *reader, const struct iforest_key *key, unsigned *entry)
{
	const struct iforest_block *block = &reader->block;
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_TIMES);

	reader->was_sought = true;
	reader->sought = block->n;
	if (!status && (key->series != block->series || key->time_is_null))
		*entry = key->series < block->series ? 0 : block->n;
	else if (!status)
		*entry = reader->sought =
			iforest_column_find(&reader->columns[IFOREST_TIMES], block->n, key->time, &reader->sought_time);
	return status;
}

enum iforest_status iforest_block_find(struct iforest_block_reader *reader, const struct iforest_key *key, unsigned *entry)
{
	const struct iforest_block *block = &reader->block;
	unsigned low = 0, high = block->n;
	enum iforest_status status;

	/* a block that only one bound cuts is not unpacked */
	if (!reader->was_sought && key->ref == INT64_MIN && !(reader->unpacked >> IFOREST_TIMES & 1))
		return find_packed(reader, key, entry);
	/* bounds of windows precede every ref, so refs need not be unpacked */
	status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status && key->ref != INT64_MIN)
		status = iforest_block_need(reader, IFOREST_REFS);
	if (status)
		return status;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		struct iforest_key at = { .series = block->series,
					  .time_is_null = block->time_is_null,
					  .time = block->times[middle],
					  .ref = INT64_MIN };

		if (key->ref != INT64_MIN)
			at = key_of(block, middle);
		if (iforest_key_compare(&at, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*entry = low;
	return IFOREST_OK;
}

enum iforest_status iforest_block_find_times(struct iforest_block_reader *reader, int64_t low, int64_t high, unsigned *from,
					     unsigned *to)
{
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_TIMES);

	if (!status)
		iforest_column_find_range(&reader->columns[IFOREST_TIMES], reader->block.n, low, high, from, to);
	return status;
}

enum iforest_status iforest_leaf_find_ref(const struct iforest_leaf *leaf, int64_t ref, struct iforest_block_reader *reader,
					  unsigned *entry, bool *found)
{
	unsigned low = 0, high = leaf->header.n_items;
	enum iforest_status status;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (first_ref(leaf, middle) <= ref)
			low = middle;
		else
			high = middle;
	}
	iforest_block_start(reader, leaf, low);
	status = iforest_block_find_column(reader, IFOREST_REFS);
	if (status)
		return status;
	for (low = 0, high = reader->block.n; high - low > 1;) {
		unsigned middle = low + (high - low) / 2;

		if (iforest_column_at(&reader->columns[IFOREST_REFS], middle) <= ref)
			low = middle;
		else
			high = middle;
	}
	*entry = low;
	*found = iforest_column_at(&reader->columns[IFOREST_REFS], low) == ref;
	return IFOREST_OK;
}

void iforest_block_entry(const struct iforest_block *block, unsigned i, uint32_t values, struct iforest_entry *entry)
{
	entry->key = key_of(block, i);
	entry->present = 0;
	for (unsigned v = 0; values >> v; v++)
		if (values >> v & block->present[v] >> i & 1) {
			entry->present |= 1u << v;
			entry->values[v].integer = block->values[v][i];
		}
}

void iforest_leaf_remove(uint8_t *page, struct iforest_page_header *header, unsigned block, unsigned entry)
{
	uint8_t *dead = page + IFOREST_PAGE_HEADER + block * DIRECTORY_ENTRY + DEAD_OFFSET;

	iforest_store64(dead, iforest_load64(dead) | UINT64_C(1) << entry);
	header->n_dead++;
}
