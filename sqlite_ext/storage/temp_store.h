/* storage/temp_store.h -- Temporary page store of one command: a temporary file like that of SQLite's sorter, or memory.
 *
 * It uses memory after PRAGMA temp_store = MEMORY, and if the setting cannot be read.
 */
#ifndef IFS_STORAGE_TEMP_STORE_H
#define IFS_STORAGE_TEMP_STORE_H

#include "core/run/pager_memory.h"
#include "sqlite_ext/storage/engine.h"

struct ifs_temp_store {
	struct iforest_store store;
	sqlite3 *db;
	/* Called for each page read back from the file, with the number read before and the number in the file. */
	void (*note_read)(void *context, uint64_t n_read, uint64_t n_pages);
	void *context;
	struct iforest_pager pager; /* over the file: run after run, a page in every 4096 bytes */
	sqlite3_file *file;	    /* NULL until the first run */
	uint64_t n_pages, n_read;   /* in the file; read back so far */
	int rc;			    /* the file system's last error, or SQLITE_OK */
	struct iforest_pager_memory memory;
};

/* Initializes the store; the struct must not move. Runs must be written one at a time, and each once. */
void ifs_temp_store_init(struct ifs_temp_store *temp_store, sqlite3 *db,
			 void (*note_read)(void *context, uint64_t n_read, uint64_t n_pages), void *context);
void ifs_temp_store_release(struct ifs_temp_store *temp_store);

#endif
