/* tests/support/oracle.h -- Brute-force oracle, which reads every entry and knows nothing of pages, nodes or core.
 *
 * Written to be obviously right, not fast. Numbers are __int128 from the start; buckets are found by their definition
 * ("the bucket whose start is the last one at or before the time"); rows are indexes of entries.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORACLE_VALUES = 8, ORACLE_NONE = -1 };

__extension__ typedef __int128 oracle_int128;
__extension__ typedef unsigned __int128 oracle_uint128;

union oracle_number {
	int64_t integer;
	double real;
};

struct oracle_entry {
	uint32_t series;
	bool time_is_null;
	int64_t time, ref;
	bool has[ORACLE_VALUES];
	union oracle_number value[ORACLE_VALUES];
	unsigned run;      /* for the test's own bookkeeping */
	bool is_dead;      /* removed, but still on its page */
};

struct oracle {
	struct oracle_entry *entries;
	size_t n_entries;
	unsigned n_values;
	bool is_real[ORACLE_VALUES];
	int duration;      /* value column, or ORACLE_NONE */
	/* what that column holds: a duration in units of times, an end, or a duration in other units */
	enum { ORACLE_DURATION, ORACLE_END, ORACLE_THOUSANDTHS, ORACLE_THOUSANDS, ORACLE_MILLIONS } end_rule;
};

struct oracle_question {
	uint32_t series;
	bool has_t0, has_t1;
	int64_t t0, t1;
	enum { ORACLE_WHOLE, ORACLE_COUNT, ORACLE_STEP } mode;
	int64_t n, step, origin;
};

enum { ORACLE_BOUNDS = 5 };
extern const int64_t oracle_bounds[ORACLE_BOUNDS];

/* Rows are indexes into entries, or ORACLE_NONE. */
struct oracle_value {
	uint64_t n, n_nan, n_plus_infinity, n_minus_infinity;
	oracle_int128 sum;
	uint32_t squares[6];             /* digits of 32 bits, lowest first, of the sum of squares */
	uint64_t n_up_to[ORACLE_BOUNDS]; /* integers at or below each of oracle_bounds */
	/* of the integers in rows with a time, modulo 2^128: the count, the sums of integers and of times, of their squares,
	 * and of the products */
	oracle_uint128 with_time[6];
	double real_sum, real_magnitude; /* of the finite values, and of their absolute values */
	long min, max, first, last;
};

struct oracle_answer {
	int64_t bucket;
	uint64_t n_rows, n_dead;
	bool has_times;
	int64_t first_time, last_time, latest_end;
	uint32_t lowest_block, highest_block; /* of ref >> 16 */
	struct oracle_value values[ORACLE_VALUES];
};

/* Returns the buckets that have a live entry, in ascending order. *n_answers may be 0. The caller frees the array.
 * *out_of_range: the number of a step bucket does not fit int64; the answers are then those before the first such bucket. */
struct oracle_answer *oracle_scan(const struct oracle *oracle, const struct oracle_question *question, size_t *n_answers,
				  bool *out_of_range);

/* Compares by the order of entries in a run: series, entries with a time before those without, time, ref. */
int oracle_entry_order(const struct oracle_entry *a, const struct oracle_entry *b);

#endif
