#include "core/model/lttb.h"

#include <math.h>

#include "core/base/bits.h"
#include "core/base/heap_sort.h"

static bool comes_before(const void *left, const void *right)
{
	const struct iforest_line_point *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time;
	if (a->value < b->value || a->value > b->value)
		return a->value < b->value;
	return a->row < b->row;
}

enum iforest_status iforest_line_sort(struct iforest_line_point *points, size_t n, const struct iforest_interrupt *interrupt)
{
	return iforest_heap_sort(points, n, sizeof *points, comes_before, interrupt);
}

/* The start of bucket i of n_buckets over all points but the first and the last. */
static size_t start_of(size_t i, size_t n_buckets, size_t n)
{
	return 1 + (size_t)((iforest_uint128)i * (n - 2) / n_buckets);
}

/* Returns the distance from the first time, which a double represents better than the time itself. */
static double x_of(const struct iforest_line_point *points, size_t i)
{
	return (double)((uint64_t)points[i].time - (uint64_t)points[0].time);
}

/* Returns the point of [from, to) that forms the largest triangle with (x, y) and (next_x, next_y). */
static size_t largest(const struct iforest_line_point *points, size_t from, size_t to, double x, double y, double next_x,
		      double next_y)
{
	double area, most = -1;
	size_t found = from;

	for (size_t i = from; i < to; i++) {
		area = fabs((x - next_x) * (points[i].value - y) - (x - x_of(points, i)) * (next_y - y));
		if (area > most) {
			most = area;
			found = i;
		}
	}
	return found;
}

size_t iforest_lttb(struct iforest_line_point *points, size_t n, size_t n_wanted)
{
	size_t n_buckets = n_wanted - 2;
	double x = 0, y = n > 0 ? points[0].value : 0;

	if (n <= n_wanted)
		return n;
	for (size_t b = 0; b < n_buckets; b++) {
		size_t from = start_of(b, n_buckets, n), to = start_of(b + 1, n_buckets, n);
		size_t end = b + 1 < n_buckets ? start_of(b + 2, n_buckets, n) : n, kept;
		double next_x = 0, next_y = 0;

		for (size_t i = to; i < end; i++) {
			next_x += x_of(points, i);
			next_y += points[i].value;
		}
		kept = largest(points, from, to, x, y, next_x / (double)(end - to), next_y / (double)(end - to));
		x = x_of(points, kept);
		y = points[kept].value;
		points[1 + b] = points[kept];
	}
	points[1 + n_buckets] = points[n - 1];
	return n_wanted;
}
