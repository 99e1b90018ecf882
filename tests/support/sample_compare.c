/* tests/support/sample_compare.c -- Comparison of answers of an index with those of the oracle. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/query/sweep.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

/* What is being compared, for messages. */
struct comparison {
	const struct sample_index *index;
	const struct oracle_question *question;
	const struct iforest_request *request;
	const struct oracle_answer *expected;
	const struct iforest_aggregate *got;
};

static void differ(const struct comparison *c, const char *what, unsigned v)
{
	const struct oracle_question *q = c->question;

	fail_msg("seed %" PRIu64 ": %s (value %u) differs in bucket %" PRId64 " of series %u, t0 %s %" PRId64 ", t1 %s %" PRId64
		 ", mode %d, n %" PRId64 ", step %" PRId64 ", origin %" PRId64 "; wanted values %x accumulators %x firsts %x lasts %x times %d node %d",
		 c->index->seed, what, v, c->expected ? c->expected->bucket : -1, q->series, q->has_t0 ? "" : "open", q->t0,
		 q->has_t1 ? "" : "open", q->t1, q->mode, q->n, q->step, q->origin, c->request->values, c->request->accumulators, c->request->firsts,
		 c->request->lasts, c->request->times, c->request->node_fields);
}

static void compare_row(const struct comparison *c, const struct iforest_extreme *got, long expected, unsigned v, const char *what)
{
	const struct oracle_entry *entry = &c->index->oracle.entries[expected];

	if (got->is_set != (expected != ORACLE_NONE))
		differ(c, what, v);
	if (!got->is_set)
		return;
	if (got->ref != entry->ref || got->time_is_null != entry->time_is_null || got->time != entry->time ||
	    got->value.integer != entry->value[v].integer)
		differ(c, what, v);
}

/* Compares a minimum or maximum that was requested without its row, by its number alone. */
static void compare_number(const struct comparison *c, const struct iforest_extreme *got, long expected, unsigned v,
			   const char *what)
{
	const union oracle_number *number = &c->index->oracle.entries[expected].value[v];
	bool is_same;

	if (got->is_set != (expected != ORACLE_NONE))
		differ(c, what, v);
	if (!got->is_set)
		return;
	if (!c->index->oracle.is_real[v])
		is_same = got->value.integer == number->integer;
	else
		is_same = isnan(number->real) ? isnan(got->value.real) : got->value.real == number->real;
	if (!is_same)
		differ(c, what, v);
}

static void compare_sums(const struct comparison *c, unsigned v)
{
	const struct iforest_value_aggregate *got = &c->got->values[v];
	const struct oracle_value *expected = &c->expected->values[v];
	double bound = 8 * DBL_EPSILON * expected->real_magnitude;

	if (got->n != expected->n || got->sum != expected->sum)
		differ(c, "n or sum", v);
	if (got->n_nan != expected->n_nan || got->n_plus_infinity != expected->n_plus_infinity ||
	    got->n_minus_infinity != expected->n_minus_infinity)
		differ(c, "count of NaN or infinities", v);
	if (!(fabs(got->real_sum - expected->real_sum) <= bound))
		differ(c, "sum of reals", v);
}

static void compare_squares(const struct comparison *c, unsigned v)
{
	const struct iforest_accumulators *accumulators = &c->index->manifest.fields.accumulators;
	int a = iforest_accumulators_named(accumulators, IFOREST_KIND_SQUARES, v, IFOREST_NO_VALUE);
	bool is_wanted = a >= 0 && c->request->accumulators >> a & 1;

	for (unsigned i = 0; a >= 0 && i < 6; i++) {
		uint64_t word = c->got->words[accumulators->list[a].word + i / 2];

		if ((uint32_t)(word >> 32 * (i % 2)) != (is_wanted ? c->expected->values[v].squares[i] : 0))
			differ(c, "sum of squares", v);
	}
}

static void compare_histogram(const struct comparison *c, unsigned v)
{
	const struct iforest_accumulators *accumulators = &c->index->manifest.fields.accumulators;
	int a = iforest_accumulators_named(accumulators, IFOREST_KIND_HISTOGRAM, v, IFOREST_NO_VALUE);
	bool is_wanted = a >= 0 && c->request->accumulators >> a & 1;

	for (unsigned b = 0; a >= 0 && b < ORACLE_BOUNDS; b++)
		if (c->got->words[accumulators->list[a].word + b] != (is_wanted ? c->expected->values[v].n_up_to[b] : 0))
			differ(c, "histogram", v);
}

static void compare_products(const struct comparison *c, unsigned v)
{
	const struct iforest_accumulators *accumulators = &c->index->manifest.fields.accumulators;
	int a = iforest_accumulators_named(accumulators, IFOREST_KIND_PRODUCTS, v, IFOREST_TIME_COLUMN);
	bool is_wanted = a >= 0 && c->request->accumulators >> a & 1;

	for (unsigned i = 0; a >= 0 && i < 6; i++) {
		const uint64_t *words = c->got->words + accumulators->list[a].word + 3 * i;
		oracle_uint128 got = (oracle_uint128)words[1] << 64 | words[0];

		if (got != (is_wanted ? c->expected->values[v].with_time[i] : 0))
			differ(c, "products with the time", v);
	}
}

/* Compares extremes that were requested alone; the other aggregates of the value are not computed then. */
static void compare_extremes(const struct comparison *c, unsigned v)
{
	const struct iforest_value_aggregate *got = &c->got->values[v];
	const struct oracle_value *expected = &c->expected->values[v];
	void (*compare_extreme)(const struct comparison *, const struct iforest_extreme *, long, unsigned, const char *) =
		c->request->no_rows >> v & 1 ? compare_number : compare_row;

	if (!(c->request->values >> v & 1))
		return;
	if (!(c->request->no_mins >> v & 1))
		compare_extreme(c, &got->min, expected->min, v, "min alone");
	if (!(c->request->no_maxs >> v & 1))
		compare_extreme(c, &got->max, expected->max, v, "max alone");
}

static void compare_value(const struct comparison *c, unsigned v)
{
	static const struct iforest_value_aggregate nothing;
	const struct iforest_value_aggregate *got = &c->got->values[v];
	const struct oracle_value *expected = &c->expected->values[v];
	bool is_wanted = c->request->values >> v & 1;
	void (*compare_extreme)(const struct comparison *, const struct iforest_extreme *, long, unsigned, const char *) =
		c->request->no_rows >> v & 1 ? compare_number : compare_row;

	if (is_wanted)
		compare_sums(c, v);
	else if (got->n != nothing.n || got->sum != nothing.sum || got->real_sum != 0 || got->n_nan || got->n_plus_infinity ||
		 got->n_minus_infinity)
		differ(c, "a sum that was not asked for", v);
	compare_squares(c, v);
	compare_histogram(c, v);
	compare_products(c, v);
	if (!(is_wanted && c->request->no_mins >> v & 1))
		compare_extreme(c, &got->min, is_wanted ? expected->min : ORACLE_NONE, v, "min");
	if (!(is_wanted && c->request->no_maxs >> v & 1))
		compare_extreme(c, &got->max, is_wanted ? expected->max : ORACLE_NONE, v, "max");
	compare_row(c, &got->first, c->request->firsts >> v & 1 ? expected->first : ORACLE_NONE, v, "first");
	compare_row(c, &got->last, c->request->lasts >> v & 1 ? expected->last : ORACLE_NONE, v, "last");
}

static void compare_aggregate(const struct comparison *c)
{
	const struct iforest_node_schema *fields = &c->index->manifest.fields;
	const struct oracle_answer *expected = c->expected;
	bool wants_end = c->request->node_fields && fields->latest_end_offset;
	bool wants_blocks = c->request->node_fields && fields->blocks_offset;

	for (unsigned v = 0; v < c->index->oracle.n_values && c->request->extremes_alone; v++)
		compare_extremes(c, v);
	if (c->request->extremes_alone)
		return;
	if (c->got->n_rows != expected->n_rows)
		differ(c, "n_rows", 0);
	if (c->got->n_dead != expected->n_dead && !c->request->filter)
		differ(c, "n_dead", 0);
	if (c->got->has_times != (c->request->times && expected->has_times))
		differ(c, "has_times", 0);
	if (c->got->has_times && (c->got->first_time != expected->first_time || c->got->last_time != expected->last_time))
		differ(c, "first or last time", 0);
	if (c->got->latest_end != (wants_end ? expected->latest_end : INT64_MIN))
		differ(c, "latest end", 0);
	if (c->got->lowest_block != (wants_blocks ? expected->lowest_block : UINT32_MAX) ||
	    c->got->highest_block != (wants_blocks ? expected->highest_block : 0))
		differ(c, "heap blocks", 0);
	for (unsigned v = 0; v < c->index->oracle.n_values; v++)
		compare_value(c, v);
}

static struct iforest_bucketing bucketing_of(const struct oracle_question *question)
{
	static const enum iforest_bucketing_mode modes[] = { IFOREST_WHOLE, IFOREST_COUNT, IFOREST_STEP };

	return (struct iforest_bucketing){ .mode = modes[question->mode], .n = question->n, .step = question->step,
		.origin = question->origin, .window = { .has_t0 = question->has_t0, .has_t1 = question->has_t1,
							.t0 = question->t0, .t1 = question->t1 } };
}

void sample_compare(struct sample_index *index, const struct oracle_question *question, const struct iforest_request *request)
{
	struct iforest_scan scan;
	struct iforest_aggregate got;
	struct comparison c = { .index = index, .question = question, .request = request, .got = &got };
	size_t n_answers;
	bool out_of_range, found = true;
	struct oracle_answer *answers = oracle_scan(&index->oracle, question, &n_answers, &out_of_range);
	enum iforest_status status;
	int64_t bucket;

	assert_ok(iforest_scan_init(&scan, &index->store, &index->manifest));
	if (index->memtable)
		assert_ok(iforest_scan_join_memtable(&scan, index->memtable));
	scan.bucketing = bucketing_of(question);
	scan.request = *request;
	assert_ok(iforest_bucketing_check(&scan.bucketing));
	assert_ok(iforest_scan_start(&scan, question->series));
	for (size_t a = 0; a < n_answers; a++) {
		c.expected = &answers[a];
		status = iforest_scan_next(&scan, &bucket, &got, &found);
		if (status)
			differ(&c, iforest_status_text(status), 0);
		if (!found || bucket != answers[a].bucket)
			differ(&c, "the bucket's number", 0);
		compare_aggregate(&c);
	}
	status = iforest_scan_next(&scan, &bucket, &got, &found);
	if (status != (out_of_range ? IFOREST_RANGE : IFOREST_OK) || (!status && found))
		differ(&c, "the end of the scan", 0);
	iforest_scan_release(&scan);
	free(answers);
}

/* Compares the answer for one series of a sweep. has_got is false if the sweep did not return the series. */
static void compare_swept(struct comparison *c, bool has_got)
{
	size_t n_answers;
	bool out_of_range;
	struct oracle_answer *answers = oracle_scan(&c->index->oracle, c->question, &n_answers, &out_of_range);

	c->expected = n_answers > 0 ? answers : NULL;
	if (n_answers > (size_t)has_got || (n_answers == 0 && has_got && c->got->n_rows > 0))
		differ(c, "whether a sweep gives it", 0);
	if (n_answers > 0)
		compare_aggregate(c);
	free(answers);
}

unsigned sample_compare_sweep(struct sample_index *index, struct random *dice, const struct oracle_question *window, unsigned n_series)
{
	struct oracle_question question = *window;
	struct iforest_request request = sample_wanted(dice, index);
	struct iforest_aggregate got;
	struct comparison c = { .index = index, .question = &question, .request = &request, .got = &got };
	bool has_nulls = !window->has_t0 && !window->has_t1, found, skips = random_chance(dice, 30);
	struct iforest_scan scan;
	struct iforest_sweep sweep;
	uint64_t series, next = random_chance(dice, 30) ? random_below(dice, n_series) : 0;
	uint64_t last = random_chance(dice, 30) ? next + random_below(dice, n_series) : UINT32_MAX;
	unsigned n = 0;

	question.mode = ORACLE_WHOLE;
	if (has_nulls) {
		request.firsts = request.lasts = 0;
		request.times = false;
	}
	assert_ok(iforest_scan_init(&scan, &index->store, &index->manifest));
	if (index->memtable)
		assert_ok(iforest_scan_join_memtable(&scan, index->memtable));
	scan.bucketing = bucketing_of(&question);
	assert_ok(iforest_sweep_start(&sweep, &scan, next, last, has_nulls));
	for (;; next = series + 1, n++) {
		assert_ok(iforest_sweep_next(&sweep, &series, &found));
		series = found ? series : last + 1;
		if (series < next || series > last + 1)
			differ(&c, "the order of a sweep", 0);
		/* random entries are in series below n_series, and in the last possible one */
		for (uint64_t s = next; s < series; s = s + 1 < n_series ? s + 1 : s < UINT32_MAX ? UINT32_MAX : series) {
			question.series = (uint32_t)s;
			compare_swept(&c, false);
		}
		if (!found)
			break;
		question.series = (uint32_t)series;
		if (skips && random_chance(dice, 50))
			continue;
		iforest_aggregate_clear(&got, index->manifest.fields.n_values, &index->manifest.fields.accumulators);
		assert_ok(iforest_sweep_fold(&sweep, &request, &got));
		compare_swept(&c, true);
	}
	iforest_sweep_release(&sweep);
	iforest_scan_release(&scan);
	return n;
}

void sample_compare_many(struct sample_index *index, struct random *dice, unsigned n_questions)
{
	for (unsigned i = 0; i < n_questions; i++) {
		struct oracle_question question = sample_question(index, dice);
		struct iforest_request request = sample_wanted(dice, index);

		sample_compare(index, &question, &request);
	}
}
