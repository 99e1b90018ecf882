/* tests/support/sample_entries.c -- Random entries, and random questions about them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

struct oracle_entry *sample_append(struct sample_index *index, unsigned group, uint32_t series, int64_t time, int64_t ref)
{
	struct oracle *oracle = &index->oracle;
	struct oracle_entry *entry;

	if ((oracle->n_entries & (oracle->n_entries - 1)) == 0) { /* at every power of two */
		oracle->entries = realloc(oracle->entries, (2 * oracle->n_entries + 1) * sizeof *entry);
		assert_non_null(oracle->entries);
	}
	entry = &oracle->entries[oracle->n_entries++];
	*entry = (struct oracle_entry){ .series = series, .time = time, .ref = ref, .run = group };
	if (group >= index->n_groups)
		index->n_groups = group + 1;
	return entry;
}

static int64_t random_extreme(struct random *dice)
{
	static const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };

	return extremes[random_below(dice, COUNT_OF(extremes))];
}

static int64_t random_time(struct random *dice, enum sample_times style, size_t i)
{
	switch (style) {
	case SAMPLE_CROWDED: return random_between(dice, -20, 60);
	case SAMPLE_STEADY: return (int64_t)i * 1000 + random_between(dice, 0, 100) * 10;
	case SAMPLE_WIDE: return random_between(dice, INT64_MIN, INT64_MAX);
	case SAMPLE_EXTREME: return random_extreme(dice);
	default: return random_time(dice, (enum sample_times)random_below(dice, SAMPLE_MIXED), i);
	}
}

static int64_t random_integer(struct random *dice)
{
	switch (random_below(dice, 8)) {
	case 0: return random_extreme(dice);
	case 1: return random_between(dice, -5, 0);
	case 2: return 0;
	case 3: return random_between(dice, INT64_MIN, INT64_MAX);
	default: return random_between(dice, 0, 1 << random_below(dice, 24));
	}
}

static double random_real(struct random *dice)
{
	static const double special[] = { NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e300, -1e300, 5e-324 };

	if (random_chance(dice, 10))
		return special[random_below(dice, COUNT_OF(special))];
	return (double)random_between(dice, -1000000, 1000000) / (double)(1 + random_below(dice, 64));
}

/* Returns the n-th ref, by a bijection of 64-bit numbers: refs are unique, and in no order except that the extremes come
 * first. */
static int64_t nth_ref(size_t n, bool has_blocks)
{
	size_t shuffled = n * 7919 % (1 << 20);

	if (has_blocks) /* a TID, with 300 rows to a heap block */
		return (int64_t)(shuffled / 300 << 16 | shuffled % 300);
	if (n < 2)
		return n ? INT64_MAX : INT64_MIN;
	return n % 3 ? (int64_t)n : (int64_t)(n * 0x9E3779B97F4A7C15u);
}

unsigned sample_entries(struct sample_index *index, struct random *dice, size_t n, unsigned n_series, enum sample_times style)
{
	unsigned group = index->n_groups++;
	unsigned null_percent = random_chance(dice, 50) ? 10 : 0;

	assert_true(group < SAMPLE_GROUPS);
	for (size_t i = 0; i < n; i++) {
		int64_t ref = nth_ref(index->n_refs++, index->manifest.fields.has_blocks);
		struct oracle_entry *entry = sample_append(index, group, (uint32_t)random_below(dice, n_series),
							   random_time(dice, style, i), ref);

		if (entry->series == n_series - 1 && random_chance(dice, 50))
			entry->series = UINT32_MAX;
		if (random_chance(dice, null_percent)) {
			entry->time_is_null = true;
			entry->time = 0;
		}
		for (unsigned v = 0; v < index->oracle.n_values; v++) {
			entry->has[v] = !random_chance(dice, null_percent);
			if (!entry->has[v])
				continue;
			if (index->oracle.is_real[v])
				entry->value[v].real = random_real(dice);
			else
				entry->value[v].integer = random_integer(dice);
		}
	}
	return group;
}

/* Returns a bound of a window, often the time of an entry or one next to it. */
static int64_t random_bound(const struct sample_index *index, struct random *dice)
{
	const struct oracle *oracle = &index->oracle;
	int64_t time;

	if (oracle->n_entries == 0 || random_chance(dice, 20))
		return random_time(dice, SAMPLE_MIXED, random_below(dice, 5000));
	time = oracle->entries[random_below(dice, oracle->n_entries)].time;
	if (time > INT64_MIN + 2 && time < INT64_MAX - 2)
		time += random_between(dice, -2, 2);
	return time;
}

static int64_t random_width(struct random *dice)
{
	return random_chance(dice, 10) ? random_between(dice, 1, INT64_MAX) :
					 (int64_t)(1 + random_below(dice, UINT64_C(1) << random_below(dice, 63)));
}

struct oracle_question sample_question(const struct sample_index *index, struct random *dice)
{
	const struct oracle *oracle = &index->oracle;
	struct oracle_question question = {
		.series = oracle->n_entries && !random_chance(dice, 5) ?
			  oracle->entries[random_below(dice, oracle->n_entries)].series : (uint32_t)random_below(dice, 60),
		.has_t0 = random_chance(dice, 70), .has_t1 = random_chance(dice, 70),
		.t0 = random_bound(index, dice), .t1 = random_bound(index, dice),
	};

	if (question.t0 > question.t1 && !random_chance(dice, 10)) {
		int64_t t0 = question.t0;

		question.t0 = question.t1;
		question.t1 = t0;
	}
	switch (random_below(dice, 3)) {
	case 0:
		question.mode = ORACLE_WHOLE;
		break;
	case 1:
		question.mode = ORACLE_COUNT;
		question.has_t0 = question.has_t1 = true;
		question.n = random_chance(dice, 60) ? 1 + (int64_t)random_below(dice, 200) : random_width(dice);
		break;
	default:
		question.mode = ORACLE_STEP;
		question.step = random_width(dice);
		question.origin = random_chance(dice, 50) ? 0 : random_bound(index, dice);
		break;
	}
	return question;
}

struct iforest_request sample_wanted(struct random *dice, const struct sample_index *index)
{
	uint32_t all = (1u << index->oracle.n_values) - 1;

	if (random_chance(dice, 30))
		return (struct iforest_request){ .values = all, .accumulators = UINT32_MAX, .firsts = all, .lasts = all, .times = true,
						.node_fields = true };
	if (random_chance(dice, 40))
		return (struct iforest_request){ .values = (uint32_t)random_next(dice) & all, .extremes_alone = true,
						.no_mins = (uint32_t)random_next(dice), .no_maxs = (uint32_t)random_next(dice),
						.no_rows = random_chance(dice, 50) ? (uint32_t)random_next(dice) & all : 0 };
	if (random_chance(dice, 40)) /* requests that are answered from summaries and split pages */
		return (struct iforest_request){ .values = random_chance(dice, 50) ? all & 1 : (uint32_t)random_next(dice) & all,
						.accumulators = random_chance(dice, 30) ? (uint32_t)random_next(dice) : 0,
						.no_mins = random_chance(dice, 70) ? UINT32_MAX : (uint32_t)random_next(dice),
						.no_maxs = random_chance(dice, 50) ? UINT32_MAX : (uint32_t)random_next(dice),
						.no_rows = random_chance(dice, 50) ? all : (uint32_t)random_next(dice) & all };
	if (random_chance(dice, 30)) /* sums alone, of the first value column or of any */
		return (struct iforest_request){ .values = (uint32_t)random_next(dice) & (random_chance(dice, 70) ? 1 : all),
						.no_mins = UINT32_MAX, .no_maxs = UINT32_MAX, .no_rows = UINT32_MAX };
	return (struct iforest_request){
		.values = (uint32_t)random_next(dice) & all,
		.no_rows = random_chance(dice, 50) ? (uint32_t)random_next(dice) & all : 0,
		.accumulators = random_chance(dice, 50) ? (uint32_t)random_next(dice) : 0,
		.firsts = (uint32_t)random_next(dice) & all,
		.lasts = (uint32_t)random_next(dice) & all,
		.times = random_chance(dice, 50),
		.node_fields = random_chance(dice, 50),
	};
}
