/* page/page_maxima.h -- Cached maxima of a page, one per block or child node, so that a range maximum needs no decoding.
 *
 * They are not part of the page: an engine that caches pages may keep room for them beside each page.
 *
 *   of a leaf page   per block: first time, greatest value and its row. They are to blocks what nodes are to pages: a range's
 *                    longest span is found among them, and a block is opened only if its maximum lies outside the range
 *   of a node page   per node: first time and greatest value. A node is read only if it may have the answer
 *
 * The value is the duration, or the first value column of an index without durations. A page has maxima only if it is of one
 * series, its times are not NULL, and each block or node has a number; a leaf page, only if no entry is removed.
 */
#ifndef IFOREST_PAGE_PAGE_MAXIMA_H
#define IFOREST_PAGE_PAGE_MAXIMA_H

#include "core/page/leaf.h"
#include "core/page/node.h"

enum { IFOREST_MAX_BLOCK_MAXIMA = 16, IFOREST_MAX_NODE_MAXIMA = 40 }; /* blocks, and nodes, of a page that has maxima */

struct iforest_block_maximum {
	int64_t first_time;	  /* of the block */
	int64_t value, time, ref; /* greatest value and its row; of several the earliest, then the lowest ref */
	int64_t latest_end;	  /* of its spans, saturated at INT64_MAX as in a node; if values are durations */
};

static inline struct iforest_extreme iforest_block_maximum_row(const struct iforest_block_maximum *maximum)
{
	return (struct iforest_extreme){
		.value.integer = maximum->value, .time = maximum->time, .ref = maximum->ref, .is_set = true
	};
}

/* Room for the maxima of a page, kept beside it; zeros at first. If several threads ask at once, one computes them. */
struct iforest_page_maxima {
	uint8_t state; /* private to page_maxima.c */
	uint8_t n;     /* blocks, or nodes */
	uint32_t series;
	int64_t last_time; /* of the page */
	union {
		struct iforest_block_maximum blocks[IFOREST_MAX_BLOCK_MAXIMA];
		struct {
			int64_t first_times[IFOREST_MAX_NODE_MAXIMA], values[IFOREST_MAX_NODE_MAXIMA];
		} nodes;
	};
};

/* Returns the value column that has maxima; IFOREST_NO_VALUE: none has. */
unsigned iforest_page_maxima_value(const struct iforest_node_schema *fields);

/* Computes the maxima of a leaf page, unless this was done before.
 * Requires  the room of the leaf's page, which is checked.
 * Returns   true if it has maxima; false also while another thread computes them.
 * Cost      the first time all entries are unpacked, then one load. */
bool iforest_leaf_has_maxima(const struct iforest_leaf *leaf, struct iforest_page_maxima *room);

/* Computes the maxima of a checked node page, likewise.
 * Cost  the first time all of its nodes are read, then one load. */
bool iforest_node_page_has_maxima(const uint8_t *page, const struct iforest_page_header *header,
				  const struct iforest_node_schema *fields, struct iforest_page_maxima *room);

/* True if the page has maxima already. */
bool iforest_page_maxima_are_there(const struct iforest_page_maxima *room);

#endif
