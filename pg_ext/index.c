#include "pg_ext/index.h"

#include "miscadmin.h"
#include "utils/memutils.h"

void iforest_index_open(struct iforest_index *index, Relation relation)
{
	memset(index, 0, sizeof *index);
	index->relation = relation;
	index->context = CurrentMemoryContext;
	iforest_pager_init(index);
}

void iforest_index_require(struct iforest_index *index, enum iforest_status status)
{
	iforest_require(status, index->relation, &index->store.fault);
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
				errhint("REINDEX INDEX makes it anew from the table."));
		tried_id = index->meta.manifest_id;
		iforest_manifest_release(&index->manifest);
		bytes = iforest_slot_read(index->relation, &index->meta);
		if (bytes)
			status = iforest_manifest_read(&index->manifest, &iforest_pg_alloc, bytes,
						       index->meta.manifest_bytes, &what);
		if (!status && index->manifest.id == index->meta.manifest_id) {
			pfree(bytes);
			break;
		}
		if (status == IFOREST_FORMAT || status == IFOREST_NO_MEMORY)
			iforest_require(status, index->relation, &(struct iforest_fault){ .what = what });
	}
	MemoryContextSwitchTo(before);
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

static uint64_t random_number(void *context)
{
	(void)context;
	return iforest_pg_random();
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
