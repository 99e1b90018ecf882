/* index.h -- an open index: its tables, the pager over them, and the state that was last read.
 *
 *   x_page(id INTEGER PRIMARY KEY, bytes BLOB)      id = location << 32 | index of the page; the manifest has id 0
 *   x_series(id INTEGER PRIMARY KEY, key BLOB)      series.h
 *   x_config(name TEXT PRIMARY KEY, value)          'format', 'argument 0'.., 'by type 0'..
 *   x_changed(changed INTEGER)                      one row: 0, or 1 once the table has changed; written by the triggers
 *
 * x_changed is no shadow table in SQLite's sense, because plain triggers write to it and must be let.
 * The manifest's host bytes: the id of the first series u32, of the one after the last u32, their checksum u64 (series.h).
 */
#ifndef IFOREST_SQLITE_INDEX_H
#define IFOREST_SQLITE_INDEX_H

#include "core/manifest.h"
#include "sqlite_ext/definition.h"
#include "sqlite_ext/dictionary.h"
#include "sqlite_ext/page_cache.h"

#define IFOREST_SQLITE_PAGE_BYTES 4000
#define IFOREST_SQLITE_FORMAT 1
#define IFOREST_SQLITE_HOST_BYTES 16

/* One state of the index, shared by the cursors that read it. */
struct iforest_snapshot {
	unsigned n_refs;
	struct iforest_manifest manifest;
	struct iforest_dictionary dictionary;
};

struct iforest_index {
	sqlite3 *db;
	char *schema, *name;
	char *columns;                      /* of the table, as the triggers name them */
	unsigned n_by, n_values;
	uint8_t duration_value;
	struct iforest_pager pager;
	struct iforest_store store;
	struct iforest_page_cache cache;
	sqlite3_stmt *get_page, *put_page, *read_changed, *read_schema_version;
	struct iforest_snapshot *snapshot;  /* last read, or NULL */
	bool is_attached;                   /* the triggers were right at this schema version */
	int schema_version;
	uint64_t last_location;             /* highest one given out by this handle */
	int io_rc;                          /* what SQLite last returned to the pager */
};

/* A handle that holds nothing but names yet. index must stay in place. */
int iforest_index_init(struct iforest_index *index, sqlite3 *db, const char *schema, const char *name,
		       struct iforest_error *error);
void iforest_index_release(struct iforest_index *index);

/* Takes down what the index is made of, with all its by columns. Once, before its state is read. */
int iforest_index_describe(struct iforest_index *index, const struct iforest_definition *definition,
			   struct iforest_error *error);

/* ---- its tables ---- */

/* Makes them, and writes the definition down. With may_exist, as in a rebuild, those that are there stay, and are emptied of a
 * damaged definition; without, one that is there is an error. */
int iforest_index_make_tables(struct iforest_index *index, const struct iforest_definition *definition, bool may_exist,
			      struct iforest_error *error);
int iforest_index_drop_tables(struct iforest_index *index, struct iforest_error *error);
int iforest_index_rename_tables(struct iforest_index *index, const char *new_name, struct iforest_error *error);

/* Reads back the definition an index was made with, by_types included. `definition` is to be released in any case. */
int iforest_index_read_definition(struct iforest_index *index, struct iforest_definition *definition,
				  struct iforest_error *error);

/* The by types alone, into a definition that has been parsed already; those that cannot be read stay NULL. */
void iforest_index_read_by_types(struct iforest_index *index, struct iforest_definition *definition);

/* ---- its state ---- */

/* Gives the state to read now, after making sure that the table has not changed since. Release it with
 * iforest_snapshot_release(). */
int iforest_index_open(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error);

/* The same without regard to the table: for integrity-check. */
int iforest_index_open_unguarded(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error);
void iforest_snapshot_release(struct iforest_snapshot *snapshot);

/* Turns what core returned while reading the snapshot into an error. */
int iforest_index_error(struct iforest_index *index, const struct iforest_snapshot *snapshot, enum iforest_status status,
			struct iforest_error *error);

/* Forgets state and pages in memory: the next reader reads all anew. */
void iforest_index_forget(struct iforest_index *index);

#endif
