#include "core/forest/forest.h"

#include "core/base/bits.h"
#include "core/base/platform.h"
#include "core/forest/slots.h"

/* True if the predicate holds for before + the node, written to `with`. */
static bool holds_with(const struct iforest_forest *forest, unsigned level, uint64_t from,
		       const struct iforest_predicate *predicate, const void *before, void *with)
{
	forest->kind->combine(with, before, iforest_forest_slot(forest, level, from >> level));
	return predicate->holds(predicate->context, with);
}

bool iforest_forest_seek_on(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			    uint64_t *i, void *before, void *with)
{
	uint64_t end = forest->n_leaves;
	bool is_inside = false; /* a node that begins here makes it true */
	unsigned level = 0;

	while (from < end) {
		level = is_inside ? level - 1 : iforest_cover_level(from, end);
		if (holds_with(forest, level, from, predicate, before, with)) {
			is_inside = true;
			if (level == 0) {
				*i = from;
				return true;
			}
		} else {
			memcpy(before, with, forest->kind->state_bytes);
			from += UINT64_C(1) << level;
			/* it is the leaf beside it, or, with sums that round, one after that */
			is_inside = is_inside && level > 0;
		}
	}
	return false;
}

bool iforest_forest_seek_first(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			       uint64_t *i, void *before, void *with)
{
	forest->kind->identity(before);
	return iforest_forest_seek_on(forest, from, predicate, i, before, with);
}

/* True if the predicate holds for the node that ends before `end` + after, written to `with`. */
static bool holds_before(const struct iforest_forest *forest, unsigned level, uint64_t end,
			 const struct iforest_predicate *predicate, const void *after, void *with)
{
	forest->kind->combine(with, iforest_forest_slot(forest, level, (end - 1) >> level), after);
	return predicate->holds(predicate->context, with);
}

bool iforest_forest_seek_last(const struct iforest_forest *forest, uint64_t to, const struct iforest_predicate *predicate,
			      uint64_t *i, void *after, void *with)
{
	bool is_inside = false;
	unsigned level = 0;

	forest->kind->identity(after);
	while (to > 0) {
		level = is_inside ? level - 1 : iforest_trailing_zeros(to);
		if (holds_before(forest, level, to, predicate, after, with)) {
			is_inside = true;
			if (level == 0) {
				*i = to - 1;
				return true;
			}
		} else {
			memcpy(after, with, forest->kind->state_bytes);
			to -= UINT64_C(1) << level;
			is_inside = is_inside && level > 0;
		}
	}
	return false;
}

/* ---- Appending and folding ---- */

enum { AHEAD = 8, BUCKETS_AT_ONCE = 64 };
enum { LEAST_CHUNK_LEVEL = 6, CHUNKS_OF_A_THREAD = 8 };

void iforest_forest_init(struct iforest_forest *forest, const struct iforest_monoid *kind, const struct iforest_alloc *alloc,
			 enum iforest_growth growth)
{
	*forest = (struct iforest_forest){ .kind = kind };
	iforest_arena_init(&forest->slots, alloc, growth);
}

void iforest_forest_release(struct iforest_forest *forest)
{
	if (!forest->is_mapped)
		iforest_arena_release(&forest->slots);
	iforest_forest_init(forest, forest->kind, forest->slots.alloc, forest->slots.growth);
}

/* ---- Appending ---- */

static enum iforest_status reserve(struct iforest_forest *forest, uint64_t n_leaves)
{
	size_t n_bytes;

	if (forest->is_mapped)
		return IFOREST_ARGUMENT;
	if (n_leaves > UINT64_MAX / 2 || __builtin_mul_overflow(2 * n_leaves, forest->kind->state_bytes, &n_bytes))
		return IFOREST_NO_MEMORY;
	return iforest_arena_reserve(&forest->slots, n_bytes);
}

/* Combines the nodes of levels (above, up to] whose last leaf this is. */
static inline void complete(const struct iforest_forest *forest, uint64_t leaf, unsigned above, unsigned up_to)
{
	unsigned n_completed = iforest_levels_completed(leaf);

	for (unsigned level = above + 1; level <= n_completed && level <= up_to; level++) {
		uint64_t group = leaf >> level;

		forest->kind->combine(iforest_forest_slot(forest, level, group),
				      iforest_forest_slot(forest, level - 1, 2 * group),
				      iforest_forest_slot(forest, level - 1, 2 * group + 1));
	}
}

enum iforest_status iforest_forest_append(struct iforest_forest *forest, const void *sample)
{
	uint64_t leaf = forest->n_leaves;
	enum iforest_status status = reserve(forest, leaf + 1);

	if (status)
		return status;
	forest->kind->lift(iforest_forest_slot(forest, 0, leaf), sample);
	complete(forest, leaf, 0, UINT8_MAX);
	forest->n_leaves++;
	return IFOREST_OK;
}

/* A subtree of 2^level leaves is a chunk, and one thread's own. */
struct building {
	const struct iforest_leaf_maker *maker;
	uint64_t first_chunk, n_chunks;
	unsigned level, n_threads;
};

static void make_leaves(const struct iforest_leaf_maker *maker, uint64_t from, uint64_t to, unsigned up_to)
{
	for (uint64_t leaf = from; leaf < to; leaf++) {
		maker->make(maker, leaf, iforest_forest_slot(maker->forest, 0, leaf));
		complete(maker->forest, leaf, 0, up_to);
	}
}

static void build_chunks(void *context, unsigned thread)
{
	const struct building *building = context;

	for (uint64_t c = building->first_chunk + thread; c < building->first_chunk + building->n_chunks;
	     c += building->n_threads)
		make_leaves(building->maker, c << building->level, (c + 1) << building->level, building->level);
}

/* Cuts [from, to) into chunks, enough that threads end at about the same time. */
static struct building plan(const struct iforest_leaf_maker *maker, uint64_t from, uint64_t to, unsigned n_threads)
{
	struct building building = { .maker = maker, .n_threads = n_threads };

	building.level = iforest_bit_width((to - from) / (CHUNKS_OF_A_THREAD * n_threads));
	if (building.level < LEAST_CHUNK_LEVEL)
		building.level = LEAST_CHUNK_LEVEL;
	building.first_chunk = (from + iforest_low_bits(building.level)) >> building.level;
	if (to >> building.level > building.first_chunk)
		building.n_chunks = (to >> building.level) - building.first_chunk;
	return building;
}

enum iforest_status iforest_forest_extend(struct iforest_forest *forest, uint64_t n_leaves,
					  const struct iforest_leaf_maker *maker, unsigned n_threads)
{
	uint64_t from = forest->n_leaves;
	enum iforest_status status =
		n_threads >= 1 && n_threads <= IFOREST_MAX_THREADS ? reserve(forest, n_leaves) : IFOREST_ARGUMENT;
	struct building building;

	if (status)
		return status;
	if (n_threads > 1) {
		building = plan(maker, from, n_leaves, n_threads);
		if (building.n_chunks > 1) {
			make_leaves(maker, from, building.first_chunk << building.level, UINT8_MAX);
			iforest_run_threads(n_threads, build_chunks, &building);
			from = (building.first_chunk + building.n_chunks) << building.level;
			for (uint64_t c = building.first_chunk + 1; c <= building.first_chunk + building.n_chunks; c++)
				complete(forest, (c << building.level) - 1, building.level, UINT8_MAX);
		}
	}
	make_leaves(maker, from, n_leaves, UINT8_MAX);
	forest->n_leaves = n_leaves;
	return IFOREST_OK;
}

static void lift_sample(const struct iforest_leaf_maker *maker, uint64_t leaf, void *state)
{
	maker->forest->kind->lift(state, maker->samples + (leaf - maker->first) * maker->sample_bytes);
}

enum iforest_status iforest_forest_append_many(struct iforest_forest *forest, const void *samples, size_t sample_bytes,
					       uint64_t n, unsigned n_threads)
{
	struct iforest_leaf_maker maker = { .make = lift_sample,
					    .forest = forest,
					    .samples = samples,
					    .sample_bytes = sample_bytes,
					    .first = forest->n_leaves };

	if (n > UINT64_MAX - forest->n_leaves)
		return IFOREST_NO_MEMORY;
	return iforest_forest_extend(forest, forest->n_leaves + n, &maker, n_threads);
}

/* ---- Changing ---- */

void iforest_forest_renew(struct iforest_forest *forest, uint64_t i)
{
	for (unsigned level = 1; level < 64 && ((i >> level) + 1) << level <= forest->n_leaves; level++) {
		uint64_t group = i >> level;

		forest->kind->combine(iforest_forest_slot(forest, level, group),
				      iforest_forest_slot(forest, level - 1, 2 * group),
				      iforest_forest_slot(forest, level - 1, 2 * group + 1));
	}
}

enum iforest_status iforest_forest_update(struct iforest_forest *forest, uint64_t i, const void *sample)
{
	if (forest->is_mapped)
		return IFOREST_ARGUMENT;
	forest->kind->lift(iforest_forest_slot(forest, 0, i), sample);
	iforest_forest_renew(forest, i);
	return IFOREST_OK;
}

enum iforest_status iforest_forest_truncate(struct iforest_forest *forest, uint64_t n_leaves)
{
	if (forest->is_mapped)
		return IFOREST_ARGUMENT;
	forest->n_leaves = n_leaves;
	return IFOREST_OK;
}

/* ---- Folding ---- */

void iforest_forest_fold(const struct iforest_forest *forest, uint64_t from, uint64_t to, void *state)
{
	forest->kind->identity(state);
	iforest_forest_add(forest, from, to, state);
}

void iforest_forest_fold_many(const struct iforest_forest *forest, const struct iforest_range *ranges, size_t n, void *states)
{
	struct iforest_listed listed[AHEAD];
	uint8_t *state = states;

	for (size_t i = 0; i < n + AHEAD; i++) {
		struct iforest_listed *covered = &listed[i % AHEAD];

		if (i >= AHEAD) {
			forest->kind->identity(state);
			iforest_forest_add_listed(forest, covered, state);
			state += forest->kind->state_bytes;
		}
		if (i < n)
			iforest_forest_list_nodes(forest, ranges[i].from, ranges[i].to, covered);
	}
}

void iforest_forest_zoom(const struct iforest_forest *forest, const struct iforest_times *times, const int64_t *bounds,
			 size_t n_buckets, void *states)
{
	uint64_t positions[BUCKETS_AT_ONCE + 1], from = 0;
	struct iforest_range ranges[BUCKETS_AT_ONCE];
	uint8_t *state = states;

	while (n_buckets > 0) {
		size_t n = n_buckets < BUCKETS_AT_ONCE ? n_buckets : BUCKETS_AT_ONCE;

		iforest_gallop_many(times, from, iforest_gallop(times, from, forest->n_leaves, from, bounds[n]), bounds, n + 1,
				    positions);
		for (size_t b = 0; b < n; b++)
			ranges[b] = (struct iforest_range){ positions[b], positions[b + 1] };
		iforest_forest_fold_many(forest, ranges, n, state);
		from = positions[n];
		state += n * forest->kind->state_bytes;
		bounds += n;
		n_buckets -= n;
	}
}

bool iforest_forest_cover_next(const struct iforest_forest *forest, struct iforest_cover *cover)
{
	if (cover->from >= cover->to)
		return false;
	cover->first = cover->from;
	cover->level = iforest_cover_level(cover->from, cover->to);
	cover->state = iforest_forest_slot(forest, cover->level, cover->from >> cover->level);
	cover->from += UINT64_C(1) << cover->level;
	return true;
}
