/* private */
#ifndef IFOREST_FOLD_INTERNAL_H
#define IFOREST_FOLD_INTERNAL_H

#include "core/query/fold.h"
#include "core/query/cursor_remainder.h"

/* iforest_cursor_fold_until() where sums are all that is wanted (iforest_wants_sums()), in a fraction of its instructions;
 * *done is false where it has to go on from where the cursor then stands.
 * Requires  key->ref is INT64_MIN: then what a node says of its last entry tells on which side of the key that is. */
enum iforest_status iforest_cursor_sums_until(struct iforest_cursor *cursor, const struct iforest_key *key,
					      const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate,
					      bool *done);

/* Nodes know neither first nor last rows. Of the nodes that a fold uses whole only the first and the last that hold such a row
 * can matter: the first is looked into at once, the last is noted here and looked into at the end. */
struct iforest_edges {
	uint32_t seen_firsts, seen_time;     /* a first row of column v, a time: later ones do not matter */
	uint32_t open_lasts, open_last_time; /* the last one so far lies in the node noted */
	struct { unsigned level; uint64_t i; } last[IFOREST_MAX_VALUES], last_time;
	bool has_nodes;                      /* a node was used: so the range is wide, and the next one too, as a rule */
	/* of a fold by what is left of pages, what was asked: what is passed on has no filter. NULL: of others */
	const struct iforest_wanted *asked;
};

/* Passes what of the leaf page in which the cursor stands lies before the key. */
enum iforest_status iforest_cursor_fold_leaf(struct iforest_cursor *cursor, const struct iforest_key *key,
					     const struct iforest_wanted *wanted, struct iforest_edges *edges,
					     struct iforest_aggregate *aggregate);

/* Adds node i of a level, which lies below the target as a whole; at the end of the fold, the last rows that were noted.
 * Cost  a page a level where a first or last row is looked into. */
enum iforest_status iforest_cursor_fold_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t *node,
					     const struct iforest_wanted *wanted, struct iforest_edges *edges,
					     struct iforest_aggregate *aggregate);
enum iforest_status iforest_cursor_fold_lasts(struct iforest_cursor *cursor, const struct iforest_edges *edges,
					      struct iforest_aggregate *aggregate);

#endif
