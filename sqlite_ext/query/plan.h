/* query/plan.h -- Query plans of bucket tables: constraints encoded in xBestIndex and decoded in xFilter.
 *
 * idxNum has a bit for each hidden argument of the table that is given with "=":
 *
 *   0x01 t0   0x02 t1   0x04 n   0x08 step   0x10 origin   0x20 fill
 *
 * and, from bit IFS_UNUSABLE_SHIFT on, 1 + the number of an argument with a constraint that is not usable in this plan: then no
 * row may be returned. In xFilter's argv the values of the arguments come first, in this order, and then the values of the
 * conditions on by columns.
 *
 * idxStr has the rest, and for EXPLAIN QUERY PLAN the arguments in words:
 *
 *   window [t0, t1), n buckets; by "track" =; by "depth" IS; by "lane" IN; by "host" = text or number; of "dur": sum max id; times
 *
 * The part before the first ";" is only for readers. There is a "by" for each condition on a by column, in the order of
 * argv, and an "of" for each requested value column, followed by the requested parts.
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
	bool wants_peak; /* iforest_overlap: the greatest number of spans open at once is requested */
	unsigned n_conditions;
	struct ifs_by_condition conditions[IFS_MAX_CONDITIONS]; /* "=", IS and IN, on by columns of the table */
};

/* xBestIndex: fills in the info. name is the table's, for messages; number_texts as for ifs_plan_equality().
 * Returns  SQLITE_CONSTRAINT if the value of an argument, unless given by IN, is not known yet in this join order;
 *          SQLITE_ERROR with a message if an argument has a constraint other than "=" */
int ifs_plan_make(const struct ifs_definition *definition, uint32_t number_texts, const char *name, sqlite3_index_info *info,
		  struct ifs_error *error);

/* xFilter: decodes what ifs_plan_make() wrote with the same name and definition. Returns false for any other text. */
bool ifs_plan_read(struct ifs_plan *plan, const struct ifs_definition *definition, const char *name, int index_number,
		   const char *index_text);

/* ---- Parts shared with other tables over an index ---- */

/* Encodes the hidden arguments as described above; their columns start at first_column, and names has their names.
 * constraint_of[a] becomes the constraint that gives argument a, -1 if none does. Adds their number to *n_argv, and puts the
 * first unusable argument into idxNum. Returns as ifs_plan_make().
 * Requires  the arguments are among the first 63 columns: SQLite reports the use of later ones only together */
int ifs_plan_take_arguments(const char *name, const char *const *names, sqlite3_index_info *info, int first_column,
			    int n_arguments, int *constraint_of, int *n_argv, struct ifs_error *error);
enum { IFS_UNUSABLE_SHIFT = 26 };

/* Sets the rows and cost of a plan whose arguments are encoded. A plan with an unusable argument costs more than any other.
 * SQLite costs the branches of an OR without the other conditions. It would otherwise put this table before the tables that
 * t0 = ... needs, and then find no plan at all ("no query solution"). */
#define IFS_COST_OF_UNUSABLE 1e98
void ifs_plan_set_cost(sqlite3_index_info *info, double n_rows, double cost);

/* True if condition i, on a by column, may choose series: its collation is BINARY, as series are compared, and it is among the
 * first 32. Only of these SQLite reports whether they are an IN; of a later IN it would pass the values one by one, and check
 * rows without the affinity of their column. */
bool ifs_plan_may_choose(sqlite3_index_info *info, int i);

/* Row values with IN
 *
 * SQLite offers `(a, b) IN (SELECT x, y ...)` as an "=" for each column, whose values it passes row by row, and then only
 * compares them with the column as it is. The affinity of x, which `a = x` applies to a, is left out: of 1 and '1', or '1.0', too
 * few or too many are found. Nothing tells such a part from another "=". But the affinity matters only if column a has texts that
 * are numbers: then a plan without the part, for which SQLite asks next, is made cheaper, so that SQLite takes that one, and
 * checks the IN itself. A join by such a column is planned alike: its index comes first, or all its series are read. */

/* Returns the operator of a usable "=" on a by column: 'm' for an IN, whose values are to be passed at once; '~' or '='.
 * number_texts: bits of the by columns that have texts that are numbers, but no numeric affinity */
char ifs_plan_equality(sqlite3_index_info *info, int i, unsigned by, uint32_t number_texts);

/* True if the "=" i may be a part of a row value and SQLite's check of it wrong. */
bool ifs_plan_is_doubtful(sqlite3_index_info *info, int i, unsigned by, uint32_t number_texts);

/* Sets the rows and cost of a plan. has_left: a doubtful "=" is not usable in it. The caller estimates as if it were. */
void ifs_plan_set_doubtful_cost(sqlite3_index_info *info, double n_rows, double cost, bool has_left);

/* Encodes the conditions on by columns that narrow the series, and appends their words to the text; returns how many, and
 * counts doubtful ones that are not usable, too. */
unsigned ifs_plan_take_conditions(const struct ifs_definition *definition, uint32_t number_texts, sqlite3_index_info *info,
				  int *n_argv, sqlite3_str *text, bool *has_left);

/* Decodes these words, and moves *at past them. */
bool ifs_plan_read_conditions(struct ifs_plan *plan, const struct ifs_definition *definition, const char **at);

/* ---- Values of the hidden arguments t0, t1, n, step, origin, fill ---- */

enum ifs_fill_mode { IFS_FILL_NONE, IFS_FILL_NULL, IFS_FILL_ZERO, IFS_FILL_LAST, IFS_FILL_LINEAR, IFS_N_FILLS };

struct ifs_arguments {
	struct ifs_times times;
	bool is_given[IFS_N_ARGUMENTS];
	int64_t values[IFS_N_ARGUMENTS];
	enum ifs_fill_mode fill;
	bool has_null; /* an argument is NULL: the query has no rows, and the other members are undefined */
};

/* Reads the arguments whose bits are set in `given` from argv, in order, and refuses those that exclude each other. name
 * is the queried table's, for messages. Converts times and step to those of the index. */
int ifs_arguments_read(const struct ifs_times *times, const char *name, unsigned given, sqlite3_value **argv,
		       struct ifs_arguments *arguments, struct ifs_error *error);

struct iforest_bucketing ifs_arguments_bucketing(const struct ifs_arguments *arguments);

#endif
