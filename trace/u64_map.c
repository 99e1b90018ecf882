#include "trace/u64_map.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ENTRIES = 16 };

int trace_budget_take(struct trace_budget *budget, size_t n_bytes)
{
	if (n_bytes > budget->n_left) {
		budget->is_exceeded = true;
		return TRACE_ERROR_LIMIT;
	}
	budget->n_left -= n_bytes;
	return TRACE_OK;
}

void trace_budget_return(struct trace_budget *budget, size_t n_bytes)
{
	budget->n_left += n_bytes;
}

/* Mixes all bits of the key into the hash, and the map's address, so that no file can be made to collide. */
static size_t slot_of(const struct trace_u64_map *map, uint64_t key)
{
	uint64_t hash = key ^ (uint64_t)(uintptr_t)map->entries;

	hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (size_t)(hash ^ (hash >> 31)) & (map->n_allocated - 1);
}

static struct trace_u64_entry *entry_of(const struct trace_u64_map *map, uint64_t key)
{
	size_t slot = slot_of(map, key);

	while (map->entries[slot].is_used && map->entries[slot].key != key)
		slot = (slot + 1) & (map->n_allocated - 1);
	return &map->entries[slot];
}

uint64_t *trace_u64_map_find(const struct trace_u64_map *map, uint64_t key)
{
	struct trace_u64_entry *entry;

	if (map->n_entries == 0)
		return NULL;
	entry = entry_of(map, key);
	return entry->is_used ? &entry->value : NULL;
}

static int grow(struct trace_u64_map *map, struct trace_budget *budget)
{
	struct trace_u64_map larger = { .n_allocated = map->n_allocated ? 2 * map->n_allocated : FIRST_ENTRIES };
	int status = trace_budget_take(budget, larger.n_allocated * sizeof *larger.entries);

	if (status < 0)
		return status;
	larger.entries = calloc(larger.n_allocated, sizeof *larger.entries);
	if (!larger.entries) {
		trace_budget_return(budget, larger.n_allocated * sizeof *larger.entries);
		return TRACE_ERROR_MEMORY;
	}
	for (size_t i = 0; i < map->n_allocated; i++) {
		if (map->entries[i].is_used)
			*entry_of(&larger, map->entries[i].key) = map->entries[i];
	}
	larger.n_entries = map->n_entries;
	trace_u64_map_clear(map, budget);
	*map = larger;
	return TRACE_OK;
}

int trace_u64_map_put(struct trace_u64_map *map, struct trace_budget *budget, uint64_t key, uint64_t **value, bool *is_new)
{
	struct trace_u64_entry *entry;

	*value = trace_u64_map_find(map, key);
	*is_new = !*value;
	if (*value)
		return TRACE_OK;
	if (4 * map->n_entries >= 3 * map->n_allocated) {
		int status = grow(map, budget);

		if (status < 0)
			return status;
	}
	entry = entry_of(map, key);
	*entry = (struct trace_u64_entry){ key, 0, true };
	map->n_entries++;
	*value = &entry->value;
	return TRACE_OK;
}

void trace_u64_map_clear(struct trace_u64_map *map, struct trace_budget *budget)
{
	trace_budget_return(budget, map->n_allocated * sizeof *map->entries);
	free(map->entries);
	*map = (struct trace_u64_map){ 0 };
}

int trace_array_reserve(struct trace_budget *budget, void *array, size_t n_used, size_t *n_allocated, size_t n_bytes_each)
{
	size_t n_more = *n_allocated ? *n_allocated : 4;
	void *old, *larger;
	int status;

	if (n_used < *n_allocated)
		return TRACE_OK;
	status = trace_budget_take(budget, n_more * n_bytes_each);
	if (status < 0)
		return status;
	memcpy(&old, array, sizeof old);
	larger = realloc(old, (*n_allocated + n_more) * n_bytes_each);
	if (!larger) {
		trace_budget_return(budget, n_more * n_bytes_each);
		return TRACE_ERROR_MEMORY;
	}
	memcpy(array, &larger, sizeof larger);
	*n_allocated += n_more;
	return TRACE_OK;
}
