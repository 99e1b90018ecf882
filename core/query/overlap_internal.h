/* overlap_internal.h -- what overlap.c (bucket by bucket) asks of overlap_collect.c (spans are collected while entries are
 * folded). Not for others. */
#ifndef IFOREST_OVERLAP_INTERNAL_H
#define IFOREST_OVERLAP_INTERNAL_H

#include "core/query/overlap_slice.h"

/* The filter that collects what the overlap looks for, to be kept at that place; `inner` says which entries count at all,
 * NULL: all. */
struct iforest_overlap_filter iforest_overlap_collector(struct iforest_overlap *overlap, struct iforest_overlap_filter *place,
							const struct iforest_filter *inner);

#endif
