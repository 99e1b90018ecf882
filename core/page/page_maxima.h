/* page/page_maxima.h -- Cached maxima of a page, one per block or child node, so that a range maximum needs no decoding.
 *
 * They are no part of the page: whoever keeps pages in memory may keep room for them.
 *
 *   of a leaf page   of each block its first time, its greatest value and the row in which that stands. What nodes are to pages
 *                    they are to blocks: a range's longest span is found among them, and a block is opened only where a bound
 *                    cuts it and its maximum lies on the other side
 *   of a node page   of each node its first time and its greatest value: a node is read only where it may have the answer
 *
 * Of the duration, or of the first value column without one. A page has them that holds one series, times that are not NULL,
 * and in each block, or under each node, a number at least; a leaf page, of which nothing is removed.
 */
#ifndef IFOREST_PAGE_PAGE_MAXIMA_H
#define IFOREST_PAGE_PAGE_MAXIMA_H

#include "core/page/leaf.h"
#include "core/page/node.h"

enum { IFOREST_MAX_BLOCK_MAXIMA = 16, IFOREST_MAX_NODE_MAXIMA = 40 }; /* blocks, and nodes, of a page that has maxima */

struct iforest_block_maximum {
	int64_t first_time;	  /* of the block */
	int64_t value, time, ref; /* of its greatest value; of several the earliest, then the lowest ref */
	int64_t latest_end;	  /* of its spans, at INT64_MAX saturated, as in a node; where values are durations */
};

/* Room for the maxima of a page, kept with it. Zeros at first. Several threads may ask at once: one makes them. */
struct iforest_page_maxima {
	uint8_t state; /* maxima.c */
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

/* The value column that has maxima; IFOREST_NO_VALUE: none has. */
unsigned iforest_page_maxima_value(const struct iforest_node_schema *fields);

/* Makes them unless they are there.
 * Requires  the room is that of the leaf's page, and its bytes were checked.
 * Returns   whether it has them. No, too, while another thread makes them.
 * Cost      the first time all entries are unpacked, then one load. */
bool iforest_leaf_has_maxima(const struct iforest_leaf *leaf, struct iforest_page_maxima *room);

/* The same of a node page that was checked.
 * Cost  the first time all of its nodes are read, then one load. */
bool iforest_node_page_has_maxima(const uint8_t *page, const struct iforest_page_header *header,
				  const struct iforest_node_schema *fields, struct iforest_page_maxima *room);

/* Were they made before? */
bool iforest_page_maxima_are_there(const struct iforest_page_maxima *room);

#endif
