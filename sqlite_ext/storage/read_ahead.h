/* storage/read_ahead.h -- Read-ahead of index pages by threads that read the database file beside SQLite.
 *
 * SQLite reads a page when it is asked for, and waits. Where PRAGMA threads allows helpers and the file is read from a device, pages that
 * will be asked for are read before, by several threads at once, through files of their own that SQLite's VFS opens: then the
 * system has them in memory when SQLite reads them. Nothing that is read here is used, but for the pages of the b-tree that say which page
 * of the file has a row, and only to choose what to read: so a wrong or old page costs a read in vain and no more.
 *
 * All functions are called on the connection's thread. The threads call xRead of the VFS and nothing else of SQLite, and have ended when
 * a function returns.
 */
#ifndef IFS_STORAGE_READ_AHEAD_H
#define IFS_STORAGE_READ_AHEAD_H

#include "core/query/read_ahead.h"
#include "sqlite_ext/storage/engine.h"

#define IFS_READERS 8u
#define IFS_MOST_DEPTH 6u /* levels of a b-tree above its leaf pages */

struct ifs_read_ahead {
	bool is_opened, is_possible; /* opening was tried; it succeeded */
	void *memory;		     /* of the files */
	uint8_t *pages;		     /* memory of the interior pages */
	sqlite3_file *files[IFS_READERS];
	uint8_t *interior[IFS_MOST_DEPTH]; /* the pages last read on each level, of n_page_bytes */
	uint32_t numbers[IFS_MOST_DEPTH];  /* of these, 0: none */
	uint32_t n_page_bytes, root;
	unsigned n_levels;   /* above the leaf pages */
	uint64_t n_waits;    /* pages that were fetched from the device, by SQLite or before */
	uint32_t n_expected; /* pages fetched ahead that SQLite has not read yet */
};

/* Reads ahead the rows with these ids, ascending, of a table of a schema. Does nothing where it is not possible. */
void ifs_read_ahead_rows(struct ifs_read_ahead *ahead, sqlite3 *db, const char *schema, const char *table,
			 const sqlite3_int64 *ids, unsigned n);

/* Notes that SQLite has read a row, and how long that took. */
void ifs_read_ahead_note(struct ifs_read_ahead *ahead, uint64_t nanoseconds);

void ifs_read_ahead_release(struct ifs_read_ahead *ahead);

#endif
