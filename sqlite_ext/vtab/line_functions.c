#include "sqlite_ext/vtab/line_functions.h"

#include "core/base/array.h"
#include "core/model/aggregate.h"
#include "core/model/lttb.h"

/* A value as it was given, so that the result can return it unchanged. */
struct line_number {
	bool is_integer;
	union iforest_number value;
};

struct line {
	struct iforest_line_point *points;
	struct line_number *numbers; /* the value of each point */
	size_t n, n_points_reserved, n_numbers_reserved;
	sqlite3_int64 n_wanted;
	bool has_failed;
};

static void fail(sqlite3_context *context, struct line *line, const char *message)
{
	line->has_failed = true;
	if (message)
		sqlite3_result_error(context, message, -1);
	else
		sqlite3_result_error_nomem(context);
}

static void add_point(sqlite3_context *context, struct line *line, sqlite3_int64 time, sqlite3_value *value)
{
	bool is_integer = sqlite3_value_numeric_type(value) == SQLITE_INTEGER;
	struct line_number number = { .is_integer = is_integer };

	if (!iforest_array_reserve(&ifs_alloc, &line->points, sizeof *line->points, line->n + 1, &line->n_points_reserved) ||
	    !iforest_array_reserve(&ifs_alloc, &line->numbers, sizeof *line->numbers, line->n + 1, &line->n_numbers_reserved)) {
		fail(context, line, NULL);
		return;
	}
	if (is_integer)
		number.value.integer = sqlite3_value_int64(value);
	else
		number.value.real = sqlite3_value_double(value);
	line->numbers[line->n] = number;
	line->points[line->n] =
		(struct iforest_line_point){ .time = time, .value = sqlite3_value_double(value), .row = line->n };
	line->n++;
}

static void line_step(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct line *line = sqlite3_aggregate_context(context, sizeof *line);
	int type = sqlite3_value_numeric_type(arguments[1]);
	int64_t time;

	(void)n_arguments;
	if (!line)
		sqlite3_result_error_nomem(context);
	if (!line || line->has_failed)
		return;
	if (line->n == 0 && sqlite3_value_numeric_type(arguments[2]) == SQLITE_INTEGER)
		line->n_wanted = sqlite3_value_int64(arguments[2]);
	if (line->n_wanted < 2) {
		fail(context, line, "iforest_lttb: n must be at least 2");
		return;
	}
	if (sqlite3_value_type(arguments[0]) == SQLITE_NULL || type == SQLITE_NULL)
		return;
	if (sqlite3_value_numeric_type(arguments[0]) != SQLITE_INTEGER) {
		fail(context, line, "iforest_lttb: a time is no integer");
		return;
	}
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		fail(context, line, "iforest_lttb: a value is not a number; cast it, or leave it out");
		return;
	}
	time = sqlite3_value_int64(arguments[0]);
	add_point(context, line, time, arguments[1]);
}

static void result_line(sqlite3_context *context, struct line *line)
{
	sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
	size_t n;
	char *json;

	(void)iforest_line_sort(line->points, line->n, NULL);
	n = iforest_lttb(line->points, line->n, (size_t)line->n_wanted);
	sqlite3_str_appendchar(text, 1, '[');
	for (size_t i = 0; i < n; i++) {
		const struct line_number *number = &line->numbers[line->points[i].row];

		sqlite3_str_appendf(text, i == 0 ? "[%lld," : ",[%lld,", (long long)line->points[i].time);
		if (number->is_integer)
			sqlite3_str_appendf(text, "%lld]", (long long)number->value.integer);
		else if (number->value.real - number->value.real != 0) /* JSON has no infinities; this is read as one */
			sqlite3_str_appendall(text, number->value.real > 0 ? "9e999]" : "-9e999]");
		else
			sqlite3_str_appendf(text, "%!.17g]", number->value.real);
	}
	sqlite3_str_appendchar(text, 1, ']');
	json = sqlite3_str_finish(text);
	if (json)
		sqlite3_result_text(context, json, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(context);
}

/* SQLite calls xFinal for every group that was begun, also after an error. Without points the result is NULL. */
static void line_final(sqlite3_context *context)
{
	struct line *line = sqlite3_aggregate_context(context, 0);

	if (!line)
		return;
	if (!line->has_failed && line->n > 0)
		result_line(context, line);
	iforest_release(&ifs_alloc, line->points);
	iforest_release(&ifs_alloc, line->numbers);
}

int ifs_line_functions_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "iforest_lttb", 3, SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, NULL,
					  NULL, line_step, line_final, NULL);
}
