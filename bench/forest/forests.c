/* bench/forest/forests.c -- Contenders: the library's forests, of a kind of our own. */
#include "bench/forest/structure.h"

#include <stdlib.h>

#include "core/forest/block_forest.h"

static void identity(void *state) { *(struct longest *)state = NO_EVENT; }

static void combine(void *state, const void *left, const void *right)
{
	*(struct longest *)state = longer(*(const struct longest *)left, *(const struct longest *)right);
}

static const struct event *lifted_from; /* lift() gets a sample and nothing else, but an event does not know its position */

static void lift(void *state, const void *sample)
{
	const struct event *event = sample;

	*(struct longest *)state = (struct longest){ event->duration_ns, (uint64_t)(event - lifted_from) };
}

/* Of several the first counts, so that one of the same duration matters if it stands on the left. */
static bool absorbs(const void *state, const void *whole, bool from_left)
{
	int64_t longest_ns = ((const struct longest *)state)->duration_ns,
		other_ns = ((const struct longest *)whole)->duration_ns;

	return from_left ? other_ns < longest_ns : other_ns <= longest_ns;
}

static const struct iforest_monoid kind = { "longest", sizeof(struct longest), identity, lift, combine, absorbs };
static const struct iforest_monoid unsure_kind = { "longest", sizeof(struct longest), identity, lift, combine, NULL };

static void check(enum iforest_status status)
{
	if (status)
		abort();
}

/* ---- a leaf for each block ---- */

struct options {
	const struct iforest_monoid *kind;
	uint64_t block_entries;
	enum iforest_growth growth;
};

static void fold_events(void *context, uint64_t from, uint64_t to, void *state)
{
	struct longest *best = state;

	*best = longest_of(context, from, to, *best);
}

static void *create_blocks(const void *options, const struct event *events)
{
	const struct options *of = options;
	struct iforest_block_forest *blocks = get_memory(NULL, sizeof *blocks);
	struct iforest_entries entries = { .fold = fold_events, .context = (void *)(uintptr_t)events, .array = events,
					   .entry_bytes = sizeof *events, .times = { events, sizeof *events } };

	check(iforest_block_forest_init(blocks, of->kind, &libc_alloc, of->growth, &entries, of->block_entries));
	return blocks;
}

static void extend_blocks(void *self, uint64_t n_events, unsigned n_threads)
{
	check(iforest_block_forest_extend(self, n_events, n_threads));
}

static void destroy_blocks(void *self)
{
	iforest_block_forest_release(self);
	free(self);
}

static uint64_t blocks_bytes(const void *self)
{
	const struct iforest_block_forest *blocks = self;

	return iforest_forest_bytes(blocks->forest.kind, blocks->forest.n_leaves) + blocks->forest.n_leaves * sizeof(int64_t);
}

static uint64_t blocks_moved(const void *self)
{
	const struct iforest_block_forest *blocks = self;

	return blocks->forest.slots.n_moved + blocks->times.n_moved;
}

static struct longest fold_blocks(const void *self, uint64_t from, uint64_t to)
{
	struct longest best;

	iforest_block_forest_fold(self, from, to, &best);
	return best;
}

static void fold_many_blocks(const void *self, const struct iforest_range *ranges, size_t n, struct longest *answers)
{
	iforest_block_forest_fold_many(self, ranges, n, answers);
}

static void zoom_blocks(const void *self, const int64_t *bounds, size_t n_pixels, struct longest *answers)
{
	iforest_block_forest_zoom(self, bounds, n_pixels, answers);
}

#define BLOCKS(kind, block, growth)                                                                                           \
	.appends = true, .has_threads = true, .options = &(const struct options){ kind, block, growth },                      \
	.create = create_blocks, .extend = extend_blocks, .destroy = destroy_blocks, .bytes = blocks_bytes,                   \
	.n_moved = blocks_moved, .fold = fold_blocks, .fold_many = fold_many_blocks, .zoom = zoom_blocks
const struct structure block_forest_16 = { .name = "block forest of 16", BLOCKS(&kind, 16, IFOREST_GROW_IN_PLACE) };
const struct structure block_forest_32 = { .name = "block forest of 32", BLOCKS(&kind, 32, IFOREST_GROW_IN_PLACE) };
const struct structure block_forest_64 = { .name = "block forest of 64", BLOCKS(&kind, 64, IFOREST_GROW_IN_PLACE) };
const struct structure block_forest = { .name = "block forest of 128", BLOCKS(&kind, 128, IFOREST_GROW_IN_PLACE) };
const struct structure block_forest_256 = { .name = "block forest of 256", BLOCKS(&kind, 256, IFOREST_GROW_IN_PLACE) };
const struct structure block_forest_moving = { .name = "128, by moving", BLOCKS(&kind, 128, IFOREST_GROW_BY_MOVING) };
const struct structure block_forest_unsure = { .name = "128, all ends read", BLOCKS(&unsure_kind, 128, IFOREST_GROW_IN_PLACE) };

/* ---- a leaf for each event ---- */

struct plain {
	struct iforest_forest forest;
	const struct event *events;
};

static void *create_plain(const void *options, const struct event *events)
{
	struct plain *plain = get_memory(NULL, sizeof *plain);

	(void)options;
	plain->events = lifted_from = events;
	iforest_forest_init(&plain->forest, &kind, &libc_alloc, IFOREST_GROW_IN_PLACE);
	return plain;
}

static void extend_plain(void *self, uint64_t n_events, unsigned n_threads)
{
	struct plain *plain = self;
	uint64_t n = plain->forest.n_leaves;

	if (n_events == n + 1)
		check(iforest_forest_append(&plain->forest, plain->events + n));
	else
		check(iforest_forest_append_many(&plain->forest, plain->events + n, sizeof *plain->events, n_events - n,
						 n_threads));
}

static void destroy_plain(void *self)
{
	iforest_forest_release(&((struct plain *)self)->forest);
	free(self);
}

static uint64_t plain_bytes(const void *self)
{
	const struct plain *plain = self;

	return iforest_forest_bytes(&kind, plain->forest.n_leaves);
}

static struct longest fold_plain(const void *self, uint64_t from, uint64_t to)
{
	struct longest best;

	iforest_forest_fold(&((const struct plain *)self)->forest, from, to, &best);
	return best;
}

static void fold_many_plain(const void *self, const struct iforest_range *ranges, size_t n, struct longest *answers)
{
	iforest_forest_fold_many(&((const struct plain *)self)->forest, ranges, n, answers);
}

static void zoom_plain(const void *self, const int64_t *bounds, size_t n_pixels, struct longest *answers)
{
	const struct plain *plain = self;
	struct iforest_times times = { plain->events, sizeof *plain->events };

	iforest_forest_zoom(&plain->forest, &times, bounds, n_pixels, answers);
}

const struct structure forest = { .name = "forest, a leaf an event", .appends = true, .has_threads = true,
				  .create = create_plain, .extend = extend_plain, .destroy = destroy_plain,
				  .bytes = plain_bytes, .fold = fold_plain, .fold_many = fold_many_plain, .zoom = zoom_plain };
