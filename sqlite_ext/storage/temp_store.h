/* storage/temp_store.h -- Temporary page store of one command: a file as SQLite's own sorter uses, or memory.
 *
 * Memory is used after PRAGMA temp_store = MEMORY, and where the setting cannot be read.
 */
#ifndef IFS_STORAGE_TEMP_STORE_H
#define IFS_STORAGE_TEMP_STORE_H

#include "core/run/pager_memory.h"
#include "sqlite_ext/storage/engine.h"

struct ifs_temp_store {
	struct iforest_store store;
	sqlite3 *db;
	/* Called for each page that is read back from the file: how many have been before, and how many the file has. */
	void (*note_read)(void *context, uint64_t n_read, uint64_t n_pages);
	void *context;
	struct iforest_pager pager; /* over the file: run after run, each page at a multiple of its room */
	sqlite3_file *file;	    /* NULL until there is a run */
	uint64_t n_pages, n_read;   /* in the file; and read back so far */
	int rc;			    /* what the file system last refused with, SQLITE_OK: nothing */
	struct iforest_pager_memory memory;
};

/* Must stay in place. One run is written at a time, and none is written again. */
void ifs_temp_store_init(struct ifs_temp_store *temp_store, sqlite3 *db,
			 void (*note_read)(void *context, uint64_t n_read, uint64_t n_pages), void *context);
void ifs_temp_store_release(struct ifs_temp_store *temp_store);

#endif
