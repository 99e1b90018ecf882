/* tests/sqlite/reference.h -- Reference answers: the rows of a table, read by plain SQL and folded in C, by the definitions of
 * docs/sqlite.md and in 128 bits. Nothing in it uses the extension. */
#ifndef IFOREST_TESTS_REFERENCE_H
#define IFOREST_TESTS_REFERENCE_H

#include "harness.h"

enum { MAX_ROWS = 8000, MAX_GROUPS = 8 * MAX_ROWS };

typedef __int128 wide;

struct cell {
	int type;
	int64_t integer;
	double real;
};

struct row {
	int64_t id, time;
	bool has_time;
	int series; /* numbered from 1, in the order of the by columns */
	struct cell values[2];
};

/* A table, and its rows in series for one choice of by columns. */
struct table {
	int n_rows, n_by, n_values, n_series;
	bool is_real[2]; /* the value column holds a real */
	bool was_real[2]; /* it held one when the index was built */
	bool has_variance[2]; /* the index keeps the variance */
	struct row rows[MAX_ROWS];
	sqlite3_value *by[MAX_ROWS + 1][2]; /* of each series */
	const char *columns[2];             /* the by columns */
	const char *index;                  /* the name of the index or fold */
};

enum mode { WHOLE, COUNT, STEP };

struct window {
	bool has_t0, has_t1;
	int64_t t0, t1;
	enum mode mode;
	int64_t n, step, origin;
	const char *fill; /* NULL if not given */
};

struct value_sum {
	int64_t n;
	wide sum;
	long double real_sum, magnitude;
	int64_t origin;           /* of integers: the first one, from which the mean is measured */
	long double mean, spread; /* of the numbers so far; spread is the sum of squared deviations */
	bool has_plus, has_minus;
	const struct row *min, *max, *first, *last;
	const struct row *before, *after; /* if n = 0 and fill is last or linear: the rows with a value nearest to the start */
};

struct group {
	int series;
	int64_t bucket;
	int64_t count;
	bool has_times;
	int64_t first, last;
	struct value_sum values[2];
};

/* Reads the rows of t(id, a, ts, v, b, w), in series by table->columns[0 .. n_by). */
void read_rows(sqlite3 *db, struct table *table);
void forget_rows(struct table *table);

/* Computes the groups of the window's rows, in order of (series, bucket), with empty buckets if fill asks for them. *exceeds: a
 * bucket number does not fit into 64 bits. */
int fold_rows(const struct table *table, const struct window *window, struct group groups[MAX_GROUPS], bool *exceeds);

/* Returns the start of the part of a bucket that is in the window. */
int64_t cut_start(const struct window *window, int64_t bucket);

/* True if a sum of integers exceeds 64 bits. */
bool has_overflow(const struct table *table, const struct group *groups, int n_groups);

wide bucket_start(const struct window *window, wide bucket);
int64_t saturate(wide time);

#endif
