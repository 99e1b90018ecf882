#include "core/run_remove.h"

#include "core/bits.h"
#include "core/run_remove_internal.h"

/* Where an entry stands. */
struct spot {
	uint32_t leaf;
	uint16_t block, entry;
};

/* ---- by key ---- */

static enum iforest_status find_entry(struct iforest_cursor *cursor, const struct iforest_key *key, struct spot *spot)
{
	const struct iforest_block *block;
	enum iforest_status status = iforest_cursor_seek(cursor, key);

	if (!status)
		status = iforest_cursor_block(cursor, 1u << IFOREST_TIMES | 1u << IFOREST_REFS, &block);
	if (status)
		return status;
	if (!block || block->series != key->series || block->time_is_null != key->time_is_null ||
	    block->times[cursor->entry] != key->time || block->refs[cursor->entry] != key->ref ||
	    block->dead >> cursor->entry & 1)
		return IFOREST_NOT_FOUND;
	*spot = (struct spot){ .leaf = (uint32_t)cursor->leaf_number, .block = (uint16_t)cursor->block,
			       .entry = (uint16_t)cursor->entry };
	return IFOREST_OK;
}

static enum iforest_status find_all(struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys,
				    struct spot *spots)
{
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < n_keys && !status; k++) {
		if (k > 0 && iforest_key_compare(&keys[k - 1], &keys[k]) >= 0)
			return IFOREST_UNORDERED;
		status = find_entry(cursor, &keys[k], &spots[k]);
	}
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

enum { NOWHERE = UINT32_MAX };

/* Notes for each key that has a live entry in run r that it is held there. */
static enum iforest_status find_held(struct iforest_store *store, const struct iforest_manifest *manifest, uint32_t r,
				     struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys, uint32_t *holders)
{
	const struct iforest_run *run = &manifest->runs[r];
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);
	struct spot spot;
	enum iforest_status status = IFOREST_OK;

	iforest_cursor_init(cursor, store, manifest, run);
	for (uint64_t k = iforest_key_search(keys, n_keys, &first); k < n_keys && !status; k++) {
		if (iforest_key_compare(&keys[k], &last) > 0)
			break;
		if (holders[k] != NOWHERE)
			continue;
		status = find_entry(cursor, &keys[k], &spot);
		if (!status)
			holders[k] = r;
		else if (status == IFOREST_NOT_FOUND)
			status = IFOREST_OK;
	}
	iforest_cursor_release(cursor);
	return status;
}

static enum iforest_status find_holders(struct iforest_store *store, const struct iforest_manifest *manifest,
					const struct iforest_key *keys, uint64_t n_keys, uint32_t *holders)
{
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	enum iforest_status status = cursor ? IFOREST_OK : IFOREST_NO_MEMORY;

	for (uint64_t k = 0; k < n_keys; k++)
		holders[k] = NOWHERE;
	for (uint32_t r = 0; r < manifest->n_runs && !status; r++)
		status = find_held(store, manifest, r, cursor, keys, n_keys, holders);
	iforest_release(store->alloc, cursor);
	return status;
}

static enum iforest_status remove_held(struct iforest_store *store, struct iforest_manifest *manifest, const struct iforest_key *keys,
				       uint64_t n_keys, const uint32_t *holders, const uint64_t *run_ids, uint32_t n_runs,
				       struct iforest_key *held, uint64_t *n_removed)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < n_runs && !status; r++) {
		uint64_t n_held = 0;

		for (uint64_t k = 0; k < n_keys; k++)
			if (holders[k] == r)
				held[n_held++] = keys[k];
		if (n_held > 0)
			status = iforest_run_remove(store, manifest, run_ids[r], held, n_held);
		*n_removed += status ? 0 : n_held;
	}
	return status;
}

enum iforest_status iforest_runs_remove(struct iforest_store *store, struct iforest_manifest *manifest,
					const struct iforest_key *keys, uint64_t n_keys, uint64_t *n_removed)
{
	uint32_t n_runs = manifest->n_runs;
	uint32_t *holders = iforest_allocate(store->alloc, n_keys * sizeof *holders);
	struct iforest_key *held = iforest_allocate(store->alloc, n_keys * sizeof *held);
	uint64_t *run_ids = iforest_allocate(store->alloc, n_runs * sizeof *run_ids);
	enum iforest_status status = IFOREST_NO_MEMORY;

	for (uint32_t r = 0; run_ids && r < n_runs; r++) /* the list moves with every publish */
		run_ids[r] = manifest->runs[r].place.run_id;
	*n_removed = 0;
	if (holders && held && run_ids)
		status = find_holders(store, manifest, keys, n_keys, holders);
	if (!status)
		status = remove_held(store, manifest, keys, n_keys, holders, run_ids, n_runs, held, n_removed);
	iforest_release(store->alloc, holders);
	iforest_release(store->alloc, held);
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
