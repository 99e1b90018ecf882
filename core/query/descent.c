#include "core/query/descent.h"

/* Places the cursor at the first leaf page under node i of a level. */
static void stand_before(struct iforest_cursor *cursor, unsigned level, uint64_t i)
{
	uint64_t n_leaves = cursor->run->n_leaves;

	for (; level > 1 && i < n_leaves; level--)
		i *= cursor->manifest->fanout;
	iforest_cursor_stand_at(cursor, i < n_leaves ? i : n_leaves, 0, 0);
}

/* Visits a leaf page. The end of the range is reached if the cursor does not leave the page. */
static enum iforest_status visit_leaf(struct iforest_descent *descent, struct iforest_visited_node *node)
{
	struct iforest_cursor *cursor = descent->cursor;
	enum iforest_status status;

	if (!descent->moves)
		return descent->visitor->leaf(descent, node);
	if (cursor->leaf_number != node->i) /* the nodes before did not end here */
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too few nodes", 1,
						     cursor->leaf_number / cursor->manifest->fanout);
	if (node->place == IFOREST_INSIDE && !iforest_node_ends_before(node->bytes, descent->to)) /* it was taken to be */
		node->place = IFOREST_CUT;
	status = descent->visitor->leaf(descent, node);
	descent->is_reached = cursor->leaf_number == node->i;
	return status;
}

static enum iforest_status visit(struct iforest_descent *descent, struct iforest_visited_node *node)
{
	bool open = false;
	enum iforest_status status = descent->visitor->node(descent, node, &open);

	if (status)
		return status;
	if (open)
		return node->level == 1 ? visit_leaf(descent, node) : iforest_descend(descent, node->level - 1, node->i, 0);
	if (descent->moves)
		stand_before(descent->cursor, node->level, node->i + 1);
	return IFOREST_OK;
}

/* Visits nodes of the page pinned on a level. first: the number of its first node. */
static enum iforest_status visit_siblings(struct iforest_descent *descent, const struct iforest_siblings *siblings,
					  uint64_t first)
{
	struct iforest_cursor *cursor = descent->cursor;
	unsigned low = siblings->low, high = siblings->high, level = siblings->level;
	enum iforest_status status = IFOREST_OK;

	for (unsigned k = low; k <= high && !status && !descent->is_done; k = siblings->ends_alone && k < high ? high : k + 1) {
		struct iforest_visited_node node = { .level = level, .i = first + k, .place = IFOREST_INSIDE };

		node.bytes = iforest_cursor_sibling(cursor, level, k);
		if (descent->is_reached) /* although a later sibling begins before the end */
			return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "entries are out of order", 0,
							     cursor->leaf_number);
		if (k == high || (k == low && descent->from))
			node.place = iforest_node_place_of(node.bytes, k == low ? descent->from : NULL, descent->to);
		if (node.place == IFOREST_INSIDE || node.place == IFOREST_CUT)
			status = visit(descent, &node);
		if (k == high && descent->moves)
			descent->is_reached = descent->is_reached || node.place == IFOREST_AFTER ||
					      k + 1u < cursor->path[level].header.n_items;
	}
	return status;
}

enum iforest_status iforest_descend(struct iforest_descent *descent, unsigned level, uint64_t number, unsigned low)
{
	struct iforest_cursor *cursor = descent->cursor;
	uint64_t first = number * cursor->manifest->fanout;
	struct iforest_siblings siblings = { .level = level, .low = low };
	enum iforest_status status = iforest_cursor_pin(cursor, level, number);
	unsigned n = status ? 0 : cursor->path[level].header.n_items;

	if (status)
		return status;
	if (low >= n)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too few nodes", level, number);
	if (descent->visitor->page) {
		descent->visitor->page(descent, &siblings);
	} else {
		if (descent->from)
			siblings.low = iforest_cursor_last_node(cursor, level, low, descent->from, true);
		siblings.high = iforest_cursor_last_node(cursor, level, siblings.low, descent->to, false);
	}
	if (descent->moves && siblings.low > low)
		stand_before(cursor, level, first + siblings.low);
	return visit_siblings(descent, &siblings, first);
}

enum iforest_status iforest_descend_from_root(struct iforest_descent *descent)
{
	const struct iforest_run *run = descent->cursor->run;
	struct iforest_visited_node node = { .level = run->n_levels + 1, .bytes = run->root };

	node.place = iforest_node_place_of(run->root, descent->from, descent->to);
	descent->is_reached = node.place == IFOREST_AFTER;
	return node.place == IFOREST_INSIDE || node.place == IFOREST_CUT ? visit(descent, &node) : IFOREST_OK;
}

/* Visits the rest of the leaf page that the cursor is in. */
static enum iforest_status leave_leaf(struct iforest_descent *descent)
{
	struct iforest_cursor *cursor = descent->cursor;
	struct iforest_visited_node node = { .level = 1, .i = cursor->leaf_number, .place = IFOREST_INSIDE };
	enum iforest_status status = iforest_cursor_node(cursor, 1, node.i, &node.bytes);

	return status ? status : visit_leaf(descent, &node);
}

/* At the start of a leaf page whose node is on the pinned page: visits the leaf page if the end of the range cuts it. */
static enum iforest_status visit_end(struct iforest_descent *descent)
{
	struct iforest_cursor *cursor = descent->cursor;
	const struct iforest_pinned_page *pinned = &cursor->path[1];
	struct iforest_visited_node node = { .level = 1, .i = cursor->leaf_number };
	uint64_t k = node.i - pinned->number * cursor->manifest->fanout;

	if (!pinned->is_pinned || k >= pinned->header.n_items)
		return IFOREST_OK;
	node.bytes = iforest_cursor_sibling(cursor, 1, (unsigned)k);
	node.place = iforest_node_place_of(node.bytes, NULL, descent->to);
	descent->is_reached = node.place == IFOREST_AFTER;
	return node.place == IFOREST_CUT ? visit(descent, &node) : IFOREST_OK;
}

/* At the start of a leaf page: visits the largest node that begins there, and its siblings. */
static enum iforest_status go_on(struct iforest_descent *descent)
{
	struct iforest_cursor *cursor = descent->cursor;
	uint64_t fanout = cursor->manifest->fanout, i = cursor->leaf_number;

	for (unsigned level = 1; level <= cursor->run->n_levels; level++) {
		const struct iforest_pinned_page *pinned = &cursor->path[level];
		uint64_t k = i - pinned->number * fanout, number = pinned->number;

		if (!pinned->is_pinned || k >= fanout) {
			k = i % fanout;
			number = i / fanout;
		}
		if (k > 0)
			return iforest_descend(descent, level, number, (unsigned)k);
		i = number;
	}
	return iforest_descend_from_root(descent);
}

enum iforest_status iforest_descend_forward(struct iforest_descent *descent)
{
	struct iforest_cursor *cursor = descent->cursor;
	enum iforest_status status = IFOREST_OK;

	descent->moves = true;
	descent->is_done = descent->is_reached = false;
	if ((cursor->block > 0 || cursor->entry > 0) && cursor->leaf_number < cursor->run->n_leaves)
		status = leave_leaf(descent);
	if (!status && !descent->is_done && !descent->is_reached && cursor->leaf_number < cursor->run->n_leaves)
		status = visit_end(descent);
	while (!status && !descent->is_done && !descent->is_reached && cursor->leaf_number < cursor->run->n_leaves)
		status = go_on(descent);
	return status;
}
