#include "tests/support/sample_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"

/* ---- conditions ---- */

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	struct sample_hidden *hidden = context;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	enum iforest_filter_class verdict = IFOREST_COUNTS_SOME;

	if (iforest_key_compare(&first, &hidden->to) >= 0 || iforest_key_compare(&last, &hidden->from) < 0)
		verdict = IFOREST_COUNTS_ALL;
	else if (iforest_key_compare(&first, &hidden->from) >= 0 && iforest_key_compare(&last, &hidden->to) < 0)
		verdict = IFOREST_COUNTS_NONE;
	hidden->n_verdicts[verdict]++;
	return verdict;
}

static bool is_hidden(const struct sample_hidden *hidden, const struct iforest_key *key)
{
	return iforest_key_compare(key, &hidden->from) >= 0 && iforest_key_compare(key, &hidden->to) < 0;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct sample_hidden *hidden = context;
	const struct iforest_block *block = &reader->block;
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status)
		status = iforest_block_need(reader, IFOREST_REFS);
	for (unsigned i = 0; !status && i < block->n; i++) {
		struct iforest_key key = { .series = block->series,
					   .time_is_null = block->time_is_null,
					   .time = block->times[i],
					   .ref = block->refs[i] };

		if (is_hidden(hidden, &key))
			*live &= ~(UINT64_C(1) << i);
	}
	return status;
}

static const struct oracle_entry *any_entry(const struct sample_index *index, struct random *dice)
{
	return &index->oracle.entries[random_below(dice, index->oracle.n_entries)];
}

void sample_hide(struct sample_hidden *hidden, const struct sample_index *index, struct random *dice)
{
	struct iforest_key keys[2];

	for (unsigned k = 0; k < 2; k++)
		keys[k] = index->oracle.n_entries ? sample_key(any_entry(index, dice)) : iforest_key_at(0, 0);
	*hidden = (struct sample_hidden){ .filter = { .context = hidden, .of_node = of_node, .of_entries = of_entries },
					  .index = index };
	hidden->from = keys[iforest_key_compare(&keys[0], &keys[1]) > 0];
	hidden->to = keys[iforest_key_compare(&keys[0], &keys[1]) <= 0];
}

/* Returns a bound with some values on either side, or a value itself. */
static union iforest_number some_number(const struct sample_index *index, struct random *dice, unsigned v)
{
	const struct oracle_entry *entry = any_entry(index, dice);
	union iforest_number number = { .integer = 0 };

	if (entry->has[v])
		number.integer = entry->value[v].integer;
	if (index->oracle.is_real[v] && random_chance(dice, 20))
		number.real = random_chance(dice, 30) ? (double)NAN : number.real + 1;
	return number;
}

struct iforest_value_predicate sample_match(const struct sample_index *index, struct random *dice)
{
	struct iforest_value_predicate match = { .values = 0 };

	for (unsigned v = 0; index->oracle.n_entries > 0 && random_chance(dice, 50) && v < index->oracle.n_values; v++) {
		enum iforest_value_type kind = index->oracle.is_real[v] ? IFOREST_FLOAT64 : IFOREST_INT64;

		if (random_chance(dice, 10))
			match.nulls |= 1u << v;
		if (random_chance(dice, 50))
			iforest_value_predicate_at_least(&match, v, some_number(index, dice, v), kind);
		if (random_chance(dice, 50))
			iforest_value_predicate_at_most(&match, v, some_number(index, dice, v), kind);
	}
	if (index->oracle.n_entries > 0 && index->oracle.duration != ORACLE_NONE && random_chance(dice, 40)) {
		match.has_reach = true;
		match.reach = any_entry(index, dice)->time;
		if (match.reach > INT64_MIN + 10 && match.reach < INT64_MAX - 10)
			match.reach += random_between(dice, -10, 10);
	}
	return match;
}

/* ---- the list, by looking at each entry ---- */

static bool is_at_most(union oracle_number a, union oracle_number b, bool is_real)
{
	if (!is_real)
		return a.integer <= b.integer;
	return isnan(b.real) || (!isnan(a.real) && a.real <= b.real);
}

static oracle_int128 end_of(const struct oracle *oracle, const struct oracle_entry *entry)
{
	oracle_int128 end = entry->time;

	if (entry->has[oracle->duration] && entry->value[oracle->duration].integer > 0)
		end += entry->value[oracle->duration].integer;
	return end > INT64_MAX ? INT64_MAX : end;
}

static bool passes(const struct oracle *oracle, const struct iforest_value_predicate *match, const struct oracle_entry *entry)
{
	bool passes = true;

	for (unsigned v = 0; v < oracle->n_values; v++) {
		union oracle_number low = { .integer = match->low[v].integer }, high = { .integer = match->high[v].integer };

		if (match->nulls >> v & 1)
			passes = passes && !entry->has[v];
		if (match->values >> v & 1)
			passes = passes && entry->has[v] && is_at_most(low, entry->value[v], oracle->is_real[v]) &&
				 is_at_most(entry->value[v], high, oracle->is_real[v]);
	}
	if (match->has_reach)
		passes =
			passes && !entry->time_is_null && (entry->time >= match->reach || end_of(oracle, entry) > match->reach);
	return passes;
}

static bool is_asked_for(const struct sample_list_question *question, const struct oracle_entry *entry)
{
	struct iforest_key key = sample_key(entry);
	bool is_listed = !question->is_of_each_series || !question->series;

	for (uint32_t s = 0; question->is_of_each_series && question->series && s < question->n_series; s++)
		is_listed = is_listed || question->series[s] == entry->series;
	if (question->is_of_each_series)
		key.series = 0;
	return is_listed && iforest_key_compare(&key, &question->from) >= 0 && iforest_key_compare(&key, &question->to) < 0 &&
	       (!question->needs_value || entry->has[question->value]);
}

int sample_ascending(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b)
{
	(void)question;
	return oracle_entry_order(a, b);
}

int sample_descending(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b)
{
	(void)question;
	return oracle_entry_order(b, a);
}

static const struct sample_list_question *sorted_by; /* qsort() takes no context */

static int compare(const void *a, const void *b)
{
	return sorted_by->order(sorted_by, *(const struct oracle_entry *const *)a, *(const struct oracle_entry *const *)b);
}

const struct oracle_entry **sample_list(const struct sample_index *indexes, unsigned n_indexes,
					const struct sample_list_question *question, size_t *n)
{
	const struct oracle_entry **list;
	size_t n_most = 1;

	for (unsigned x = 0; x < n_indexes; x++)
		n_most += indexes[x].oracle.n_entries;
	list = malloc(n_most * sizeof *list);
	assert_non_null(list);
	*n = 0;
	for (unsigned x = 0; x < n_indexes; x++)
		for (size_t i = 0; i < indexes[x].oracle.n_entries; i++) {
			const struct oracle_entry *entry = &indexes[x].oracle.entries[i];
			struct iforest_key key = sample_key(entry);

			if (!entry->is_dead && passes(&indexes[x].oracle, &question->match, entry) &&
			    is_asked_for(question, entry) && !(x == 0 && question->hidden && is_hidden(question->hidden, &key)))
				list[(*n)++] = entry;
		}
	sorted_by = question;
	qsort(list, *n, sizeof *list, compare);
	return list;
}

void sample_compare_entry(const struct sample_index *index, const struct oracle_entry *expected,
			  const struct iforest_entry *got, uint32_t values)
{
	struct iforest_key key = sample_key(expected);

	if (iforest_key_compare(&key, &got->key) != 0)
		fail_msg("seed %llu: entry (%llu, %lld, %lld) instead of (%u, %lld, %lld)", (unsigned long long)index->seed,
			 (unsigned long long)got->key.series, (long long)got->key.time, (long long)got->key.ref,
			 expected->series, (long long)expected->time, (long long)expected->ref);
	for (unsigned v = 0; v < index->oracle.n_values; v++) {
		assert_int_equal(got->present >> v & 1, expected->has[v] && values >> v & 1);
		if (got->present >> v & 1)
			assert_true(got->values[v].integer == expected->value[v].integer);
	}
}

void sample_start_two(struct sample_index *two, struct random *dice, const struct sample_shape *shape, unsigned n_series,
		      enum sample_times style)
{
	for (unsigned x = 0; x < 2; x++) {
		unsigned n_runs = (unsigned)random_below(dice, 4);

		sample_start(&two[x], shape);
		two[x].seed = dice->seed;
		two[x].n_refs = x == 0 ? 0 : two[0].n_refs;
		for (unsigned r = 0; r < n_runs; r++) {
			unsigned group = sample_entries(&two[x], dice, random_below(dice, 2000), n_series, style);

			assert_ok(sample_build(&two[x], group));
			if (sample_run(&two[x], group) < two[x].manifest.n_runs)
				sample_remove(&two[x], dice, group,
					      random_chance(dice, 50) ? (unsigned)random_below(dice, 60) : 0);
		}
	}
}

static void one_round(uint64_t seed, sample_ask *ask, uint64_t n_verdicts[4], uint64_t *n_given)
{
	static const char *const kinds[] = { "if", "fi", "ii" };
	static const int durations[] = { 0, 1, 0 };
	struct random dice = random_from(seed);
	unsigned k = (unsigned)random_below(&dice, COUNT_OF(kinds));
	struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = kinds[k], .duration = durations[k] };
	struct sample_index two[2];
	struct sample_hidden hidden;

	sample_start_two(two, &dice, &shape, 1 + (unsigned)random_below(&dice, 5),
			 (enum sample_times)random_below(&dice, SAMPLE_STYLES));
	sample_hide(&hidden, &two[0], &dice);
	ask(two, &dice, &hidden, n_given);
	for (unsigned verdict = 0; verdict < 4; verdict++)
		n_verdicts[verdict] += hidden.n_verdicts[verdict];
	sample_stop(&two[0]);
	sample_stop(&two[1]);
}

void sample_rounds(sample_ask *ask)
{
	unsigned n_rounds = random_rounds(60);
	uint64_t n_verdicts[4] = { 0 }, n_given = 0;

	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r, ask, n_verdicts, &n_given);
	assert_true(n_given > 1000 * n_rounds);
	assert_true(n_verdicts[IFOREST_COUNTS_ALL] > 0 && n_verdicts[IFOREST_COUNTS_SOME] > 0 && n_verdicts[IFOREST_COUNTS_NONE] > 0);
}
