/* bench/forest/sums.c -- Contenders for sums of durations: a Fenwick tree and an array of prefix sums.
 *
 * A Fenwick tree and an array of prefix sums answer by subtracting two prefixes, which a maximum does not allow; the tree
 * also allows a duration to change. Beside them the block forest, which never subtracts.
 */
#include "bench/forest/structure.h"

#include <stdlib.h>

#include "core/forest/block_forest.h"

struct prefixes {
	uint64_t *sums, n;
};

static struct prefixes *create_prefixes(uint64_t n)
{
	struct prefixes *prefixes = get_memory(NULL, sizeof *prefixes);

	*prefixes = (struct prefixes){ get_memory(NULL, (n + 1) * sizeof *prefixes->sums), n };
	prefixes->sums[0] = 0;
	return prefixes;
}

static void destroy_prefixes(void *self)
{
	free(((struct prefixes *)self)->sums);
	free(self);
}

static uint64_t prefixes_bytes(const void *self)
{
	return (((const struct prefixes *)self)->n + 1) * sizeof(uint64_t);
}

/* ---- Fenwick, "A new data structure for cumulative frequency tables", 1994: sums[i] is of the events (i - (i & -i), i]
 * ---- */

static void *create_fenwick(const struct event *events, uint64_t n)
{
	struct prefixes *tree = create_prefixes(n);

	for (uint64_t i = 1; i <= n; i++)
		tree->sums[i] = events[i - 1].duration_ns;
	for (uint64_t i = 1; i <= n; i++) {
		uint64_t above = i + (i & -i);

		if (above <= n)
			tree->sums[above] += tree->sums[i];
	}
	return tree;
}

static uint64_t fenwick_sum(const void *self, uint64_t from, uint64_t to)
{
	const uint64_t *sums = ((const struct prefixes *)self)->sums;
	uint64_t sum = 0;

	for (; to > from; to &= to - 1)
		sum += sums[to];
	for (; from > to; from &= from - 1)
		sum -= sums[from];
	return sum;
}

/* ---- prefix sums ---- */

static void *create_sums(const struct event *events, uint64_t n)
{
	struct prefixes *prefixes = create_prefixes(n);

	for (uint64_t i = 0; i < n; i++)
		prefixes->sums[i + 1] = prefixes->sums[i] + events[i].duration_ns;
	return prefixes;
}

static uint64_t difference(const void *self, uint64_t from, uint64_t to)
{
	const struct prefixes *prefixes = self;

	return prefixes->sums[to] - prefixes->sums[from];
}

/* ---- the block forest ---- */

static void identity(void *state) { *(uint64_t *)state = 0; }

static void combine(void *state, const void *left, const void *right)
{
	*(uint64_t *)state = *(const uint64_t *)left + *(const uint64_t *)right;
}

static void add_durations(void *context, uint64_t from, uint64_t to, void *state)
{
	const struct event *events = context;
	uint64_t sum = 0;

	for (uint64_t i = from; i < to; i++)
		sum += events[i].duration_ns;
	*(uint64_t *)state += sum;
}

static const struct iforest_monoid sum_kind = { "sum", sizeof(uint64_t), identity, NULL, combine, NULL };

static void *create_blocks(const struct event *events, uint64_t n)
{
	struct iforest_block_forest *blocks = get_memory(NULL, sizeof *blocks);
	struct iforest_entries entries = { .fold = add_durations, .context = (void *)(uintptr_t)events, .array = events,
					   .entry_bytes = sizeof *events };

	if (iforest_block_forest_init(blocks, &sum_kind, &libc_alloc, IFOREST_GROW_IN_PLACE, &entries, 0) ||
	    iforest_block_forest_extend(blocks, n, 1))
		abort();
	return blocks;
}

static void destroy_blocks(void *self)
{
	iforest_block_forest_release(self);
	free(self);
}

static uint64_t blocks_bytes(const void *self)
{
	const struct iforest_block_forest *blocks = self;

	return iforest_forest_bytes(blocks->forest.kind, blocks->forest.n_leaves);
}

static uint64_t blocks_sum(const void *self, uint64_t from, uint64_t to)
{
	uint64_t sum;

	iforest_block_forest_fold(self, from, to, &sum);
	return sum;
}

const struct sum_structure fenwick_tree = { "Fenwick tree", create_fenwick, destroy_prefixes, prefixes_bytes, fenwick_sum };
const struct sum_structure prefix_sums = { "prefix sums", create_sums, destroy_prefixes, prefixes_bytes, difference };
const struct sum_structure sum_block_forest = { "block forest of 128", create_blocks, destroy_blocks, blocks_bytes,
						blocks_sum };
