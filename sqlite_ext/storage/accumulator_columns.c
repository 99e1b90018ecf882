#include "sqlite_ext/storage/accumulator_columns.h"

#include <math.h>

#include "core/model/regression.h"

/* One column: column i of an accumulator. */
struct column {
	const struct iforest_accumulators *accumulators;
	unsigned a, i;
};

static const struct iforest_accumulator *accumulator_of(const struct column *column)
{
	return &column->accumulators->list[column->a];
}

/* ---- Variances: the sample variance and its root ---- */

static unsigned n_of_squares(const struct iforest_accumulator *accumulator)
{
	(void)accumulator;
	return 2;
}

static char *name_of_squares(const struct column *column, const char *const *values)
{
	return sqlite3_mprintf(column->i == 0 ? "var_%s" : "stddev_%s", values[accumulator_of(column)->value]);
}

/* NULL for fewer than two numbers. */
static void result_of_squares(sqlite3_context *context, const struct column *column, const struct iforest_aggregate *aggregate)
{
	const struct iforest_accumulator *accumulator = accumulator_of(column);
	const struct iforest_value_aggregate *value = &aggregate->values[accumulator->value];
	double variance;

	if (value->n < 2)
		return;
	variance = iforest_sample_variance(value, aggregate->words + accumulator->word);
	sqlite3_result_double(context, column->i == 0 ? variance : sqrt(variance));
}

/* ---- Histograms: a count for each bound ---- */

static unsigned n_of_histogram(const struct iforest_accumulator *accumulator)
{
	return accumulator->n_parameters;
}

static char *name_of_histogram(const struct column *column, const char *const *values)
{
	const int64_t *bounds = iforest_accumulator_parameters(column->accumulators, column->a);

	return sqlite3_mprintf("count_%s_le_%lld", values[accumulator_of(column)->value], (sqlite3_int64)bounds[column->i]);
}

static void result_of_histogram(sqlite3_context *context, const struct column *column,
				const struct iforest_aggregate *aggregate)
{
	sqlite3_result_int64(context, (sqlite3_int64)aggregate->words[accumulator_of(column)->word + column->i]);
}

/* ---- Products: functions of pairs ---- */

static const struct {
	const char *name;
	enum iforest_pair_function function;
} pairs[] = {
	{ "regr_count", IFOREST_REGR_COUNT }, { "corr", IFOREST_CORR },
	{ "covar_pop", IFOREST_COVAR_POP },   { "covar_samp", IFOREST_COVAR_SAMP },
	{ "regr_slope", IFOREST_REGR_SLOPE }, { "regr_intercept", IFOREST_REGR_INTERCEPT },
	{ "regr_r2", IFOREST_REGR_R2 },
};

static unsigned n_of_products(const struct iforest_accumulator *accumulator)
{
	(void)accumulator;
	return sizeof pairs / sizeof *pairs;
}

static char *name_of_products(const struct column *column, const char *const *values)
{
	const struct iforest_accumulator *accumulator = accumulator_of(column);
	unsigned second = accumulator->second == IFOREST_TIME_COLUMN ? IFOREST_MAX_VALUES : accumulator->second;

	return sqlite3_mprintf("%s_%s_%s", pairs[column->i].name, values[accumulator->value], values[second]);
}

static void result_of_products(sqlite3_context *context, const struct column *column, const struct iforest_aggregate *aggregate)
{
	enum iforest_pair_function function = pairs[column->i].function;
	double result;

	if (!iforest_pair_result(aggregate->words + accumulator_of(column)->word, false, function, &result))
		return;
	if (function == IFOREST_REGR_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)result);
	else
		sqlite3_result_double(context, result);
}

/* ---- The table ---- */

static const struct kind_columns {
	uint8_t code;
	bool needs_value; /* count and sum of its value column are needed, too */
	unsigned (*n)(const struct iforest_accumulator *accumulator);
	char *(*name)(const struct column *column, const char *const *values);
	void (*result)(sqlite3_context *context, const struct column *column, const struct iforest_aggregate *aggregate);
} kinds[] = {
	{ IFOREST_KIND_SQUARES, true, n_of_squares, name_of_squares, result_of_squares },
	{ IFOREST_KIND_HISTOGRAM, false, n_of_histogram, name_of_histogram, result_of_histogram },
	{ IFOREST_KIND_PRODUCTS, false, n_of_products, name_of_products, result_of_products },
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };
_Static_assert((int)N_KINDS == (int)IFOREST_N_KINDS, "each kind has columns");

/* Finds column c. Returns its kind, or NULL if there are not so many; *n becomes how many there are before it. */
static const struct kind_columns *find(const struct iforest_accumulators *accumulators, unsigned c, struct column *column,
				       unsigned *n)
{
	*n = 0;
	*column = (struct column){ .accumulators = accumulators };
	for (unsigned k = 0; k < N_KINDS; k++)
		for (column->a = 0; column->a < accumulators->n; column->a++) {
			unsigned of_this;

			if (accumulator_of(column)->code != kinds[k].code)
				continue;
			of_this = kinds[k].n(accumulator_of(column));
			column->i = c - *n;
			if (column->i < of_this)
				return &kinds[k];
			*n += of_this;
		}
	return NULL;
}

unsigned ifs_n_accumulator_columns(const struct iforest_accumulators *accumulators)
{
	struct column column;
	unsigned n;

	(void)find(accumulators, UINT32_MAX, &column, &n);
	return n;
}

char *ifs_accumulator_column_name(const struct iforest_accumulators *accumulators, const char *const *values, unsigned c)
{
	struct column column;
	unsigned n;

	return find(accumulators, c, &column, &n)->name(&column, values);
}

void ifs_accumulator_column_request(const struct iforest_accumulators *accumulators, unsigned c,
				    struct iforest_request *request)
{
	struct column column;
	unsigned n;

	if (find(accumulators, c, &column, &n)->needs_value)
		request->values |= 1u << accumulator_of(&column)->value;
	request->accumulators |= 1u << column.a;
}

void ifs_accumulator_column_result(sqlite3_context *context, const struct iforest_accumulators *accumulators, unsigned c,
				   const struct iforest_aggregate *aggregate)
{
	struct column column;
	unsigned n;

	find(accumulators, c, &column, &n)->result(context, &column, aggregate);
}
