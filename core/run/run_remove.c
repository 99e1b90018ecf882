#include "core/run/remove.h"

#include "core/base/bits.h"
#include "core/run/run_remove_internal.h"

/* Where an entry stands. */
struct spot {
	uint32_t leaf;
	uint16_t block, entry;
};

/* ---- by key ---- */

/* The entries of a run that bear keys, which ascend. */
struct finder {
	struct iforest_cursor *cursor;
	/* where the last search ended, NULL at the end of the run and before the first one */
	const struct iforest_block *block;
	unsigned entry;                    /* of the block; its n after the last */
};

static struct iforest_key key_of(const struct iforest_block *block, unsigned entry)
{
	return (struct iforest_key){ .series = block->series, .time_is_null = block->time_is_null,
				     .time = block->time_is_null ? 0 : block->times[entry], .ref = block->refs[entry] };
}

static bool stands_at(const struct finder *finder, const struct iforest_key *key)
{
	struct iforest_key found;

	if (!finder->block || finder->entry == finder->block->n)
		return false;
	found = key_of(finder->block, finder->entry);
	return iforest_key_compare(&found, key) == 0;
}

/* Passes the live entry of that key. Keys that follow one another are mostly those of entries that do.
 * Errors  IFOREST_NOT_FOUND: there is none, and the finder stands at the first entry at or after the key. */
static enum iforest_status find_entry(struct finder *finder, const struct iforest_key *key, struct spot *spot)
{
	struct iforest_cursor *cursor = finder->cursor;
	enum iforest_status status = IFOREST_OK;

	if (!stands_at(finder, key)) {
		finder->block = NULL;
		status = iforest_cursor_seek(cursor, key);
		if (!status)
			status = iforest_cursor_block(cursor, 1u << IFOREST_TIMES | 1u << IFOREST_REFS, &finder->block);
		finder->entry = cursor->entry;
		if (!status && !stands_at(finder, key))
			status = IFOREST_NOT_FOUND;
	}
	if (!status && finder->block->dead >> finder->entry & 1)
		status = IFOREST_NOT_FOUND;
	if (status)
		return status;
	*spot = (struct spot){ .leaf = (uint32_t)cursor->leaf_number,
			       .block = (uint16_t)cursor->block,
			       .entry = (uint16_t)finder->entry };
	finder->entry++;
	return IFOREST_OK;
}

static bool is_ascending(const struct iforest_key *keys, uint64_t n_keys)
{
	for (uint64_t k = 1; k < n_keys; k++)
		if (iforest_key_compare(&keys[k - 1], &keys[k]) >= 0)
			return false;
	return true;
}

static enum iforest_status find_all(struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys,
				    struct spot *spots)
{
	struct finder finder = { .cursor = cursor };
	enum iforest_status status = is_ascending(keys, n_keys) ? IFOREST_OK : IFOREST_UNORDERED;

	for (uint64_t k = 0; k < n_keys && !status; k++)
		status = find_entry(&finder, &keys[k], &spots[k]);
	return status;
}

static enum iforest_status remove_spots(struct iforest_renewal *renewal, const struct spot *spots, uint64_t n_spots)
{
	struct iforest_cursor *cursor = &renewal->cursor;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < n_spots && !status;) {
		uint32_t number = spots[k].leaf;
		struct iforest_page_header header;
		uint8_t *page;

		status = iforest_cursor_hold(cursor, 0, number);
		if (!status)
			status = iforest_renewal_change_leaf(renewal, &page);
		header = cursor->leaf.header;
		for (; !status && k < n_spots && spots[k].leaf == number; k++)
			iforest_leaf_remove(page, &header, spots[k].block, spots[k].entry);
		if (!status)
			iforest_page_seal(page, &header);
	}
	return status;
}

enum iforest_status iforest_run_remove(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
				       const struct iforest_key *keys, uint64_t n_keys)
{
	struct iforest_renewal *renewal;
	struct spot *spots = NULL;
	enum iforest_status status = iforest_renewal_start(&renewal, store, manifest, run_id);

	if (!status) {
		spots = iforest_allocate(store->alloc, n_keys * sizeof *spots);
		status = spots ? find_all(&renewal->cursor, keys, n_keys, spots) : IFOREST_NO_MEMORY;
	}
	if (!status)
		status = remove_spots(renewal, spots, n_keys);
	if (!status)
		status = iforest_renewal_finish(renewal);
	iforest_release(store->alloc, spots);
	iforest_renewal_end(renewal);
	return status;
}

/* ---- by key, wherever they are ---- */

enum { NOWHERE = UINT32_MAX };

/* What is known of a key. */
struct whereabouts {
	uint32_t run;                      /* that holds it, by its place in the manifest, or NOWHERE */
	struct spot spot;
};

/* The first of the keys from `from` on that stands at or after a position, by steps that double. */
static uint64_t pass_keys(const struct iforest_key *keys, uint64_t from, uint64_t n_keys, const struct iforest_key *position)
{
	uint64_t step = 1;

	while (step < n_keys - from && iforest_key_compare(&keys[from + step], position) < 0) {
		from += step;
		step *= 2;
	}
	return from + iforest_key_search(keys + from, step < n_keys - from ? step : n_keys - from, position);
}

/* Notes where run r holds keys. Between two of its entries it holds none, and those are passed over. */
static enum iforest_status find_held(struct iforest_store *store, const struct iforest_manifest *manifest, uint32_t r,
				     struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys,
				     struct whereabouts *whereabouts)
{
	const struct iforest_run *run = &manifest->runs[r];
	struct iforest_key at = iforest_node_first(run->root), last = iforest_node_last(run->root);
	struct finder finder = { .cursor = cursor };
	enum iforest_status status = IFOREST_OK;
	uint64_t k = iforest_key_search(keys, n_keys, &at);

	iforest_cursor_init(cursor, store, manifest, run);
	while (k < n_keys && !status && iforest_key_compare(&keys[k], &last) <= 0) {
		struct spot spot;

		status = whereabouts[k].run == NOWHERE ? find_entry(&finder, &keys[k], &spot) : IFOREST_NOT_FOUND;
		if (!status)
			whereabouts[k] = (struct whereabouts){ .run = r, .spot = spot };
		if (whereabouts[k].run != NOWHERE) {
			k++;
		} else if (status == IFOREST_NOT_FOUND) {
			if (!finder.block)
				break;
			at = key_of(finder.block, finder.entry);
			k = pass_keys(keys, k + 1, n_keys, &at);
		}
		if (status == IFOREST_NOT_FOUND)
			status = IFOREST_OK;
	}
	iforest_cursor_release(cursor);
	return status == IFOREST_NOT_FOUND ? IFOREST_OK : status;
}

static enum iforest_status find_everywhere(struct iforest_store *store, const struct iforest_manifest *manifest,
					   const struct iforest_key *keys, uint64_t n_keys, struct whereabouts *whereabouts)
{
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	enum iforest_status status = cursor ? IFOREST_OK : IFOREST_NO_MEMORY;

	for (uint64_t k = 0; k < n_keys; k++)
		whereabouts[k].run = NOWHERE;
	for (uint32_t r = 0; r < manifest->n_runs && !status; r++)
		status = find_held(store, manifest, r, cursor, keys, n_keys, whereabouts);
	iforest_release(store->alloc, cursor);
	return status;
}

static enum iforest_status remove_held(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
				       const struct spot *spots, uint64_t n_spots)
{
	struct iforest_renewal *renewal;
	enum iforest_status status = iforest_renewal_start(&renewal, store, manifest, run_id);

	if (!status)
		status = remove_spots(renewal, spots, n_spots);
	if (!status)
		status = iforest_renewal_finish(renewal);
	iforest_renewal_end(renewal);
	return status;
}

static enum iforest_status remove_everywhere(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t n_keys,
					     const struct whereabouts *whereabouts, const uint64_t *run_ids, uint32_t n_runs,
					     struct spot *spots, uint64_t *n_removed)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < n_runs && !status; r++) {
		uint64_t n_held = 0;

		for (uint64_t k = 0; k < n_keys; k++)
			if (whereabouts[k].run == r)
				spots[n_held++] = whereabouts[k].spot;
		if (n_held > 0)
			status = remove_held(store, manifest, run_ids[r], spots, n_held);
		*n_removed += status ? 0 : n_held;
	}
	return status;
}

enum iforest_status iforest_runs_remove(struct iforest_store *store, struct iforest_manifest *manifest,
					const struct iforest_key *keys, uint64_t n_keys, uint64_t *n_removed)
{
	uint32_t n_runs = manifest->n_runs;
	struct whereabouts *whereabouts = iforest_allocate(store->alloc, n_keys * sizeof *whereabouts);
	struct spot *spots = iforest_allocate(store->alloc, n_keys * sizeof *spots);
	uint64_t *run_ids = iforest_allocate(store->alloc, n_runs * sizeof *run_ids);
	enum iforest_status status = IFOREST_NO_MEMORY;

	for (uint32_t r = 0; run_ids && r < n_runs; r++) /* the list moves with every publish */
		run_ids[r] = manifest->runs[r].place.run_id;
	*n_removed = 0;
	if (whereabouts && spots && run_ids)
		status = is_ascending(keys, n_keys) ? find_everywhere(store, manifest, keys, n_keys, whereabouts) :
						      IFOREST_UNORDERED;
	if (!status)
		status = remove_everywhere(store, manifest, n_keys, whereabouts, run_ids, n_runs, spots, n_removed);
	iforest_release(store->alloc, whereabouts);
	iforest_release(store->alloc, spots);
	iforest_release(store->alloc, run_ids);
	return status;
}

/* ---- by asking ---- */

/* Asks for the live entries of the leaf page at which the cursor stands. */
static enum iforest_status ask_leaf(struct iforest_renewal *renewal, const struct iforest_remover *remover,
				    struct iforest_removal *removal)
{
	struct iforest_cursor *cursor = &renewal->cursor;
	const struct iforest_block *block = &cursor->reader.block;
	struct iforest_page_header header;
	uint8_t *page = NULL;
	enum iforest_status status = iforest_cursor_hold(cursor, 0, cursor->leaf_number);

	if (status)
		return status;
	header = cursor->leaf.header;
	for (unsigned b = 0; b < header.n_items && !status; b++) {
		uint64_t live;

		iforest_cursor_read_block(cursor, b);
		live = iforest_low_bits(block->n) & ~block->dead;
		if (live)
			status = iforest_cursor_blame_leaf(cursor, iforest_block_need(&cursor->reader, IFOREST_REFS));
		for (; live && !status; live &= live - 1) {
			unsigned i = iforest_trailing_zeros(live);

			if (!remover->is_dead(remover->context, block->refs[i])) {
				removal->n_kept++;
				continue;
			}
			if (!page)
				status = iforest_renewal_change_leaf(renewal, &page);
			if (status)
				break;
			iforest_leaf_remove(page, &header, b, i);
			removal->n_removed++;
		}
	}
	if (!status && page)
		iforest_page_seal(page, &header);
	return status;
}

enum iforest_status iforest_run_remove_where(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
					     const struct iforest_remover *remover, struct iforest_removal *removal)
{
	struct iforest_removal counted = { 0 };
	struct iforest_renewal *renewal;
	enum iforest_status status = iforest_renewal_start(&renewal, store, manifest, run_id);

	while (!status) {
		struct iforest_cursor *cursor = &renewal->cursor;

		status = iforest_cursor_pass_dead(cursor);
		if (status || cursor->leaf_number == renewal->run.n_leaves)
			break;
		status = ask_leaf(renewal, remover, &counted);
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	}
	if (!status)
		status = iforest_renewal_finish(renewal);
	if (!status)
		*removal = counted;
	iforest_renewal_end(renewal);
	return status;
}
