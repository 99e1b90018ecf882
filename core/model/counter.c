#include "core/model/counter.h"

#include "core/model/real_time.h"

void iforest_counter_open(struct iforest_counter *counter, int64_t start)
{
	*counter = (struct iforest_counter){ .has_real_times = counter->has_real_times,
					     .is_known = counter->is_known,
					     .value = counter->value,
					     .until = counter->until,
					     .since = start,
					     .has_start = counter->is_known,
					     .start = counter->value };
}

/* Accounts for a stretch of real time in which the counter has a value. */
static void pass_real(struct iforest_counter *counter, enum iforest_value_type type, int64_t from, int64_t to)
{
	double width = iforest_real_of_time(to) - iforest_real_of_time(from);

	counter->real_known += width;
	counter->real_integral += (type == IFOREST_INT64 ? (double)counter->value.integer : counter->value.real) * width;
}

void iforest_counter_close(struct iforest_counter *counter, enum iforest_value_type type, int64_t end)
{
	int64_t since = counter->since, pinned = end < counter->until ? end : counter->until;
	uint64_t width = pinned > since ? (uint64_t)pinned - (uint64_t)since : 0;

	counter->since = end;
	if (!counter->is_known || width == 0)
		return;
	if (counter->has_real_times) {
		pass_real(counter, type, since, pinned);
		return;
	}
	counter->known += width;
	/* widths of a bucket add up to less than 2^64, so the integral is at most 2^127 - 2^63 */
	if (type == IFOREST_INT64)
		counter->integral += (iforest_int128)counter->value.integer * width;
	else
		counter->real_integral += counter->value.real * (double)width;
}

void iforest_counter_add(struct iforest_counter *counter, enum iforest_value_type type, int64_t time,
			 union iforest_number value, int64_t until)
{
	bool is_reset = counter->is_known && iforest_number_compare(value, counter->value, type) < 0;

	iforest_counter_close(counter, type, time);
	if (counter->is_known && type == IFOREST_INT64)
		counter->increase = iforest_add_wrapping(counter->increase, (iforest_int128)value.integer -
										    (is_reset ? 0 : counter->value.integer));
	/* the same infinity twice is no increase */
	else if (counter->is_known && (is_reset || value.real != counter->value.real))
		counter->real_increase += is_reset ? value.real : value.real - counter->value.real;
	counter->n++;
	counter->n_resets += is_reset;
	counter->is_known = true;
	counter->value = value;
	counter->until = until;
}

/* ---- Pieces ---- */

void iforest_counter_piece_add(struct iforest_counter_piece *piece, enum iforest_value_type type, int64_t time,
			       union iforest_number value, int64_t until)
{
	if (piece->samples.n == 0) {
		*piece = (struct iforest_counter_piece){ .first_time = time,
							 .first = value,
							 .samples.has_real_times = piece->samples.has_real_times };
		iforest_counter_open(&piece->samples, time);
	}
	iforest_counter_add(&piece->samples, type, time, value, until);
}

void iforest_counter_add_piece(struct iforest_counter *counter, enum iforest_value_type type,
			       const struct iforest_counter_piece *piece)
{
	const struct iforest_counter *samples = &piece->samples;

	if (samples->n == 0)
		return;
	iforest_counter_add(counter, type, piece->first_time, piece->first, samples->until);
	counter->n += samples->n - 1;
	counter->n_resets += samples->n_resets;
	counter->known += samples->known;
	counter->real_known += samples->real_known;
	counter->integral = iforest_add_wrapping(counter->integral, samples->integral);
	counter->increase = iforest_add_wrapping(counter->increase, samples->increase);
	counter->real_integral += samples->real_integral;
	counter->real_increase += samples->real_increase;
	counter->value = samples->value;
	counter->since = samples->since;
}

void iforest_counter_piece_join(struct iforest_counter_piece *into, enum iforest_value_type type,
				const struct iforest_counter_piece *from)
{
	if (into->samples.n == 0)
		*into = *from;
	else
		iforest_counter_add_piece(&into->samples, type, from);
}

double iforest_counter_mean(const struct iforest_counter *counter, enum iforest_value_type type)
{
	if (counter->has_real_times)
		return counter->real_integral / counter->real_known;
	return (type == IFOREST_INT64 ? (double)counter->integral : counter->real_integral) / (double)counter->known;
}

double iforest_counter_increase(const struct iforest_counter *counter, enum iforest_value_type type)
{
	return type == IFOREST_INT64 ? (double)counter->increase : counter->real_increase;
}
