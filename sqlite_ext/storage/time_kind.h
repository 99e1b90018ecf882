/* storage/time_kind.h -- Kinds of time columns (integers, reals, texts), and conversion of SQL values to index times and back.
 *
 * The times of an index are int64. Integers are stored unchanged; reals are mapped to integers in the same order
 * (core/model/real_time.h); texts become a count of units since 1970 (core/model/text_time.h). The kind of a column is
 * determined when the index is built, and stored in the manifest.
 */
#ifndef IFS_STORAGE_TIME_KIND_H
#define IFS_STORAGE_TIME_KIND_H

#include "core/base/bits.h"
#include "core/model/bucket.h"
#include "core/model/text_time.h"
#include "sqlite_ext/storage/engine.h"

enum ifs_time_kind { IFS_TIMES_INTEGER, IFS_TIMES_REAL, IFS_TIMES_TEXT, IFS_N_TIME_KINDS };

struct ifs_times {
	enum ifs_time_kind kind;
	int64_t per_second;	       /* units per second: of texts, or as unit=... says of numbers */
	bool is_unit_known;	       /* of numbers: it does */
	bool has_duration_unit;	       /* the unit of the duration column was given */
	int64_t durations_per_second;  /* units of that column per second */
	struct iforest_text_form form; /* of texts: the format of results */
};

/* The declared types of time columns: INTEGER, REAL, TEXT. */
extern const char *const ifs_time_types[IFS_N_TIME_KINDS];

/* Why a value is not a valid time of a column. */
enum ifs_time_fault {
	IFS_TIME_OK,
	IFS_TIME_OF_OTHER_TYPE,
	IFS_TIME_INFINITE, /* a real */
	IFS_TIME_INEXACT,  /* an integer that no real is equal to */
	IFS_TIME_NO_TEXT,  /* a text that is not a time */
	IFS_TIME_TOO_FINE, /* a text with digits finer than the unit */
	IFS_TIME_TOO_FAR,  /* a text whose count of units overflows 64 bits */
};

/* Slow path of ifs_time_of(), for all but integers in a column of integers. */
enum ifs_time_fault ifs_time_convert(const struct ifs_times *times, sqlite3_value *value, int64_t *time);

/* Converts a value that is not NULL. */
static inline enum ifs_time_fault ifs_time_of(const struct ifs_times *times, sqlite3_value *value, int64_t *time)
{
	if (times->kind == IFS_TIMES_INTEGER && sqlite3_value_type(value) == SQLITE_INTEGER) {
		*time = sqlite3_value_int64(value);
		return IFS_TIME_OK;
	}
	return ifs_time_convert(times, value, time);
}

/* Converts a number of the duration column to the unit of times; a real, which needs has_duration_unit, is rounded to the
 * nearest integer. Not for times that are reals.
 * Faults  IFS_TIME_TOO_FINE: the units are the same, and the real has a fraction; IFS_TIME_TOO_FAR
 * Requires  durations are not counted in a finer unit than times */
enum ifs_time_fault ifs_duration_of(const struct ifs_times *times, sqlite3_value *value, int64_t *duration);

/* The same for times that are reals, of durations in any unit. */
double ifs_real_duration_of(const struct ifs_times *times, double duration);

/* Adds the form of the text, which converts to that time, to the forms of the column. */
void ifs_time_note_form(const struct ifs_times *times, sqlite3_value *value, int64_t time, struct iforest_text_forms *forms);

/* Returns the units per second of the word in `unit=...`; 0 if it is not a unit. */
int64_t ifs_time_unit(const char *word);

/* Returns the word of a unit. */
const char *ifs_time_unit_word(int64_t per_second);

/* Returns how bucket boundaries are computed for such times. */
enum iforest_bucket_edges ifs_time_edges(enum ifs_time_kind kind);

/* Read an argument that must be a time, or a length of time greater than 0 (for a column of integers: any integer). A length
 * of numbers may be a text such as '5 minutes' if their unit is known. name is the table's, for messages. */
int ifs_time_argument(const struct ifs_times *times, const char *name, const char *argument, sqlite3_value *value,
		      int64_t *time, struct ifs_error *error);
int ifs_length_argument(const struct ifs_times *times, const char *name, const char *argument, sqlite3_value *value,
			int64_t *length, struct ifs_error *error);

/* Narrows [*low, *high], times of a column of texts, by `column op value` as SQLite compares texts; the range may be too wide.
 * Refuses a time in a form in which texts do not sort like their times; for '=', in any form but that of the times. name and column are for messages. Operators are those
 * of query/rows.h. */
int ifs_time_bound_text(const struct ifs_times *times, const char *name, const char *column, char op, sqlite3_value *value,
			int64_t *low, int64_t *high, struct ifs_error *error);

/* Slow path of ifs_time_result(), for columns of reals or texts. */
void ifs_time_result_converted(sqlite3_context *context, const struct ifs_times *times, int64_t time);

/* Sets the result to a time, in the form of its column. A time outside the range of texts gives the first or last text; one
 * outside the range of reals gives an infinity. */
static inline void ifs_time_result(sqlite3_context *context, const struct ifs_times *times, int64_t time)
{
	if (times->kind == IFS_TIMES_INTEGER)
		sqlite3_result_int64(context, time);
	else
		ifs_time_result_converted(context, times, time);
}

#endif
