#include "core/model/bucket.h"

#include "core/base/bits.h"
#include "core/model/real_time.h"

bool iforest_window_holds(const struct iforest_window *window, int64_t time)
{
	return !(window->has_t0 && time < window->t0) && !(window->has_t1 && time >= window->t1);
}

bool iforest_window_is_empty(const struct iforest_window *window)
{
	if (!window->has_t1)
		return false;
	return window->t1 == INT64_MIN || (window->has_t0 && window->t0 >= window->t1);
}

enum iforest_status iforest_bucketing_check(const struct iforest_bucketing *bucketing)
{
	const struct iforest_window *window = &bucketing->window;

	if (bucketing->mode == IFOREST_COUNT && (bucketing->n <= 0 || !window->has_t0 || !window->has_t1))
		return IFOREST_ARGUMENT;
	if (bucketing->mode == IFOREST_STEP && bucketing->step <= 0)
		return IFOREST_ARGUMENT;
	return IFOREST_OK;
}

bool iforest_bucketing_is_dense(const struct iforest_bucketing *bucketing)
{
	const struct iforest_window *window = &bucketing->window;

	return bucketing->mode == IFOREST_COUNT && bucketing->edges != IFOREST_EDGES_OF_REALS &&
	       (uint64_t)window->t1 - (uint64_t)window->t0 >= (uint64_t)bucketing->n;
}

static enum iforest_status bucket_of_real(const struct iforest_bucketing *bucketing, int64_t time, int64_t *bucket)
{
	double real = iforest_real_of_time(time);

	if (bucketing->mode == IFOREST_STEP)
		return iforest_real_bucket_of_step(iforest_real_of_time(bucketing->origin),
						   iforest_real_of_time(bucketing->step), real, bucket);
	*bucket = bucketing->mode == IFOREST_WHOLE
			  ? 0
			  : iforest_real_bucket_of_n(iforest_real_of_time(bucketing->window.t0),
						     iforest_real_of_time(bucketing->window.t1), bucketing->n, real);
	return IFOREST_OK;
}

enum iforest_status iforest_bucket_of(const struct iforest_bucketing *bucketing, int64_t time, int64_t *bucket)
{
	if (bucketing->edges == IFOREST_EDGES_OF_REALS)
		return bucket_of_real(bucketing, time, bucket);
	if (bucketing->mode == IFOREST_COUNT) {
		/* floor(i W / n) <= d  <=>  i W < (d + 1) n, so the largest such i is floor(((d + 1) n - 1) / W);
		 * ceil(i W / n) <= d  <=>  i W <= d n */
		uint64_t width = (uint64_t)bucketing->window.t1 - (uint64_t)bucketing->window.t0;
		uint64_t distance = (uint64_t)time - (uint64_t)bucketing->window.t0, n = (uint64_t)bucketing->n;
		iforest_uint128 reach = ((iforest_uint128)distance + 1) * n - (bucketing->edges == IFOREST_EDGES_UP ? n : 1);

		*bucket = (int64_t)(reach / width);
	} else if (bucketing->mode == IFOREST_STEP) {
		iforest_int128 number = iforest_floor_divide((iforest_int128)time - bucketing->origin, bucketing->step);

		if (number < INT64_MIN || number > INT64_MAX)
			return IFOREST_RANGE;
		*bucket = (int64_t)number;
	} else {
		*bucket = 0;
	}
	return IFOREST_OK;
}

/* The start of bucket number `bucket`, which may be one past the last. */
static iforest_int128 exact_start(const struct iforest_bucketing *bucketing, iforest_int128 bucket)
{
	const struct iforest_window *window = &bucketing->window;

	if (bucketing->mode == IFOREST_COUNT) {
		uint64_t width = (uint64_t)window->t1 - (uint64_t)window->t0;
		iforest_uint128 product = (iforest_uint128)bucket * width;

		if (bucketing->edges == IFOREST_EDGES_UP)
			product += (uint64_t)bucketing->n - 1;
		if (product <= UINT64_MAX) /* which is divided in a fraction of the time */
			return window->t0 + (iforest_int128)((uint64_t)product / (uint64_t)bucketing->n);
		return window->t0 + (iforest_int128)(product / (uint64_t)bucketing->n);
	}
	return bucketing->origin + bucket * bucketing->step;
}

/* The same of reals, mapped. */
static int64_t real_start(const struct iforest_bucketing *bucketing, iforest_int128 bucket)
{
	const struct iforest_window *window = &bucketing->window;

	if (bucketing->mode == IFOREST_COUNT)
		return iforest_real_start_of_n(iforest_real_of_time(window->t0), iforest_real_of_time(window->t1), bucketing->n,
					       bucket);
	return iforest_real_start_of_step(iforest_real_of_time(bucketing->origin), iforest_real_of_time(bucketing->step),
					  bucket);
}

static int64_t saturate(iforest_int128 time)
{
	if (time < INT64_MIN)
		return INT64_MIN;
	return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

int64_t iforest_bucket_start(const struct iforest_bucketing *bucketing, int64_t bucket)
{
	if (bucketing->mode == IFOREST_WHOLE)
		return bucketing->window.has_t0 ? bucketing->window.t0 : INT64_MIN;
	if (bucketing->edges == IFOREST_EDGES_OF_REALS)
		return real_start(bucketing, bucket);
	return saturate(exact_start(bucketing, bucket));
}

int64_t iforest_bucket_end(const struct iforest_bucketing *bucketing, int64_t bucket, bool *after_all)
{
	iforest_int128 end;

	if (bucketing->mode == IFOREST_WHOLE)
		end = bucketing->window.has_t1 ? (iforest_int128)bucketing->window.t1 : (iforest_int128)INT64_MAX + 1;
	else if (bucketing->edges == IFOREST_EDGES_OF_REALS) /* no time is an infinity */
		end = real_start(bucketing, (iforest_int128)bucket + 1);
	else
		end = exact_start(bucketing, (iforest_int128)bucket + 1);
	*after_all = end > INT64_MAX;
	return saturate(end);
}
