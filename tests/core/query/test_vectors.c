/* tests/core/query/test_vectors.c -- Vectors of tests/vectors/vectors.txt in core: windows, buckets and overlaps, over two
 * runs; and docs/parity.md, which is made of the file.
 *
 *   build/tests/core/query/test_vectors --table     writes docs/parity.md
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/query/overlap.h"
#include "core/model/aggregate.h"
#include "core/model/regression.h"
#include "tests/support/examples.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"
#include "tests/support/vectors.h"

static struct vectors vectors;

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 8, .kinds = "as", .duration = 0 };

/* An index of each table, and the by columns of each series, as text. */
static struct indexed {
	struct sample_index index;
	char series[64][100];
	unsigned n_series;
} indexes[VECTOR_TABLES];

/* ---- indexes ---- */

static bool is_null(const char *cell)
{
	return strcmp(cell, "NULL") == 0;
}

static uint32_t series_of(struct indexed *indexed, const char *name)
{
	for (uint32_t i = 0; i < indexed->n_series; i++)
		if (strcmp(indexed->series[i], name) == 0)
			return i;
	assert_true(indexed->n_series < COUNT_OF(indexed->series));
	snprintf(indexed->series[indexed->n_series], sizeof indexed->series[0], "%s", name);
	return indexed->n_series++;
}

static void add_row(struct indexed *indexed, const struct vector_table *table, unsigned row)
{
	struct vector_list cells = vector_split(table->rows[row], "|");
	const char *const *after = cells.at + 1 + table->n_by;
	int64_t time = is_null(after[0]) ? 0 : strtoll(after[0], NULL, 10);
	struct oracle_entry *entry;
	char name[100] = "";

	for (unsigned i = 1; i <= table->n_by; i++)
		snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", i > 1 ? "|" : "", cells.at[i]);
	entry = sample_append(&indexed->index, row % 2, series_of(indexed, name), time, strtoll(cells.at[0], NULL, 10));
	entry->time_is_null = is_null(after[0]);
	for (unsigned v = 0; v < 2; v++) {
		entry->has[v] = !is_null(after[1 + v]);
		entry->value[v].integer = entry->has[v] ? strtoll(after[1 + v], NULL, 10) : 0;
	}
	free(cells.text);
}

static void make_index(struct indexed *indexed, const struct vector_table *table)
{
	sample_start(&indexed->index, &shape);
	for (unsigned row = 0; row < table->n_rows; row++)
		add_row(indexed, table, row);
	for (unsigned group = 0; group < 2 && table->n_rows > 0; group++)
		assert_ok(sample_build(&indexed->index, group));
}

/* ---- answers as text ---- */

static const char *integer_text(bool is_set, iforest_int128 number)
{
	static char text[50];
	char *at = text + sizeof text;
	bool is_negative = number < 0;

	*--at = '\0';
	if (!is_set)
		return "NULL";
	do {
		int digit = (int)(number % 10);

		*--at = (char)('0' + (digit < 0 ? -digit : digit));
		number /= 10;
	} while (number != 0);
	if (is_negative)
		*--at = '-';
	return at;
}

static const char *real_text(bool is_set, double number)
{
	static char text[50];

	snprintf(text, sizeof text, "%.17e", number);
	return is_set ? text : "NULL";
}

/* Of an extreme: "", "_id" or "_ts". */
static const char *row_text(const struct iforest_extreme *row, const char *part)
{
	if (strcmp(part, "_id") == 0)
		return integer_text(row->is_set, row->ref);
	if (strcmp(part, "_ts") == 0)
		return integer_text(row->is_set && !row->time_is_null, row->time);
	return integer_text(row->is_set, row->value.integer);
}

/* The words of an accumulator of the sample's schema, which is that of all indexes. */
static const uint64_t *words_of(const struct iforest_aggregate *aggregate, unsigned code, unsigned value, unsigned second)
{
	const struct iforest_accumulators *accumulators = &indexes[0].index.manifest.fields.accumulators;
	int a = iforest_accumulators_named(accumulators, code, value, second);

	assert_true(a >= 0);
	return aggregate->words + accumulators->list[a].word;
}

static double variance_of(const struct iforest_aggregate *aggregate, const struct iforest_value_aggregate *value)
{
	return iforest_sample_variance(
		value, words_of(aggregate, IFOREST_KIND_SQUARES, (unsigned)(value - aggregate->values), IFOREST_NO_VALUE));
}

/* Counts of a histogram are of dur, "count_dur_le_500". */
static const char *bound_count_text(const struct iforest_aggregate *aggregate, const char *bound)
{
	const uint64_t *words = words_of(aggregate, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE);
	unsigned b = 0;

	while (b < ORACLE_BOUNDS && oracle_bounds[b] != strtoll(bound, NULL, 10))
		b++;
	assert_true(b < ORACLE_BOUNDS);
	return integer_text(true, (int64_t)words[b]);
}

/* Functions of pairs are of dur and the time, "corr_dur_ts". Returns NULL for another column. */
static const char *pair_text(const struct iforest_aggregate *aggregate, const char *column)
{
	static const char *const names[] = { [IFOREST_REGR_COUNT] = "regr_count", [IFOREST_CORR] = "corr",
					     [IFOREST_COVAR_POP] = "covar_pop", [IFOREST_COVAR_SAMP] = "covar_samp",
					     [IFOREST_REGR_SLOPE] = "regr_slope", [IFOREST_REGR_INTERCEPT] = "regr_intercept",
					     [IFOREST_REGR_R2] = "regr_r2" };
	double result = 0;
	bool is_set;

	for (unsigned f = 0; f < COUNT_OF(names); f++) {
		size_t n = strlen(names[f]);

		if (strncmp(column, names[f], n) != 0 || strcmp(column + n, "_dur_ts") != 0)
			continue;
		is_set = iforest_pair_result(words_of(aggregate, IFOREST_KIND_PRODUCTS, 0, IFOREST_TIME_COLUMN), false,
					     (enum iforest_pair_function)f, &result);
		return f == IFOREST_REGR_COUNT ? integer_text(is_set, (int64_t)result) : real_text(is_set, result);
	}
	return NULL;
}

/* Columns of value v are "count_dur", "max_dur_id" and the like. */
static const char *value_text(const struct iforest_aggregate *aggregate, const char *column)
{
	const char *name = strchr(column, '_') + 1, *part = name + strcspn(name, "_");
	const struct iforest_value_aggregate *value = &aggregate->values[strncmp(name, "size", 4) == 0];
	bool has_variance = value->n > 1;

	switch (column[0] << 8 | column[1]) {
	case 'c' << 8 | 'o':
		return strncmp(part, "_le_", 4) == 0 ? bound_count_text(aggregate, part + 4) : integer_text(true, value->n);
	case 'c' << 8 | 'l': return integer_text(true, value->sum);
	case 's' << 8 | 'u': return integer_text(value->n > 0, value->sum);
	case 'a' << 8 | 'v': return real_text(value->n > 0, (double)value->sum / (double)value->n);
	case 'm' << 8 | 'i': return row_text(&value->min, part);
	case 'm' << 8 | 'a':
	case 'l' << 8 | 'o': return row_text(&value->max, part);
	case 'f' << 8 | 'i': return row_text(&value->first, part);
	case 'l' << 8 | 'a': return row_text(&value->last, part);
	case 'v' << 8 | 'a': return real_text(has_variance, has_variance ? variance_of(aggregate, value) : 0);
	case 's' << 8 | 't': return real_text(has_variance, has_variance ? sqrt(variance_of(aggregate, value)) : 0);
	default: fail_msg("no column %s", column); return "";
	}
}

static const char *bound_text(const struct iforest_bucketing *bucketing, int64_t bucket, bool is_end)
{
	bool after_all, is_given = is_end ? bucketing->window.has_t1 : bucketing->window.has_t0;
	int64_t bound = is_end ? iforest_bucket_end(bucketing, bucket, &after_all) : iforest_bucket_start(bucketing, bucket);

	return integer_text(is_given || bucketing->mode != IFOREST_WHOLE, bound);
}

static const char *cell_text(const struct iforest_bucketing *bucketing, int64_t bucket,
			     const struct iforest_aggregate *aggregate, const char *column)
{
	const char *pair;

	if (strcmp(column, "bucket") == 0)
		return integer_text(true, bucket);
	if (strncmp(column, "bucket_", 7) == 0)
		return bound_text(bucketing, bucket, strcmp(column, "bucket_end") == 0);
	if (strcmp(column, "count") == 0 || strcmp(column, "overlaps") == 0)
		return integer_text(true, aggregate->n_rows);
	if (strcmp(column, "first_ts") == 0 || strcmp(column, "last_ts") == 0)
		return integer_text(aggregate->has_times, column[0] == 'f' ? aggregate->first_time : aggregate->last_time);
	pair = pair_text(aggregate, column);
	return pair ? pair : value_text(aggregate, column);
}

/* ---- asking ---- */

struct asked {
	const struct vector_question *question;
	struct indexed *indexed;
	struct iforest_bucketing bucketing;
	struct vector_given *given;
};

static void give_bucket(const struct asked *asked, uint32_t series, int64_t bucket, const struct iforest_aggregate *aggregate)
{
	const struct vector_question *question = asked->question;
	unsigned n_by = question->table->n_by;
	char row[2000];
	size_t n;

	snprintf(row, sizeof row, "%s", asked->indexed->series[series]);
	for (unsigned i = n_by; i < question->columns.n; i++) {
		n = strlen(row);
		snprintf(row + n, sizeof row - n, "%s%s", i > 0 ? "|" : "",
			 cell_text(&asked->bucketing, bucket, aggregate, question->columns.at[i]));
	}
	vector_give(asked->given, row);
}

static void ask_windows(const struct asked *asked)
{
	struct sample_index *index = &asked->indexed->index;
	struct iforest_aggregate aggregate;
	struct iforest_scan scan;
	int64_t bucket;
	bool found;

	assert_ok(iforest_scan_init(&scan, &index->store, &index->manifest));
	scan.bucketing = asked->bucketing;
	scan.request = (struct iforest_request){ .values = 3, .accumulators = UINT32_MAX, .firsts = 3, .lasts = 3, .times = true };
	for (uint32_t series = 0; series < asked->indexed->n_series; series++) {
		assert_ok(iforest_scan_start(&scan, series));
		for (;;) {
			assert_ok(iforest_scan_next(&scan, &bucket, &aggregate, &found));
			if (!found)
				break;
			give_bucket(asked, series, bucket, &aggregate);
		}
	}
	iforest_scan_release(&scan);
}

static void ask_overlaps(const struct asked *asked)
{
	struct sample_index *index = &asked->indexed->index;
	struct iforest_aggregate aggregate;
	struct iforest_overlap overlap;
	struct iforest_scan scan;
	int64_t bucket;
	bool found;

	assert_ok(iforest_scan_init(&scan, &index->store, &index->manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	overlap.bucketing = asked->bucketing;
	overlap.wants_inside = overlap.wants_longest = true;
	for (uint32_t series = 0; series < asked->indexed->n_series; series++) {
		assert_ok(iforest_overlap_start(&overlap, series));
		for (;;) {
			assert_ok(iforest_overlap_next(&overlap, &bucket, &aggregate, &found));
			if (!found)
				break;
			give_bucket(asked, series, bucket, &aggregate);
		}
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
}

static int64_t argument(const struct vector_question *question, enum vector_argument which, int64_t otherwise)
{
	return question->arguments[which] ? strtoll(question->arguments[which], NULL, 10) : otherwise;
}

static struct iforest_bucketing bucketing_of(const struct vector_question *question)
{
	const char *const *arguments = question->arguments;
	struct iforest_bucketing bucketing = { .n = argument(question, VECTOR_N, 1),
					       .step = argument(question, VECTOR_STEP, 0),
					       .origin = argument(question, VECTOR_ORIGIN, 0),
					       .window = { .has_t0 = arguments[VECTOR_T0],
							   .has_t1 = arguments[VECTOR_T1],
							   .t0 = argument(question, VECTOR_T0, 0),
							   .t1 = argument(question, VECTOR_T1, 0) } };

	bucketing.mode = arguments[VECTOR_STEP] ? IFOREST_STEP : bucketing.n > 1 ? IFOREST_COUNT : IFOREST_WHOLE;
	return bucketing;
}

/* Windows and overlaps whose arguments are right. What is made of them (fill, folds, conditions, NULL), and of which rows, is the engines'. */
static bool is_of_core(const struct vector_question *question)
{
	const char *fill = question->arguments[VECTOR_FILL];

	for (unsigned i = 0; i < VECTOR_ARGUMENTS; i++)
		if (question->arguments[i] && is_null(question->arguments[i]))
			return false;
	return (strcmp(question->kind, "window") == 0 || strcmp(question->kind, "overlap") == 0) && !question->where &&
	       !question->table->where && !question->table->end && !question->answer.error && (!fill || strcmp(fill, "'none'") == 0);
}

static void ask(void *context, const struct vector_question *question, struct vector_given *given, char *sql, size_t n_sql)
{
	struct asked asked = { .question = question, .indexed = &indexes[question->table - vectors.tables], .given = given };

	(void)context;
	given->is_skipped = !is_of_core(question);
	if (given->is_skipped)
		return;
	snprintf(sql, n_sql, "%s of %s", question->kind, question->table->name);
	asked.bucketing = bucketing_of(question);
	assert_ok(iforest_bucketing_check(&asked.bucketing));
	if (iforest_window_is_empty(&asked.bucketing.window))
		return;
	if (strcmp(question->kind, "window") == 0)
		ask_windows(&asked);
	else
		ask_overlaps(&asked);
}

/* ---- tests ---- */

static void core_answers_as_the_file_says(void **state)
{
	(void)state;
	for (unsigned i = 0; i < vectors.n_tables; i++)
		make_index(&indexes[i], &vectors.tables[i]);
	assert_true(vectors_hold(&vectors, VECTORS_CORE, "core", ask, NULL) > 50);
	for (unsigned i = 0; i < vectors.n_tables; i++)
		sample_stop(&indexes[i].index);
}

static void the_page_says_what_is_tested(void **state)
{
	char *expected = vectors_page(&vectors), *page = read_whole_file("docs/parity.md");

	(void)state;
	if (!page || strcmp(page, expected) != 0)
		fail_msg("docs/parity.md is out of date: build/tests/core/query/test_vectors --table writes it");
	free(page);
	free(expected);
}

static int write_page(void)
{
	char *page = vectors_page(&vectors);
	FILE *to = fopen("docs/parity.md", "w");
	bool is_written = to && fputs(page, to) >= 0;

	if (to && fclose(to) != 0)
		is_written = false;
	free(page);
	return is_written ? 0 : 1;
}

int main(int n, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(core_answers_as_the_file_says),
		cmocka_unit_test(the_page_says_what_is_tested),
	};
	int result;

	vectors_read(&vectors);
	result = n > 1 && strcmp(arguments[1], "--table") == 0 ? write_page() : cmocka_run_group_tests(tests, NULL, NULL);
	vectors_free(&vectors);
	return result;
}
