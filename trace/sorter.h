/* trace/sorter.h -- Sorter of records by their keys, in bounded memory: sorted runs in a temporary file, merged at the end.
 *
 *     while (...)
 *         status = trace_sorter_add(sorter, key, data);
 *     status = trace_sorter_sort(sorter);
 *     while (status == TRACE_OK && (status = trace_sorter_next(sorter, &record)) == TRACE_ROW)
 *         ...
 *
 * Keys are compared by memcmp; a prefix sorts before the longer key. Nothing is written to disk if all fits into memory. The
 * file has no name, and is gone when the process ends. */
#ifndef IFOREST_SORTER_H
#define IFOREST_SORTER_H

#include "trace/record.h"

struct trace_sorter;

struct trace_sorted_record {
	struct trace_text key, data; /* valid until the next call */
};

/* A sorter that holds about memory_bytes of records and what it needs to sort them; NULL if out of memory. */
struct trace_sorter *trace_sorter_new(size_t memory_bytes);
void trace_sorter_free(struct trace_sorter *sorter); /* NULL is allowed */

/* Copies a record. Requires: equal keys are not added, or their order does not matter.
 * Returns: TRACE_OK, TRACE_ERROR_MEMORY, TRACE_ERROR_TEMPORARY, TRACE_ERROR_LIMIT if the record has 2^31 bytes. */
int trace_sorter_add(struct trace_sorter *sorter, struct trace_text key, struct trace_text data);

/* The same, of packed key and data; TRACE_ERROR_MEMORY too where these are out of memory. */
int trace_sorter_add_record(struct trace_sorter *sorter, const struct trace_record *key, const struct trace_record *data);

/* Sorts the records; none may be added afterwards. The same errors. O(n log n) for n records, O(n) if they were added in
 * order. */
int trace_sorter_sort(struct trace_sorter *sorter);

/* The next record in order: TRACE_ROW, TRACE_OK behind the last one, or an error as above. O(log runs). */
int trace_sorter_next(struct trace_sorter *sorter, struct trace_sorted_record *record);

/* Why the temporary file failed. */
const char *trace_sorter_problem(const struct trace_sorter *sorter);

#endif
