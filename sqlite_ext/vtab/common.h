/* vtab/common.h -- Virtual table object shared by all modules: creation, errors, and tables over another table's index. */
#ifndef IFS_VTAB_COMMON_H
#define IFS_VTAB_COMMON_H

#include "sqlite_ext/follow/snapshot.h"

struct ifs_module;

struct ifs_table {
	sqlite3_vtab base;
	const struct ifs_module *module;
	struct ifs_definition definition; /* of a fold: with only the by columns kept */
	struct ifs_index index;
	unsigned kept[IFS_MAX_BY]; /* the number in the index of each by column */
	uint32_t number_texts;	   /* in xBestIndex: see ifs_plan_equality() */
	int first_by;		   /* the column of the first by column */
	int first_argument;	   /* the column of the first hidden argument; n_arguments: how many there are */
	unsigned n_arguments;
	char *name;		      /* of this table */
	const char *const *arguments; /* copies of the arguments of xCreate or xConnect: module, schema, name, ... */
	char *broken;		      /* of a table over an index: why that is gone or damaged; NULL if it is usable */
};

/* ---- Creation: xCreate and xConnect ---- */

/* Allocates a table with its module, its name and copies of the arguments. (SQLite's strings may become invalid when SQL is
 * run: if that runs out of memory, SQLite drops its schema, which owns them.) On failure the error is set; release the result
 * if it is not NULL. */
struct ifs_table *ifs_table_new(const struct ifs_module *module, int n_arguments, const char *const *arguments,
				struct ifs_error *error);
void ifs_table_release(struct ifs_table *table);

/* Declares the columns to SQLite. command is the name of the command column, NULL for none. */
int ifs_table_declare(struct ifs_table *table, sqlite3 *db, const char *command, struct ifs_error *error);

/* Declares the columns with a CREATE TABLE text from sqlite3_mprintf(), and frees it. NULL means out of memory. Returns an
 * error that is set already. */
int ifs_table_declare_text(sqlite3 *db, char *sql, struct ifs_error *error);

/* Ends xCreate and xConnect: hands over the table, or the error and no table. */
int ifs_table_finish(struct ifs_table *table, sqlite3_vtab **base, char **message, struct ifs_error *error);

/* Passes an error to SQLite, which frees the message. Adds the table's name to messages of SQLite itself, which do not name the
 * index. */
int ifs_table_report(sqlite3_vtab *base, struct ifs_error *error);

/* xDisconnect, and xDestroy of tables that store nothing. */
int ifs_table_disconnect(sqlite3_vtab *base);

/* ---- Tables over the index of another table, found by its name in the same schema ---- */

/* Opens the index that the table's first argument names, and copies its definition to the table, with all by columns.
 * module is the name of the table's module, for messages. */
int ifs_table_open_index(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, const char *module,
			 int n_arguments, struct ifs_error *error);

/* Returns the name of a virtual table as the schema spells it, from sqlite3_mprintf(). NULL if there is none, and with an
 * error. */
char *ifs_table_spelling(sqlite3 *db, const char *schema, const char *name, struct ifs_error *error);

/* Creates or connects a table of a module over an index, from ifs_table_open_index() to ifs_table_declare(). */
typedef int ifs_open_derived(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
			     struct ifs_error *error);

/* Appends the declarations of the by columns to a CREATE TABLE text, each with a comma behind it. */
void ifs_table_add_by(sqlite3_str *sql, const struct ifs_definition *definition);

/* ---- Modules ---- */

/* A cursor; the first member of each module's cursor struct. */
struct ifs_cursor {
	sqlite3_vtab_cursor base;
	const struct ifs_reader *reader;
	bool at_end;
	/* copies of the hidden arguments that were given with "=", for xColumn; others NULL */
	sqlite3_value *arguments[IFS_N_ARGUMENTS];
};

static inline const struct ifs_table *ifs_cursor_table(const struct ifs_cursor *cursor)
{
	return (const struct ifs_table *)cursor->base.pVtab;
}

/* How a module over an index plans and reads. */
struct ifs_reader {
	size_t cursor_bytes; /* size of the module's cursor struct; n_zeros: how many of its bytes must start as zeros */
	size_t n_zeros;
	unsigned n_arguments; /* hidden columns with bits in idxNum, and their names; a table may have fewer */
	const char *const *argument_names;

	/* xBestIndex. SQLITE_CONSTRAINT needs no error. */
	int (*plan)(struct ifs_table *table, sqlite3_index_info *info, struct ifs_error *error);
	/* xFilter: starts a query, and ends the previous one. argv has the arguments, then the values that the plan names.
	 * Returns SQLITE_INTERNAL without an error for a plan of another kind. */
	int (*start)(struct ifs_cursor *cursor, int index_number, const char *index_text, sqlite3_value **argv,
		     struct ifs_error *error);
	/* Moves to the next row, or the first; sets at_end if there is none. */
	int (*next)(struct ifs_cursor *cursor, struct ifs_error *error);
	/* xColumn, except for the hidden arguments. The result stays NULL if nothing is set. */
	int (*column)(struct ifs_cursor *cursor, sqlite3_context *context, int column);
	/* A number that no other row of this or another query has, up to chance (64 bits). SQLite tells rows apart by it when
	 * it joins the branches of an OR. */
	sqlite3_int64 (*rowid)(const struct ifs_cursor *cursor);
	/* Ends the query, if one was started. */
	void (*release)(struct ifs_cursor *cursor);
};

struct ifs_module {
	const char *name;
	const sqlite3_module *methods;
	ifs_open_derived *open;		 /* of modules over an index; otherwise NULL */
	const struct ifs_reader *reader; /* of the methods ifs_cursor_...() */
};

/* Sets the result to a number of a value column. */
static inline void ifs_table_number(sqlite3_context *context, union iforest_number number, unsigned value_type)
{
	if (value_type == IFOREST_INT64)
		sqlite3_result_int64(context, number.integer);
	else
		sqlite3_result_double(context, number.real);
}

/* The context of a module, which SQLite passes to xCreate and xConnect. */
struct ifs_registration {
	struct ifs_connection *connection;
	const struct ifs_module *module;
	int (*register_all)(sqlite3 *db); /* registers all modules and functions with another connection */
};

/* Methods of the modules over an index. */
extern const sqlite3_module ifs_derived_methods;

/* The same methods one by one, for the module iforest, which has additional ones. */
int ifs_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int ifs_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out);
int ifs_cursor_close(sqlite3_vtab_cursor *base);
int ifs_cursor_next(sqlite3_vtab_cursor *base);
int ifs_cursor_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv);
int ifs_cursor_eof(sqlite3_vtab_cursor *base);
int ifs_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int ifs_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

/* ---- Table-valued functions, which have no index ---- */

/* A table and a cursor; each the first member of the function's own struct, if it has one. */
struct ifs_function_table {
	sqlite3_vtab base;
	sqlite3 *db;
	const struct ifs_registration *registration;
};

struct ifs_function_cursor {
	sqlite3_vtab_cursor base;
	bool at_end;
};

/* xConnect: allocates a struct ifs_function_table with the columns of a CREATE TABLE text. context is the module's
 * registration, risk SQLITE_VTAB_INNOCUOUS or SQLITE_VTAB_DIRECTONLY. */
int ifs_function_connect(sqlite3 *db, void *context, const char *declaration, int risk, sqlite3_vtab **base);

/* xDisconnect. */
int ifs_function_disconnect(sqlite3_vtab *base);

/* xBestIndex: the last two columns, from `first` on, are the arguments of the function, which xFilter gets in this order. Sets
 * bit 0 of info->idxNum if the first is given, and bit 1 if the second is.
 * Errors  SQLITE_CONSTRAINT: an argument is not known yet in this plan. */
int ifs_function_arguments(sqlite3_index_info *info, int first);

/* xOpen: allocates a cursor of that many bytes, zeroed but for at_end, which is true. */
int ifs_function_open(size_t cursor_bytes, sqlite3_vtab_cursor **out);

/* xEof. */
int ifs_function_eof(sqlite3_vtab_cursor *base);

/* Passes an error to SQLite, which frees the message. Returns its code; SQLITE_OK if none is set. */
int ifs_function_report(sqlite3_vtab *base, struct ifs_error *error);

#endif
