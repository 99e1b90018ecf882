#include "sqlite_ext/vtab/functions.h"

#include "sqlite_ext/query/arguments.h"

#define NAME "iforest_bucket"

enum { TS, T0, T1, N, N_ARGUMENTS };

static void report(sqlite3_context *context, struct iforest_error *error)
{
	if (error->message)
		sqlite3_result_error(context, error->message, -1);
	else
		sqlite3_result_error_nomem(context);
	iforest_error_clear(error);
}

static void bucket_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	static const char *const names[N_ARGUMENTS] = { "ts", "t0", "t1", "n" };
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_bucketing bucketing = { .mode = IFOREST_COUNT, .window = { .has_t0 = true, .has_t1 = true } };
	int64_t values[N_ARGUMENTS] = { 0 }, bucket;
	bool has_null = false;

	for (int a = 0; a < n_arguments && !error.rc; a++)
		if (sqlite3_value_type(arguments[a]) == SQLITE_NULL)
			has_null = true;
		else
			iforest_argument_integer(NAME, names[a], arguments[a], &values[a], &error);
	if (!error.rc && !has_null && values[N] <= 0)
		iforest_error_set(&error, SQLITE_ERROR, NAME ": n must be greater than 0");
	if (error.rc) {
		report(context, &error);
		return;
	}
	bucketing.window.t0 = values[T0];
	bucketing.window.t1 = values[T1];
	bucketing.n = values[N];
	if (!has_null && iforest_window_holds(&bucketing.window, values[TS]) &&
	    !iforest_bucket_of(&bucketing, values[TS], &bucket))
		sqlite3_result_int64(context, bucket);
}

int iforest_bucket_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, NAME, N_ARGUMENTS, SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, NULL,
					  bucket_function, NULL, NULL, NULL);
}
