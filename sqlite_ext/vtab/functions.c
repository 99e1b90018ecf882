#include "sqlite_ext/vtab/functions.h"

#include "core/model/digest.h"
#include "sqlite_ext/query/plan.h"

#define NAME "iforest_bucket"

enum { TS, T0, T1, N, N_ARGUMENTS };

static void report(sqlite3_context *context, struct ifs_error *error)
{
	if (error->message)
		sqlite3_result_error(context, error->message, -1);
	else
		sqlite3_result_error_nomem(context);
	ifs_error_clear(error);
}

/* Tells the kind of times by ts, t0 and t1: texts if one of them is a text; reals if ts is one, or t0 or t1 has a fraction. */
static enum ifs_time_kind kind_of(sqlite3_value **arguments)
{
	enum ifs_time_kind kind = IFS_TIMES_INTEGER;
	int64_t integer;

	for (int a = TS; a <= T1; a++)
		if (sqlite3_value_type(arguments[a]) == SQLITE_TEXT)
			return IFS_TIMES_TEXT;
		else if (sqlite3_value_type(arguments[a]) == SQLITE_FLOAT &&
			 (a == TS || !iforest_integral(sqlite3_value_double(arguments[a]), &integer)))
			kind = IFS_TIMES_REAL;
	return kind;
}

/* Texts are counted in nanoseconds if all of them fit, and otherwise in microseconds, which gives the same buckets. */
static struct ifs_times times_of(sqlite3_value **arguments)
{
	struct ifs_times times = { .kind = kind_of(arguments), .per_second = ifs_time_unit("ns") };
	int64_t time;

	for (int a = TS; a <= T1 && times.kind == IFS_TIMES_TEXT; a++)
		if (sqlite3_value_type(arguments[a]) == SQLITE_TEXT &&
		    ifs_time_of(&times, arguments[a], &time) == IFS_TIME_TOO_FAR)
			times.per_second = ifs_time_unit("us");
	return times;
}

static void bucket_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	static const char *const names[N_ARGUMENTS] = { "ts", "t0", "t1", "n" };
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_times times = times_of(arguments);
	struct iforest_bucketing bucketing = { .mode = IFOREST_COUNT,
					       .edges = ifs_time_edges(times.kind),
					       .window = { .has_t0 = true, .has_t1 = true } };
	int64_t values[N_ARGUMENTS] = { 0 }, bucket;
	bool has_null = false;

	for (int a = 0; a < n_arguments && !error.rc; a++)
		if (sqlite3_value_type(arguments[a]) == SQLITE_NULL)
			has_null = true;
		else if (a == N)
			ifs_value_to_integer(NAME, names[a], arguments[a], &values[a], &error);
		else
			ifs_time_argument(&times, NAME, names[a], arguments[a], &values[a], &error);
	if (!error.rc && !has_null && values[N] <= 0)
		ifs_error_set(&error, SQLITE_ERROR, NAME ": n must be greater than 0");
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

int ifs_bucket_function_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, NAME, N_ARGUMENTS, SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, NULL,
					  bucket_function, NULL, NULL, NULL);
}

/* ---- Sketches ---- */

/* Sets an error whose text names the function; format is one of sqlite3_mprintf(). */
static void result_error(sqlite3_context *context, const char *format, const char *name)
{
	char *message = sqlite3_mprintf(format, name);

	if (message)
		sqlite3_result_error(context, message, -1);
	else
		sqlite3_result_error_nomem(context);
	sqlite3_free(message);
}

/* The two aggregates of a kind of sketch; the user data of their SQL functions. */
struct digest_aggregates {
	enum iforest_digest_kind kind;
	const char *name, *merge_name;
};

static const struct digest_aggregates quantiles = { IFOREST_DIGEST_QUANTILES, "iforest_sketch", "iforest_sketch_merge" };
static const struct digest_aggregates distinct = { IFOREST_DIGEST_DISTINCT, "iforest_distinct", "iforest_distinct_merge" };

int ifs_sketch_error_set(struct ifs_error *error, enum iforest_status status, const char *name)
{
	switch (status) {
	case IFOREST_OK:
		return SQLITE_OK;
	case IFOREST_NO_MEMORY:
		return ifs_error_set(error, SQLITE_NOMEM, "");
	case IFOREST_FORMAT:
		return ifs_error_set(error, SQLITE_ERROR, "%s: the sketch is of another version of iforest; make it anew",
				     name);
	case IFOREST_RANGE:
		return ifs_error_set(error, SQLITE_ERROR, "%s: more than 9223372036854775807 numbers", name);
	case IFOREST_ARGUMENT:
		return ifs_error_set(error, SQLITE_ERROR, "%s: min and max are not those of the sketch's numbers", name);
	default:
		return ifs_error_set(error, SQLITE_ERROR, "%s: not a sketch, or a damaged one; it takes what %s() gives", name,
				     strncmp(name, distinct.name, strlen(distinct.name)) == 0 ? distinct.name : quantiles.name);
	}
}

static void result_status(sqlite3_context *context, enum iforest_status status, const char *name)
{
	struct ifs_error error = { .rc = SQLITE_OK };

	if (ifs_sketch_error_set(&error, status, name))
		report(context, &error);
}

/* ---- aggregates ---- */

/* Reads a value as sum() would, but returns false for text that is not a number.
 * Requires  it is not NULL */
static bool read_number(sqlite3_value *value, struct iforest_sketch_number *number)
{
	int type = sqlite3_value_numeric_type(value);

	if (type == SQLITE_INTEGER)
		*number = (struct iforest_sketch_number){ IFOREST_INT64, { .integer = sqlite3_value_int64(value) } };
	else if (type == SQLITE_FLOAT)
		*number = (struct iforest_sketch_number){ IFOREST_FLOAT64, { .real = sqlite3_value_double(value) } };
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* The sketch of a group, in memory of SQLite that is zeroed at first. */
struct sketched_group {
	bool is_begun;
	struct iforest_digest sketch;
};

/* Returns the sketch of the group; NULL if out of memory. */
static struct iforest_digest *sketch_of(sqlite3_context *context)
{
	const struct digest_aggregates *aggregates = sqlite3_user_data(context);
	struct sketched_group *group = sqlite3_aggregate_context(context, sizeof *group);

	if (!group) {
		sqlite3_result_error_nomem(context);
		return NULL;
	}
	if (!group->is_begun)
		iforest_digest_init(&group->sketch, aggregates->kind, &ifs_alloc);
	group->is_begun = true;
	return &group->sketch;
}

/* Reads what the sketch counts for a value: a number, or a key. False, with an error as the result, if that fails. */
static bool read_counted(sqlite3_context *context, enum iforest_digest_kind kind, sqlite3_value *value,
			 struct iforest_sketch_number *number)
{
	if (kind == IFOREST_DIGEST_DISTINCT) {
		number->kind = IFOREST_INT64;
		if (ifs_distinct_key(value, &number->value.integer))
			return true;
		sqlite3_result_error_nomem(context);
		return false;
	}
	if (read_number(value, number))
		return true;
	result_error(context, "%s: a value is not a number; cast it, or leave it out", quantiles.name);
	return false;
}

static void change_by_value(sqlite3_context *context, sqlite3_value *value, bool is_added)
{
	const struct digest_aggregates *aggregates = sqlite3_user_data(context);
	struct iforest_digest *sketch = sketch_of(context);
	struct iforest_sketch_number number;

	if (!sketch || sqlite3_value_type(value) == SQLITE_NULL || !read_counted(context, sketch->kind, value, &number))
		return;
	result_status(context,
		      is_added ? iforest_digest_add(sketch, number.value, number.kind)
			       : iforest_digest_remove(sketch, number.value, number.kind),
		      aggregates->name);
}

static void change_by_sketch(sqlite3_context *context, sqlite3_value *value, bool is_added)
{
	const struct digest_aggregates *aggregates = sqlite3_user_data(context);
	struct iforest_digest *sketch = sketch_of(context);
	const uint8_t *bytes;
	size_t n_bytes;

	if (!sketch || sqlite3_value_type(value) == SQLITE_NULL)
		return;
	bytes = sqlite3_value_blob(value);
	n_bytes = (size_t)sqlite3_value_bytes(value);
	result_status(context,
		      is_added ? iforest_digest_merge(sketch, bytes, n_bytes) : iforest_digest_subtract(sketch, bytes, n_bytes),
		      aggregates->merge_name);
}

static void add_value(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	change_by_value(context, values[0], true);
}

static void remove_value(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	change_by_value(context, values[0], false);
}

static void add_sketch(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	change_by_sketch(context, values[0], true);
}

static void remove_sketch(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	change_by_sketch(context, values[0], false);
}

static void sketch_value(sqlite3_context *context)
{
	const struct sketched_group *group = sqlite3_aggregate_context(context, 0);
	uint8_t *bytes;
	size_t n_bytes;

	if (!group || !group->is_begun || iforest_digest_is_empty(&group->sketch))
		return;
	if (iforest_digest_write(&group->sketch, &bytes, &n_bytes))
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_blob64(context, bytes, n_bytes, sqlite3_free);
}

/* SQLite calls xFinal for every group that was begun, also after an error. */
static void sketch_final(sqlite3_context *context)
{
	struct sketched_group *group = sqlite3_aggregate_context(context, 0);

	sketch_value(context);
	if (group && group->is_begun)
		iforest_digest_release(&group->sketch);
}

/* ---- reading ---- */

/* Opens the sketch of an argument; *is_null if it is NULL or holds no numbers. */
static bool open_sketch(sqlite3_context *context, sqlite3_value *value, const char *name, struct iforest_sketch_view *view,
			bool *is_null)
{
	const uint8_t *bytes;
	enum iforest_status status;

	*view = (struct iforest_sketch_view){ .n = 0 };
	*is_null = sqlite3_value_type(value) == SQLITE_NULL;
	if (*is_null)
		return true;
	bytes = sqlite3_value_blob(value);
	status = iforest_sketch_open(view, bytes, (size_t)sqlite3_value_bytes(value));
	result_status(context, status, name);
	*is_null = view->n == 0;
	return !status;
}

static void count_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct iforest_sketch_view view;
	bool is_null;

	(void)n_arguments;
	if (open_sketch(context, arguments[0], "iforest_sketch_count", &view, &is_null))
		sqlite3_result_int64(context, (sqlite3_int64)view.n);
}

static void distinct_count_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	const uint8_t *bytes;
	enum iforest_status status = IFOREST_OK;
	uint64_t n = 0;

	(void)n_arguments;
	if (sqlite3_value_type(arguments[0]) != SQLITE_NULL) {
		bytes = sqlite3_value_blob(arguments[0]);
		status = iforest_distinct_count(bytes, (size_t)sqlite3_value_bytes(arguments[0]), &n);
	}
	result_status(context, status, "iforest_distinct_count");
	if (!status)
		sqlite3_result_int64(context, (sqlite3_int64)n);
}

/* Reads the arguments min and max, if both are given. False if one of them is not a number. */
static bool read_extremes(int n_arguments, sqlite3_value **arguments, struct iforest_sketch_extremes *extremes, bool *are_known)
{
	*are_known = n_arguments == 4 && sqlite3_value_type(arguments[2]) != SQLITE_NULL &&
		     sqlite3_value_type(arguments[3]) != SQLITE_NULL;
	return !*are_known || (read_number(arguments[2], &extremes->min) && read_number(arguments[3], &extremes->max));
}

static void quantile_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct iforest_sketch_extremes extremes;
	struct iforest_sketch_number q, answer;
	struct iforest_sketch_view view;
	bool is_null, are_known;
	double place;
	enum iforest_status status;

	if (sqlite3_value_type(arguments[1]) == SQLITE_NULL)
		return;
	if (!open_sketch(context, arguments[0], "iforest_quantile", &view, &is_null))
		return;
	place = read_number(arguments[1], &q) ? sqlite3_value_double(arguments[1]) : -1;
	if (!(place >= 0 && place <= 1)) {
		result_error(context, "%s: the second argument is not a number from 0 to 1", "iforest_quantile");
		return;
	}
	if (!read_extremes(n_arguments, arguments, &extremes, &are_known)) {
		result_error(context, "%s: min and max must be numbers", "iforest_quantile");
		return;
	}
	if (is_null)
		return;
	status = iforest_sketch_quantile(&view, place, are_known ? &extremes : NULL, &answer);
	result_status(context, status, "iforest_quantile");
	if (!status && answer.kind == IFOREST_INT64)
		sqlite3_result_int64(context, answer.value.integer);
	else if (!status)
		sqlite3_result_double(context, answer.value.real);
}

static void rank_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct iforest_sketch_number v;
	struct iforest_sketch_view view;
	bool is_null;

	(void)n_arguments;
	if (sqlite3_value_type(arguments[1]) == SQLITE_NULL ||
	    !open_sketch(context, arguments[0], "iforest_rank", &view, &is_null))
		return;
	if (!read_number(arguments[1], &v))
		result_error(context, "%s: the second argument is not a number", "iforest_rank");
	else if (!is_null)
		sqlite3_result_double(context, (double)iforest_sketch_count_through(&view, sqlite3_value_double(arguments[1])) /
						       (double)view.n);
}

/* Registers both aggregates of a kind. If values cannot be removed from the sketch, there is no inverse, and SQLite refuses
 * window frames whose start moves. */
static int register_aggregates(sqlite3 *db, const struct digest_aggregates *aggregates, int flags)
{
	bool takes_out = iforest_digest_takes_out(aggregates->kind);
	void *data = (void *)aggregates;
	int rc = sqlite3_create_window_function(db, aggregates->name, 1, flags, data, add_value, sketch_final,
						takes_out ? sketch_value : NULL, takes_out ? remove_value : NULL, NULL);

	return rc ? rc
		  : sqlite3_create_window_function(db, aggregates->merge_name, 1, flags, data, add_sketch, sketch_final,
						   takes_out ? sketch_value : NULL, takes_out ? remove_sketch : NULL, NULL);
}

int ifs_sketch_functions_register(sqlite3 *db)
{
	static const struct {
		const char *name;
		int n_arguments;
		void (*function)(sqlite3_context *context, int n_arguments, sqlite3_value **arguments);
	} functions[] = { { "iforest_sketch_count", 1, count_function },
			  { "iforest_quantile", 2, quantile_function },
			  { "iforest_quantile", 4, quantile_function },
			  { "iforest_rank", 2, rank_function },
			  { "iforest_distinct_count", 1, distinct_count_function } };
	const int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC;
	int rc = register_aggregates(db, &quantiles, flags);

	if (!rc)
		rc = register_aggregates(db, &distinct, flags);
	for (size_t f = 0; f < sizeof functions / sizeof *functions && !rc; f++)
		rc = sqlite3_create_function_v2(db, functions[f].name, functions[f].n_arguments, flags, NULL,
						functions[f].function, NULL, NULL, NULL);
	return rc;
}
