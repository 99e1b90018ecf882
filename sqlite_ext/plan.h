/* plan.h -- what a query asks of the table: constraints to a plan in xBestIndex, and back in xFilter.
 *
 * idxNum, a bit for each argument of the table that is given with "=":
 *
 *   0x01 t0   0x02 t1   0x04 n   0x08 step   0x10 origin   0x20 fill
 *
 * The values of these come first in xFilter's argv, in this order; then those of the conditions on by columns.
 *
 * idxStr: "VALUES NO_MINS NO_MAXS NO_ROWS SQUARES FIRSTS LASTS TIMES" in hexadecimal, what is wanted (core/leaf_fold.h), then for each
 * condition on a by column " =N" or " iN" (IS), N the column's number, in the order of argv.
 */
#ifndef IFOREST_SQLITE_PLAN_H
#define IFOREST_SQLITE_PLAN_H

#include "core/leaf_fold.h"
#include "sqlite_ext/definition.h"

#define IFOREST_MAX_CONDITIONS 32

/* A condition on a by column. */
struct iforest_condition {
	unsigned by;
	bool is_is;             /* IS: NULL equals NULL */
};

struct iforest_plan {
	unsigned arguments;     /* bits, as in idxNum */
	struct iforest_wanted wanted;
	unsigned n_conditions;
	struct iforest_condition conditions[IFOREST_MAX_CONDITIONS];
};

/* xBestIndex: fills in the info. name is the table's, for messages.
 * Returns  SQLITE_CONSTRAINT where an argument's value is not known yet in this join order; SQLITE_ERROR with a message where an
 *          argument is used with anything but "=". */
int iforest_plan_make(const struct iforest_definition *definition, const char *name, sqlite3_index_info *info,
		      struct iforest_error *error);

/* xFilter: reads back what iforest_plan_make() wrote. */
void iforest_plan_read(struct iforest_plan *plan, int index_number, const char *index_text);

#endif
