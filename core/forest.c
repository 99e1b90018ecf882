#include "core/forest.h"

#include "core/layout.h"

void iforest_forest_init(struct iforest_forest *forest, const struct iforest_kind *kind, const struct iforest_alloc *alloc)
{
	*forest = (struct iforest_forest){ .kind = kind, .alloc = alloc };
}

void iforest_forest_release(struct iforest_forest *forest)
{
	iforest_release(forest->alloc, forest->slots);
	iforest_forest_init(forest, forest->kind, forest->alloc);
}

static void *slot_at(const struct iforest_forest *forest, unsigned level, uint64_t group)
{
	return forest->slots + iforest_slot(level, group) * forest->kind->state_bytes;
}

static enum iforest_status reserve(struct iforest_forest *forest, uint64_t n_slots)
{
	uint64_t n_wanted = forest->n_reserved_slots ? 2 * forest->n_reserved_slots : 64;
	uint8_t *slots;

	if (n_slots <= forest->n_reserved_slots)
		return IFOREST_OK;
	if (n_wanted > SIZE_MAX / forest->kind->state_bytes)
		return IFOREST_NO_MEMORY;
	slots = forest->alloc->reallocate(forest->alloc->context, forest->slots, n_wanted * forest->kind->state_bytes);
	if (!slots)
		return IFOREST_NO_MEMORY;
	forest->slots = slots;
	forest->n_reserved_slots = n_wanted;
	return IFOREST_OK;
}

enum iforest_status iforest_forest_append(struct iforest_forest *forest, const void *sample)
{
	uint64_t leaf = forest->n_leaves;
	unsigned n_completed = iforest_levels_completed(leaf);
	enum iforest_status status = reserve(forest, 2 * (leaf + 1));

	if (status)
		return status;
	forest->kind->lift(slot_at(forest, 0, leaf), sample);
	for (unsigned level = 1; level <= n_completed; level++) {
		uint64_t group = leaf >> level;

		forest->kind->combine(slot_at(forest, level, group), slot_at(forest, level - 1, 2 * group),
				      slot_at(forest, level - 1, 2 * group + 1));
	}
	forest->n_leaves++;
	return IFOREST_OK;
}

void iforest_forest_fold(const struct iforest_forest *forest, uint64_t from, uint64_t to, void *state)
{
	forest->kind->identity(state);
	while (from < to) {
		unsigned level = iforest_cover_level(from, to);

		forest->kind->combine(state, state, slot_at(forest, level, from >> level));
		from += UINT64_C(1) << level;
	}
}
