/* query/split_scan.h -- Aggregates of the entries of a key range, grouped by the values of some value columns.
 *
 * A column is grouped by its values, or by the steps between bounds:
 *
 *   status                    a class for each status; one for NULL
 *   took, bounds 10 and 500   step 0 up to 10, step 1 above 10 and up to 500, step 2 above 500; step 3 is NULL
 *
 * A split can be used for one range after another, and keeps its memory:
 *
 *   iforest_split_init(&split, alloc, &manifest.fields, columns, n_columns);
 *   for (each range) {
 *           iforest_split_clear(&split);
 *           iforest_scan_split(&scan, &from, &to, &request, &split);
 *           for (size_t i = 0; i < split.n; i++) ... split.classes[i]->aggregate ...
 *   }
 *   iforest_split_release(&split);
 */
#ifndef IFOREST_QUERY_SPLIT_SCAN_H
#define IFOREST_QUERY_SPLIT_SCAN_H

#include "core/query/scan.h"

struct iforest_split_column {
	unsigned value;			    /* the value column */
	const union iforest_number *bounds; /* ascending, of the column's type; NULL: each value is a class */
	unsigned n_bounds;
};

struct iforest_split_class {
	union iforest_number
		numbers[IFOREST_MAX_VALUES]; /* of each column: its value, or its step as an integer; 0 for the value NULL */
	uint32_t nulls;			     /* bit c: column c is NULL */
	uint64_t which;			     /* bits of its entries in the block being read */
	struct iforest_aggregate *aggregate;
};

struct iforest_split {
	const struct iforest_alloc *alloc;
	const struct iforest_node_schema *fields;
	const struct iforest_split_column *columns;
	unsigned n_columns;
	struct iforest_split_class **classes; /* in any order */
	size_t n;			      /* classes in use; those after them are kept for reuse */
	size_t n_made, n_reserved;
	uint32_t *slots; /* hash table of class numbers plus 1; n_slots is 0 or a power of two */
	size_t n_slots;
};

/* Prepares a split that has no classes. Columns and their bounds must outlive it.
 * Requires  n_columns <= IFOREST_MAX_VALUES. */
void iforest_split_init(struct iforest_split *split, const struct iforest_alloc *alloc,
			const struct iforest_node_schema *fields, const struct iforest_split_column *columns,
			unsigned n_columns);
void iforest_split_release(struct iforest_split *split);

/* Removes all classes, and keeps their memory. */
void iforest_split_clear(struct iforest_split *split);

/* Adds the live entries in [from, to), over all runs of the scan, to the requested aggregates of their classes. The request's
 * filter applies to the scan's own runs only. The scan keeps its position.
 * Requires  with request->times, firsts or lasts: the range is of one series, and either all or none have a time; neither
 *           extremes_alone nor node_fields.
 * Cost      the leaf pages of the range are read, except under nodes all of one class.
 * Errors    as iforest_cursor_seek(), and those of the filter; IFOREST_NO_MEMORY. */
enum iforest_status iforest_scan_split(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
				       const struct iforest_request *request, struct iforest_split *split);

#endif
