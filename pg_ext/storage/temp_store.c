#include "pg_ext/storage/temp_store.h"

#include "commands/tablespace.h"
#include "miscadmin.h"

#include "pg_ext/storage/index.h"

/* A run's location: the number of its file, and in the lower half that of its first page there. */
enum { FILE_SHIFT = 32 };

static void name_file(uint32 number, char *name, Size n_bytes)
{
	snprintf(name, n_bytes, "runs.%u", number);
}

static BufFile *open_to_write(struct ifp_temp_store *temp_store)
{
	char name[32];

	PrepareTempTablespaces();
	if (!temp_store->shared)
		return BufFileCreateTemp(false);
	name_file(temp_store->number, name, sizeof name);
	return BufFileCreateFileSet(&temp_store->shared->fs, name);
}

static BufFile *file_to_read(struct ifp_temp_store *temp_store, uint32 number)
{
	char name[32];

	if (!temp_store->files[number]) {
		name_file(number, name, sizeof name);
		temp_store->files[number] = BufFileOpenFileSet(&temp_store->shared->fs, name, O_RDONLY, false);
	}
	return temp_store->files[number];
}

static enum iforest_status create_run(void *context, struct iforest_place *place)
{
	struct ifp_temp_store *temp_store = context;

	if (!temp_store->files[temp_store->number])
		temp_store->files[temp_store->number] = open_to_write(temp_store);
	place->location = (uint64)temp_store->number << FILE_SHIFT | temp_store->n_pages;
	return temp_store->n_pages <= PG_UINT32_MAX ? IFOREST_OK : IFOREST_TOO_LARGE;
}

static enum iforest_status write_pages(void *context, const struct iforest_place *place, const struct iforest_page_write *pages,
				       uint32_t n_pages)
{
	static uint8 zeros[BLCKSZ];
	struct ifp_temp_store *temp_store = context;
	BufFile *file = temp_store->files[temp_store->number];

	(void)place;
	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < n_pages; i++) {
		BufFileWrite(file, unconstify(uint8 *, pages[i].bytes), pages[i].n_bytes);
		BufFileWrite(file, zeros, BLCKSZ - pages[i].n_bytes);
		temp_store->n_pages++;
	}
	return IFOREST_OK;
}

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t number, struct iforest_page *page)
{
	struct ifp_temp_store *temp_store = context;
	uint64 at = (place->location & PG_UINT32_MAX) + number;
	BufFile *file = file_to_read(temp_store, (uint32)(place->location >> FILE_SHIFT));
	uint8 *bytes = palloc(IFP_PAGE_BYTES);

	CHECK_FOR_INTERRUPTS();
	if (BufFileSeek(file, 0, (off_t)(at * BLCKSZ), SEEK_SET) != 0 ||
	    BufFileRead(file, bytes, IFP_PAGE_BYTES) != IFP_PAGE_BYTES)
		ereport(ERROR, errcode_for_file_access(),
			errmsg("could not read block %llu of a temporary file", (unsigned long long)at));
	temp_store->n_read++;
	*page = (struct iforest_page){ .bytes = bytes, .n_bytes = IFP_PAGE_BYTES };
	return IFOREST_OK;
}

static void release(void *context, struct iforest_page *page)
{
	(void)context;
	pfree(unconstify(uint8 *, page->bytes));
}

/* A file is dropped as a whole. */
static enum iforest_status drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	(void)context;
	(void)place;
	(void)n_pages;
	return IFOREST_OK;
}

static uint64_t random_number(void *context)
{
	(void)context;
	return ifp_random();
}

void ifp_temp_store_start(struct ifp_temp_store *temp_store, SharedFileSet *shared, uint32 number, uint32 n_files)
{
	*temp_store = (struct ifp_temp_store){ .store.alloc = &ifp_palloc_allocator,
					       .store.pager = &temp_store->pager,
					       .pager = { .context = temp_store,
							  .page_bytes = IFP_PAGE_BYTES,
							  .max_batch_pages = 1,
							  .get = get,
							  .release = release,
							  .create_run = create_run,
							  .write = write_pages,
							  .drop_run = drop_run,
							  .interrupt = ifp_interrupt,
							  .random = random_number },
					       .shared = shared,
					       .number = number,
					       .n_files = n_files,
					       .files = palloc0(n_files * sizeof(BufFile *)) };
}

void ifp_temp_store_export(struct ifp_temp_store *temp_store)
{
	if (temp_store->files[temp_store->number])
		BufFileExportFileSet(temp_store->files[temp_store->number]);
}

void ifp_temp_store_end(struct ifp_temp_store *temp_store)
{
	for (uint32 i = 0; i < temp_store->n_files; i++)
		if (temp_store->files[i])
			BufFileClose(temp_store->files[i]);
	pfree(temp_store->files);
}
