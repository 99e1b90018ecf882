#include "core/query/fold_internal.h"
#include "core/query/filtered_nodes.h"

/* Whether a node that lies below the key as a whole may be used: all of its entries count, or none, or what is left of it
 * without the others can be had, and becomes *node. */
static enum iforest_status judge_whole(struct iforest_cursor *cursor, unsigned level, uint64_t i,
				       const struct iforest_filter *filter, const struct iforest_edges *edges,
				       const uint8_t **node, enum iforest_verdict *verdict)
{
	const uint8_t *left = edges->asked ? *node : NULL;
	enum iforest_status status = IFOREST_OK;

	if (edges->asked)
		status = iforest_cursor_remainder(cursor, level, i, edges->asked->filter, &left);
	if (left)
		*node = left;
	*verdict = left ? IFOREST_ALL : iforest_cursor_verdict(edges->asked ? edges->asked->filter : filter, *node);
	return status;
}

/* Whether node i of the level may be used whole: it lies below the key, and so on. */
static enum iforest_status judge_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const struct iforest_key *key,
				      const struct iforest_filter *filter, const struct iforest_edges *edges,
				      const uint8_t **node, enum iforest_verdict *verdict)
{
	struct iforest_key last;
	enum iforest_status status = iforest_cursor_node(cursor, level, i, node);

	*verdict = IFOREST_SOME;
	if (status)
		return status;
	last = iforest_node_last(*node);
	return iforest_key_compare(&last, key) < 0 ? judge_whole(cursor, level, i, filter, edges, node, verdict) : IFOREST_OK;
}

static bool is_mixed(enum iforest_verdict verdict)
{
	return verdict == IFOREST_MOST || verdict == IFOREST_SOME;
}

/* Standing at the start of a leaf page: passes the largest node that starts here and may be used whole; *passed is its level, 0
 * for none. Tried from the highest level down, so that only pages on the way to the key are opened. */
static enum iforest_status fold_largest_node(struct iforest_cursor *cursor, const struct iforest_key *key,
					     const struct iforest_wanted *wanted, struct iforest_edges *edges,
					     struct iforest_aggregate *aggregate, unsigned *passed)
{
	uint64_t fanout = cursor->manifest->fanout, i = cursor->leaf_number, n_leaves = 1;
	unsigned level = 1;
	enum iforest_verdict verdict = IFOREST_SOME;
	const uint8_t *node;
	enum iforest_status status;

	for (; level <= cursor->run->n_levels && i % fanout == 0; level++) {
		i /= fanout;
		n_leaves *= fanout;
	}
	status = judge_node(cursor, level, i, key, wanted->filter, edges, &node, &verdict);
	while (!status && is_mixed(verdict) && level > 1) {
		level--;
		i *= fanout;
		n_leaves /= fanout;
		status = judge_node(cursor, level, i, key, wanted->filter, edges, &node, &verdict);
	}
	*passed = is_mixed(verdict) ? 0 : level;
	if (status || !*passed)
		return status;
	if (verdict == IFOREST_ALL)
		status = iforest_cursor_fold_node(cursor, level, i, node, wanted, edges, aggregate);
	if (n_leaves > cursor->run->n_leaves - cursor->leaf_number)
		n_leaves = cursor->run->n_leaves - cursor->leaf_number;
	iforest_cursor_stand_at(cursor, cursor->leaf_number + n_leaves, 0, 0);
	return status;
}

/* Passes a node that is used whole, or what of a leaf page lies before the key; *moving: into another leaf page. *level is the
 * node's, 0 for entries of a leaf page. */
static enum iforest_status fold_step(struct iforest_cursor *cursor, const struct iforest_key *key,
				     const struct iforest_wanted *wanted, struct iforest_edges *edges,
				     struct iforest_aggregate *aggregate, unsigned *level, bool *moving)
{
	uint64_t leaf_number = cursor->leaf_number;
	enum iforest_status status = IFOREST_OK;

	*level = 0;
	if (cursor->block == 0 && cursor->entry == 0)
		status = fold_largest_node(cursor, key, wanted, edges, aggregate, level);
	edges->has_nodes = edges->has_nodes || *level;
	if (!status && !*level)
		status = iforest_cursor_fold_leaf(cursor, key, wanted, edges, aggregate);
	*moving = cursor->leaf_number != leaf_number;
	return status;
}

/* Passes a leaf page that lies below the key as a whole, since the next one begins below it. */
static enum iforest_status pass_leaf(struct iforest_cursor *cursor, const struct iforest_key *key,
				     const struct iforest_wanted *wanted, struct iforest_edges *edges,
				     struct iforest_aggregate *aggregate)
{
	uint64_t leaf_number = cursor->leaf_number;
	enum iforest_status status = iforest_cursor_fold_leaf(cursor, key, wanted, edges, aggregate);

	if (!status && cursor->leaf_number == leaf_number)
		status = iforest_cursor_blame(cursor, IFOREST_CORRUPT, "entries are out of order", 0, leaf_number);
	return status;
}

/* Standing at a leaf page that is not the first of those under its node page: passes those of them that lie below the key, but
 * for the last, which the key may cut; memory of that one begins to be fetched meanwhile. */
static enum iforest_status fold_row(struct iforest_cursor *cursor, const struct iforest_key *key,
				    const struct iforest_wanted *wanted, struct iforest_edges *edges,
				    struct iforest_aggregate *aggregate)
{
	const struct iforest_pager *pager = cursor->store->pager;
	uint64_t fanout = cursor->manifest->fanout, number = cursor->leaf_number / fanout, first = number * fanout, end;
	enum iforest_status status = iforest_cursor_hold(cursor, 1, number);

	if (status || cursor->leaf_number - first >= cursor->path[1].header.n_items)
		return status;
	end = first + iforest_cursor_last_node(cursor, 1, (unsigned)(cursor->leaf_number - first), key, false);
	end = end < cursor->run->n_leaves ? end : cursor->run->n_leaves - 1; /* a forged page may claim more */
	if (pager->borrow && pager->expect)
		pager->expect(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, 0, end), false);
	while (!status && cursor->leaf_number < end) {
		const uint8_t *node = iforest_node_at(cursor->path[1].page.bytes, &cursor->manifest->fields,
						      (unsigned)(cursor->leaf_number - first));
		enum iforest_verdict verdict;

		status = judge_whole(cursor, 1, cursor->leaf_number, wanted->filter, edges, &node, &verdict);
		edges->has_nodes = edges->has_nodes || !is_mixed(verdict);
		if (!status && verdict == IFOREST_ALL)
			status = iforest_cursor_fold_node(cursor, 1, cursor->leaf_number, node, wanted, edges, aggregate);
		if (!status && is_mixed(verdict))
			status = pass_leaf(cursor, key, wanted, edges, aggregate);
		else
			iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	}
	return status;
}

static bool is_within_row(const struct iforest_cursor *cursor)
{
	return cursor->block == 0 && cursor->entry == 0 && cursor->leaf_number % cursor->manifest->fanout != 0;
}

/* First and last rows are looked for in what is left of the pages under a node. Where that may have been forgotten, and nothing
 * can be added, they are not sought there. */
static bool goes_by_remainders(const struct iforest_wanted *wanted)
{
	const struct iforest_remainders *remainders = wanted->filter ? wanted->filter->remainders : NULL;

	return remainders && !(remainders->is_fixed && (wanted->firsts | wanted->lasts || wanted->times));
}

enum iforest_status iforest_cursor_fold_until(struct iforest_cursor *cursor, const struct iforest_key *key,
					      const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	struct iforest_edges edges = { .seen_firsts = 0 };
	struct iforest_wanted without = *wanted;
	enum iforest_status status = IFOREST_OK;
	bool moving = true, done = false;
	unsigned level;

	if (key->ref == INT64_MIN && iforest_wants_sums(wanted, &cursor->manifest->fields))
		status = iforest_cursor_sums_until(cursor, key, wanted, aggregate, &done);
	if (status || done)
		return status;
	if (goes_by_remainders(wanted)) {
		edges.asked = wanted;
		without.filter = NULL;
		wanted = &without;
	}
	while (!status && moving && cursor->leaf_number < cursor->run->n_leaves) {
		if (is_within_row(cursor))
			status = fold_row(cursor, key, wanted, &edges, aggregate);
		if (!status)
			status = fold_step(cursor, key, wanted, &edges, aggregate, &level, &moving);
	}
	return status ? status : iforest_cursor_fold_lasts(cursor, &edges, aggregate);
}

enum iforest_status iforest_cursor_fold_piece(struct iforest_cursor *cursor, const struct iforest_key *key,
					      const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate,
					      unsigned *level, uint64_t *number, bool *at_end)
{
	struct iforest_edges edges = { .seen_firsts = 0 };
	enum iforest_status status = IFOREST_OK;
	bool moving = cursor->leaf_number < cursor->run->n_leaves;

	*level = 0;
	*number = cursor->leaf_number;
	if (moving)
		status = fold_step(cursor, key, wanted, &edges, aggregate, level, &moving);
	for (unsigned k = 1; k < *level; k++)
		*number /= cursor->manifest->fanout;
	*at_end = !moving;
	return status ? status : iforest_cursor_fold_lasts(cursor, &edges, aggregate);
}
