/* model/kind.h -- Kinds of accumulators: further sums that an index may keep in its nodes, such as squares and histograms.
 *
 * An accumulator is a vector of integers, each the sum of something over the entries that have its columns. All accumulators
 * can therefore be combined and subtracted by one loop over words, and a fold may take the shorter side of a cut. A kind is one
 * row of a table: the code of its field, its size, and its lift function, which adds entries. Node schema, nodes, folds,
 * integrity check, and the options of both engines are driven by the table.
 *
 *   squares     the sum of the squares of an INT64 column, exact in 192 bits (2^63 rows of any value fit 190)
 *   histogram   for each parameter, a bound, the number of values of an INT64 column at or below it
 *   products    of two INT64 columns, or one and the time, where neither is NULL: the number of entries, both sums, the sums
 *               of both squares, and the sum of the products (model/regression.h), exact in 192 bits
 *
 * Bytes: FORMAT.md, "Node page". What a new kind touches: core/README.md.
 */
#ifndef IFOREST_MODEL_KIND_H
#define IFOREST_MODEL_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

#define IFOREST_MAX_VALUES 8 /* value columns of one index */

enum iforest_value_type { IFOREST_INT64 = 1, IFOREST_FLOAT64 = 2 };

#define IFOREST_MAX_ACCUMULATORS 16
#define IFOREST_MAX_ACCUMULATOR_WORDS 96 /* of all accumulators of an index */

#define IFOREST_NO_VALUE UINT8_MAX
#define IFOREST_TIME_COLUMN (UINT8_MAX - 1)

/* ---- Kinds ---- */

/* Codes of fields (page/node.h has the others). */
enum iforest_kind_code { IFOREST_KIND_SQUARES = 11, IFOREST_KIND_HISTOGRAM = 12, IFOREST_KIND_PRODUCTS = 13 };

enum { IFOREST_N_KINDS = 3, IFOREST_MAX_BOUNDS = 32 };

/* Entries to add. */
struct iforest_lift {
	const int64_t *numbers, *others; /* of the column, and of the second one; NULL if the kind has none */
	uint64_t which;			 /* bit i: add entry i */
	const int64_t *parameters;
	unsigned n_parameters;
};

struct iforest_kind {
	uint8_t code;
	const char *name;	 /* plural noun for the accumulators, for messages */
	const char *results;	 /* plural noun for what is computed from them */
	const char *option;	 /* argument or storage parameter that lists them */
	const char *list;	 /* what that is a list of */
	uint8_t n_words;	 /* of each number, in two's complement, lowest word first */
	uint8_t n_numbers;	 /* 0: one for each parameter */
	uint8_t most_parameters; /* 0: it has none; else at least one, ascending */
	bool has_second;	 /* it has a second column: a value column or the time */
	bool takes_decimals;	 /* its results also hold for numeric columns, which are kept in units of 10^-scale */
	void (*lift)(const struct iforest_lift *entries, uint64_t *words);
};

extern const struct iforest_kind iforest_kinds[IFOREST_N_KINDS];

/* Returns the kind with a code, or NULL. */
const struct iforest_kind *iforest_kind_find(unsigned code);

/* ---- Accumulators ---- */

struct iforest_accumulator {
	uint8_t code;	/* of its kind */
	uint8_t value;	/* value column, INT64 */
	uint8_t second; /* second value column, IFOREST_TIME_COLUMN or IFOREST_NO_VALUE */
	uint8_t n_parameters;
	uint16_t first_parameter;

	/* derived by iforest_accumulators_finish() */
	uint16_t word, n_words; /* its words in an aggregate */
};

/* The accumulators of an index: ascending by value column, code and second column. */
struct iforest_accumulators {
	uint8_t n;
	uint16_t n_parameters;
	uint16_t n_words; /* derived */
	struct iforest_accumulator list[IFOREST_MAX_ACCUMULATORS];
	int64_t parameters[IFOREST_MAX_ACCUMULATOR_WORDS];
};

static inline const int64_t *iforest_accumulator_parameters(const struct iforest_accumulators *all, unsigned a)
{
	return all->parameters + all->list[a].first_parameter;
}

/* Adds an accumulator in its place in the list. The derived members are then stale: call iforest_accumulators_finish().
 * Errors  IFOREST_ARGUMENT: there is one of that code and these columns, or there are too many, or too many parameters. */
enum iforest_status iforest_accumulators_add(struct iforest_accumulators *all, unsigned code, unsigned value, unsigned second,
					     const int64_t *parameters, unsigned n_parameters);

/* Computes the derived members; the first accumulator has words from first_word on. types: enum iforest_value_type of the
 * n_values value columns.
 * Errors  IFOREST_ARGUMENT: an unknown code, a wrong order, a column that does not exist or is not INT64, wrong parameters, or
 *         too many words. */
enum iforest_status iforest_accumulators_finish(struct iforest_accumulators *all, const uint8_t *types, unsigned n_values,
						unsigned first_word);

/* Returns the number of the accumulator of `all` that equals of->list[a] in code, columns and parameters; -1 if there is none.
 * */
int iforest_accumulators_find(const struct iforest_accumulators *all, const struct iforest_accumulators *of, unsigned a);

/* Returns the number of the accumulator with this code and these columns; -1 if there is none. */
int iforest_accumulators_named(const struct iforest_accumulators *all, unsigned code, unsigned value, unsigned second);

/* True if both have the same accumulators. */
bool iforest_accumulators_equal(const struct iforest_accumulators *a, const struct iforest_accumulators *b);

/* ---- Words of an accumulator ---- */

/* into = into + from, into = into - from: each number modulo 2^(64 n_words of its kind). */
void iforest_accumulator_combine(const struct iforest_accumulator *accumulator, uint64_t *into, const uint64_t *from);
void iforest_accumulator_subtract(const struct iforest_accumulator *accumulator, uint64_t *into, const uint64_t *from);

/* words = words + the entries. Sets the parameters of `entries`. */
void iforest_accumulator_lift(const struct iforest_accumulators *all, unsigned a, struct iforest_lift *entries,
			      uint64_t *words);

/* ---- Accumulators as text ---- */

/* The list of an option: "column", "column * column", or "column(number, number, ...)", separated by commas. */

enum { IFOREST_NAME_MISSING = -1, IFOREST_NAME_UNKNOWN = -2 };

/* Reads the name at *at, and advances *at past it and any space after it. Returns its value column, IFOREST_TIME_COLUMN, or one
 * of the two codes above. */
typedef int iforest_read_name(void *context, const char **at);

enum iforest_text_error {
	IFOREST_TEXT_OK,
	IFOREST_TEXT_WRONG,	   /* syntax error */
	IFOREST_TEXT_UNKNOWN,	   /* the last name read is not that of a usable column */
	IFOREST_TEXT_TWICE,	   /* the same columns are named twice */
	IFOREST_TEXT_TOO_MANY,	   /* too many accumulators, parameters or words */
	IFOREST_TEXT_NOT_ASCENDING /* the parameters do not ascend */
};

/* Parses a list and adds its accumulators. The list, which may be empty, ends at the end of the text or at a closing
 * parenthesis; *text then points there. */
enum iforest_text_error iforest_accumulators_parse(struct iforest_accumulators *all, const struct iforest_kind *kind,
						   const char **text, iforest_read_name *read_name, void *context);

#endif
