/* storage/read_ahead.h -- Read-ahead of index pages by threads that read the database file beside SQLite.
 *
 * SQLite reads a page when it is needed, and waits for it. If PRAGMA threads allows helpers and reads go to a device, several
 * threads read the pages in advance, through file handles of their own from SQLite's VFS, so that they are in the operating
 * system's cache when SQLite reads them. No answer uses the bytes read here. Only interior pages of the b-tree are decoded, to
 * find the page of a row, so a wrong or stale page costs no more than a useless read.
 *
 * All functions are called on the connection's thread. The helper threads call xRead of the VFS and nothing else of SQLite, and
 * have ended when a function returns.
 */
#ifndef IFS_STORAGE_READ_AHEAD_H
#define IFS_STORAGE_READ_AHEAD_H

#include "core/query/read_ahead.h"
#include "sqlite_ext/storage/engine.h"

#define IFS_READERS 8u
#define IFS_MOST_DEPTH 6u /* levels of a b-tree above its leaf pages */

struct ifs_read_ahead {
	bool is_opened, is_possible; /* opening was attempted; it succeeded */
	void *memory;		     /* of the files */
	uint8_t *pages;		     /* memory of the interior pages */
	sqlite3_file *files[IFS_READERS];
	uint8_t *interior[IFS_MOST_DEPTH]; /* the pages last read on each level, of n_page_bytes */
	uint32_t numbers[IFS_MOST_DEPTH];  /* their page numbers; 0: none */
	uint32_t n_page_bytes, root;
	unsigned n_levels;   /* above the leaf pages */
	uint64_t n_waits;    /* pages fetched from the device, by SQLite or in advance */
	uint32_t n_expected; /* pages fetched ahead that SQLite has not read yet */
};

/* Reads ahead the rows with these ids, ascending, of a table of a schema. Does nothing if reading ahead is not possible. */
void ifs_read_ahead_rows(struct ifs_read_ahead *ahead, sqlite3 *db, const char *schema, const char *table,
			 const sqlite3_int64 *ids, unsigned n);

/* Records that SQLite has read a row, and how long that took. */
void ifs_read_ahead_note(struct ifs_read_ahead *ahead, uint64_t nanoseconds);

void ifs_read_ahead_release(struct ifs_read_ahead *ahead);

#endif
