#include "core/run/check.h"

#include <string.h>

#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"
#include "core/run/layout.h"

/* Checks the summaries of the reader's block against its values. */
static enum iforest_status check_summaries(struct iforest_cursor *cursor)
{
	const struct iforest_block_reader *reader = &cursor->reader;
	const struct iforest_node_schema *fields = &cursor->manifest->fields;

	for (unsigned v = 0; v < fields->n_values; v++) {
		enum iforest_value_type type = (enum iforest_value_type)fields->value_types[v];
		struct iforest_summary computed;

		iforest_summarize(&computed, reader->block.values[v], reader->block.present[v], type);
		if (!iforest_summary_agrees(reader->has_summary[v] ? &reader->summaries[v] : NULL, &computed, type))
			return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "a block is not what its summary says", 0,
							     cursor->path[0].number);
	}
	return IFOREST_OK;
}

/* Checks that the keys of a leaf page ascend and follow those of the page before, and that its flags are right. */
static enum iforest_status check_order(struct iforest_cursor *cursor, struct iforest_key *previous, bool *has_previous)
{
	bool refs_ascend = true;
	int64_t last_ref = INT64_MIN;
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < cursor->leaf.header.n_items && !status; b++) {
		const struct iforest_block *block = &cursor->reader.block;

		iforest_cursor_read_block(cursor, b);
		for (unsigned c = 0; c < (unsigned)IFOREST_VALUES + cursor->manifest->fields.n_values && !status; c++)
			status = iforest_cursor_report_leaf(cursor, iforest_block_need(&cursor->reader, c));
		if (!status)
			status = check_summaries(cursor);
		for (unsigned i = 0; i < block->n && !status; i++) {
			struct iforest_key key = { .series = block->series,
						   .time_is_null = block->time_is_null,
						   .time = block->times[i],
						   .ref = block->refs[i] };
			struct iforest_key listed = iforest_leaf_block(&cursor->leaf, b).first;

			if (*has_previous && iforest_key_compare(previous, &key) >= 0)
				status = iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "entries are out of order", 0,
								       cursor->path[0].number);
			if (i == 0 && iforest_key_compare(&listed, &key) != 0)
				status = iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT,
								       "the block directory has a wrong first key", 0,
								       cursor->path[0].number);
			refs_ascend = refs_ascend && key.ref > last_ref;
			last_ref = key.ref;
			*previous = key;
			*has_previous = true;
		}
	}
	if (!status && cursor->leaf.header.flags & IFOREST_PAGE_REFS_ASCEND && !refs_ascend)
		status = iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "refs do not ascend as the page says", 0,
						       cursor->path[0].number);
	return status;
}

/* Checks that the count of removed entries in the page header is the number of bits in the dead maps. */
static enum iforest_status check_dead(struct iforest_cursor *cursor, const struct iforest_node *node)
{
	if (node->aggregate.n_dead == cursor->leaf.header.n_dead)
		return IFOREST_OK;
	return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page's number of removed entries is wrong", 0,
					     cursor->path[0].number);
}

/* Compares a stored node with a computed one. */
static enum iforest_status check_node(struct iforest_cursor *cursor, unsigned level, uint64_t number,
				      const struct iforest_node *computed)
{
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	uint8_t bytes[IFOREST_MAX_NODE_BYTES];
	const uint8_t *stored;
	enum iforest_status status = iforest_cursor_node(cursor, level, number, &stored);

	if (status)
		return status;
	iforest_node_write(computed, fields, bytes);
	if (memcmp(bytes, stored, fields->node_bytes) == 0)
		return IFOREST_OK;
	return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "a node is not the aggregate of the page below it", level,
					     number / cursor->manifest->fanout);
}

static enum iforest_status check_leaves(struct iforest_cursor *cursor, struct iforest_check_result *result)
{
	struct iforest_key previous;
	bool has_previous = false;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t i = 0; i < cursor->run->n_leaves && !status; i++) {
		struct iforest_node node;

		status = iforest_cursor_pin(cursor, 0, i);
		if (!status)
			status = check_order(cursor, &previous, &has_previous);
		if (!status)
			status = iforest_cursor_report_leaf(cursor, iforest_leaf_node(&cursor->leaf, &node));
		if (!status)
			status = check_dead(cursor, &node);
		if (!status)
			status = check_node(cursor, 1, i, &node);
		if (!status) {
			result->n_rows += node.aggregate.n_rows;
			result->n_dead += node.aggregate.n_dead;
		}
	}
	return status;
}

/* Checks every page of a level against its node one level up. */
static enum iforest_status check_level(struct iforest_cursor *cursor, unsigned level)
{
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	uint64_t below = iforest_pages_at(cursor->run->n_leaves, level - 1, cursor->manifest->fanout);
	uint64_t n_pages = iforest_pages_at(cursor->run->n_leaves, level, cursor->manifest->fanout);
	enum iforest_status status = IFOREST_OK;

	for (uint64_t i = 0; i < n_pages && !status; i++) {
		uint64_t n_left = below - i * cursor->manifest->fanout;
		struct iforest_node sum, next;
		const uint8_t *page;
		unsigned n;

		status = iforest_cursor_pin(cursor, level, i);
		if (status)
			return status;
		page = cursor->path[level].page.bytes;
		n = cursor->path[level].header.n_items;
		if (n != (n_left < cursor->manifest->fanout ? n_left : cursor->manifest->fanout))
			return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page's number of nodes is wrong",
							     level, i);
		iforest_node_read(&sum, fields, iforest_node_at(page, fields, 0));
		for (unsigned k = 1; k < n; k++) {
			iforest_node_read(&next, fields, iforest_node_at(page, fields, k));
			iforest_node_combine(&sum, &next, fields);
		}
		status = check_node(cursor, level + 1, i, &sum);
	}
	return status;
}

static enum iforest_status check_run(struct iforest_cursor *cursor, struct iforest_check_result *result)
{
	enum iforest_status status;

	if (cursor->run->removal_in_progress)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "a removal was cut off; the run needs repair",
						     cursor->run->n_levels, 0);
	status = check_leaves(cursor, result);
	for (unsigned level = 1; level <= cursor->run->n_levels && !status; level++)
		status = check_level(cursor, level);
	result->n_leaf_pages += cursor->run->n_leaves;
	result->n_pages += iforest_run_pages(cursor->manifest, cursor->run);
	return status;
}

enum iforest_status iforest_check(struct iforest_store *store, const struct iforest_manifest *manifest,
				  struct iforest_check_result *result)
{
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	enum iforest_status status = cursor ? IFOREST_OK : IFOREST_NO_MEMORY;

	*result = (struct iforest_check_result){ 0 };
	for (uint32_t r = 0; r < manifest->n_runs && !status; r++) {
		iforest_cursor_init(cursor, store, manifest, &manifest->runs[r]);
		status = check_run(cursor, result);
		iforest_cursor_release(cursor);
	}
	iforest_release(store->alloc, cursor);
	return status;
}
