/* storage/shadow_tables.h -- Shadow tables of an index in the database file, and the handle of an open index.
 *
 *   x_page(id INTEGER PRIMARY KEY, bytes BLOB)      id = location << 32 | page number; the manifest has id 0
 *   x_series(id INTEGER PRIMARY KEY, key BLOB)      the series of the index, each with the canonical bytes of its by values
 *   x_config(name TEXT PRIMARY KEY, value)          'format', 'argument 0'.., 'by type 0'.., 'flushed', 'export width'..
 *                                                   (maintain/export.h), 'time type' unless times are integers, and
 *                                                   'automerge' if it was set
 *   x_log(...)                                      with sync=log: changes since the last flush, written by triggers
 *   x_front(block INTEGER)                          with sync=log: the range of rowids that the log does not cover (triggers.h)
 *   x_mark(mark)                                    without INTEGER PRIMARY KEY: whether rows were renumbered (follow/mark.h)
 *   x_sketch(run, value, level, number, dead, bytes)   with sketch=...: sketches of whole nodes (sidecar.h)
 *   x_piece(run, value, level, number, dead, bytes)    with counter=...: counter summaries of whole nodes (sidecar.h)
 *   x_distinct(run, value, level, number, dead, bytes) with distinct=...: distinct sketches of whole nodes (sidecar.h)
 *
 * SQLite does not regard x_log, x_front and x_mark as shadow tables, because ordinary triggers must be allowed to write to
 * them.
 */
#ifndef IFS_STORAGE_SHADOW_TABLES_H
#define IFS_STORAGE_SHADOW_TABLES_H

#include "core/run/pager.h"
#include "sqlite_ext/storage/definition.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/storage/page_cache.h"
#include "sqlite_ext/storage/read_ahead.h"

#define IFS_SQLITE_PAGE_BYTES 4000
#define IFS_SQLITE_FORMAT 2

struct ifs_connection;
struct ifs_snapshot;

/* The sidecar tables (sidecar.h). */
enum ifs_sidecar_table { IFS_SIDECAR_SKETCHES, IFS_SIDECAR_COUNTERS, IFS_SIDECAR_DISTINCTS, IFS_N_SIDECARS };

/* Versions by which SQLite reports changes of the database (follow/snapshot.c). */
struct ifs_data_version {
	bool is_known;
	unsigned version, temp_version; /* of the schema's database, and of the temporary one, which may have triggers */
};

struct ifs_index {
	sqlite3 *db;
	char *schema, *name;
	struct ifs_definition definition;  /* with all by columns, but without their types */
	struct ifs_base_table base_table;  /* as last found; the name is NULL until then */
	struct ifs_connection *connection; /* follow/snapshot.h */
	struct ifs_index *next;		   /* the next handle of the connection */
	bool is_joined;			   /* its virtual table takes part in the transaction */
	struct iforest_pager pager;
	struct iforest_store store;
	struct ifs_page_cache cache;
	struct ifs_read_ahead ahead;
	bool knows_cache_size; /* PRAGMA cache_size was read since the snapshot was last opened */
	sqlite3_stmt *get_page, *put_page, *read_schema_version, *read_temp_version, *find_row;
	sqlite3_stmt *read_state, *read_rows, *read_log;
	sqlite3_stmt *has_summary[IFS_N_SIDECARS], *get_summary[IFS_N_SIDECARS];
	struct ifs_snapshot *snapshot;	      /* the last one read, or NULL */
	struct ifs_times times;		      /* of that snapshot */
	struct ifs_data_version data_version; /* at which the snapshot was complete */
	bool is_derived;		      /* the handle belongs to a table over another table's index */
	const char *by_types[IFS_MAX_BY];     /* is_derived: the types with which that table was declared */
	enum ifs_time_kind time_kind;	      /* is_derived: the kind with which its time columns were declared */
	bool is_attached; /* base_table was found at these versions of its schema and of the temporary one */
	int schema_version, temp_version;
	uint64_t last_location; /* the highest one allocated by this handle */
	int io_rc;		/* the last code that SQLite returned to the pager */
};

/* Creates the tables and stores the definition. With may_exist, as in a rebuild, keeps existing tables, other settings and the
 * records of an export, and replaces the stored definition. Without it an existing table is an error. */
int ifs_index_make_tables(struct ifs_index *index, const struct ifs_definition *definition, bool may_exist,
			  struct ifs_error *error);
/* Both require that the handle has no cached state: call ifs_index_forget() first (follow/snapshot.h). */
int ifs_index_drop_tables(struct ifs_index *index, struct ifs_error *error);
int ifs_index_rename_tables(struct ifs_index *index, const char *new_name, struct ifs_error *error);

/* Refuses a view, a virtual table or a generated column in one of the tables, which only an edited schema has: reading it would call what
 * the file says. Before the handle is described (ifs_index_describe()), looks at the tables that each index has. */
int ifs_index_check_tables(struct ifs_index *index, bool is_described, struct ifs_error *error);

/* Reads the definition that the index was created with, including by_types. Release `definition` in any case. */
int ifs_index_read_definition(struct ifs_index *index, struct ifs_definition *definition, struct ifs_error *error);

/* Records the current time in x_config as that of the last flush. */
int ifs_index_note_flush(struct ifs_index *index, struct ifs_error *error);

/* Creates x_mark without rows (follow/mark.h). */
enum ifs_mark_form { IFS_NO_MARK, IFS_PLAIN_MARK, IFS_UNIQUE_MARK };
int ifs_index_make_mark(struct ifs_index *index, enum ifs_mark_form form, struct ifs_error *error);

/* Recreates x_mark_order, a trigger on x_mark, so that it comes after the base table in the schema, as a rename does. */
int ifs_index_order_mark(struct ifs_index *index, struct ifs_error *error);

/* Finds which mark the index has. If x_config is damaged it has none: x_mark may be the user's. */
int ifs_index_find_mark(struct ifs_index *index, enum ifs_mark_form *form, struct ifs_error *error);

/* Writes a series. *put is a statement that is reused from call to call, and that the caller finalizes. */
int ifs_index_put_series(struct ifs_index *index, sqlite3_stmt **put, uint32_t id, const uint8_t *key, uint32_t n_bytes,
			 struct ifs_error *error);

/* How many runs of similar size accumulate before they are merged: IFOREST_USUAL_FAN_IN, unless set to a number from
 * IFS_LEAST_AUTOMERGE to IFS_MOST_AUTOMERGE. A rebuild keeps the setting. */
#define IFS_LEAST_AUTOMERGE 2
#define IFS_MOST_AUTOMERGE 16
int ifs_index_get_automerge(struct ifs_index *index, uint32_t *fan_in, struct ifs_error *error);
int ifs_index_set_automerge(struct ifs_index *index, uint32_t fan_in, struct ifs_error *error);

/* Records the kind with which time columns are declared. */
int ifs_index_note_time_kind(struct ifs_index *index, enum ifs_time_kind kind, struct ifs_error *error);

/* Reads the by types and the kind of times into a definition that is parsed already. If the table is damaged, missing types
 * stay NULL, and the kind stays integer. Returns only errors that a retry may cure. A column without type compares with texts
 * like BLOB. */
int ifs_index_read_types(struct ifs_index *index, struct ifs_definition *definition, struct ifs_error *error);

#endif
