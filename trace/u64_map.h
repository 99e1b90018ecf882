/* trace/u64_map.h -- Hash map from 64-bit keys to 64-bit values, whose memory is drawn from a budget.
 *
 * Files choose the keys, so hashes include the map's address, which files cannot know. The order of entries is undefined.
 */
#ifndef IFOREST_U64_MAP_H
#define IFOREST_U64_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

/* Bytes that a reader may allocate for the state of a file. */
struct trace_budget {
	size_t n_left;
	bool is_exceeded; /* bytes were refused */
};

/* Takes bytes. Returns TRACE_OK, or TRACE_ERROR_LIMIT if fewer are left. */
int trace_budget_take(struct trace_budget *budget, size_t n_bytes);
void trace_budget_return(struct trace_budget *budget, size_t n_bytes);

struct trace_u64_entry {
	uint64_t key, value;
	bool is_used;
};

/* All zero is an empty map. */
struct trace_u64_map {
	struct trace_u64_entry *entries; /* owned; a power of two */
	size_t n_entries, n_allocated;
};

/* The value of a key, or NULL; valid until the map changes. O(1) expected, as all here. */
uint64_t *trace_u64_map_find(const struct trace_u64_map *map, uint64_t key);

/* Finds a key, or adds it with the value 0. TRACE_OK, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. */
int trace_u64_map_put(struct trace_u64_map *map, struct trace_budget *budget, uint64_t key, uint64_t **value, bool *is_new);

/* Removes all entries, and returns the memory to the budget. */
void trace_u64_map_clear(struct trace_u64_map *map, struct trace_budget *budget);

/* Makes room for one more element of an array that belongs to a budget: *n_allocated grows if it must.
 * TRACE_OK, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. Amortised O(1). */
int trace_array_reserve(struct trace_budget *budget, void *array, size_t n_used, size_t *n_allocated, size_t n_bytes_each);

#endif
