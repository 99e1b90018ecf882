#include "core/query/fold_internal.h"
#include "core/page/leaf_take_out.h"

/* What of the leaf page that is held counts. Its node may say it for all of its entries, which then need not be asked about:
 * unless just a few are asked for, of this page for the first time. */
static enum iforest_status judge_leaf(struct iforest_cursor *cursor, const struct iforest_filter *filter, bool is_few,
				      enum iforest_verdict *verdict)
{
	const uint8_t *node;
	enum iforest_status status;

	if (filter && is_few && cursor->judged_leaf != cursor->leaf_number && cursor->asked_leaf != cursor->leaf_number) {
		cursor->asked_leaf = cursor->leaf_number;
		*verdict = IFOREST_SOME;
		return IFOREST_OK;
	}
	if (filter && cursor->judged_leaf != cursor->leaf_number) {
		status = iforest_cursor_node(cursor, 1, cursor->leaf_number, &node);
		if (status)
			return status;
		cursor->verdict = iforest_cursor_verdict(filter, node);
		cursor->judged_leaf = cursor->leaf_number;
	}
	*verdict = filter ? cursor->verdict : IFOREST_ALL;
	return IFOREST_OK;
}

/* Adds the leaf page that is held as its node without the few entries that do not count, if that can be done. */
static enum iforest_status fold_most_of_leaf(struct iforest_cursor *cursor, const struct iforest_wanted *wanted,
					     struct iforest_aggregate *aggregate, bool *done)
{
	const uint8_t *node;
	enum iforest_status status = iforest_cursor_node(cursor, 1, cursor->leaf_number, &node);

	cursor->reader_is_open = false;
	if (!status)
		status = iforest_cursor_blame_leaf(cursor, iforest_leaf_fold_most(&cursor->leaf, node, &cursor->reader, wanted,
										  aggregate, done));
	cursor->n_nodes_folded += *done;
	return status;
}

/* Adds what of a leaf page comes before the key, and keeps the rest. Nothing is got or asked meanwhile: the page may be
 * borrowed. */
static enum iforest_status split_leaf(struct iforest_cursor *cursor, const struct iforest_leaf *leaf, const uint8_t *node,
				      const struct iforest_key *key, const struct iforest_wanted *wanted,
				      struct iforest_aggregate *aggregate)
{
	struct iforest_leaf_cut *cut = &cursor->rest.cut;
	enum iforest_status status = iforest_leaf_split(leaf, node, key, wanted, aggregate, &cursor->rest.aggregate, cut);

	cursor->rest.leaf_number = UINT64_MAX;
	if (status)
		return iforest_cursor_blame(cursor, status, "a packed column is wrong", 0, cursor->leaf_number);
	if (cut->block == leaf->header.n_items) {
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
		return IFOREST_OK;
	}
	cursor->rest.leaf_number = cursor->leaf_number;
	cursor->rest.wanted = *wanted;
	iforest_cursor_stand_at(cursor, cursor->leaf_number, cut->block, cut->entry);
	return IFOREST_OK;
}

/* Standing at the start of a leaf page in which the key lies: passes what comes before it, if all of its entries count and it
 * can be split. */
static enum iforest_status fold_cut(struct iforest_cursor *cursor, const struct iforest_key *key, const uint8_t *node,
				    const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate, bool *done)
{
	struct iforest_page page;
	struct iforest_leaf leaf;
	enum iforest_verdict verdict;
	enum iforest_status status = judge_leaf(cursor, wanted->filter, false, &verdict);

	*done = !status && verdict == IFOREST_ALL && iforest_leaf_can_split(node, key, wanted);
	if (!*done)
		return status;
	status = iforest_cursor_borrow(cursor, cursor->leaf_number, &page, &leaf);
	if (status)
		return status;
	status = split_leaf(cursor, &leaf, node, key, wanted, aggregate);
	iforest_cursor_give_back(cursor, &page);
	return status;
}

static bool is_same_wanted(const struct iforest_wanted *a, const struct iforest_wanted *b)
{
	return a->values == b->values && a->no_mins == b->no_mins && a->no_maxs == b->no_maxs && a->no_rows == b->no_rows &&
	       a->filter == b->filter && b->firsts == 0 && b->lasts == 0 && b->squares == 0 && !b->times && !b->node_fields &&
	       !b->extremes_alone;
}

/* Adds what is left of a leaf page that lies below the key as a whole, if that is known. */
static bool fold_rest(struct iforest_cursor *cursor, const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;

	if (!iforest_cursor_is_at_rest(cursor) || !is_same_wanted(&cursor->rest.wanted, wanted))
		return false;
	if (iforest_wants_sums(wanted, fields)) {
		struct iforest_sums sums = iforest_sums_of_aggregate(&cursor->rest.aggregate, wanted);

		iforest_sums_add_to_aggregate(&sums, wanted, aggregate);
	} else {
		iforest_aggregate_combine(aggregate, &cursor->rest.aggregate, fields->kinds, fields->n_values);
	}
	iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	return true;
}

/* Adds the entries of the leaf page from the position up to (block, entry), and stands there. */
static enum iforest_status fold_in_leaf(struct iforest_cursor *cursor, unsigned block, unsigned entry,
					const struct iforest_wanted *wanted, struct iforest_edges *edges,
					struct iforest_aggregate *aggregate)
{
	uint64_t leaf_number = cursor->leaf_number;
	unsigned from = cursor->entry;
	struct iforest_wanted asked = *wanted;
	enum iforest_verdict verdict = IFOREST_ALL;
	enum iforest_status status = IFOREST_OK;
	bool done = false, sums_alone;

	if (block < cursor->block || (block == cursor->block && entry <= from))
		return IFOREST_OK;
	status = judge_leaf(cursor, wanted->filter, block - cursor->block < cursor->leaf.header.n_items / 8u, &verdict);
	if (verdict == IFOREST_ALL)
		asked.filter = NULL;
	if (!status && verdict == IFOREST_MOST && cursor->block == 0 && from == 0 && block == cursor->leaf.header.n_items)
		status = fold_most_of_leaf(cursor, wanted, aggregate, &done);
	done = done || verdict == IFOREST_NONE;
	sums_alone = iforest_wants_sums_alone(&asked, &cursor->manifest->fields);
	if (!done)
		iforest_leaf_expect(&cursor->leaf, cursor->block, block);
	for (unsigned b = cursor->block; !done && b <= block && b < cursor->leaf.header.n_items && !status; b++, from = 0) {
		unsigned to;
		uint64_t counted = 0;

		if (sums_alone && b < block && from == 0 && iforest_leaf_add_summary(&cursor->leaf, b, aggregate))
			continue;
		iforest_cursor_read_block(cursor, b);
		to = b == block ? entry : cursor->reader.block.n;
		if (from >= to)
			continue;
		status = iforest_cursor_blame_leaf(cursor, iforest_block_fold(&cursor->reader, from, to, &asked, aggregate,
									      &counted));
		/* rows of this block come after those of any node folded before */
		if (counted) {
			edges->seen_time = 1;
			edges->open_last_time = 0;
		}
		for (unsigned v = 0; v < cursor->manifest->fields.n_values && counted && !status; v++)
			if ((wanted->firsts | wanted->lasts) >> v & 1 &&
			    counted & cursor->reader.columns[IFOREST_VALUES + v].present) {
				edges->seen_firsts |= 1u << v;
				edges->open_lasts &= ~(1u << v);
			}
	}
	if (block == cursor->leaf.header.n_items)
		iforest_cursor_stand_at(cursor, leaf_number + 1, 0, 0);
	else
		iforest_cursor_stand_at(cursor, leaf_number, block, entry);
	return status;
}

/* Passes the leaf page that is held from the position on, where sums are all that is wanted: as a whole without what comes
 * before it, if that is less. Its node has to have counted the same entries. */
static enum iforest_status fold_end(struct iforest_cursor *cursor, const uint8_t *node, const struct iforest_wanted *wanted,
				    struct iforest_aggregate *aggregate, bool *done)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	struct iforest_sums all = { .n_rows = 0 }, rest;
	enum iforest_status status;

	*done = iforest_wants_sums(wanted, fields) && iforest_node_dead(node) == cursor->leaf.header.n_dead;
	if (!*done)
		return IFOREST_OK;
	iforest_sums_add_node(&all, node, fields, wanted->values);
	iforest_cursor_read_block(cursor, cursor->block);
	status = iforest_cursor_blame_leaf(cursor, iforest_leaf_sums_from(&cursor->leaf, &all, &cursor->reader, cursor->entry,
									  wanted->values, &rest));
	if (!status)
		iforest_sums_add_to_aggregate(&rest, wanted, aggregate);
	iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	return status;
}

enum iforest_status iforest_cursor_fold_leaf(struct iforest_cursor *cursor, const struct iforest_key *key,
					     const struct iforest_wanted *wanted, struct iforest_edges *edges,
					     struct iforest_aggregate *aggregate)
{
	bool is_below, is_at_start = cursor->block == 0 && cursor->entry == 0, done = false, known = true;
	struct iforest_key first, last;
	unsigned block, entry = 0;
	const uint8_t *node;
	enum iforest_status status = iforest_cursor_node(cursor, 1, cursor->leaf_number, &node);

	if (status)
		return status;
	first = iforest_node_first(node);
	last = iforest_node_last(node);
	is_below = iforest_key_compare(&last, key) < 0;
	done = is_below ? fold_rest(cursor, wanted, aggregate) : is_at_start && iforest_key_compare(&first, key) >= 0;
	if (!done && edges->asked)
		status = iforest_cursor_leaf_remainder(cursor, cursor->leaf_number, edges->asked->filter, &node,
						       &known);
	if (!known)
		wanted = edges->asked;
	if (!status && !done && !is_below && edges->has_nodes && is_at_start)
		status = fold_cut(cursor, key, node, wanted, aggregate, &done);
	if (status || done)
		return status;
	status = iforest_cursor_hold(cursor, 0, cursor->leaf_number);
	block = status ? 0 : cursor->leaf.header.n_items;
	if (!status && !is_below)
		status = iforest_cursor_find_in_leaf(cursor, key, &block, &entry);
	else if (!status && !is_at_start)
		status = fold_end(cursor, node, wanted, aggregate, &done);
	return status || done ? status : fold_in_leaf(cursor, block, entry, wanted, edges, aggregate);
}
