/* vtab/advised_times.h -- Window of an index that equals comparisons of a time column in a SELECT, by what the column holds now.
 *
 * Comparisons with constants are computed: `ts > 5.5` becomes t0 = 6. Those with parameters become expressions: `ts <= ?1` becomes
 * t1 = ?1 + 1. Texts are compared as texts by SQL, and as times by the index. That is the same where all times have one form,
 * YYYY-MM-DD perhaps with HH:MM:SS, and the constant that form too, or the beginning or more of it.
 */
#ifndef IFS_VTAB_ADVISED_TIMES_H
#define IFS_VTAB_ADVISED_TIMES_H

#include "sqlite_ext/storage/engine.h"

enum { IFS_ADVISED_COLUMNS = 63 };

struct ifs_advised_table {
	const char *schema, *name;
	int n_columns;
	const char *columns[IFS_ADVISED_COLUMNS], *types[IFS_ADVISED_COLUMNS];
	int key;  /* the column that is the rowid, -1 if none */
	int time; /* the column that is to be the time */
};

/* How many values of each class a column has. */
struct ifs_column_classes {
	int64_t n_nulls, n_integers, n_reals, n_texts, n_blobs;
	int64_t n_fractions;  /* reals that are no integers */
	int64_t n_infinities; /* n_large: integers beyond those that reals have all of */
	int64_t n_large;
	bool has_negative;
};

/* Cost  reads the table */
int ifs_column_classes_read(sqlite3 *db, const struct ifs_advised_table *table, int column, struct ifs_column_classes *classes,
			    struct ifs_error *error);

/* Tells whether all texts of the time are times from 1678 to 2261.
 * Cost  reads the table */
int ifs_texts_are_times(sqlite3 *db, const struct ifs_advised_table *table, bool *are_times, struct ifs_error *error);

/* Tells whether no row has an end before its time, or an end and no time.
 * Cost  reads the table */
int ifs_ends_are_in_order(sqlite3 *db, const struct ifs_advised_table *table, int end, bool *are_in_order,
			  struct ifs_error *error);

enum ifs_window_kind { IFS_WINDOW_OF_INTEGERS, IFS_WINDOW_OF_REALS, IFS_WINDOW_OF_TEXTS };

struct ifs_time_window {
	enum ifs_window_kind kind;
	const char *affinity;	   /* of the column */
	unsigned form;		   /* of texts */
	bool is_bounded;	   /* rows without a time are excluded */
	bool is_empty;		   /* no time meets the conditions */
	int64_t low, high;	   /* both inclusive; of reals: mapped as in core/model/real_time.h */
	char *low_text, *end_text; /* of texts: the first, and the one after the last; NULL: none */
	char *lowers, *ends;	   /* expressions with parameters, with commas between them; NULL: none */
	int n_lowers, n_ends;
	char *why; /* why there is no window of such times */
};

/* Starts with all times. Sets why if the index could not have them, or their form is not known.
 * Cost  of texts: reads the table */
int ifs_time_window_open(struct ifs_time_window *window, sqlite3 *db, const struct ifs_advised_table *table,
			 const struct ifs_column_classes *classes, struct ifs_error *error);

/* Starts again. */
void ifs_time_window_reopen(struct ifs_time_window *window);

/* Takes the condition `time op expression`; operators are those of query/numeric_bound.h. *why: it cannot be taken. */
int ifs_time_window_narrow(struct ifs_time_window *window, sqlite3 *db, char op, const char *expression, bool is_constant,
			   char **why, struct ifs_error *error);

/* Writes t0 = ... AND t1 = ..., or nothing. */
void ifs_time_window_write(const struct ifs_time_window *window, sqlite3_str *out);

void ifs_time_window_release(struct ifs_time_window *window);

#endif
