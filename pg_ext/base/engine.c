#include "pg_ext/base/engine.h"

#include "miscadmin.h"
#include "storage/block.h"
#include "utils/memutils.h"

static void *reallocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	if (memory)
		return repalloc_huge(memory, n_bytes);
	return MemoryContextAllocExtended(CurrentMemoryContext, n_bytes, MCXT_ALLOC_HUGE);
}

static void release(void *context, void *memory)
{
	(void)context;
	if (memory)
		pfree(memory);
}

const struct iforest_alloc ifp_palloc_allocator = { .reallocate = reallocate, .release = release };

static enum iforest_status check_for_interrupts(void *context)
{
	(void)context;
	CHECK_FOR_INTERRUPTS();
	return IFOREST_OK;
}

const struct iforest_interrupt ifp_interrupt = { .check = check_for_interrupts };

/* Adds the detail of an error. */
static int tell_page(const struct iforest_fault *fault, BlockNumber block)
{
	unsigned long long number = fault->number, run_id = fault->run_id;

	if (block == InvalidBlockNumber)
		return errdetail("Page %llu of level %u of run %llu.", number, fault->level, run_id);
	return errdetail("Page %llu of level %u of run %llu, in block %u.", number, fault->level, run_id, block);
}

void ifp_require_at(enum iforest_status status, Relation index, const struct iforest_fault *fault, uint32 block)
{
	const char *name = RelationGetRelationName(index);
	const char *what = fault && fault->what ? fault->what : iforest_status_text(status);

	switch (status) {
	case IFOREST_OK:
		return;
	case IFOREST_CORRUPT:
	case IFOREST_UNORDERED:
	case IFOREST_NOT_FOUND:
		if (fault && fault->what)
			ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED), errmsg("index \"%s\" is corrupt: %s", name, what),
				tell_page(fault, block), errhint("Please REINDEX it."));
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED), errmsg("index \"%s\" is corrupt: %s", name, what),
			errhint("Please REINDEX it."));
		break;
	case IFOREST_FORMAT:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has a format that this version of iforest does not know: %s", name, what),
			errhint("REINDEX INDEX rebuilds it in the format of this version."));
		break;
	case IFOREST_TOO_LARGE:
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("index \"%s\" has outgrown a limit of its format", name),
			errhint("SELECT iforest_merge('%s', true) leaves one run.", name));
		break;
	default:
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("index \"%s\": %s", name, iforest_status_text(status)));
	}
}
