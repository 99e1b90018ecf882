/* query/descent.h -- Descent over the nodes of a run to a key range: which nodes and pages a query visits.
 *
 * A descent calls a visitor for each node that overlaps the range. The visitor takes the node whole, or has it opened: then the
 * nodes of the page below are visited, or the leaf page. A descent begins at a page, at the root or at the cursor's position:
 *
 *   root                     [ node ]                  from the position up, while a node begins where
 *   level 2        [ node ]  [ whole ]  [ node ]       the last one ended; then down to the end of the
 *   level 1   [ node ][ whole ]   [ whole ][ node ]    range, which cuts one leaf page at most
 *   leaf page    position                    end
 *
 * There are two kinds of visitors, by what they do with the nodes of a page:
 *
 *   invertible   counts and sums (fold.c): the siblings on the shorter side of a cut are added up, and the other side is
 *                derived by subtraction
 *   ordered      extremes (extremes.c), by branch and bound: all siblings are checked before any is opened, because the best
 *                value so far excludes most of them
 *
 * All other visitors (longest.c, sketch_scan.c, other folds) take siblings one by one.
 */
#ifndef IFOREST_QUERY_DESCENT_H
#define IFOREST_QUERY_DESCENT_H

#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"

/* Where a node lies relative to a range. */
enum iforest_node_place { IFOREST_BEFORE, IFOREST_INSIDE, IFOREST_CUT, IFOREST_AFTER };

static inline bool iforest_node_ends_before(const uint8_t *node, const struct iforest_key *key)
{
	struct iforest_key last = iforest_node_last(node);

	return iforest_key_compare(&last, key) < 0;
}

/* Compares a node's keys with [from, to). from is NULL if the node is known to begin in the range. */
static inline enum iforest_node_place iforest_node_place_of(const uint8_t *node, const struct iforest_key *from,
							    const struct iforest_key *to)
{
	struct iforest_key first = iforest_node_first(node);

	if (from && iforest_node_ends_before(node, from))
		return IFOREST_BEFORE;
	if (iforest_key_compare(&first, to) >= 0)
		return IFOREST_AFTER;
	if (!iforest_node_ends_before(node, to))
		return IFOREST_CUT;
	return from && iforest_key_compare(&first, from) < 0 ? IFOREST_CUT : IFOREST_INSIDE;
}

/* Node i of a level, which overlaps the range. The bytes are valid while the page is pinned. */
struct iforest_visited_node {
	unsigned level;
	uint64_t i;
	const uint8_t *bytes;
	enum iforest_node_place place; /* IFOREST_INSIDE or IFOREST_CUT */
};

/* The nodes [low, high] to visit on the page pinned on a level. */
struct iforest_siblings {
	unsigned level, low, high;
	bool ends_alone; /* only low and high */
};

struct iforest_descent;

struct iforest_visitor {
	/* Optional. Gets the level of the pinned page and its first node `low`, and sets the other members. May take nodes by
	 * moving `low` past them. By default all nodes that overlap the range are visited. */
	void (*page)(struct iforest_descent *descent, struct iforest_siblings *siblings);

	/* Takes a node whole, or sets *open to have the page below it visited next. May pin pages below it. */
	enum iforest_status (*node)(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open);

	/* Takes the part of a leaf page in the range, given its node. If the cursor moves: from its position on, and moves
	 * it. */
	enum iforest_status (*leaf)(struct iforest_descent *descent, const struct iforest_visited_node *node);
};

struct iforest_descent {
	const struct iforest_visitor *visitor;
	void *context; /* the visitor's */
	struct iforest_cursor *cursor;
	const struct iforest_key *from, *to; /* [from, to); from is NULL if the cursor moves */
	bool is_done;			     /* the visitor sets it to end the descent */
	/* set by iforest_descend_forward() */
	bool moves;	 /* the cursor is after the last entry visited */
	bool is_reached; /* the end of the range */
};

/* Visits the nodes of page `number` of a level, from node `low` on.
 * Errors  as iforest_cursor_seek(), those of the visitor. */
enum iforest_status iforest_descend(struct iforest_descent *descent, unsigned level, uint64_t number, unsigned low);

/* Visits the root.
 * Errors  as iforest_descend(). */
enum iforest_status iforest_descend_from_root(struct iforest_descent *descent);

/* Visits the entries from the cursor's position up to `to` by as few nodes as possible, and moves the cursor there.
 * Cost    two pages per level for the whole range; the cursor keeps one per level pinned.
 * Errors  as iforest_descend(). */
enum iforest_status iforest_descend_forward(struct iforest_descent *descent);

#endif
