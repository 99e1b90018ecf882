#include "core/forest/slots.h"

#include "core/base/bits.h"

/* before + the node, into `with`: does the predicate hold? */
static bool holds_with(const struct iforest_forest *forest, unsigned level, uint64_t from,
		       const struct iforest_predicate *predicate, const void *before, void *with)
{
	forest->kind->combine(with, before, iforest_forest_slot(forest, level, from >> level));
	return predicate->holds(predicate->context, with);
}

bool iforest_forest_seek_on(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			    uint64_t *i, void *before, void *with)
{
	uint64_t end = forest->n_leaves;
	bool is_inside = false; /* a node that starts here has been found in which it comes true */
	unsigned level = 0;

	while (from < end) {
		level = is_inside ? level - 1 : iforest_cover_level(from, end);
		if (holds_with(forest, level, from, predicate, before, with)) {
			is_inside = true;
			if (level == 0) {
				*i = from;
				return true;
			}
		} else {
			memcpy(before, with, forest->kind->state_bytes);
			from += UINT64_C(1) << level;
			/* it is the leaf beside it, or, with sums that round, one after that */
			is_inside = is_inside && level > 0;
		}
	}
	return false;
}

bool iforest_forest_seek_first(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			       uint64_t *i, void *before, void *with)
{
	forest->kind->identity(before);
	return iforest_forest_seek_on(forest, from, predicate, i, before, with);
}

/* The node that ends before `end`, + after, into `with`. */
static bool holds_before(const struct iforest_forest *forest, unsigned level, uint64_t end,
			 const struct iforest_predicate *predicate, const void *after, void *with)
{
	forest->kind->combine(with, iforest_forest_slot(forest, level, (end - 1) >> level), after);
	return predicate->holds(predicate->context, with);
}

bool iforest_forest_seek_last(const struct iforest_forest *forest, uint64_t to, const struct iforest_predicate *predicate,
			      uint64_t *i, void *after, void *with)
{
	bool is_inside = false;
	unsigned level = 0;

	forest->kind->identity(after);
	while (to > 0) {
		level = is_inside ? level - 1 : iforest_trailing_zeros(to);
		if (holds_before(forest, level, to, predicate, after, with)) {
			is_inside = true;
			if (level == 0) {
				*i = to - 1;
				return true;
			}
		} else {
			memcpy(after, with, forest->kind->state_bytes);
			to -= UINT64_C(1) << level;
			is_inside = is_inside && level > 0;
		}
	}
	return false;
}
