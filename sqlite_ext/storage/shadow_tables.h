/* storage/shadow_tables.h -- Shadow tables of an index in the database file, and the handle of an open index.
 *
 *   x_page(id INTEGER PRIMARY KEY, bytes BLOB)      id = location << 32 | page number; the manifest has id 0
 *   x_series(id INTEGER PRIMARY KEY, key BLOB)      the series of the index, each with the canonical bytes of its by values
 *   x_config(name TEXT PRIMARY KEY, value)          'format', 'argument 0'.., 'by type 0'.., 'flushed', 'export width'..
 *                                                   (maintain/export.h), and 'automerge' if it was set
 *   x_log(...)                                      with sync=log: changes since the last flush, written by triggers
 *   x_front(block INTEGER)                          with sync=log: the range of rowids that the log does not cover (triggers.h)
 *   x_sketch(run, value, level, number, dead, bytes)   with sketch=...: sketches of whole nodes (sidecar.h)
 *   x_piece(run, value, level, number, dead, bytes)    with counter=...: counter summaries of whole nodes (sidecar.h)
 *
 * SQLite does not regard x_log and x_front as shadow tables, because ordinary triggers must be allowed to write to them.
 */
#ifndef IFS_STORAGE_SHADOW_TABLES_H
#define IFS_STORAGE_SHADOW_TABLES_H

#include "core/run/pager.h"
#include "sqlite_ext/storage/definition.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/storage/page_cache.h"

#define IFOREST_SQLITE_PAGE_BYTES 4000
#define IFOREST_SQLITE_FORMAT 2
#define IFOREST_SQLITE_HOST_BYTES 24

struct iforest_connection;
struct iforest_snapshot;

/* Types of summaries of whole nodes (shelf.h). */
enum iforest_shelf_kind { IFOREST_SHELF_SKETCHES, IFOREST_SHELF_COUNTERS, IFOREST_N_SHELVES };

/* What shows that the database has changed: the data versions of the schema's file and of the temporary one, which may hold
 * triggers. */
struct iforest_moment {
	bool is_known;
	unsigned version, temp_version; /* of the schema's file and of the temporary one, which may hold triggers */
};

struct iforest_index {
	sqlite3 *db;
	char *schema, *name;
	struct iforest_definition definition; /* with all by columns, without their types */
	struct iforest_source source;       /* as last found; its name is NULL before */
	struct iforest_connection *connection; /* see follow/snapshot.h */
	struct iforest_index *next;         /* of the connection */
	bool is_joined;                     /* its table takes part in the transaction */
	struct iforest_pager pager;
	struct iforest_store store;
	struct iforest_page_cache cache;
	bool knows_cache_size;              /* PRAGMA cache_size was asked since the state was last opened */
	sqlite3_stmt *get_page, *put_page, *read_schema_version, *read_temp_version, *find_row;
	sqlite3_stmt *read_state, *read_rows, *read_log;
	sqlite3_stmt *has_kept[IFOREST_N_SHELVES], *get_kept[IFOREST_N_SHELVES];
	struct iforest_snapshot *snapshot;  /* last read, or NULL */
	struct iforest_moment moment;       /* at which the snapshot was complete */
	bool is_borrowed;                   /* of another table's: it may be made anew with other columns */
	const char *by_types[IFOREST_MAX_BY]; /* of one that is borrowed: with which that table was declared (definition.h) */
	bool is_attached;                   /* the source was found at these versions, of its schema and of the temporary one */
	int schema_version, temp_version;
	uint64_t last_location;             /* highest one given out by this handle */
	int io_rc;                          /* what SQLite last returned to the pager */
};

/* Makes them, and writes the definition down. With may_exist, as in a rebuild, those that are there stay, and are emptied of a
 * damaged definition (not of what is known of an export); without, one that is there is an error. */
int iforest_index_make_tables(struct iforest_index *index, const struct iforest_definition *definition, bool may_exist,
			      struct iforest_error *error);
/* Both require that the handle has no cached state (follow/snapshot.h: iforest_index_forget()). */
int iforest_index_drop_tables(struct iforest_index *index, struct iforest_error *error);
int iforest_index_rename_tables(struct iforest_index *index, const char *new_name, struct iforest_error *error);

/* Reads back the definition an index was made with, by_types included. `definition` is to be released in any case. */
int iforest_index_read_definition(struct iforest_index *index, struct iforest_definition *definition,
				  struct iforest_error *error);

/* Notes in x_config that all that was pending is in the index now, with the time of the clock. */
int iforest_index_note_flush(struct iforest_index *index, struct iforest_error *error);

/* Writes a series; *put is a statement that is kept from call to call, to be finalized by the caller. */
int iforest_index_put_series(struct iforest_index *index, sqlite3_stmt **put, uint32_t id, const uint8_t *key, uint32_t n_bytes,
			     struct iforest_error *error);

/* Runs of a size before they are merged; IFOREST_USUAL_FAN_IN unless it was set to a number from IFOREST_LEAST_AUTOMERGE to
 * IFOREST_MOST_AUTOMERGE. It outlives a rebuild. */
#define IFOREST_LEAST_AUTOMERGE 2
#define IFOREST_MOST_AUTOMERGE 16
int iforest_index_get_automerge(struct iforest_index *index, uint32_t *fan_in, struct iforest_error *error);
int iforest_index_set_automerge(struct iforest_index *index, uint32_t fan_in, struct iforest_error *error);

/* The by types alone, into a definition that has been parsed already; those that a damaged table does not tell stay NULL. An
 * error only where the next try may do better: a column without its type is compared with texts as no other is. */
int iforest_index_read_by_types(struct iforest_index *index, struct iforest_definition *definition,
				struct iforest_error *error);

#endif
