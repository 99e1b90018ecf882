#include "core/model/kind.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/model/regression.h"

/* ---- Kinds ---- */

static void add_words(uint64_t *into, const uint64_t *from, unsigned n_words)
{
	iforest_uint128 carry = 0;

	for (unsigned i = 0; i < n_words; i++) {
		carry += (iforest_uint128)into[i] + from[i];
		into[i] = (uint64_t)carry;
		carry >>= 64;
	}
}

/* A sum of products in two parts, so that 2^64 of them can be added: high times 2^64, and low. */
struct sum {
	iforest_int128 high;
	iforest_uint128 low;
};

static inline void add_product(struct sum *sum, int64_t a, int64_t b)
{
	iforest_int128 product = (iforest_int128)a * b;

	sum->high += product >> 64;
	sum->low += (uint64_t)product;
}

/* Adds the sum to a number of three words. */
static void add_sum(uint64_t *words, const struct sum *sum)
{
	uint64_t low[] = { (uint64_t)sum->low, (uint64_t)(sum->low >> 64), 0 };

	add_words(words, low, 3);
	add_words(words + 1, (const uint64_t[]){ (uint64_t)sum->high, (uint64_t)(sum->high >> 64) }, 2);
}

static void lift_squares(const struct iforest_lift *entries, uint64_t *words)
{
	struct sum sum = { 0, 0 };

	for (uint64_t which = entries->which; which; which &= which - 1) {
		int64_t number = entries->numbers[iforest_trailing_zeros(which)];

		add_product(&sum, number, number);
	}
	add_sum(words, &sum);
}

/* One step of a binary search: adds `step` to `below` if that many more bounds are below the number. Branch-free, as a branch
 * would be mispredicted half of the time. */
static inline unsigned step_up(const int64_t *bounds, unsigned below, unsigned step, int64_t number)
{
	return below + (-(unsigned)(bounds[below + step - 1] < number) & step);
}

/* Counts numbers by how many bounds are below each. Searches for four at a time, because each search is a chain of dependent
 * loads.
 * Requires  2 * half bounds. */
static void count_by_bounds(const int64_t *bounds, unsigned half, const int64_t *numbers, unsigned n, uint8_t *counts)
{
	unsigned i = 0;

	for (; i + 4 <= n; i += 4) {
		unsigned a = 0, b = 0, c = 0, d = 0;

		for (unsigned step = half; step; step /= 2) {
			a = step_up(bounds, a, step, numbers[i]);
			b = step_up(bounds, b, step, numbers[i + 1]);
			c = step_up(bounds, c, step, numbers[i + 2]);
			d = step_up(bounds, d, step, numbers[i + 3]);
		}
		counts[a]++;
		counts[b]++;
		counts[c]++;
		counts[d]++;
	}
	for (; i < n; i++) {
		unsigned a = 0;

		for (unsigned step = half; step; step /= 2)
			a = step_up(bounds, a, step, numbers[i]);
		counts[a]++;
	}
}

/* Counts the numbers between bounds first, and accumulates the counts at the end. */
static void lift_histogram(const struct iforest_lift *entries, uint64_t *words)
{
	enum { MOST = 2 * IFOREST_MAX_BOUNDS };
	unsigned n_bounds = entries->n_parameters, half = 1u << iforest_highest_bit(n_bounds), n = 0;
	int64_t bounds[MOST], numbers[64];
	uint8_t counts[MOST] = { 0 };
	uint64_t n_below = 0;

	/* pad to a power of two with bounds that no number exceeds */
	memcpy(bounds, entries->parameters, n_bounds * sizeof *bounds);
	for (unsigned i = n_bounds; i < 2 * half; i++)
		bounds[i] = INT64_MAX;
	for (uint64_t which = entries->which; which; which &= which - 1)
		numbers[n++] = entries->numbers[iforest_trailing_zeros(which)];
	count_by_bounds(bounds, half, numbers, n, counts);
	for (unsigned i = 0; i < n_bounds; i++)
		words[i] += n_below += counts[i];
}

static void lift_products(const struct iforest_lift *entries, uint64_t *words)
{
	struct sum sums[IFOREST_PAIR_NUMBERS] = { { 0, 0 } };

	for (uint64_t which = entries->which; which; which &= which - 1) {
		int64_t number = entries->numbers[iforest_trailing_zeros(which)];
		int64_t other = entries->others[iforest_trailing_zeros(which)];

		add_product(&sums[IFOREST_PAIR_N], 1, 1);
		add_product(&sums[IFOREST_PAIR_SUM], number, 1);
		add_product(&sums[IFOREST_PAIR_OTHER_SUM], other, 1);
		add_product(&sums[IFOREST_PAIR_SQUARES], number, number);
		add_product(&sums[IFOREST_PAIR_OTHER_SQUARES], other, other);
		add_product(&sums[IFOREST_PAIR_PRODUCTS], number, other);
	}
	for (unsigned i = 0; i < IFOREST_PAIR_NUMBERS; i++)
		add_sum(words + 3 * i, &sums[i]);
}

const struct iforest_kind iforest_kinds[IFOREST_N_KINDS] = {
	{ .code = IFOREST_KIND_SQUARES,
	  .name = "squares",
	  .results = "variances",
	  .option = "variance",
	  .list = "column names",
	  .n_words = 3,
	  .n_numbers = 1,
	  .takes_decimals = true,
	  .lift = lift_squares },
	{ .code = IFOREST_KIND_HISTOGRAM,
	  .name = "histograms",
	  .results = "histograms",
	  .option = "histogram",
	  .list = "columns with ascending bounds",
	  .n_words = 1,
	  .most_parameters = IFOREST_MAX_BOUNDS,
	  .lift = lift_histogram },
	{ .code = IFOREST_KIND_PRODUCTS,
	  .name = "products",
	  .results = "products",
	  .option = "products",
	  .list = "pairs of columns",
	  .n_words = 3,
	  .n_numbers = IFOREST_PAIR_NUMBERS,
	  .has_second = true,
	  .lift = lift_products },
};

const struct iforest_kind *iforest_kind_find(unsigned code)
{
	for (unsigned k = 0; k < IFOREST_N_KINDS; k++)
		if (iforest_kinds[k].code == code)
			return &iforest_kinds[k];
	return NULL;
}

/* ---- Accumulators ---- */

/* Compares in the order of the list. */
static int compare(const struct iforest_accumulator *a, const struct iforest_accumulator *b)
{
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return (a->second > b->second) - (a->second < b->second);
}

enum iforest_status iforest_accumulators_add(struct iforest_accumulators *all, unsigned code, unsigned value, unsigned second,
					     const int64_t *parameters, unsigned n_parameters)
{
	struct iforest_accumulator added = { .code = (uint8_t)code,
					     .value = (uint8_t)value,
					     .second = (uint8_t)second,
					     .n_parameters = (uint8_t)n_parameters,
					     .first_parameter = all->n_parameters };
	unsigned place = 0;

	if (all->n == IFOREST_MAX_ACCUMULATORS || all->n_parameters + n_parameters > IFOREST_MAX_ACCUMULATOR_WORDS)
		return IFOREST_ARGUMENT;
	while (place < all->n && compare(&all->list[place], &added) < 0)
		place++;
	if (place < all->n && compare(&all->list[place], &added) == 0)
		return IFOREST_ARGUMENT;
	memmove(&all->list[place + 1], &all->list[place], (all->n - place) * sizeof *all->list);
	all->list[place] = added;
	all->n++;
	if (n_parameters)
		memcpy(all->parameters + all->n_parameters, parameters, n_parameters * sizeof *parameters);
	all->n_parameters = (uint16_t)(all->n_parameters + n_parameters);
	return IFOREST_OK;
}

static bool is_integers(const uint8_t *types, unsigned n_values, unsigned value)
{
	return value < n_values && types[value] == IFOREST_INT64;
}

/* True if the accumulator is valid for its kind, and in its place in the list. */
static bool is_sound(const struct iforest_accumulators *all, unsigned a, const uint8_t *types, unsigned n_values)
{
	const struct iforest_accumulator *accumulator = &all->list[a];
	const struct iforest_kind *kind = iforest_kind_find(accumulator->code);
	const int64_t *parameters = iforest_accumulator_parameters(all, a);

	if (!kind || !is_integers(types, n_values, accumulator->value) ||
	    (accumulator->n_parameters > 0) != (kind->most_parameters > 0) || accumulator->n_parameters > kind->most_parameters)
		return false;
	if (kind->has_second ? accumulator->second != IFOREST_TIME_COLUMN && !is_integers(types, n_values, accumulator->second)
			     : accumulator->second != IFOREST_NO_VALUE)
		return false;
	for (unsigned i = 1; i < accumulator->n_parameters; i++)
		if (parameters[i] <= parameters[i - 1])
			return false;
	return a == 0 || compare(accumulator - 1, accumulator) < 0;
}

enum iforest_status iforest_accumulators_finish(struct iforest_accumulators *all, const uint8_t *types, unsigned n_values,
						unsigned first_word)
{
	unsigned n_words = 0;

	for (unsigned a = 0; a < all->n; a++) {
		struct iforest_accumulator *accumulator = &all->list[a];
		const struct iforest_kind *kind = iforest_kind_find(accumulator->code);

		if (!is_sound(all, a, types, n_values))
			return IFOREST_ARGUMENT;
		accumulator->word = (uint16_t)(first_word + n_words);
		accumulator->n_words =
			(uint16_t)(kind->n_words * (kind->n_numbers ? kind->n_numbers : accumulator->n_parameters));
		n_words += accumulator->n_words;
	}
	all->n_words = (uint16_t)n_words;
	return n_words > IFOREST_MAX_ACCUMULATOR_WORDS ? IFOREST_ARGUMENT : IFOREST_OK;
}

int iforest_accumulators_named(const struct iforest_accumulators *all, unsigned code, unsigned value, unsigned second)
{
	for (unsigned a = 0; a < all->n; a++)
		if (all->list[a].code == code && all->list[a].value == value && all->list[a].second == second)
			return (int)a;
	return -1;
}

int iforest_accumulators_find(const struct iforest_accumulators *all, const struct iforest_accumulators *of, unsigned a)
{
	const struct iforest_accumulator *like = &of->list[a];
	int found = iforest_accumulators_named(all, like->code, like->value, like->second);

	if (found < 0 || all->list[found].n_parameters != like->n_parameters)
		return -1;
	return memcmp(iforest_accumulator_parameters(all, (unsigned)found), iforest_accumulator_parameters(of, a),
		      like->n_parameters * sizeof(int64_t)) == 0
		       ? found
		       : -1;
}

bool iforest_accumulators_equal(const struct iforest_accumulators *a, const struct iforest_accumulators *b)
{
	bool is_equal = a->n == b->n;

	for (unsigned i = 0; i < a->n && is_equal; i++)
		is_equal = iforest_accumulators_find(b, a, i) >= 0;
	return is_equal;
}

/* ---- Words of an accumulator ---- */

void iforest_accumulator_combine(const struct iforest_accumulator *accumulator, uint64_t *into, const uint64_t *from)
{
	unsigned n_words = iforest_kind_find(accumulator->code)->n_words;

	if (n_words == 1) {
		for (unsigned i = 0; i < accumulator->n_words; i++)
			into[i] += from[i];
		return;
	}
	for (unsigned i = 0; i < accumulator->n_words; i += n_words)
		add_words(into + i, from + i, n_words);
}

void iforest_accumulator_subtract(const struct iforest_accumulator *accumulator, uint64_t *into, const uint64_t *from)
{
	unsigned n_words = iforest_kind_find(accumulator->code)->n_words;

	for (unsigned i = 0; i < accumulator->n_words; i += n_words) {
		uint64_t borrow = 0;

		for (unsigned k = i; k < i + n_words; k++) {
			uint64_t before = into[k], rest = before - from[k];

			into[k] = rest - borrow;
			borrow = (before < from[k]) | (rest < borrow);
		}
	}
}

void iforest_accumulator_lift(const struct iforest_accumulators *all, unsigned a, struct iforest_lift *entries, uint64_t *words)
{
	entries->parameters = iforest_accumulator_parameters(all, a);
	entries->n_parameters = all->list[a].n_parameters;
	iforest_kind_find(all->list[a].code)->lift(entries, words);
}

/* ---- Accumulators as text ---- */

static const char *skip_space(const char *at)
{
	while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
		at++;
	return at;
}

/* Reads an integer of 64 bits. Returns false if there is none. */
static bool read_integer(const char **text, int64_t *number)
{
	const char *at = *text;
	bool is_negative = *at == '-';
	iforest_int128 read = 0;

	at += is_negative;
	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		read = read * 10 + (*at - '0');
		if (read > (iforest_int128)INT64_MAX + is_negative)
			return false;
	}
	*number = (int64_t)(is_negative ? -read : read);
	*text = skip_space(at);
	return true;
}

/* Reads "(number, number, ...)". */
static enum iforest_text_error read_parameters(const struct iforest_kind *kind, const char **text, int64_t *parameters,
					       unsigned *n)
{
	char before = '(';

	for (*n = 0; **text == before; before = ',') {
		*text = skip_space(*text + 1);
		if (*n == kind->most_parameters)
			return IFOREST_TEXT_TOO_MANY;
		if (!read_integer(text, &parameters[*n]))
			return IFOREST_TEXT_WRONG;
		if (*n > 0 && parameters[*n] <= parameters[*n - 1])
			return IFOREST_TEXT_NOT_ASCENDING;
		++*n;
	}
	if (*n == 0 || **text != ')')
		return IFOREST_TEXT_WRONG;
	*text = skip_space(*text + 1);
	return IFOREST_TEXT_OK;
}

/* Reads one accumulator and adds it. */
static enum iforest_text_error read_accumulator(struct iforest_accumulators *all, const struct iforest_kind *kind,
						const char **text, iforest_read_name *read_name, void *context)
{
	int value = read_name(context, text), second = IFOREST_NO_VALUE;
	int64_t parameters[IFOREST_MAX_ACCUMULATOR_WORDS];
	enum iforest_text_error error = IFOREST_TEXT_OK;
	unsigned n = 0;

	if (value == IFOREST_NAME_UNKNOWN || value == IFOREST_TIME_COLUMN)
		return IFOREST_TEXT_UNKNOWN;
	if (value == IFOREST_NAME_MISSING || (kind->has_second && **text != '*'))
		return IFOREST_TEXT_WRONG;
	if (kind->has_second) {
		*text = skip_space(*text + 1);
		second = read_name(context, text);
		if (second < 0)
			return second == IFOREST_NAME_UNKNOWN ? IFOREST_TEXT_UNKNOWN : IFOREST_TEXT_WRONG;
	}
	if (kind->most_parameters)
		error = read_parameters(kind, text, parameters, &n);
	if (error)
		return error;
	if (iforest_accumulators_named(all, kind->code, (unsigned)value, (unsigned)second) >= 0)
		return IFOREST_TEXT_TWICE;
	return iforest_accumulators_add(all, kind->code, (unsigned)value, (unsigned)second, parameters, n)
		       ? IFOREST_TEXT_TOO_MANY
		       : IFOREST_TEXT_OK;
}

enum iforest_text_error iforest_accumulators_parse(struct iforest_accumulators *all, const struct iforest_kind *kind,
						   const char **text, iforest_read_name *read_name, void *context)
{
	enum iforest_text_error error = IFOREST_TEXT_OK;

	*text = skip_space(*text);
	while (!error && **text && **text != ')') {
		error = read_accumulator(all, kind, text, read_name, context);
		if (error || **text != ',')
			break;
		*text = skip_space(*text + 1);
		if (!**text || **text == ')')
			return IFOREST_TEXT_WRONG;
	}
	return error || (**text && **text != ')') ? (error ? error : IFOREST_TEXT_WRONG) : IFOREST_TEXT_OK;
}
