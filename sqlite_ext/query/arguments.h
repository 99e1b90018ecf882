/* arguments.h -- the hidden arguments of a question: t0, t1, n, step, origin, fill. */
#ifndef IFOREST_SQLITE_ARGUMENTS_H
#define IFOREST_SQLITE_ARGUMENTS_H

#include "core/model/bucket.h"
#include "sqlite_ext/storage/definition.h"

enum iforest_fill {
	IFOREST_FILL_NONE,
	IFOREST_FILL_NULL,
	IFOREST_FILL_ZERO,
	IFOREST_FILL_LAST,
	IFOREST_FILL_LINEAR,
	IFOREST_N_FILLS
};

struct iforest_arguments {
	bool is_given[IFOREST_N_ARGUMENTS];
	int64_t values[IFOREST_N_ARGUMENTS];
	enum iforest_fill fill;
	bool has_null;            /* one is NULL: there are no rows, and the rest means nothing */
};

/* Reads the arguments whose bits are set in `given` from argv, in order; name is that of the table asked, for messages. Refuses
 * those that do not go together. */
int iforest_arguments_read(const char *name, unsigned given, sqlite3_value **argv, struct iforest_arguments *arguments,
			   struct iforest_error *error);

struct iforest_bucketing iforest_arguments_bucketing(const struct iforest_arguments *arguments);

#endif
