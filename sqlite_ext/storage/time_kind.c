#include "sqlite_ext/storage/time_kind.h"

#include <math.h>

#include "core/model/real_time.h"

const char *const ifs_time_types[IFS_N_TIME_KINDS] = { "INTEGER", "REAL", "TEXT" };

static const struct {
	const char *word;
	int64_t per_second;
} units[] = { { "ns", IFOREST_NANOSECONDS }, { "us", 1000000 }, { "ms", 1000 }, { "s", 1 } };

enum { N_UNITS = sizeof units / sizeof *units };

int64_t ifs_time_unit(const char *word)
{
	for (unsigned u = 0; u < N_UNITS; u++)
		if (sqlite3_stricmp(word, units[u].word) == 0)
			return units[u].per_second;
	return 0;
}

const char *ifs_time_unit_word(int64_t per_second)
{
	unsigned u = 0;

	while (u + 1 < N_UNITS && units[u].per_second != per_second)
		u++;
	return units[u].word;
}

enum iforest_bucket_edges ifs_time_edges(enum ifs_time_kind kind)
{
	static const enum iforest_bucket_edges edges[IFS_N_TIME_KINDS] = { IFOREST_EDGES_DOWN, IFOREST_EDGES_OF_REALS,
									   IFOREST_EDGES_UP };

	return edges[kind];
}

/* ---- values to times ---- */

static enum ifs_time_fault convert_real(sqlite3_value *value, int64_t *time)
{
	int type = sqlite3_value_type(value);
	double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;

	if (type == SQLITE_INTEGER) {
		int64_t integer = sqlite3_value_int64(value), back;

		real = (double)integer;
		if (!iforest_integral(real, &back) || back != integer)
			return IFS_TIME_INEXACT;
	} else if (type != SQLITE_FLOAT) {
		return IFS_TIME_OF_OTHER_TYPE;
	}
	if (!(real >= -IFOREST_GREATEST_REAL && real <= IFOREST_GREATEST_REAL))
		return IFS_TIME_INFINITE;
	*time = iforest_time_of_real(real);
	return IFS_TIME_OK;
}

/* Counts a time in the unit, and rounds it down. */
static enum ifs_time_fault count_time(const struct ifs_times *times, const struct iforest_text_time *text, int64_t *time)
{
	int64_t unit = IFOREST_NANOSECONDS / times->per_second, part = text->nanoseconds / unit;
	iforest_int128 count = (iforest_int128)text->seconds * times->per_second + part;

	if (count < INT64_MIN || count > INT64_MAX) {
		*time = count < 0 ? INT64_MIN : INT64_MAX;
		return IFS_TIME_TOO_FAR;
	}
	*time = (int64_t)count;
	return text->nanoseconds % unit ? IFS_TIME_TOO_FINE : IFS_TIME_OK;
}

/* The reverse. */
static struct iforest_text_time text_time_of(const struct ifs_times *times, int64_t time)
{
	int64_t seconds = (int64_t)iforest_floor_divide(time, times->per_second);
	int64_t part = (int64_t)(time - (iforest_int128)seconds * times->per_second);

	return (struct iforest_text_time){ seconds, part * (IFOREST_NANOSECONDS / times->per_second) };
}

void ifs_time_note_form(const struct ifs_times *times, sqlite3_value *value, int64_t time, struct iforest_text_forms *forms)
{
	const struct iforest_text_time text = text_time_of(times, time);

	iforest_text_forms_add(forms, (const char *)sqlite3_value_text(value), (size_t)sqlite3_value_bytes(value), &text);
}

static enum ifs_time_fault convert_text(const struct ifs_times *times, sqlite3_value *value, int64_t *time)
{
	struct iforest_text_time text;
	const char *bytes = (const char *)sqlite3_value_text(value);
	enum iforest_text_result result =
		bytes ? iforest_text_time_read(bytes, (size_t)sqlite3_value_bytes(value), &text) : IFOREST_TEXT_NONE;

	if (result == IFOREST_TEXT_READ)
		return count_time(times, &text, time);
	return result == IFOREST_TEXT_NONE ? IFS_TIME_NO_TEXT : IFS_TIME_TOO_FINE;
}

enum ifs_time_fault ifs_time_convert(const struct ifs_times *times, sqlite3_value *value, int64_t *time)
{
	int type = sqlite3_value_type(value);

	if (times->kind == IFS_TIMES_REAL)
		return convert_real(value, time);
	if (times->kind == IFS_TIMES_TEXT)
		return type == SQLITE_TEXT ? convert_text(times, value, time) : IFS_TIME_OF_OTHER_TYPE;
	return type == SQLITE_FLOAT && iforest_integral(sqlite3_value_double(value), time) ? IFS_TIME_OK
											   : IFS_TIME_OF_OTHER_TYPE;
}

/* ---- durations ---- */

enum ifs_time_fault ifs_duration_of(const struct ifs_times *times, sqlite3_value *value, int64_t *duration)
{
	int64_t factor = times->per_second / times->durations_per_second;
	double product;

	if (sqlite3_value_type(value) == SQLITE_INTEGER)
		return __builtin_mul_overflow(sqlite3_value_int64(value), factor, duration) ? IFS_TIME_TOO_FAR : IFS_TIME_OK;
	product = sqlite3_value_double(value) * (double)factor;
	if (iforest_integral(round(product), duration))
		return factor == 1 && round(product) != product ? IFS_TIME_TOO_FINE : IFS_TIME_OK;
	return IFS_TIME_TOO_FAR;
}

double ifs_real_duration_of(const struct ifs_times *times, double duration)
{
	int64_t per_second = times->per_second, durations = times->durations_per_second;

	return per_second >= durations ? duration * (double)(per_second / durations)
				       : duration / (double)(durations / per_second);
}

/* ---- arguments ---- */

static const char *text_of(sqlite3_value *value)
{
	const char *text = sqlite3_value_type(value) == SQLITE_BLOB ? NULL : (const char *)sqlite3_value_text(value);

	return text ? text : "a blob";
}

static int refuse(const struct ifs_times *times, const char *name, const char *argument, sqlite3_value *value,
		  enum ifs_time_fault fault, struct ifs_error *error)
{
	static const char *const formats[] = {
		[IFS_TIME_INFINITE] = "%s: argument %s is infinite: leave it out",
		[IFS_TIME_INEXACT] = "%s: argument %s is an integer that no real is equal to: %s",
		[IFS_TIME_TOO_FINE] = "%s: argument %s has more digits than times of this index: %s",
		[IFS_TIME_TOO_FAR] = "%s: argument %s lies outside the years 1677 to 2262, which nanoseconds can count: %s; "
				     "make the index with unit=us",
	};

	if (times->kind == IFS_TIMES_TEXT && (fault == IFS_TIME_OF_OTHER_TYPE || fault == IFS_TIME_NO_TEXT))
		return ifs_error_set(error, SQLITE_ERROR, "%s: argument %s is not a time such as '2026-01-31 23:59:59.5': %s",
				     name, argument, text_of(value));
	if (fault == IFS_TIME_OF_OTHER_TYPE)
		return ifs_error_set(error, SQLITE_ERROR, "%s: argument %s is not a number: %s", name, argument,
				     text_of(value));
	return ifs_error_set(error, SQLITE_ERROR, formats[fault], name, argument, text_of(value));
}

int ifs_time_argument(const struct ifs_times *times, const char *name, const char *argument, sqlite3_value *value,
		      int64_t *time, struct ifs_error *error)
{
	enum ifs_time_fault fault;

	if (times->kind == IFS_TIMES_INTEGER)
		return ifs_value_to_integer(name, argument, value, time, error);
	fault = ifs_time_of(times, value, time);
	return fault ? refuse(times, name, argument, value, fault, error) : SQLITE_OK;
}

static int refuse_length(const char *name, const char *argument, sqlite3_value *value, enum iforest_text_result result,
			 struct ifs_error *error)
{
	if (result == IFOREST_TEXT_CALENDAR)
		return ifs_error_set(error, SQLITE_ERROR,
				     "%s: argument %s is '%s', but months and years differ in length; ask for days and group "
				     "them: GROUP BY strftime('%%Y-%%m', bucket_start)",
				     name, argument, text_of(value));
	return ifs_error_set(error, SQLITE_ERROR,
			     "%s: argument %s is no length such as '5 minutes', '1 h', '1 day' or '500 ms': %s", name, argument,
			     text_of(value));
}

static int text_length(const struct ifs_times *times, const char *name, const char *argument, sqlite3_value *value,
		       int64_t *length, struct ifs_error *error)
{
	const int64_t unit = IFOREST_NANOSECONDS / times->per_second;
	const char *text = sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
	iforest_int128 nanoseconds = 0;
	enum iforest_text_result result =
		text ? iforest_text_length_read(text, (size_t)sqlite3_value_bytes(value), &nanoseconds) : IFOREST_TEXT_NONE;

	if (result == IFOREST_TEXT_NONE || result == IFOREST_TEXT_CALENDAR)
		return refuse_length(name, argument, value, result, error);
	if (times->kind == IFS_TIMES_REAL) {
		*length = iforest_time_of_real((double)nanoseconds / (double)unit);
		return SQLITE_OK;
	}
	if (result == IFOREST_TEXT_TOO_FINE || nanoseconds % unit || nanoseconds / unit > INT64_MAX)
		return ifs_error_set(error, SQLITE_ERROR,
				     "%s: argument %s is no whole number of %s, in which this index counts: %s", name, argument,
				     ifs_time_unit_word(times->per_second), text);
	*length = (int64_t)(nanoseconds / unit);
	return SQLITE_OK;
}

int ifs_length_argument(const struct ifs_times *times, const char *name, const char *argument, sqlite3_value *value,
			int64_t *length, struct ifs_error *error)
{
	iforest_int128 nanoseconds;

	if (times->kind == IFS_TIMES_TEXT || (times->is_unit_known && sqlite3_value_type(value) == SQLITE_TEXT))
		return text_length(times, name, argument, value, length, error);
	if (sqlite3_value_type(value) == SQLITE_TEXT &&
	    iforest_text_length_read((const char *)sqlite3_value_text(value), (size_t)sqlite3_value_bytes(value),
				     &nanoseconds) != IFOREST_TEXT_NONE)
		return ifs_error_set(error, SQLITE_ERROR,
				     "%s: argument %s is '%s', but the unit of the time column is not known: give a number in "
				     "it, or make the index with unit=...",
				     name, argument, sqlite3_value_text(value));
	return ifs_time_argument(times, name, argument, value, length, error);
}

/* ---- comparisons of texts ---- */

enum { DATE_BYTES = 10, MINUTE_BYTES = 16, SECOND_BYTES = 19 };

/* True if the text is as times are written, or a beginning of that, with any digits of a fraction. */
static bool is_sorted_form(const struct ifs_times *times, const char *text, size_t n, const struct iforest_text_time *time)
{
	const struct iforest_text_form whole = { .has_t = times->form.has_t };
	char written[IFOREST_TEXT_TIME_BYTES];

	iforest_text_time_write(time, &times->form, written);
	if (strlen(written) == n && memcmp(text, written, n) == 0)
		return true;
	iforest_text_time_write(time, &whole, written);
	if (n > SECOND_BYTES + 1 && text[SECOND_BYTES] == '.' &&
	    strspn(text + SECOND_BYTES + 1, "0123456789") == n - SECOND_BYTES - 1)
		n = SECOND_BYTES;
	return (n == DATE_BYTES || n == MINUTE_BYTES || n == SECOND_BYTES) && memcmp(text, written, n) == 0;
}

/* A bound that is itself a time may pass or not, by its digits: SQLite checks each row. */
int ifs_time_bound_text(const struct ifs_times *times, const char *name, const char *column, char op, sqlite3_value *value,
			int64_t *low, int64_t *high, struct ifs_error *error)
{
	struct iforest_text_time text;
	const char *bytes = sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
	size_t n = bytes ? (size_t)sqlite3_value_bytes(value) : 0;
	char written[IFOREST_TEXT_TIME_BYTES];
	int64_t time;

	if (!bytes || *bytes == '-' || iforest_text_time_read(bytes, n, &text) == IFOREST_TEXT_NONE)
		return SQLITE_OK;
	iforest_text_time_write(&text, &times->form, written);
	/* a beginning, as '2026-01-01 00:00', sorts right, but is equal to no time */
	if (op == '=' ? strlen(written) != n || memcmp(bytes, written, n) != 0 : !is_sorted_form(times, bytes, n, &text))
		return ifs_error_set(error, SQLITE_ERROR,
				     "%s: column %s is compared as text, in the form of the index's times: write '%s' for "
				     "'%s', or use t0 and t1",
				     name, column, written, bytes);
	(void)count_time(times, &text, &time);
	if (op != '<' && op != 'l' && time > *low)
		*low = time;
	if (op != '>' && op != 'g' && time < *high)
		*high = time;
	return SQLITE_OK;
}

/* ---- results ---- */

static void text_result(sqlite3_context *context, const struct ifs_times *times, int64_t time)
{
	struct iforest_text_time text = text_time_of(times, time);
	char written[IFOREST_TEXT_TIME_BYTES];

	if (!iforest_text_time_has(text.seconds)) {
		bool is_before = text.seconds < 0;

		text.seconds = is_before ? IFOREST_FIRST_SECOND : IFOREST_END_OF_SECONDS - 1;
		text.nanoseconds = is_before ? 0 : IFOREST_NANOSECONDS - IFOREST_NANOSECONDS / times->per_second;
	}
	iforest_text_time_write(&text, &times->form, written);
	sqlite3_result_text(context, written, -1, SQLITE_TRANSIENT);
}

void ifs_time_result_converted(sqlite3_context *context, const struct ifs_times *times, int64_t time)
{
	if (times->kind == IFS_TIMES_REAL)
		sqlite3_result_double(context, iforest_real_of_time(time));
	else
		text_result(context, times, time);
}
