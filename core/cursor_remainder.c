#include "core/cursor_internal.h"
#include "core/remainder.h"

static enum iforest_status fold_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter,
				     struct iforest_aggregate *aggregate)
{
	struct iforest_wanted all = { .values = UINT32_MAX, .squares = UINT32_MAX, .node_fields = true, .filter = filter };
	enum iforest_status status;

	if (number >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    number / cursor->manifest->fanout);
	status = iforest_cursor_hold(cursor, 0, number);
	if (status)
		return status;
	return iforest_cursor_blame_leaf(cursor, iforest_leaf_fold_blocks(&cursor->leaf, 0, cursor->leaf.header.n_items, &all,
									  aggregate));
}

/* What is left of the page of nodes under node i of a level. *known: all that it takes could be had. */
static enum iforest_status combine_page(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					const struct iforest_filter *filter, struct iforest_aggregate *aggregate, bool *known)
{
	static const struct iforest_node_parts all = { .values = UINT32_MAX, .squares = UINT32_MAX, .node_fields = true };
	const struct iforest_fields *fields = &cursor->manifest->fields;
	enum iforest_status status = iforest_cursor_hold(cursor, level - 1, i);

	for (unsigned k = 0; !status && *known && k < cursor->path[level - 1].header.n_items; k++) {
		const uint8_t *node = iforest_node_at(cursor->path[level - 1].page.bytes, fields, k);

		status = iforest_cursor_remainder(cursor, level - 1, i * cursor->manifest->fanout + k, filter, &node);
		*known = !status && node;
		if (*known)
			iforest_node_fold(node, fields, &all, aggregate);
	}
	return status;
}

/* Computes what is left of a node; NULL where that cannot be had. */
static enum iforest_status compute(struct iforest_cursor *cursor, unsigned level, uint64_t i,
				   const struct iforest_filter *filter, const uint8_t *node, uint8_t *bytes, bool *known)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	struct iforest_node left = { .first = iforest_node_first(node), .last = iforest_node_last(node) };
	enum iforest_status status;

	iforest_aggregate_clear(&left.aggregate, fields->n_values);
	status = level == 1 ? fold_leaf(cursor, i, filter, &left.aggregate) :
			      combine_page(cursor, level, i, filter, &left.aggregate, known);
	if (!status)
		iforest_node_write(&left, fields, bytes);
	return status;
}

/* What is known is true as long as the filter takes out no more of it. */
static void bring_up_to_date(struct iforest_remainder_page *page, const struct iforest_filter *filter,
			     const struct iforest_fields *fields)
{
	for (unsigned k = 0; k < page->n_nodes; k++)
		if (page->n_gone[k] != IFOREST_NOT_KNOWN &&
		    page->n_gone[k] != filter->n_gone(filter->context, page->nodes + (size_t)k * fields->node_bytes))
			page->n_gone[k] = IFOREST_NOT_KNOWN;
	page->version = filter->remainders->version;
}

/* That of the page of the level that is held; NULL where there is none. */
static struct iforest_remainder_page *page_of(struct iforest_cursor *cursor, unsigned level,
					      const struct iforest_filter *filter)
{
	struct iforest_remainders *remainders = filter->remainders;
	const struct iforest_held_page *held = &cursor->path[level];
	const struct iforest_fields *fields = &cursor->manifest->fields;
	struct iforest_remainder_page *page = iforest_remainders_find(remainders, &cursor->run->place, level, held->number);

	if (remainders->is_fixed)
		return page && page->version == remainders->version ? page : NULL;
	if (page && page->version != remainders->version)
		bring_up_to_date(page, filter, fields);
	return page ? page : iforest_remainders_make(remainders, &cursor->run->place, level, held->number,
						     held->header.n_items, fields);
}

enum iforest_status iforest_cursor_remainder(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					     const struct iforest_filter *filter, const uint8_t **node)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	unsigned k = (unsigned)(i % cursor->manifest->fanout);
	struct iforest_remainder_page *page = level <= cursor->run->n_levels ? page_of(cursor, level, filter) : NULL;
	uint8_t bytes[IFOREST_MAX_NODE_BYTES];
	uint64_t n_gone;
	bool known = true;
	enum iforest_status status = IFOREST_OK;

	if (page && k < page->n_nodes && page->n_gone[k] != IFOREST_NOT_KNOWN) {
		*node = page->nodes + (size_t)k * fields->node_bytes;
		return IFOREST_OK;
	}
	if (!page || k >= page->n_nodes || filter->remainders->is_fixed) {
		*node = NULL;
		return IFOREST_OK;
	}
	n_gone = filter->n_gone(filter->context, *node);
	if (n_gone == 0)
		memcpy(bytes, *node, fields->node_bytes);
	else
		status = compute(cursor, level, i, filter, *node, bytes, &known);
	*node = NULL;
	page = !status && known ? page_of(cursor, level, filter) : NULL; /* others may have been forgotten for those below */
	if (page) {
		uint8_t *kept = page->nodes + (size_t)k * fields->node_bytes;

		memcpy(kept, bytes, fields->node_bytes);
		page->n_gone[k] = n_gone;
		*node = kept;
	}
	return status;
}
