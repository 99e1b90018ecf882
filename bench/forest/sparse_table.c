/* bench/forest/sparse_table.c -- Contender: a sparse table, whose row k has for each block where the longest event of 2^k
 * blocks from there on is.
 *
 * Any range is the union of two that overlap, which a maximum may (Bender and Farach-Colton, "The LCA problem revisited",
 * 2000). n log2 n positions, of 4 bytes so that 10^6 events need no more than 80 bytes each; over blocks of 32 it is made
 * for any size.
 */
#include "bench/forest/structure.h"

#include <stdlib.h>

enum { MOST_ROWS = 32 };

struct table {
	const struct event *events;
	uint64_t block, n_blocks;
	uint32_t *rows[MOST_ROWS];
	unsigned n_rows;
};

static void *create(const void *options, const struct event *events)
{
	struct table *table = get_memory(NULL, sizeof *table);

	*table = (struct table){ .events = events, .block = *(const unsigned *)options };
	return table;
}

static inline uint32_t longer_event(const struct table *table, uint32_t left, uint32_t right)
{
	return table->events[right].duration_ns > table->events[left].duration_ns ? right : left;
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	struct table *table = self;

	(void)n_threads;
	table->n_blocks = n_events / table->block;
	for (; UINT64_C(1) << table->n_rows <= table->n_blocks; table->n_rows++) {
		uint64_t width = UINT64_C(1) << table->n_rows, n = table->n_blocks - width + 1;
		uint32_t *row = table->rows[table->n_rows] = get_memory(NULL, n * sizeof *row);
		const uint32_t *below = table->n_rows ? table->rows[table->n_rows - 1] : NULL;

		for (uint64_t i = 0; i < n; i++)
			row[i] = below ? longer_event(table, below[i], below[i + width / 2])
				       : (uint32_t)longest_of(table->events, i * table->block, (i + 1) * table->block,
							      NO_EVENT).position;
	}
}

static void destroy(void *self)
{
	struct table *table = self;

	for (unsigned k = 0; k < table->n_rows; k++)
		free(table->rows[k]);
	free(table);
}

static uint64_t bytes(const void *self)
{
	const struct table *table = self;
	uint64_t n = 0;

	for (unsigned k = 0; k < table->n_rows; k++)
		n += table->n_blocks - (UINT64_C(1) << k) + 1;
	return n * sizeof **table->rows;
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	const struct table *table = self;
	uint64_t first = (from + table->block - 1) / table->block, last = to / table->block;
	struct longest best = NO_EVENT;
	unsigned k;
	uint32_t middle;

	if (first >= last)
		return longest_of(table->events, from, to, best);
	best = longest_of(table->events, from, first * table->block, best);
	k = 63 - (unsigned)__builtin_clzll(last - first);
	middle = longer_event(table, table->rows[k][first], table->rows[k][last - (UINT64_C(1) << k)]);
	best = longer(best, (struct longest){ table->events[middle].duration_ns, middle });
	return longest_of(table->events, last * table->block, to, best);
}

static const unsigned one = 1, thirty_two = 32;

#define SPARSE_TABLE .create = create, .extend = extend, .destroy = destroy, .bytes = bytes, .fold = fold
const struct structure sparse_table = { .name = "sparse table", .most_events = 1000000, .options = &one, SPARSE_TABLE };
const struct structure sparse_table_of_blocks = {
	.name = "sparse table of 32s", .most_events = UINT32_MAX, .options = &thirty_two, SPARSE_TABLE
};
