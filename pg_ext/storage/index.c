#include "pg_ext/storage/index.h"
#include "pg_ext/storage/index_private.h"

#include "core/base/bits.h"

uint8 *iforest_slot_read(Relation relation, const struct iforest_meta *meta)
{
	uint8 *bytes = palloc(meta->n_slot_pages[meta->slot] * IFOREST_CONTENT_BYTES);
	uint32 n_bytes = 0;

	for (uint32 i = 0; n_bytes < meta->manifest_bytes && i < meta->n_slot_pages[meta->slot]; i++)
		n_bytes += iforest_page_copy(relation, meta->slots[meta->slot][i], IFOREST_KIND_MANIFEST, bytes + n_bytes,
					     NULL);
	if (n_bytes >= meta->manifest_bytes && n_bytes > 0)
		return bytes;
	pfree(bytes);
	return NULL;
}

/* Sees to it that a slot has n pages. Under the publish lock nobody else changes slots. */
static void grow_slot(struct iforest_index *index, uint32 slot, uint32 n_pages)
{
	Relation relation = index->relation;
	struct iforest_meta meta;

	iforest_meta_read(relation, &meta);
	while (meta.n_slot_pages[slot] < n_pages) {
		struct iforest_extent extent = iforest_space_take(relation, IFOREST_OWNER_INDEX, 0,
								  n_pages - meta.n_slot_pages[slot]);
		struct iforest_meta_edit edit;

		for (uint32 i = 0; i < extent.n_blocks; i++) {
			Buffer buffer = ReadBufferExtended(relation, MAIN_FORKNUM, extent.start + i, RBM_ZERO_AND_LOCK,
							   NULL);
			GenericXLogState *state = GenericXLogStart(relation);

			iforest_page_init(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE),
					  IFOREST_KIND_MANIFEST, 0);
			GenericXLogFinish(state);
			UnlockReleaseBuffer(buffer);
		}
		iforest_meta_begin(relation, &edit);
		for (uint32 i = 0; i < extent.n_blocks; i++)
			edit.meta->slots[slot][edit.meta->n_slot_pages[slot]++] = extent.start + i;
		meta = *edit.meta;
		iforest_meta_finish(&edit);
	}
}

static void write_slot(struct iforest_index *index, const BlockNumber *blocks, const uint8 *bytes, uint32 n_bytes)
{
	for (uint32 at = 0; at < n_bytes; at += IFOREST_CONTENT_BYTES) {
		uint32 n = Min(n_bytes - at, IFOREST_CONTENT_BYTES);
		Buffer buffer = iforest_page_lock(index->relation, blocks[at / IFOREST_CONTENT_BYTES], IFOREST_KIND_MANIFEST,
						  BUFFER_LOCK_EXCLUSIVE);
		GenericXLogState *state = GenericXLogStart(index->relation);
		Page page = GenericXLogRegisterBuffer(state, buffer, 0);

		memcpy(iforest_content(page), bytes + at, n);
		iforest_content_set_used(page, n);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buffer);
	}
}

static bool is_sealed(const struct iforest_index *index, uint32 clock)
{
	bool found = false;

	for (uint32 i = 0; i < index->n_sealed && !found; i++)
		found = index->sealed[i] == clock;
	return found;
}

void iforest_slot_publish(struct iforest_index *index, const uint8 *bytes, uint32 n_bytes)
{
	uint32 n_pages = (n_bytes + IFOREST_CONTENT_BYTES - 1) / IFOREST_CONTENT_BYTES;
	struct iforest_meta_edit edit;
	struct iforest_meta meta;
	uint32 slot, n_left = 0;

	iforest_meta_read(index->relation, &meta);
	slot = 1 - meta.slot;
	if (n_pages > IFOREST_SLOT_PAGES)
		iforest_require(IFOREST_TOO_LARGE, index->relation, NULL);
	grow_slot(index, slot, n_pages);
	iforest_meta_read(index->relation, &meta);
	write_slot(index, meta.slots[slot], bytes, n_bytes);

	iforest_meta_begin(index->relation, &edit);
	edit.meta->slot = slot;
	edit.meta->manifest_bytes = n_bytes;
	edit.meta->manifest_id = iforest_load64(bytes + 16);
	for (uint32 i = 0; i < edit.meta->n_closed; i++)
		if (!is_sealed(index, edit.meta->closed[i].clock))
			edit.meta->closed[n_left++] = edit.meta->closed[i];
	edit.meta->n_closed = n_left;
	iforest_meta_finish(&edit);
}
