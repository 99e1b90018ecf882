#include "reference.h"

#include <math.h>

static struct cell cell_of(sqlite3_stmt *statement, int i)
{
	return (struct cell){ .type = sqlite3_column_type(statement, i), .integer = sqlite3_column_int64(statement, i),
			      .real = sqlite3_column_double(statement, i) };
}

void forget_rows(struct table *table)
{
	for (int s = 1; s <= table->n_series; s++)
		for (int i = 0; i < table->n_by; i++)
			sqlite3_value_free(table->by[s][i]);
	table->n_series = table->n_rows = 0;
}

void read_rows(sqlite3 *db, struct table *table)
{
	const char *a = table->n_by > 0 ? table->columns[0] : "1", *b = table->n_by > 1 ? table->columns[1] : "1";
	char *sql = sqlite3_mprintf("SELECT id, ts, v, w, dense_rank() OVER (ORDER BY %s, %s), %s, %s FROM t", a, b, a, b);
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	table->is_real[0] = table->is_real[1] = false;
	table->n_rows = table->n_series = 0;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct row *row = &table->rows[table->n_rows++];

		*row = (struct row){ .id = sqlite3_column_int64(statement, 0), .time = sqlite3_column_int64(statement, 1),
				     .has_time = sqlite3_column_type(statement, 1) != SQLITE_NULL,
				     .series = sqlite3_column_int(statement, 4),
				     .values = { cell_of(statement, 2), cell_of(statement, 3) } };
		for (int v = 0; v < 2; v++)
			table->is_real[v] = table->is_real[v] || row->values[v].type == SQLITE_FLOAT;
		if (row->series > table->n_series) {
			table->n_series = row->series;
			for (int i = 0; i < table->n_by; i++)
				table->by[row->series][i] = sqlite3_value_dup(sqlite3_column_value(statement, 5 + i));
		}
	}
	if (table->n_by == 0)
		table->n_series = 1; /* without by columns there is one series, even if the table is empty */
	sqlite3_finalize(statement);
	sqlite3_free(sql);
}

static wide floor_divide(wide a, wide b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

wide bucket_start(const struct window *window, wide bucket)
{
	if (window->mode == STEP)
		return window->origin + bucket * window->step;
	return window->t0 + floor_divide(bucket * ((wide)window->t1 - window->t0), window->n);
}

/* Returns the bucket by its definition: the one between whose bounds the time is. */
static wide bucket_of(const struct window *window, int64_t time)
{
	wide bucket, end;

	if (window->mode == WHOLE)
		return 0;
	if (window->mode == STEP)
		return floor_divide((wide)time - window->origin, window->step);
	bucket = ((wide)time - window->t0) * window->n / ((wide)window->t1 - window->t0);
	if (bucket_start(window, bucket) <= time && time < bucket_start(window, bucket + 1))
		return bucket;
	bucket = 0;
	end = window->n; /* start(bucket) <= time < start(end) */
	while (end - bucket > 1) {
		wide middle = bucket + (end - bucket) / 2;

		*(bucket_start(window, middle) <= time ? &bucket : &end) = middle;
	}
	return bucket;
}

/* True if a is before b in time. A row without a time comes last. */
static bool is_before(const struct row *a, const struct row *b)
{
	if (a->has_time != b->has_time)
		return a->has_time;
	if (a->has_time && a->time != b->time)
		return a->time < b->time;
	return a->id < b->id;
}

static int compare_values(const struct row *a, const struct row *b, int v, bool is_real)
{
	const struct cell *x = &a->values[v], *y = &b->values[v];

	if (is_real)
		return (x->real > y->real) - (x->real < y->real);
	return (x->integer > y->integer) - (x->integer < y->integer);
}

/* Welford (1962), Note on a method for calculating corrected sums of squares and products. */
static void add_to_spread(struct value_sum *sum, int64_t integer)
{
	long double number, off;

	if (sum->n == 1)
		sum->origin = integer;
	number = (long double)((wide)integer - sum->origin);
	off = number - sum->mean;
	sum->mean += off / (long double)sum->n;
	sum->spread += off * (number - sum->mean);
}

static void add_value(struct value_sum *sum, const struct row *row, int v, bool is_real)
{
	double real = row->values[v].real;
	int low, high;

	if (row->values[v].type == SQLITE_NULL)
		return;
	low = sum->min ? compare_values(row, sum->min, v, is_real) : -1;
	high = sum->max ? compare_values(row, sum->max, v, is_real) : 1;
	if (low < 0 || (low == 0 && is_before(row, sum->min)))
		sum->min = row;
	if (high > 0 || (high == 0 && is_before(row, sum->max)))
		sum->max = row;
	if (row->has_time && (!sum->first || is_before(row, sum->first)))
		sum->first = row;
	if (row->has_time && (!sum->last || is_before(sum->last, row)))
		sum->last = row;
	sum->n++;
	sum->sum += row->values[v].integer;
	add_to_spread(sum, row->values[v].integer);
	sum->has_plus = sum->has_plus || (isinf(real) && real > 0);
	sum->has_minus = sum->has_minus || (isinf(real) && real < 0);
	if (!isinf(real)) {
		sum->real_sum += real;
		sum->magnitude += fabs(real);
	}
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static void add_row(struct group *group, const struct table *table, const struct row *row)
{
	group->count++;
	if (row->has_time && (!group->has_times || row->time < group->first))
		group->first = row->time;
	if (row->has_time && (!group->has_times || row->time > group->last))
		group->last = row->time;
	group->has_times = group->has_times || row->has_time;
	for (int v = 0; v < table->n_values; v++)
		add_value(&group->values[v], row, v, table->is_real[v]);
}

int64_t saturate(wide time)
{
	return time < INT64_MIN ? INT64_MIN : time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

int64_t cut_start(const struct window *window, int64_t bucket)
{
	wide start = window->mode == WHOLE ? window->t0 : bucket_start(window, bucket);

	return start < window->t0 ? window->t0 : (int64_t)start;
}

static void find_neighbours(const struct table *table, struct group *group, int v, int64_t start)
{
	struct value_sum *sum = &group->values[v];

	for (int i = 0; i < table->n_rows; i++) {
		const struct row *row = &table->rows[i];

		if (!row->has_time || row->series != group->series || row->values[v].type == SQLITE_NULL)
			continue;
		if (row->time < start && (!sum->before || is_before(sum->before, row)))
			sum->before = row;
		if (row->time >= start && (!sum->after || is_before(row, sum->after)))
			sum->after = row;
	}
}

/* Adds the buckets without rows. Returns the new number of groups, which are in order of (series, bucket). */
static int fill_groups(const struct table *table, const struct window *window, struct group *groups, int n_groups,
		       bool *exceeds)
{
	static struct group filled[MAX_GROUPS];
	wide from = bucket_of(window, window->t0), to = bucket_of(window, window->t1 - 1);
	int n = 0, next = 0;

	if (window->mode == COUNT) {
		from = 0;
		to = window->n - 1;
	}
	*exceeds = *exceeds || from < INT64_MIN || to > INT64_MAX;
	if (*exceeds) /* the query is an error, whatever the groups */
		return n_groups;
	for (int s = 1; s <= table->n_series; s++)
		for (wide b = from; b <= to; b++) {
			filled[n] = (struct group){ .series = s, .bucket = (int64_t)b };
			if (next < n_groups && compare_groups(&groups[next], &filled[n]) == 0)
				filled[n] = groups[next++];
			n++;
		}
	assert_int_equal(next, n_groups);
	memcpy(groups, filled, (size_t)n * sizeof *groups);
	for (int g = 0; g < n && window->fill[0] == 'l'; g++)
		for (int v = 0; v < table->n_values; v++)
			if (groups[g].values[v].n == 0)
				find_neighbours(table, &groups[g], v, cut_start(window, groups[g].bucket));
	return n;
}

/* Makes a group of each row of the window, sorts them, and merges equal ones. */
int fold_rows(const struct table *table, const struct window *window, struct group groups[MAX_GROUPS], bool *exceeds)
{
	static const struct row *rows[MAX_ROWS];
	int n = 0, n_groups = 0;

	*exceeds = false;
	for (int i = 0; i < table->n_rows; i++) {
		const struct row *row = &table->rows[i];
		bool is_bounded = window->has_t0 || window->has_t1 || window->mode != WHOLE;
		wide bucket = 0;

		if (row->has_time ? (window->has_t0 && row->time < window->t0) || (window->has_t1 && row->time >= window->t1) :
				    is_bounded)
			continue;
		if (row->has_time)
			bucket = bucket_of(window, row->time);
		*exceeds = *exceeds || bucket < INT64_MIN || bucket > INT64_MAX;
		rows[n] = row;
		groups[n] = (struct group){ .series = row->series, .bucket = (int64_t)bucket, .count = n };
		n++;
	}
	qsort(groups, (size_t)n, sizeof *groups, compare_groups);
	for (int i = 0; i < n; i++) {
		const struct row *row = rows[groups[i].count];

		if (n_groups == 0 || compare_groups(&groups[n_groups - 1], &groups[i]) != 0)
			groups[n_groups++] = (struct group){ .series = groups[i].series, .bucket = groups[i].bucket };
		add_row(&groups[n_groups - 1], table, row);
	}
	if (window->fill && strcmp(window->fill, "none") != 0)
		n_groups = fill_groups(table, window, groups, n_groups, exceeds);
	return n_groups;
}

bool has_overflow(const struct table *table, const struct group *groups, int n_groups)
{
	for (int g = 0; g < n_groups; g++)
		for (int v = 0; v < table->n_values; v++)
			if (!table->is_real[v] && saturate(groups[g].values[v].sum) != groups[g].values[v].sum)
				return true;
	return false;
}
