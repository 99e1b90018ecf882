#include "tests/support/oracle.h"

#include <math.h>
#include <stdlib.h>

/* An entry in the window and the bucket that it falls in. */
struct placed {
	oracle_int128 bucket;
	long entry;
};

static bool in_window(const struct oracle_entry *entry, const struct oracle_question *question)
{
	if (entry->series != question->series)
		return false;
	if (entry->time_is_null)
		return question->mode == ORACLE_WHOLE && !question->has_t0 && !question->has_t1;
	return (!question->has_t0 || entry->time >= question->t0) && (!question->has_t1 || entry->time < question->t1);
}

static oracle_int128 floor_of_quotient(oracle_int128 a, oracle_int128 b)
{
	oracle_int128 quotient = a / b;

	return quotient * b > a ? quotient - 1 : quotient;
}

/* t0 + floor(i (t1 - t0) / n) */
static oracle_int128 start_of_nth(const struct oracle_question *question, int64_t i)
{
	oracle_int128 width = (oracle_int128)question->t1 - question->t0;

	return question->t0 + i * width / question->n;
}

static oracle_int128 bucket_of(int64_t time, const struct oracle_question *question)
{
	int64_t low = 0, high = question->n - 1;

	if (question->mode == ORACLE_WHOLE)
		return 0;
	if (question->mode == ORACLE_STEP)
		return floor_of_quotient((oracle_int128)time - question->origin, question->step);
	while (low < high) { /* the last bucket that starts at or before the time */
		int64_t middle = low + (high - low) / 2 + 1;

		if (start_of_nth(question, middle) <= time)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static int by_bucket(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return x->entry < y->entry ? -1 : 1;
}

/* True if a is before b in time. An entry without a time comes last; of equal times, the lower ref comes first. */
static bool is_earlier(const struct oracle_entry *a, const struct oracle_entry *b)
{
	if (a->time_is_null || b->time_is_null)
		return a->time_is_null == b->time_is_null ? a->ref < b->ref : b->time_is_null;
	return a->time != b->time ? a->time < b->time : a->ref < b->ref;
}

int oracle_entry_order(const struct oracle_entry *a, const struct oracle_entry *b)
{
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return is_earlier(a, b) ? -1 : is_earlier(b, a);
}

/* NaN is greater than every number and equal to itself. */
static bool is_less(const union oracle_number *a, const union oracle_number *b, bool is_real)
{
	if (!is_real)
		return a->integer < b->integer;
	if (isnan(a->real))
		return false;
	return isnan(b->real) || a->real < b->real;
}

/* Written out digit by digit, to be independent of core. */
static void add_square(uint32_t *digits, int64_t x)
{
	uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, factor[2] = { magnitude & UINT32_MAX, magnitude >> 32 };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < 2; j++) {
			uint64_t product = factor[i] * factor[j], carry = 0;

			for (unsigned at = i + j; at < 6; at++) {
				carry += digits[at] + (product & UINT32_MAX);
				digits[at] = (uint32_t)carry;
				carry >>= 32;
				product >>= 32;
			}
		}
}

const int64_t oracle_bounds[] = { INT64_MIN, -1, 0, 500, INT64_MAX };

static void add_number(struct oracle_value *sum, const union oracle_number *x, bool is_real)
{
	sum->n++;
	if (!is_real) {
		sum->sum += x->integer;
		add_square(sum->squares, x->integer);
		for (unsigned b = 0; b < ORACLE_BOUNDS; b++)
			sum->n_up_to[b] += x->integer <= oracle_bounds[b];
	} else if (isnan(x->real)) {
		sum->n_nan++;
	} else if (isinf(x->real)) {
		sum->n_plus_infinity += x->real > 0;
		sum->n_minus_infinity += x->real < 0;
	} else {
		sum->real_sum += x->real;
		sum->real_magnitude += fabs(x->real);
	}
}

static void add_with_time(oracle_uint128 *sums, oracle_int128 x, oracle_int128 time)
{
	sums[0] += 1;
	sums[1] += (oracle_uint128)x;
	sums[2] += (oracle_uint128)time;
	sums[3] += (oracle_uint128)(x * x);
	sums[4] += (oracle_uint128)(time * time);
	sums[5] += (oracle_uint128)(x * time);
}

static void add_value(const struct oracle *oracle, struct oracle_value *sum, unsigned v, long i)
{
	const struct oracle_entry *entries = oracle->entries, *entry = &entries[i];
	bool is_real = oracle->is_real[v];

	add_number(sum, &entry->value[v], is_real);
	if (sum->min == ORACLE_NONE || is_less(&entry->value[v], &entries[sum->min].value[v], is_real) ||
	    (!is_less(&entries[sum->min].value[v], &entry->value[v], is_real) && is_earlier(entry, &entries[sum->min])))
		sum->min = i;
	if (sum->max == ORACLE_NONE || is_less(&entries[sum->max].value[v], &entry->value[v], is_real) ||
	    (!is_less(&entry->value[v], &entries[sum->max].value[v], is_real) && is_earlier(entry, &entries[sum->max])))
		sum->max = i;
	if (entry->time_is_null)
		return;
	if (!is_real)
		add_with_time(sum->with_time, entry->value[v].integer, entry->time);
	if (sum->first == ORACLE_NONE || is_earlier(entry, &entries[sum->first]))
		sum->first = i;
	if (sum->last == ORACLE_NONE || is_earlier(&entries[sum->last], entry))
		sum->last = i;
}

static int64_t end_of_span(const struct oracle *oracle, const struct oracle_entry *entry)
{
	static const int64_t factors[] = { [ORACLE_DURATION] = 1000, [ORACLE_THOUSANDTHS] = 1, [ORACLE_THOUSANDS] = 1000 * 1000,
					   [ORACLE_MILLIONS] = 1000 * 1000000 };
	oracle_int128 end = entry->time, value = entry->value[oracle->duration].integer;

	if (!entry->has[oracle->duration])
		return entry->time;
	if (oracle->end_rule == ORACLE_END)
		end = value;
	else if (value > 0)
		end += (value * factors[oracle->end_rule] + 999) / 1000;
	if (end < entry->time)
		return entry->time;
	return end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

static void add_entry(const struct oracle *oracle, struct oracle_answer *answer, long i)
{
	const struct oracle_entry *entry = &oracle->entries[i];
	uint32_t heap_block = (uint32_t)((uint64_t)entry->ref >> 16);

	if (entry->is_dead) {
		answer->n_dead++;
		return;
	}
	answer->n_rows++;
	if (heap_block < answer->lowest_block)
		answer->lowest_block = heap_block;
	if (heap_block > answer->highest_block)
		answer->highest_block = heap_block;
	for (unsigned v = 0; v < oracle->n_values; v++)
		if (entry->has[v])
			add_value(oracle, &answer->values[v], v, i);
	if (entry->time_is_null)
		return;
	if (!answer->has_times || entry->time < answer->first_time)
		answer->first_time = entry->time;
	if (!answer->has_times || entry->time > answer->last_time)
		answer->last_time = entry->time;
	answer->has_times = true;
	if (oracle->duration != ORACLE_NONE && end_of_span(oracle, entry) > answer->latest_end)
		answer->latest_end = end_of_span(oracle, entry);
}

static struct oracle_answer nothing(int64_t bucket)
{
	struct oracle_answer answer = { .bucket = bucket, .latest_end = INT64_MIN, .lowest_block = UINT32_MAX };

	for (unsigned v = 0; v < ORACLE_VALUES; v++)
		answer.values[v].min = answer.values[v].max = answer.values[v].first = answer.values[v].last = ORACLE_NONE;
	return answer;
}

static size_t place_entries(const struct oracle *oracle, const struct oracle_question *question, struct placed *placed)
{
	size_t n = 0;

	for (size_t i = 0; i < oracle->n_entries; i++) {
		const struct oracle_entry *entry = &oracle->entries[i];
		oracle_int128 bucket = in_window(entry, question) ? bucket_of(entry->time, question) : 0;

		/* a bucket number out of range matters only if the bucket has live entries */
		if (in_window(entry, question) && !(entry->is_dead && (bucket < INT64_MIN || bucket > INT64_MAX)))
			placed[n++] = (struct placed){ bucket, (long)i };
	}
	qsort(placed, n, sizeof *placed, by_bucket);
	return n;
}

struct oracle_answer *oracle_scan(const struct oracle *oracle, const struct oracle_question *question, size_t *n_answers,
				  bool *out_of_range)
{
	struct placed *placed = calloc(oracle->n_entries + 1, sizeof *placed);
	struct oracle_answer *answers = calloc(oracle->n_entries + 1, sizeof *answers);
	size_t n = 0, n_placed;

	*out_of_range = false;
	*n_answers = 0;
	if (!placed || !answers)
		abort();
	n_placed = place_entries(oracle, question, placed);
	for (size_t i = 0; i < n_placed && !*out_of_range; i++) {
		*out_of_range = placed[i].bucket < INT64_MIN || placed[i].bucket > INT64_MAX;
		if (*out_of_range)
			break;
		if (i > 0 && placed[i].bucket != placed[i - 1].bucket && answers[n].n_rows > 0)
			n++;
		if (i == 0 || placed[i].bucket != placed[i - 1].bucket)
			answers[n] = nothing((int64_t)placed[i].bucket);
		add_entry(oracle, &answers[n], placed[i].entry);
	}
	if (n_placed > 0 && answers[n].n_rows > 0)
		n++;
	*n_answers = n;
	free(placed);
	return answers;
}
