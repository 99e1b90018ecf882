#include "sqlite_ext/query/arguments.h"

static int read_fill(const char *name, sqlite3_value *value, enum iforest_fill *fill, struct iforest_error *error)
{
	static const char *const words[IFOREST_N_FILLS] = { "none", "null", "zero", "last", "linear" };
	const char *text = (const char *)sqlite3_value_text(value);

	for (int f = IFOREST_FILL_NONE; text && f < IFOREST_N_FILLS; f++)
		if (sqlite3_stricmp(text, words[f]) == 0) {
			*fill = (enum iforest_fill)f;
			return SQLITE_OK;
		}
	return iforest_error_set(error, SQLITE_ERROR, "%s: fill is one of 'none', 'null', 'zero', 'last', 'linear'", name);
}

static const char *what_is_wrong(const struct iforest_arguments *arguments)
{
	const bool *given = arguments->is_given;
	bool is_bounded = given[IFOREST_ARGUMENT_T0] && given[IFOREST_ARGUMENT_T1];

	if (given[IFOREST_ARGUMENT_N] && given[IFOREST_ARGUMENT_STEP])
		return "n and step exclude each other";
	if (given[IFOREST_ARGUMENT_N] && arguments->values[IFOREST_ARGUMENT_N] <= 0)
		return "n must be greater than 0";
	if (given[IFOREST_ARGUMENT_STEP] && arguments->values[IFOREST_ARGUMENT_STEP] <= 0)
		return "step must be greater than 0";
	if (given[IFOREST_ARGUMENT_ORIGIN] && !given[IFOREST_ARGUMENT_STEP])
		return "origin needs step";
	if (given[IFOREST_ARGUMENT_N] && arguments->values[IFOREST_ARGUMENT_N] > 1 && !is_bounded)
		return "n needs both t0 and t1";
	if (arguments->fill != IFOREST_FILL_NONE && given[IFOREST_ARGUMENT_STEP] && !is_bounded)
		return "fill with step needs both t0 and t1";
	return NULL;
}

int iforest_arguments_read(const char *name, unsigned given, sqlite3_value **argv, struct iforest_arguments *arguments,
			  struct iforest_error *error)
{
	const char *wrong;
	int rc = SQLITE_OK;

	*arguments = (struct iforest_arguments){ .fill = IFOREST_FILL_NONE };
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS && !rc; a++) {
		sqlite3_value *value = given >> a & 1 ? *argv++ : NULL;

		if (!value)
			continue;
		arguments->is_given[a] = true;
		if (sqlite3_value_type(value) == SQLITE_NULL)
			arguments->has_null = true;
		else if (a == IFOREST_ARGUMENT_FILL)
			rc = read_fill(name, value, &arguments->fill, error);
		else
			rc = iforest_argument_integer(name, iforest_argument_names[a], value, &arguments->values[a], error);
	}
	if (rc || arguments->has_null)
		return rc;
	wrong = what_is_wrong(arguments);
	return wrong ? iforest_error_set(error, SQLITE_ERROR, "%s: %s", name, wrong) : SQLITE_OK;
}

struct iforest_bucketing iforest_arguments_bucketing(const struct iforest_arguments *arguments)
{
	const bool *given = arguments->is_given;
	const int64_t *values = arguments->values;
	struct iforest_bucketing bucketing = {
		.mode = given[IFOREST_ARGUMENT_STEP] ? IFOREST_STEP :
			given[IFOREST_ARGUMENT_N] && values[IFOREST_ARGUMENT_N] > 1 ? IFOREST_COUNT : IFOREST_WHOLE,
		.window = { .has_t0 = given[IFOREST_ARGUMENT_T0],
			    .has_t1 = given[IFOREST_ARGUMENT_T1],
			    .t0 = values[IFOREST_ARGUMENT_T0],
			    .t1 = values[IFOREST_ARGUMENT_T1] },
		.n = values[IFOREST_ARGUMENT_N],
		.step = values[IFOREST_ARGUMENT_STEP],
		.origin = values[IFOREST_ARGUMENT_ORIGIN],
	};

	return bucketing;
}
