#include "pg_ext/storage/index.h"
#include "pg_ext/storage/index_private.h"

#include "miscadmin.h"
#include "utils/memutils.h"

void iforest_index_open(struct iforest_index *index, Relation relation)
{
	memset(index, 0, sizeof *index);
	index->relation = relation;
	index->context = CurrentMemoryContext;
	iforest_pager_init(index);
}

/* The block of the page that core found wrong; InvalidBlockNumber: it is of no run that the index names. */
static BlockNumber faulty_block(struct iforest_index *index)
{
	const struct iforest_fault *fault = &index->store.fault;
	uint32 r = iforest_manifest_find(&index->manifest, fault->run_id);
	const struct iforest_run *run = r < index->manifest.n_runs ? &index->manifest.runs[r] : NULL;

	if (!fault->what || !run || fault->level > run->n_levels)
		return InvalidBlockNumber;
	return iforest_run_block(index, &run->place,
				 iforest_run_page_index(&index->manifest, run, fault->level, fault->number));
}

void iforest_index_require(struct iforest_index *index, enum iforest_status status)
{
	if (status)
		iforest_require_at(status, index->relation, &index->store.fault, faulty_block(index));
}

/* Blocks are in the file before a manifest names the run that they are of. */
static bool are_possible(const struct iforest_index *index)
{
	BlockNumber n_blocks = RelationGetNumberOfBlocks(index->relation);
	bool are_right = true;

	for (uint32 r = 0; r < index->manifest.n_runs && are_right; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];

		are_right = run->place.location > IFOREST_FIRST_CLOCK && run->place.location <= index->meta.clock &&
			    iforest_run_pages(&index->manifest, run) <= n_blocks;
	}
	return are_right;
}

void iforest_index_refresh(struct iforest_index *index)
{
	uint64 tried_id = 0;
	const char *what = "the manifest is wrong";
	MemoryContext before = MemoryContextSwitchTo(index->context);

	for (bool is_first = true;; is_first = false) {
		enum iforest_status status = IFOREST_CORRUPT;
		uint8 *bytes;

		CHECK_FOR_INTERRUPTS();
		iforest_meta_read(index->relation, &index->meta);
		if (!is_first && index->meta.manifest_id == tried_id)
			ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
				errmsg("index \"%s\" is corrupt: %s", RelationGetRelationName(index->relation), what),
				errdetail("The manifest begins in block %u.", index->meta.slots[index->meta.slot][0]),
				errhint("REINDEX INDEX makes it anew from the table."));
		tried_id = index->meta.manifest_id;
		iforest_manifest_release(&index->manifest);
		bytes = iforest_slot_read(index->relation, &index->meta);
		if (bytes)
			status = iforest_manifest_read(&index->manifest, &iforest_pg_alloc, bytes,
						       index->meta.manifest_bytes, &what);
		if (!status && !are_possible(index)) {
			what = "the manifest has an impossible run";
			status = IFOREST_CORRUPT;
		}
		if (!status && index->manifest.id == index->meta.manifest_id) {
			pfree(bytes);
			break;
		}
		if (status == IFOREST_FORMAT || status == IFOREST_NO_MEMORY)
			iforest_require(status, index->relation, &(struct iforest_fault){ .what = what });
	}
	MemoryContextSwitchTo(before);
}

static bool names(const struct iforest_index *index, uint32 owner)
{
	bool found = false;

	for (int c = 0; c < IFOREST_CHAINS && !found; c++)
		found = index->meta.open[c].clock == owner;
	for (uint32 c = 0; c < index->meta.n_closed && !found; c++)
		found = index->meta.closed[c].clock == owner;
	for (uint32 r = 0; r < index->manifest.n_runs && !found; r++)
		found = iforest_run_clock(&index->manifest.runs[r]) == owner;
	return found;
}

void iforest_index_met_foreign(struct iforest_index *index, uint32 owner, BlockNumber block)
{
	struct iforest_index *now = palloc(sizeof *now);

	iforest_index_open(now, index->relation);
	iforest_index_refresh(now);
	if (names(now, owner) && block == InvalidBlockNumber)
		iforest_page_wrong(index->relation, IFOREST_SPACE_BLOCK, "The list of extents lacks pages of a run.");
	if (names(now, owner))
		iforest_page_wrong(index->relation, block, "It does not belong to the run or chain that it is of.");
	iforest_manifest_release(&now->manifest);
	pfree(now);
	index->met_foreign_page = true;
}

/* ---- a new index ---- */

/* A pager that only takes down the manifest that is published to it. */
struct recorder {
	uint8 bytes[IFOREST_CONTENT_BYTES];
	uint32 n_bytes;
};

static enum iforest_status record(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct recorder *recorder = context;

	Assert(n_bytes <= sizeof recorder->bytes);
	memcpy(recorder->bytes, bytes, n_bytes);
	recorder->n_bytes = n_bytes;
	return IFOREST_OK;
}

void iforest_index_create(Relation relation, ForkNumber fork, const struct iforest_fields *fields)
{
	struct recorder *recorder = palloc(sizeof *recorder);
	struct iforest_pager pager = { .context = recorder,
				       .page_bytes = IFOREST_PG_PAGE_BYTES,
				       .max_batch_pages = IFOREST_PG_BATCH_PAGES,
				       .publish = record,
				       .random = random_number };
	struct iforest_store store = { .pager = &pager, .alloc = &iforest_pg_alloc };
	struct iforest_manifest manifest;

	iforest_require(iforest_manifest_init(&manifest, &iforest_pg_alloc, fields, IFOREST_PG_PAGE_BYTES), relation, NULL);
	iforest_require(iforest_manifest_commit(&manifest, &store, NULL), relation, NULL);
	iforest_meta_create(relation, fork, recorder->bytes, recorder->n_bytes);
	iforest_manifest_release(&manifest);
	pfree(recorder);
}
