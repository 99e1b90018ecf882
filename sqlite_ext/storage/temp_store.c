#include "sqlite_ext/storage/temp_store.h"

#include "sqlite_ext/storage/pager.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* Bytes between pages in the file, so that each lies in one page of the file system. */
enum { ROOM = 4096 };

/* True if SQLite says that it was compiled with the option. */
static bool is_built_with(const char *option)
{
#ifndef SQLITE_CORE /* a SQLite that loads extensions may lack it */
	if (!sqlite3_compileoption_used)
		return false;
#endif
	return sqlite3_compileoption_used(option);
}

/* Follows the rules of PRAGMA temp_store. If the setting cannot be read nothing is written to a file: the owner of an
 * encrypted database has reason to forbid it. */
static bool must_use_memory(sqlite3 *db)
{
	enum { IN_FILE = 1, IN_MEMORY = 2 } setting = IN_MEMORY;
	struct ifs_error error = { .rc = SQLITE_OK };
	sqlite3_stmt *statement;

	if (!ifs_prepare(&error, db, &statement, "PRAGMA temp_store") && sqlite3_step(statement) == SQLITE_ROW)
		setting = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	ifs_error_clear(&error);
	return setting == IN_MEMORY || is_built_with("TEMP_STORE=3") || (is_built_with("TEMP_STORE=2") && setting != IN_FILE);
}

/* ---- the file ---- */

static enum iforest_status store_failed(struct ifs_temp_store *temp_store, int rc)
{
	if (rc == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM)
		return IFOREST_NO_MEMORY;
	temp_store->rc = rc;
	return IFOREST_IO;
}

/* A deserialized database has a file system of its own, with room for little. */
static sqlite3_vfs *file_system_of(sqlite3 *db)
{
	sqlite3_vfs *vfs = NULL;

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) || !vfs ||
	    sqlite3_stricmp(vfs->zName, "memdb") == 0)
		vfs = sqlite3_vfs_find(NULL);
	return vfs;
}

static int open_file(struct ifs_temp_store *temp_store)
{
	sqlite3_vfs *vfs = file_system_of(temp_store->db);
	int flags = SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE |
		    SQLITE_OPEN_DELETEONCLOSE;
	sqlite3_file *file = sqlite3_malloc64((sqlite3_uint64)vfs->szOsFile);
	int rc;

	if (!file)
		return SQLITE_NOMEM;
	memset(file, 0, (size_t)vfs->szOsFile);
	rc = vfs->xOpen(vfs, NULL, file, flags, &flags);
	if (!rc) {
		temp_store->file = file;
		return SQLITE_OK;
	}
	if (file->pMethods)
		file->pMethods->xClose(file);
	sqlite3_free(file);
	return rc;
}

static enum iforest_status file_create_run(void *context, struct iforest_place *place)
{
	struct ifs_temp_store *temp_store = context;
	int rc = temp_store->file ? SQLITE_OK : open_file(temp_store);

	place->location = temp_store->n_pages;
	return rc ? store_failed(temp_store, rc) : IFOREST_OK;
}

static enum iforest_status file_write(void *context, const struct iforest_place *place, const struct iforest_page_write *pages,
				      uint32_t n_pages)
{
	struct ifs_temp_store *temp_store = context;
	int rc = SQLITE_OK;

	for (uint32_t i = 0; i < n_pages && !rc; i++) {
		uint64_t at = place->location + pages[i].index;

		rc = temp_store->file->pMethods->xWrite(temp_store->file, pages[i].bytes, (int)pages[i].n_bytes,
							(sqlite3_int64)(at * ROOM));
		temp_store->n_pages = at + 1;
	}
	return rc ? store_failed(temp_store, rc) : IFOREST_OK;
}

/* The last page of the file may be short. */
static enum iforest_status file_get(void *context, const struct iforest_place *place, uint64_t index, struct iforest_page *page)
{
	struct ifs_temp_store *temp_store = context;
	uint8_t *bytes = sqlite3_malloc64(temp_store->pager.page_bytes);
	int rc = SQLITE_NOMEM;

	if (bytes)
		rc = temp_store->file->pMethods->xRead(temp_store->file, bytes, (int)temp_store->pager.page_bytes,
						       (sqlite3_int64)((place->location + index) * ROOM));
	if (rc && rc != SQLITE_IOERR_SHORT_READ) {
		sqlite3_free(bytes);
		return store_failed(temp_store, rc);
	}
	*page = (struct iforest_page){ .bytes = bytes, .n_bytes = temp_store->pager.page_bytes };
	temp_store->note_read(temp_store->context, temp_store->n_read++, temp_store->n_pages);
	return IFOREST_OK;
}

static void file_release(void *context, struct iforest_page *page)
{
	(void)context;
	sqlite3_free((uint8_t *)page->bytes);
}

/* The file is deleted as a whole. */
static enum iforest_status file_drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	(void)context;
	(void)place;
	(void)n_pages;
	return IFOREST_OK;
}

/* ---- the store ---- */

void ifs_temp_store_init(struct ifs_temp_store *temp_store, sqlite3 *db,
			 void (*note_read)(void *context, uint64_t n_read, uint64_t n_pages), void *context)
{
	*temp_store = (struct ifs_temp_store){ .db = db,
					       .note_read = note_read,
					       .context = context,
					       .store.alloc = &ifs_alloc,
					       .store.pager = &temp_store->pager,
					       .pager = { .context = temp_store,
							  .page_bytes = IFS_SQLITE_PAGE_BYTES,
							  .max_batch_pages = 1,
							  .get = file_get,
							  .release = file_release,
							  .create_run = file_create_run,
							  .write = file_write,
							  .drop_run = file_drop_run,
							  .random = ifs_pager_random } };
	if (must_use_memory(db)) {
		iforest_pager_memory_init(&temp_store->memory, &ifs_alloc, IFS_SQLITE_PAGE_BYTES, 1, false);
		temp_store->memory.lends_pages = true;
		temp_store->store.pager = &temp_store->memory.pager;
	}
}

void ifs_temp_store_release(struct ifs_temp_store *temp_store)
{
	if (temp_store->memory.alloc)
		iforest_pager_memory_release(&temp_store->memory);
	if (temp_store->file) {
		temp_store->file->pMethods->xClose(temp_store->file);
		sqlite3_free(temp_store->file);
	}
	*temp_store = (struct ifs_temp_store){ .db = NULL };
}
