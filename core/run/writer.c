#include "core/run/writer.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "core/page/leaf_fold.h"

/* The current node page of a level, and the node over its content so far. */
struct iforest_writer_level {
	uint8_t *page;
	unsigned n_nodes;
	uint64_t n_pages; /* written */
	struct iforest_node sum;
};

enum { FEWEST_ENTRIES = 8 }; /* no smaller blocks are made to fill up a page */

static void release_memory(struct iforest_run_writer *writer)
{
	const struct iforest_alloc *alloc = writer->store->alloc;

	for (unsigned level = 1; writer->levels && level <= IFOREST_MAX_LEVELS; level++)
		iforest_release(alloc, writer->levels[level].page);
	iforest_release(alloc, writer->levels);
	iforest_release(alloc, writer->leaf);
	iforest_release(alloc, writer->page);
	writer->levels = NULL;
	writer->leaf = NULL;
	writer->page = NULL;
}

enum iforest_status iforest_run_writer_start(struct iforest_run_writer *writer, struct iforest_store *store,
					     const struct iforest_manifest *manifest)
{
	const struct iforest_pager *pager = store->pager;
	enum iforest_status status = IFOREST_NO_MEMORY;

	*writer = (struct iforest_run_writer){ .store = store,
					       .manifest = manifest,
					       .place = { .run_id = iforest_random63(store),
							  .generation = iforest_random63(store) } };
	writer->leaf = iforest_allocate(store->alloc, sizeof *writer->leaf);
	writer->page = iforest_allocate(store->alloc, manifest->page_bytes);
	writer->levels = iforest_allocate(store->alloc, (IFOREST_MAX_LEVELS + 1) * sizeof *writer->levels);
	/* the nodes, about 60 KB in all, are initialised when needed */
	for (unsigned level = 1; writer->levels && level <= IFOREST_MAX_LEVELS; level++) {
		writer->levels[level].page = NULL;
		writer->levels[level].n_nodes = 0;
		writer->levels[level].n_pages = 0;
	}
	if (writer->leaf && writer->page && writer->levels) {
		iforest_leaf_writer_start(writer->leaf, &manifest->fields, manifest->page_bytes);
		status = pager->create_run(pager->context, &writer->place);
	}
	if (status)
		release_memory(writer);
	return status;
}

static enum iforest_status write_page(struct iforest_run_writer *writer, const uint8_t *bytes, uint32_t n_bytes)
{
	const struct iforest_pager *pager = writer->store->pager;
	struct iforest_page_write page = { .index = writer->n_pages, .bytes = bytes, .n_bytes = n_bytes };
	enum iforest_status status = pager->write(pager->context, &writer->place, &page, 1);

	if (!status)
		writer->n_pages++;
	return status;
}

static enum iforest_status write_node_page(struct iforest_run_writer *writer, unsigned level)
{
	struct iforest_writer_level *at = &writer->levels[level];
	uint32_t n_bytes = iforest_node_page_finish(at->page, &writer->manifest->fields, writer->place.run_id, level,
						    (uint32_t)at->n_pages, at->n_nodes);
	enum iforest_status status = write_page(writer, at->page, n_bytes);

	at->n_nodes = 0;
	at->n_pages++;
	return status;
}

/* Appends a node to a level. A full page is written, and its node is appended to the level above. */
static enum iforest_status add_node(struct iforest_run_writer *writer, unsigned level, const struct iforest_node *node)
{
	const struct iforest_node_schema *fields = &writer->manifest->fields;
	const struct iforest_node *child = node;
	enum iforest_status status = IFOREST_OK;

	for (; !status; level++) {
		struct iforest_writer_level *at = &writer->levels[level];

		if (level > IFOREST_MAX_LEVELS)
			return IFOREST_TOO_LARGE;
		if (!at->page)
			at->page = iforest_allocate(writer->store->alloc, writer->manifest->page_bytes);
		if (!at->page)
			return IFOREST_NO_MEMORY;
		iforest_node_write(child, fields, at->page + IFOREST_PAGE_HEADER + at->n_nodes * fields->node_bytes);
		if (at->n_nodes++ == 0)
			at->sum = *child;
		else
			iforest_node_combine(&at->sum, child, fields);
		if (at->n_nodes < writer->manifest->fanout)
			break;
		status = write_node_page(writer, level);
		child = &at->sum;
	}
	return status;
}

static enum iforest_status write_leaf(struct iforest_run_writer *writer)
{
	const struct iforest_node_schema *fields = &writer->manifest->fields;
	uint32_t number = (uint32_t)writer->n_leaves;
	struct iforest_leaf leaf;
	struct iforest_node node;
	const char *what;
	uint32_t n_bytes;
	enum iforest_status status;

	if (writer->n_leaves == UINT32_MAX)
		return IFOREST_TOO_LARGE;
	n_bytes = iforest_leaf_writer_finish(writer->leaf, writer->page, writer->place.run_id, number);
	iforest_leaf_writer_start(writer->leaf, fields, writer->manifest->page_bytes);
	status = write_page(writer, writer->page, n_bytes);
	if (!status)
		status = iforest_leaf_open(&leaf, fields, writer->page, n_bytes, writer->place.run_id, number, true, &what);
	if (!status)
		status = iforest_leaf_node(&leaf, &node);
	if (status)
		return status;
	writer->n_leaves++;
	return add_node(writer, 1, &node);
}

/* Packs the pending entries. If they do not fit, tries halves before it starts the next page, so that pages are well filled. */
static enum iforest_status pack_block(struct iforest_run_writer *writer)
{
	unsigned from = 0, n = writer->block.n;

	while (from < n) {
		unsigned take = n - from;

		while (!iforest_leaf_writer_add(writer->leaf, &writer->block, from, from + take)) {
			if (take <= FEWEST_ENTRIES && writer->leaf->n_blocks > 0) {
				enum iforest_status status = write_leaf(writer);

				if (status)
					return status;
				take = n - from;
			} else {
				take = (take + 1) / 2;
			}
		}
		from += take;
	}
	writer->block.n = 0;
	return IFOREST_OK;
}

/* Makes room for another entry of the series in the block of pending entries. */
static enum iforest_status make_room(struct iforest_run_writer *writer, uint64_t series, bool time_is_null)
{
	struct iforest_block *waiting = &writer->block;
	enum iforest_status status = IFOREST_OK;

	if (waiting->n == IFOREST_BLOCK_ENTRIES ||
	    (waiting->n > 0 && (waiting->series != series || waiting->time_is_null != time_is_null)))
		status = pack_block(writer);
	if (!status && waiting->n == 0) {
		waiting->series = series;
		waiting->time_is_null = time_is_null;
		memset(waiting->present, 0, sizeof waiting->present);
	}
	return status;
}

enum iforest_status iforest_run_writer_add(struct iforest_run_writer *writer, const struct iforest_entry *entry)
{
	struct iforest_block *waiting = &writer->block;
	enum iforest_status status;

	if (writer->has_entries && iforest_key_compare(&writer->last_key, &entry->key) >= 0)
		return IFOREST_UNORDERED;
	status = make_room(writer, entry->key.series, entry->key.time_is_null);
	if (status)
		return status;
	waiting->times[waiting->n] = entry->key.time;
	waiting->refs[waiting->n] = entry->key.ref;
	for (unsigned v = 0; v < writer->manifest->fields.n_values; v++) {
		waiting->values[v][waiting->n] = entry->values[v].integer;
		waiting->present[v] |= (uint64_t)(entry->present >> v & 1) << waiting->n;
	}
	waiting->n++;
	writer->last_key = entry->key;
	writer->has_entries = true;
	return IFOREST_OK;
}

static struct iforest_key key_of(const struct iforest_block *block, unsigned i)
{
	return (struct iforest_key){
		.series = block->series, .time_is_null = block->time_is_null, .time = block->times[i], .ref = block->refs[i]
	};
}

/* True if the keys ascend and follow the last key added. */
static bool is_ordered(const struct iforest_run_writer *writer, const struct iforest_block *block, unsigned from, unsigned to)
{
	struct iforest_key first = key_of(block, from);

	if (writer->has_entries && iforest_key_compare(&writer->last_key, &first) >= 0)
		return false;
	for (unsigned i = from + 1; i < to; i++)
		if (block->times[i - 1] > block->times[i] ||
		    (block->times[i - 1] == block->times[i] && block->refs[i - 1] >= block->refs[i]))
			return false;
	return true;
}

enum iforest_status iforest_run_writer_add_block(struct iforest_run_writer *writer, const struct iforest_block *block,
						 unsigned from, unsigned to)
{
	struct iforest_block *waiting = &writer->block;

	if (from < to && !is_ordered(writer, block, from, to))
		return IFOREST_UNORDERED;
	while (from < to) {
		enum iforest_status status = make_room(writer, block->series, block->time_is_null);
		unsigned n = to - from;

		if (status)
			return status;
		if (n > IFOREST_BLOCK_ENTRIES - waiting->n)
			n = IFOREST_BLOCK_ENTRIES - waiting->n;
		memcpy(waiting->times + waiting->n, block->times + from, n * sizeof *waiting->times);
		memcpy(waiting->refs + waiting->n, block->refs + from, n * sizeof *waiting->refs);
		for (unsigned v = 0; v < writer->manifest->fields.n_values; v++) {
			memcpy(waiting->values[v] + waiting->n, block->values[v] + from, n * sizeof *waiting->values[v]);
			waiting->present[v] |= (block->present[v] >> from & iforest_low_bits(n)) << waiting->n;
		}
		waiting->n += n;
		from += n;
		writer->last_key = key_of(block, from - 1);
		writer->has_entries = true;
	}
	return IFOREST_OK;
}

/* Writes the partly filled node pages, lowest first, up to the level that has one page, whose node is the root. */
static enum iforest_status finish_levels(struct iforest_run_writer *writer, struct iforest_run *run)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned level = 1; !status; level++) {
		struct iforest_writer_level *at = &writer->levels[level];

		/* exactly one full page: its node is the only one of the level above */
		if (at->n_nodes == 0 && at->n_pages == 1) {
			iforest_node_write(&at->sum, &writer->manifest->fields, run->root);
			break;
		}
		if (at->n_nodes == 0)
			continue;
		status = write_node_page(writer, level);
		if (!status && at->n_pages == 1) {
			iforest_node_write(&at->sum, &writer->manifest->fields, run->root);
			break;
		}
		if (!status)
			status = add_node(writer, level + 1, &at->sum);
	}
	return status;
}

enum iforest_status iforest_run_writer_finish(struct iforest_run_writer *writer, struct iforest_run *run)
{
	enum iforest_status status = pack_block(writer);

	if (!status && writer->leaf->n_blocks > 0)
		status = write_leaf(writer);
	*run = (struct iforest_run){ .place = writer->place, .n_leaves = (uint32_t)writer->n_leaves };
	run->n_levels = iforest_node_levels(run->n_leaves, writer->manifest->fanout);
	if (!status && run->n_leaves > 0)
		status = finish_levels(writer, run);
	if (status || run->n_leaves == 0)
		iforest_run_writer_abandon(writer);
	else
		release_memory(writer);
	return status;
}

void iforest_run_writer_abandon(struct iforest_run_writer *writer)
{
	const struct iforest_pager *pager = writer->store->pager;

	/* no manifest names the run, so a failure to drop it only wastes space */
	(void)pager->drop_run(pager->context, &writer->place, writer->n_pages);
	release_memory(writer);
}
