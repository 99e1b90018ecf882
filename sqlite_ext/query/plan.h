/* query/plan.h -- Query plans of bucket tables: constraints encoded in xBestIndex and decoded in xFilter.
 *
 * idxNum has a bit for each hidden argument of the table that is given with "=":
 *
 *   0x01 t0   0x02 t1   0x04 n   0x08 step   0x10 origin   0x20 fill
 *
 * and, from bit IFS_UNUSABLE_SHIFT on, 1 + the number of an argument that the query uses but does not offer: then no row
 * may be returned. The values of the arguments come first in xFilter's argv, in this order; then those of the conditions
 * on by columns.
 *
 * idxStr has the rest, and for EXPLAIN QUERY PLAN the arguments in words:
 *
 *   window [t0, t1), n buckets; by "track" =; by "depth" IS; by "lane" IN; of "dur": sum max id; times
 *
 * The part before the first ";" is for people only. There is a "by" for each condition on a by column, in the order of
 * argv, and an "of" for each requested value column, with the words for its parts.
 */
#ifndef IFS_QUERY_PLAN_H
#define IFS_QUERY_PLAN_H

#include "core/model/bucket.h"
#include "core/page/leaf_fold.h"
#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/storage/definition.h"

#define IFS_MAX_CONDITIONS 32

struct ifs_plan {
	const char *name;   /* of the queried table, for messages */
	unsigned arguments; /* bits, as in idxNum */
	struct iforest_request request;
	bool wants_peak; /* of iforest_overlap: how many spans are open at once */
	unsigned n_conditions;
	struct ifs_by_condition conditions[IFS_MAX_CONDITIONS]; /* "=", IS and IN, on by columns of the table */
};

/* xBestIndex: fills in the info. name is the table's, for messages.
 * Returns  SQLITE_CONSTRAINT if the value of an argument, other than by IN, is not known yet in this join order;
 *          SQLITE_ERROR with a message if an argument is used with anything but "=" */
int ifs_plan_make(const struct ifs_definition *definition, const char *name, sqlite3_index_info *info, struct ifs_error *error);

/* xFilter: decodes what ifs_plan_make() wrote with the same name and definition. False for any other text. */
bool ifs_plan_read(struct ifs_plan *plan, const struct ifs_definition *definition, const char *name, int index_number,
		   const char *index_text);

/* ---- Parts that other tables over an index share ---- */

/* Encodes the hidden arguments, whose columns start with first_column, as described above; names are theirs.
 * constraint_of[a] is the constraint that gives argument a, -1 if none does. Adds to *n_argv, and puts the first unusable
 * argument into idxNum. The arguments must be among the first 63 columns: SQLite does not report the use of each of the
 * others. Returns as ifs_plan_make(). */
int ifs_plan_take_arguments(const char *name, const char *const *names, sqlite3_index_info *info, int first_column,
			    int n_arguments, int *constraint_of, int *n_argv, struct ifs_error *error);
enum { IFS_UNUSABLE_SHIFT = 26 };

/* Sets the rows and cost of a plan whose arguments are encoded. One with an unusable argument costs more than any other:
 * SQLite weighs the branches of an OR without the conditions beside it, and would put the table before those that t0 = ...
 * needs, after which there is no plan at all ("no query solution"). */
#define IFS_COST_OF_UNUSABLE 1e98
void ifs_plan_set_cost(sqlite3_index_info *info, double n_rows, double cost);

/* True if condition i, on a by column, may choose series. They are compared as by BINARY. And SQLite reports only of the
 * first 32 conditions whether they are an IN: otherwise it would pass the values of an IN one by one, and check rows
 * without the affinity of their column. */
bool ifs_plan_may_choose(sqlite3_index_info *info, int i);

/* Encodes the conditions on by columns that narrow the series, and appends their words to the text; returns how many. */
unsigned ifs_plan_take_conditions(const struct ifs_definition *definition, sqlite3_index_info *info, int *n_argv,
				  sqlite3_str *text);

/* Decodes these words, moving *at past them. */
bool ifs_plan_read_conditions(struct ifs_plan *plan, const struct ifs_definition *definition, const char **at);

/* ---- Values of the hidden arguments t0, t1, n, step, origin, fill ---- */

enum ifs_fill_mode { IFS_FILL_NONE, IFS_FILL_NULL, IFS_FILL_ZERO, IFS_FILL_LAST, IFS_FILL_LINEAR, IFS_N_FILLS };

struct ifs_arguments {
	struct ifs_times times;
	bool is_given[IFS_N_ARGUMENTS];
	int64_t values[IFS_N_ARGUMENTS];
	enum ifs_fill_mode fill;
	bool has_null; /* one is NULL: there are no rows, and the rest is undefined */
};

/* Reads the arguments whose bits are set in `given` from argv, in order, and refuses those that exclude each other. name
 * is the queried table's, for messages. Times and step become those of the index. */
int ifs_arguments_read(const struct ifs_times *times, const char *name, unsigned given, sqlite3_value **argv,
		       struct ifs_arguments *arguments, struct ifs_error *error);

struct iforest_bucketing ifs_arguments_bucketing(const struct ifs_arguments *arguments);

#endif
