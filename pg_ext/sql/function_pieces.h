/* function_pieces.h -- what the queries of an index's functions have in common: names of columns, and pieces of text. Not for
 * others. */
#ifndef IFOREST_PG_FUNCTION_PIECES_H
#define IFOREST_PG_FUNCTION_PIECES_H

#include "pg_ext/sql/sqlgen.h"

#include "lib/stringinfo.h"

/* Output columns and arguments of one function. */
struct iforest_names {
	const struct iforest_functions *functions;
	List *taken;
};

/* Raise an error where a name is too long, or taken. The list ends with NULL. */
void iforest_take_name(struct iforest_names *names, const char *name);
void iforest_take_names(struct iforest_names *names, const char *const *list);

/* The name, with a prefix where it is taken; quoted. */
const char *iforest_take_column(struct iforest_names *names, const char *prefix, const char *name);

/* As it is: names are no formats. */
void iforest_add_text(StringInfo text, const char *piece);

/* A call of this extension's function up to its first argument. */
void iforest_add_call(StringInfo text, const struct iforest_functions *functions, const char *name);

/* The number of a time's bucket; both bounds of a bucket; the last time before t1. */
void iforest_add_bucket_of(StringInfo text, const struct iforest_functions *functions, const char *time);
void iforest_add_bounds(StringInfo text, const struct iforest_functions *functions, const char *bucket);
void iforest_add_last(StringInfo text, const struct iforest_functions *functions);

void iforest_add_gates(StringInfo text, const struct iforest_functions *functions, const char *fill, bool is_filled);

/* A part of the index's function, after UNION ALL: of that name's end, with these columns, where $6 is one of those. It is a
 * function of its own, so that all others need not be planned with it: it is put in the place of the call only where $6 is
 * known to be one. */
void iforest_add_part(StringInfo text, const struct iforest_functions *functions, const char *suffix, const char *fills,
		      TupleDesc columns);

/* The condition of a partial index, after a word. */
void iforest_add_predicate(StringInfo text, const struct iforest_functions *functions, const char *word);

#endif
