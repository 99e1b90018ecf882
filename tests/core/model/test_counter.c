/* tests/core/model/test_counter.c -- Counters over rows of buckets against their definition, moment by moment and pair by
 * pair. */
#include "tests/support/harness.h"

#include "core/model/counter.h"
#include "core/model/real_time.h"
#include "tests/support/random.h"

enum { MOST = 40, LENGTH = 60 };

struct samples {
	unsigned n;
	bool has_real_times;
	int64_t times[MOST], values[MOST], untils[MOST]; /* times ascend, and may be equal */
};

static union iforest_number number(int64_t value, enum iforest_value_type kind)
{
	return kind == IFOREST_INT64 ? (union iforest_number){ .integer = value } :
				       (union iforest_number){ .real = (double)value / 4 };
}

/* A moment as the counter has it: of real times eighths, mapped. */
static int64_t moment(const struct samples *samples, int64_t time)
{
	return samples->has_real_times && time != INT64_MAX ? iforest_time_of_real((double)time / 8) : time;
}

static struct samples random_samples(struct random *dice)
{
	struct samples samples = { .n = (unsigned)random_below(dice, MOST), .has_real_times = random_chance(dice, 50) };
	int64_t time = random_between(dice, -5, 20), spread = random_chance(dice, 30) ? 1 : 1000;
	bool has_ends = random_chance(dice, 50);

	for (unsigned i = 0; i < samples.n; i++) {
		samples.times[i] = time;
		samples.values[i] = random_between(dice, -spread, spread);
		samples.untils[i] = has_ends && random_chance(dice, 80) ? time + random_between(dice, 0, 6) : INT64_MAX;
		time += (int64_t)random_below(dice, 4);
	}
	return samples;
}

/* The last sample before a time; -1 without any. */
static int last_before(const struct samples *samples, int64_t time)
{
	int last = -1;

	for (unsigned i = 0; i < samples->n; i++)
		if (samples->times[i] < time)
			last = (int)i;
	return last;
}

static void check_bucket(const struct iforest_counter *counter, const struct samples *samples, enum iforest_value_type kind,
			 int64_t start, int64_t end)
{
	int before = last_before(samples, start), last = last_before(samples, end), n = 0, n_resets = 0;
	int64_t integral = 0, increase = 0, known = 0;

	for (int64_t time = start; time < end; time++) {
		int i = last_before(samples, time + 1);

		if (i < 0 || time >= samples->untils[i])
			continue;
		integral += samples->values[i];
		known++;
	}
	for (int i = before + 1; i <= last; i++, n++)
		if (i > 0 && samples->values[i] < samples->values[i - 1]) {
			increase += samples->values[i];
			n_resets++;
		} else if (i > 0) {
			increase += samples->values[i] - samples->values[i - 1];
		}
	assert_int_equal(counter->n, n);
	assert_int_equal(counter->n_resets, n_resets);
	if (samples->has_real_times)
		assert_true(counter->known == 0 && counter->real_known == (double)known / 8);
	else
		assert_true(counter->known == (uint64_t)known && counter->real_known == 0);
	assert_int_equal(iforest_counter_has_mean(counter), known > 0);
	assert_int_equal(counter->has_start, before >= 0);
	assert_int_equal(counter->is_known, last >= 0);
	if (before >= 0)
		assert_true(counter->start.integer == number(samples->values[before], kind).integer);
	if (last >= 0)
		assert_true(counter->value.integer == number(samples->values[last], kind).integer);
	/* quarters and eighths, exact in doubles */
	if (kind == IFOREST_INT64)
		assert_true(counter->increase == increase);
	else
		assert_true(counter->real_increase == (double)increase / 4);
	if (kind == IFOREST_INT64 && !samples->has_real_times)
		assert_true(counter->integral == integral);
	else
		assert_true(counter->integral == 0 && counter->real_integral == (double)integral / (kind == IFOREST_INT64 ? 1 : 4) / (samples->has_real_times ? 8 : 1));
	if (known > 0)
		assert_true(iforest_counter_mean(counter, kind) ==
			    (kind == IFOREST_INT64 ? (double)integral : (double)integral / 4) / (double)known);
}

/* Samples [from, to), put together in any way. */
static struct iforest_counter_piece piece_of(struct random *dice, const struct samples *samples, enum iforest_value_type kind,
					     unsigned from, unsigned to)
{
	struct iforest_counter_piece piece = { .samples.has_real_times = samples->has_real_times };

	if (to - from > 1 && random_chance(dice, 60)) {
		unsigned middle = from + (unsigned)random_below(dice, to - from + 1);
		struct iforest_counter_piece after = piece_of(dice, samples, kind, middle, to);

		piece = piece_of(dice, samples, kind, from, middle);
		iforest_counter_piece_join(&piece, kind, &after);
		return piece;
	}
	for (unsigned i = from; i < to; i++)
		iforest_counter_piece_add(&piece, kind, moment(samples, samples->times[i]), number(samples->values[i], kind),
					  moment(samples, samples->untils[i]));
	return piece;
}

static void add_samples(struct iforest_counter *counter, struct random *dice, const struct samples *samples,
			enum iforest_value_type kind, unsigned from, unsigned to)
{
	while (from < to) {
		unsigned n = random_chance(dice, 50) ? 1 : 1 + (unsigned)random_below(dice, to - from);
		struct iforest_counter_piece piece = piece_of(dice, samples, kind, from, from + n);

		if (n == 1 && random_chance(dice, 50))
			iforest_counter_add(counter, kind, moment(samples, samples->times[from]), number(samples->values[from], kind),
					    moment(samples, samples->untils[from]));
		else
			iforest_counter_add_piece(counter, kind, &piece);
		from += n;
	}
}

static void buckets_are_what_the_definition_says(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		struct random dice = random_from(random_seed() + round);
		struct samples samples = random_samples(&dice);
		enum iforest_value_type kind = random_chance(&dice, 50) ? IFOREST_INT64 : IFOREST_FLOAT64;
		struct iforest_counter counter = { .has_real_times = samples.has_real_times };
		int64_t start = random_between(&dice, 0, 30);
		int carried = last_before(&samples, start);
		unsigned next = (unsigned)(carried + 1);

		if (carried >= 0) {
			counter.is_known = true;
			counter.value = number(samples.values[carried], kind);
			counter.until = moment(&samples, samples.untils[carried]);
		}
		while (start < LENGTH) {
			int64_t end = start + 1 + (int64_t)random_below(&dice, 20);
			unsigned first = next;

			while (next < samples.n && samples.times[next] < end)
				next++;
			iforest_counter_open(&counter, moment(&samples, start));
			add_samples(&counter, &dice, &samples, kind, first, next);
			iforest_counter_close(&counter, kind, moment(&samples, end));
			check_bucket(&counter, &samples, kind, start, end);
			start = end;
		}
	}
}

/* The greatest integral and increases there are. */
static void nothing_overflows(void **state)
{
	struct iforest_counter counter = { .is_known = true, .value = { .integer = INT64_MIN }, .until = INT64_MAX };

	(void)state;
	iforest_counter_open(&counter, INT64_MIN);
	iforest_counter_close(&counter, IFOREST_INT64, INT64_MAX);
	assert_true(counter.integral == -(iforest_int128)UINT64_MAX * ((iforest_int128)1 << 63) && counter.known == UINT64_MAX);
	assert_true(iforest_counter_mean(&counter, IFOREST_INT64) == -0x1p63);
	iforest_counter_open(&counter, 0);
	iforest_counter_add(&counter, IFOREST_INT64, 0, (union iforest_number){ .integer = INT64_MAX }, INT64_MAX);
	iforest_counter_add(&counter, IFOREST_INT64, 0, (union iforest_number){ .integer = INT64_MIN }, INT64_MAX);
	iforest_counter_add(&counter, IFOREST_INT64, 0, (union iforest_number){ .integer = INT64_MAX }, INT64_MAX);
	assert_true(counter.increase == 2 * (iforest_int128)UINT64_MAX + INT64_MIN && counter.n_resets == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_what_the_definition_says),
		cmocka_unit_test(nothing_overflows),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
