/* Overlaps of a series against its definition, entry by entry and bucket by bucket: several runs, some of which join, removed
 * entries, a filter, extreme times and durations. */
#include "core/query/overlap.h"

#include <math.h>
#include <stdio.h>

#include "core/base/bits.h"
#include "core/model/real_time.h"
#include "tests/support/harness.h"
#include "tests/support/pager_maxima.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0 },
	{ .page_bytes = 4000, .max_batch_pages = 8, .kinds = "fi", .duration = 1 },
	{ .page_bytes = 8152, .max_batch_pages = 4, .fixed_pages = true, .kinds = "si", .duration = 0, .has_blocks = true },
};

enum { MOST_BUCKETS = 60 };

/* ---- the definition ---- */

struct question {
	struct oracle_question asked;
	const struct sample_index *index;
	/* the filter is asked about group 0 where others join, else about all */
	bool wants_inside, wants_longest, longest_alone, has_filter, joins, restarts;
	int duration;
};

static const iforest_int128 never = (iforest_int128)1 << 100;

/* What the filter lets through. */
static bool counts(int64_t ref)
{
	return ref % 3 != 0;
}

static bool is_there(const struct question *q, const struct oracle_entry *entry)
{
	bool is_filtered = q->has_filter && (!q->joins || entry->run == 0);

	return entry->series == q->asked.series && !entry->is_dead && !entry->time_is_null &&
	       (!is_filtered || counts(entry->ref));
}

static iforest_int128 floor_divide(iforest_int128 a, iforest_int128 b)
{
	return a / b - (a % b != 0 && a < 0);
}

/* The bounds of a bucket, cut by the window. */
static void bounds_of(const struct question *q, iforest_int128 bucket, iforest_int128 *from, iforest_int128 *to)
{
	const struct oracle_question *asked = &q->asked;

	*from = -never;
	*to = never;
	if (asked->mode == ORACLE_STEP) {
		*from = asked->origin + bucket * asked->step;
		*to = *from + asked->step;
		*to = *to > INT64_MAX ? never : *to;
	} else if (asked->mode == ORACLE_COUNT) {
		iforest_int128 width = (iforest_int128)asked->t1 - asked->t0;

		*from = asked->t0 + bucket * width / asked->n;
		*to = asked->t0 + (bucket + 1) * width / asked->n;
	}
	if (asked->has_t0 && asked->t0 > *from)
		*from = asked->t0;
	if (asked->has_t1 && asked->t1 < *to)
		*to = asked->t1;
}

static int64_t length_of(const struct question *q, const struct oracle_entry *entry)
{
	return entry->has[q->duration] && entry->value[q->duration].integer > 0 ? entry->value[q->duration].integer : 0;
}

static bool overlaps(const struct question *q, const struct oracle_entry *entry, iforest_int128 bucket)
{
	int64_t length = length_of(q, entry);
	iforest_int128 from, to;

	bounds_of(q, bucket, &from, &to);
	if (q->asked.mode == ORACLE_STEP && (from >= to || from > INT64_MAX)) /* after the window, or all time */
		return false;
	return entry->time < to && (length > 0 ? (iforest_int128)entry->time + length > from : entry->time >= from);
}

/* The first bucket that the entry overlaps if any, but `after` at least; those it overlaps are adjacent. */
static iforest_int128 first_bucket(const struct question *q, const struct oracle_entry *entry, iforest_int128 after)
{
	const struct oracle_question *asked = &q->asked;
	iforest_int128 first = 0, time = asked->has_t0 && entry->time < asked->t0 ? asked->t0 : entry->time;

	if (asked->mode == ORACLE_STEP)
		first = floor_divide(time - asked->origin, asked->step);
	else if (asked->mode == ORACLE_COUNT && entry->time >= asked->t0)
		first = (time - asked->t0) * asked->n / ((iforest_int128)asked->t1 - asked->t0);
	if (asked->mode == ORACLE_COUNT && entry->time >= asked->t0)
		for (iforest_int128 from, to; first < asked->n; first++) { /* to the bucket that it starts in */
			bounds_of(q, first, &from, &to);
			if (entry->time < to)
				break;
		}
	return first < after ? after : first;
}

/* The next bucket that is overlapped; false if there is none. */
static bool next_bucket(const struct question *q, iforest_int128 after, iforest_int128 *bucket)
{
	const struct oracle_question *asked = &q->asked;
	bool found = false;

	if (asked->has_t1 && ((asked->has_t0 && asked->t0 >= asked->t1) || asked->t1 == INT64_MIN))
		return false;
	for (size_t i = 0; i < q->index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &q->index->oracle.entries[i];
		iforest_int128 first;

		if (!is_there(q, entry))
			continue;
		first = first_bucket(q, entry, after);
		if (asked->mode == ORACLE_COUNT && first >= asked->n)
			continue;
		if (asked->mode == ORACLE_WHOLE && first > 0)
			continue;
		if (overlaps(q, entry, first) && (!found || first < *bucket)) {
			*bucket = first;
			found = true;
		}
	}
	return found;
}

/* For messages. Static storage. */
static const char *text_of(const struct question *q)
{
	static char text[300];
	const struct oracle_question *asked = &q->asked;

	snprintf(text, sizeof text, "seed %llu: series %u, window %s %lld %s %lld, mode %d, n %lld, step %lld, origin %lld%s%s",
		 (unsigned long long)q->index->seed, asked->series, asked->has_t0 ? "from" : "open", (long long)asked->t0,
		 asked->has_t1 ? "to" : "open", (long long)asked->t1, (int)asked->mode, (long long)asked->n, (long long)asked->step,
		 (long long)asked->origin, q->has_filter ? ", filtered" : "", q->joins ? ", joined" : "");
	return text;
}

static void check_bucket(const struct question *q, iforest_int128 bucket, const struct iforest_aggregate *got)
{
	struct iforest_value_aggregate expected = { .n = 0 };
	const struct iforest_value_aggregate *value = &got->values[q->duration];
	iforest_int128 from, to;

	bounds_of(q, bucket, &from, &to);
	for (size_t i = 0; i < q->index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &q->index->oracle.entries[i];
		iforest_int128 end = (iforest_int128)entry->time + length_of(q, entry);
		struct iforest_extreme row = { .value.integer = entry->value[q->duration].integer,
					   .time = entry->time,
					   .ref = entry->ref,
					   .is_set = entry->has[q->duration] };

		if (!is_there(q, entry) || !overlaps(q, entry, bucket))
			continue;
		expected.n++;
		if (end > entry->time)
			expected.sum += (end < to ? end : to) - (entry->time > from ? entry->time : from);
		iforest_extreme_max(&expected.max, &row, IFOREST_INT64);
	}
	if ((q->longest_alone ? !got->n_rows != !expected.n : got->n_rows != expected.n) ||
	    (q->wants_inside && (value->sum != expected.sum || value->n != expected.n)) ||
	    (q->wants_longest && memcmp(&value->max, &expected.max, sizeof expected.max) != 0))
		fail_msg("%s: bucket %lld: %llu spans, not %llu, inside %lld, not %lld; longest %lld at %lld, not %lld at %lld",
			 text_of(q), (long long)bucket, (unsigned long long)got->n_rows, (unsigned long long)expected.n,
			 (long long)value->sum, (long long)expected.sum, (long long)value->max.value.integer,
			 (long long)value->max.time, (long long)expected.max.value.integer, (long long)expected.max.time);
	assert_false(value->min.is_set || value->first.is_set || got->has_times || got->n_dead);
}

/* ---- asking ---- */

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	(void)context;
	(void)node;
	return IFOREST_COUNTS_SOME;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	enum iforest_status status = iforest_block_need(reader, IFOREST_REFS);

	(void)context;
	for (unsigned i = 0; i < reader->block.n && !status; i++)
		if (!counts(reader->block.refs[i]))
			*live &= ~(UINT64_C(1) << i);
	return status;
}

static unsigned n_longest; /* series answered from above (longest.h) */

static void compare(const struct question *q, struct iforest_overlap *overlap)
{
	static const enum iforest_bucketing_mode modes[] = { IFOREST_WHOLE, IFOREST_COUNT, IFOREST_STEP };
	static const struct iforest_filter filter = { .of_node = of_node, .of_entries = of_entries };
	const struct oracle_question *asked = &q->asked;
	struct iforest_aggregate got;
	iforest_int128 expected = 0, after = -never;
	int64_t bucket;
	bool found = true;

	overlap->bucketing = (struct iforest_bucketing){ .mode = modes[asked->mode], .n = asked->n, .step = asked->step,
		.origin = asked->origin, .window = { asked->has_t0, asked->has_t1, asked->t0, asked->t1 } };
	overlap->filter = q->has_filter ? &filter : NULL;
	overlap->wants_inside = q->wants_inside;
	overlap->wants_longest = q->wants_longest;
	overlap->longest_alone = q->longest_alone;
	assert_ok(iforest_bucketing_check(&overlap->bucketing));
	assert_ok(iforest_overlap_start(overlap, asked->series));
	n_longest += overlap->is_longest;
	for (int i = 0; i < MOST_BUCKETS && found; i++) {
		bool expects = next_bucket(q, asked->mode == ORACLE_STEP ? after : after < 0 ? 0 : after, &expected);
		enum iforest_status status = iforest_overlap_next(overlap, &bucket, &got, &found);

		if (expects && (expected < INT64_MIN || expected > INT64_MAX)) {
			assert_status(status, IFOREST_RANGE);
			return;
		}
		assert_ok(status);
		if (found != expects || (found && bucket != expected))
			fail_msg("%s: answer %d is bucket %lld (%d), not %lld (%d)", text_of(q), i, (long long)bucket, found, (long long)expected, expects);
		if (found)
			check_bucket(q, bucket, &got);
		if (found && q->restarts)
			assert_ok(iforest_overlap_start_after(overlap, asked->series, bucket));
		after = expected + 1;
	}
}

/* Not so many buckets that the definition, which goes from one to the next, takes long. */
static struct question random_question(const struct sample_index *index, struct random *dice)
{
	struct question q = { .asked = sample_question(index, dice),
			      .index = index,
			      .duration = index->manifest.fields.duration_value,
			      .wants_inside = random_chance(dice, 60),
			      .wants_longest = random_chance(dice, 60),
			      .has_filter = random_chance(dice, 30) };

	q.restarts = random_chance(dice, 20);
	q.longest_alone = q.wants_longest && !q.wants_inside && random_chance(dice, 80);
	if (q.asked.mode == ORACLE_COUNT && (q.asked.n > 1000000 || random_chance(dice, 50)))
		q.asked.n = 1 + (int64_t)random_below(dice, 100);
	return q;
}

static void compare_many(struct sample_index *index, struct random *dice, unsigned n_questions)
{
	const struct iforest_pager *pager = index->store.pager;
	struct pager_maxima maxima;
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_manifest first = index->manifest, others = index->manifest;
	struct iforest_store store;
	bool joins = index->manifest.n_runs > 1 && index->run_ids[0] == index->manifest.runs[0].place.run_id &&
		     random_chance(dice, 50);

	if (joins) {
		first.n_runs = 1;
		others.runs++;
		others.n_runs--;
	} else {
		others.n_runs = 0;
	}
	pager_maxima_start(&maxima, pager);
	if (random_chance(dice, 50))
		index->store.pager = &maxima.pager;
	store = index->store;
	assert_ok(iforest_scan_init(&scan, &index->store, &first));
	assert_ok(iforest_scan_join(&scan, &store, &others));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	for (unsigned i = 0; i < n_questions; i++) {
		struct question q = random_question(index, dice);

		q.joins = joins;
		compare(&q, &overlap);
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	index->store.pager = pager;
	pager_maxima_stop(&maxima);
}

static void one_round(uint64_t seed)
{
	struct random dice = random_from(seed);
	struct sample_index index;
	unsigned n_runs = 1 + (unsigned)random_below(&dice, 4), n_series = 1 + (unsigned)random_below(&dice, 5);

	sample_start(&index, &shapes[random_below(&dice, COUNT_OF(shapes))]);
	index.seed = seed;
	for (unsigned r = 0; r < n_runs; r++) {
		size_t n = random_below(&dice, 2 + random_below(&dice, UINT64_C(1) << (2 + random_below(&dice, 10))));

		assert_ok(sample_build(&index, sample_entries(&index, &dice, n + (r == 0), n_series,
							      (enum sample_times)random_below(&dice, SAMPLE_STYLES))));
	}
	compare_many(&index, &dice, 30);
	for (unsigned g = 0; g < index.n_groups; g++)
		if (sample_run(&index, g) < index.manifest.n_runs)
			sample_remove(&index, &dice, g, (unsigned)random_below(&dice, 101));
	compare_many(&index, &dice, 20);
	sample_stop(&index);
}

static void random_indexes_answer_by_the_definition(void **state)
{
	unsigned n_rounds = random_rounds(150);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r);
	assert_true(n_longest > 0);
}

/* Every window, bucket count and step over a handful of spans: zero-length, negative, without duration, nested and not. */
static void all_windows_of_a_small_index(void **state)
{
	static const int64_t durations[] = { 0, 3, 12, 1, -1, 2, 5, INT64_MAX, -7, 0 };
	struct sample_index index;
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct question q = { .index = &index, .wants_inside = true, .wants_longest = true, .asked.series = 1 };

	(void)state;
	sample_start(&index, &shapes[0]);
	for (int i = 0; i < 20; i++) {
		struct oracle_entry *entry = sample_append(&index, i % 2, i % 5 ? 1 : 0, i * 7 % 11 - 4, i);

		entry->has[0] = i % 7;
		entry->value[0].integer = entry->has[0] ? durations[i % 10] : 0;
	}
	assert_ok(sample_build(&index, 0));
	assert_ok(sample_build(&index, 1));
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	for (unsigned open = 0; open < 4; open++)
		for (q.asked.t0 = -6; q.asked.t0 <= 9; q.asked.t0++)
			for (q.asked.t1 = -6; q.asked.t1 <= 9; q.asked.t1++) {
				q.asked.has_t0 = open & 1;
				q.asked.has_t1 = open & 2;
				q.asked.mode = ORACLE_WHOLE;
				compare(&q, &overlap);
				q.asked.mode = ORACLE_COUNT;
				for (q.asked.n = 1; q.asked.n <= 24 && open == 3 && q.asked.t0 < q.asked.t1; q.asked.n++) {
					compare(&q, &overlap);
					q.wants_inside = !(q.longest_alone = true);
					compare(&q, &overlap);
					q.wants_inside = !(q.longest_alone = false);
				}
				q.asked.mode = ORACLE_STEP;
				for (q.asked.step = 1; q.asked.step <= 5; q.asked.step++)
					for (q.asked.origin = -2; q.asked.origin <= 2; q.asked.origin++)
						compare(&q, &overlap);
			}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

static enum iforest_status pass_all(struct iforest_overlap *overlap)
{
	struct iforest_aggregate aggregate;
	int64_t bucket;
	bool found = true;
	enum iforest_status status = iforest_overlap_start(overlap, 0);

	while (!status && found)
		status = iforest_overlap_next(overlap, &bucket, &aggregate, &found);
	return status;
}

/* Blocks of a page that change places, under nodes that are what they were: nobody who passes them is held there. */
static void pages_out_of_order_hold_nobody(void **state)
{
	static const int64_t origins[] = { 0, INT64_MIN }; /* with the latter, buckets have no numbers */
	struct sample_index index;
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_page_header header;
	uint32_t *n_bytes;
	uint8_t *page;
	const char *what;

	(void)state;
	sample_start(&index, &shapes[0]);
	for (int i = 0; i < 128; i++)
		sample_append(&index, 0, 0, i, i * i);
	assert_ok(sample_build(&index, 0));
	page = iforest_pager_memory_bytes(&index.memory, index.manifest.runs[0].place.location, 0, &n_bytes);
	assert_ok(iforest_page_check(page, *n_bytes, index.run_ids[0], 0, 0, false, &header, &what));
	assert_true(header.n_items > 1);
	iforest_store64(page + IFOREST_PAGE_HEADER + 8, 1000);
	iforest_page_finish(page, &header);
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	overlap.wants_inside = true;
	for (size_t i = 0; i < COUNT_OF(origins); i++) {
		overlap.bucketing = (struct iforest_bucketing){ .mode = IFOREST_STEP, .step = 1, .origin = origins[i] };
		assert_status(pass_all(&overlap), IFOREST_CORRUPT);
		assert_string_equal(index.store.fault.what, "entries are out of order");
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

/* A series is gone on with after the last bucket that has a number. */
static void after_the_last_number_there_is_none(void **state)
{
	struct sample_index index;
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate aggregate;
	int64_t bucket;
	bool found;

	(void)state;
	sample_start(&index, &shapes[0]);
	for (int i = 0; i < 2; i++) {
		struct oracle_entry *entry = sample_append(&index, i, (uint32_t)i, -5, i);

		entry->has[0] = true;
		entry->value[0].integer = i ? 100 : 3;
		assert_ok(sample_build(&index, (unsigned)i));
	}
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	overlap.bucketing = (struct iforest_bucketing){ .mode = IFOREST_STEP, .step = 1, .origin = INT64_MIN };
	overlap.wants_longest = overlap.longest_alone = true;
	assert_ok(iforest_overlap_start_after(&overlap, 0, INT64_MAX));
	assert_ok(iforest_overlap_next(&overlap, &bucket, &aggregate, &found));
	assert_false(found);
	assert_ok(iforest_overlap_start_after(&overlap, 1, INT64_MAX)); /* which reaches beyond it */
	assert_status(iforest_overlap_next(&overlap, &bucket, &aggregate, &found), IFOREST_RANGE);
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

/* Counts spans bucket by bucket; the numbers of buckets and spans in turn. */
static size_t count_spans(struct iforest_overlap *overlap, int64_t *numbers)
{
	struct iforest_aggregate aggregate;
	bool found = true;
	size_t n = 0;

	for (uint64_t series = 0; series < 2; series++) {
		assert_ok(iforest_overlap_start(overlap, series));
		for (;; n += 2) {
			assert_ok(iforest_overlap_next(overlap, &numbers[n], &aggregate, &found));
			if (!found)
				break;
			numbers[n + 1] = (int64_t)aggregate.n_rows;
		}
	}
	return n;
}

/* Over ends in the place of durations spans are counted as over durations, which may be too long for 64 bits then. */
static void spans_are_counted_by_their_ends(void **state)
{
	static const struct sample_shape with_ends = {
		.page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0, .end_rule = IFOREST_END_COLUMN
	};
	int64_t of_durations[1000], of_ends[1000];

	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		struct sample_index indexes[2];
		struct iforest_scan scans[2];
		struct iforest_overlap overlaps[2];

		sample_start(&indexes[0], &shapes[0]);
		sample_start(&indexes[1], &with_ends);
		for (int64_t i = 0; i < 400; i++) {
			unsigned group = (unsigned)random_below(&dice, 2), series = (unsigned)random_below(&dice, 2);
			int64_t time = random_between(&dice, -200, 200), duration = random_between(&dice, -20, random_chance(&dice, 5) ? 300 : 20);
			bool has_duration = random_chance(&dice, 90);

			for (int k = 0; k < 2; k++) {
				struct oracle_entry *entry = sample_append(&indexes[k], group, series, time, i);

				entry->has[0] = has_duration;
				entry->value[0].integer = !has_duration ? 0 : k ? time + duration : duration;
			}
		}
		for (int k = 0; k < 2; k++) {
			assert_ok(sample_build(&indexes[k], 0));
			assert_ok(sample_build(&indexes[k], 1));
			assert_ok(iforest_scan_init(&scans[k], &indexes[k].store, &indexes[k].manifest));
			assert_ok(iforest_overlap_init(&overlaps[k], &scans[k]));
		}
		for (unsigned q = 0; q < 50; q++) {
			int64_t t0 = random_between(&dice, -250, 200);
			struct iforest_bucketing bucketing = { .mode = (enum iforest_bucketing_mode)random_below(&dice, 3),
							       .window = { true, true, t0, t0 + random_between(&dice, 1, 200) },
							       .n = random_between(&dice, 1, 60),
							       .step = random_between(&dice, 1, 50) };
			size_t n;

			overlaps[0].bucketing = overlaps[1].bucketing = bucketing;
			n = count_spans(&overlaps[0], of_durations);
			assert_int_equal(count_spans(&overlaps[1], of_ends), n);
			assert_memory_equal(of_ends, of_durations, n * sizeof *of_ends);
		}
		for (int k = 0; k < 2; k++) {
			iforest_overlap_release(&overlaps[k]);
			iforest_scan_release(&scans[k]);
			sample_stop(&indexes[k]);
		}
	}
}

static void durations_are_needed(void **state)
{
	static const struct sample_shape without[] = {
		{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = ORACLE_NONE },
		{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0, .end_rule = IFOREST_END_TIMES_1000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(without); i++) {
		struct sample_index index;
		struct iforest_scan scan;
		struct iforest_overlap overlap;

		sample_start(&index, &without[i]);
		assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
		assert_status(iforest_overlap_init(&overlap, &scan), IFOREST_ARGUMENT);
		iforest_overlap_release(&overlap);
		iforest_scan_release(&scan);
		sample_stop(&index);
	}
}

/* ---- real times ---- */

/* A span of quarters, whose sums are exact. */
struct real_span {
	double time, duration;
};

static struct real_span span_of(const struct oracle_entry *entry)
{
	return (struct real_span){ iforest_real_of_time(entry->time), entry->has[0] ? entry->value[0].real : 0 };
}

static void append_real_span(struct sample_index *index, struct random *dice, unsigned group, int64_t ref)
{
	double time = (double)random_between(dice, -400, 400) / 4, duration = (double)random_between(dice, -1, random_chance(dice, 10) ? 900 : 30) / 4;
	struct oracle_entry *entry = sample_append(index, group, 0, iforest_time_of_real(time), ref);

	entry->has[0] = entry->has[1] = random_chance(dice, 90);
	if (!entry->has[0])
		return;
	entry->value[0].real = duration;
	entry->value[1].integer = iforest_time_of_real(time + duration);
}

static void check_real_bucket(const struct sample_index *index, const struct iforest_overlap *overlap, double from, double to, const struct iforest_aggregate *got)
{
	const struct iforest_value_aggregate *value = &got->values[0];
	struct iforest_extreme longest = { .is_set = false };
	uint64_t n = 0;
	double inside = 0;

	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];
		struct real_span span = span_of(entry);
		double end = span.time + (span.duration > 0 ? span.duration : 0);
		struct iforest_extreme row = { .value.real = span.duration, .time = entry->time, .ref = entry->ref, .is_set = entry->has[0] };

		if (entry->is_dead || span.time >= to || (span.duration > 0 ? end <= from : span.time < from))
			continue;
		n++;
		inside += (end < to ? end : to) - (span.time > from ? span.time : from);
		iforest_extreme_max(&longest, &row, IFOREST_FLOAT64);
	}
	if (got->n_rows != n || (overlap->wants_inside && iforest_real_sum(value) != inside) ||
	    (overlap->wants_longest && memcmp(&value->max, &longest, sizeof longest) != 0))
		fail_msg("seed %llu: [%g, %g): %llu spans, not %llu, inside %g, not %g, longest %g, not %g", (unsigned long long)index->seed, from, to, (unsigned long long)got->n_rows,
			 (unsigned long long)n, iforest_real_sum(value), inside, value->max.value.real, longest.value.real);
}

/* Windows and buckets; `to` may be open. */
static void compare_reals(const struct sample_index *index, struct random *dice, struct iforest_overlap *overlap)
{
	double from = (double)random_between(dice, -500, 400) / 4, width = (double)(1 << random_below(dice, 8)) / 4;
	int64_t n = random_chance(dice, 30) ? 1 : INT64_C(1) << random_below(dice, 6), bucket;
	bool has_end = n > 1 || random_chance(dice, 70), found = true;
	struct iforest_aggregate got;

	overlap->bucketing = (struct iforest_bucketing){ .mode = n > 1 ? IFOREST_COUNT : IFOREST_WHOLE, .n = n, .edges = IFOREST_EDGES_OF_REALS,
		.window = { true, has_end, iforest_time_of_real(from), iforest_time_of_real(from + width * (double)n) } };
	overlap->wants_inside = random_chance(dice, 60);
	overlap->wants_longest = random_chance(dice, 60);
	overlap->longest_alone = overlap->wants_longest && !overlap->wants_inside && random_chance(dice, 50);
	assert_ok(iforest_overlap_start(overlap, 0));
	for (int64_t next = 0; found; next = bucket + 1) {
		assert_ok(iforest_overlap_next(overlap, &bucket, &got, &found));
		for (struct iforest_aggregate none = { .n_rows = 0 }; next < (found ? bucket : n); next++) /* left out: no span overlaps them */
			check_real_bucket(index, overlap, from + (double)next * width, has_end ? from + (double)(next + 1) * width : INFINITY, &none);
		if (found)
			check_real_bucket(index, overlap, from + (double)bucket * width, has_end ? from + (double)(bucket + 1) * width : INFINITY, &got);
	}
}

static void spans_of_real_times_are_cut_as_reals(void **state)
{
	static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 8, .kinds = "fi", .duration = 1, .end_rule = IFOREST_END_COLUMN };

	(void)state;
	for (unsigned r = 0; r < random_rounds(40); r++) {
		struct random dice = random_from(random_seed() + r);
		struct sample_index index;
		struct iforest_scan scan;
		struct iforest_overlap overlap;

		sample_start(&index, &shape);
		index.seed = random_seed() + r;
		for (unsigned group = 0; group < 3; group++) {
			for (uint64_t i = 1 + random_below(&dice, 600); i > 0; i--)
				append_real_span(&index, &dice, group, (int64_t)(3 * i + group));
			assert_ok(sample_build(&index, group));
		}
		sample_remove(&index, &dice, 1, (unsigned)random_below(&dice, 60));
		assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
		assert_ok(iforest_overlap_init(&overlap, &scan));
		overlap.real_duration = 0;
		for (int i = 0; i < 40; i++)
			compare_reals(&index, &dice, &overlap);
		iforest_overlap_release(&overlap);
		iforest_scan_release(&scan);
		sample_stop(&index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_indexes_answer_by_the_definition),
		cmocka_unit_test(all_windows_of_a_small_index),
		cmocka_unit_test(pages_out_of_order_hold_nobody),
		cmocka_unit_test(after_the_last_number_there_is_none),
		cmocka_unit_test(spans_are_counted_by_their_ends),
		cmocka_unit_test(durations_are_needed),
		cmocka_unit_test(spans_of_real_times_are_cut_as_reals),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
