#include "core/model/sketch_internal.h"

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/base/varint.h"

unsigned iforest_sketch_varint_bytes(uint64_t x)
{
	return x ? (iforest_bit_width(x) + 6) / 7 : 1;
}

/* A number written with as few bytes as it needs; NULL where there is none. */
static const uint8_t *read_shortest(const uint8_t *at, const uint8_t *end, uint64_t *x)
{
	const uint8_t *after = iforest_varint_read(at, end, x);

	return after && (unsigned)(after - at) == iforest_sketch_varint_bytes(*x) ? after : NULL;
}

bool iforest_sketch_next(struct iforest_sketch_reader *reader)
{
	uint64_t token, gap = 0;

	if (reader->at == reader->end)
		return false;
	reader->at = read_shortest(reader->at, reader->end, &token);
	if (reader->at && token & 1) {
		reader->at = read_shortest(reader->at, reader->end, &gap);
		if (gap == 0)
			reader->at = NULL;
	}
	if (!reader->at || gap > SKETCH_NAN || reader->next + gap > SKETCH_NAN) {
		reader->at = NULL;
		return false;
	}
	reader->bucket = reader->next + (uint32_t)gap;
	reader->next = reader->bucket + 1;
	reader->n = token / 2 + 1;
	return true;
}

/* Counts, and what lies where no integer can must be as many reals at least. */
static enum iforest_status check_buckets(struct iforest_sketch_view *view)
{
	struct iforest_sketch_reader reader = iforest_sketch_reader_of(view);
	uint64_t n_surely_reals = 0;

	while (iforest_sketch_next(&reader)) {
		if (reader.n > SKETCH_MAX_NUMBERS - view->n)
			return IFOREST_CORRUPT;
		if (view->n == 0)
			view->first = reader.bucket;
		view->last = reader.bucket;
		view->n += reader.n;
		n_surely_reals += iforest_sketch_holds_integer(reader.bucket) ? 0 : reader.n;
	}
	return reader.at && n_surely_reals <= view->n_reals && view->n_reals <= view->n ? IFOREST_OK : IFOREST_CORRUPT;
}

enum iforest_status iforest_sketch_open(struct iforest_sketch_view *view, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch_view opened = { .n = 0 };
	enum iforest_status status;

	if (n_bytes <= SKETCH_HEADER_BYTES || iforest_load32(bytes) != SKETCH_MAGIC)
		return IFOREST_CORRUPT;
	if (iforest_load32(bytes + 4) != (uint32_t)iforest_checksum64(bytes + 8, n_bytes - 8))
		return IFOREST_CORRUPT;
	if (bytes[8] != SKETCH_VERSION || bytes[9] != SKETCH_BITS)
		return IFOREST_FORMAT;
	opened.end = bytes + n_bytes;
	opened.bytes = read_shortest(bytes + SKETCH_HEADER_BYTES, opened.end, &opened.n_reals);
	status = opened.bytes ? check_buckets(&opened) : IFOREST_CORRUPT;
	if (!status)
		*view = opened;
	return status;
}

/* ---- quantiles ---- */

static uint64_t place_of(double q, uint64_t n)
{
	double place = q * (double)n;
	uint64_t floor;

	if (place >= (double)n)
		return n;
	floor = (uint64_t)place;
	return floor + ((double)floor < place || floor == 0);
}

static double as_real(const struct iforest_sketch_number *number)
{
	return number->kind == IFOREST_INT64 ? (double)number->value.integer : number->value.real;
}

static bool is_less(const struct iforest_sketch_number *a, const struct iforest_sketch_number *b)
{
	if (a->kind == b->kind)
		return iforest_number_compare(a->value, b->value, a->kind) < 0;
	return as_real(a) < as_real(b);
}

static bool are_extremes_of(const struct iforest_sketch_view *view, const struct iforest_sketch_extremes *extremes)
{
	return iforest_sketch_bucket(extremes->min.value, extremes->min.kind) == view->first &&
	       iforest_sketch_bucket(extremes->max.value, extremes->max.kind) == view->last &&
	       !is_less(&extremes->max, &extremes->min);
}

enum iforest_status iforest_sketch_quantile(const struct iforest_sketch_view *view, double q,
					    const struct iforest_sketch_extremes *extremes,
					    struct iforest_sketch_number *answer)
{
	uint64_t place = place_of(q, view->n), n_passed = 0;
	struct iforest_sketch_reader reader = iforest_sketch_reader_of(view);
	struct iforest_sketch_number number = { .kind = view->n_reals ? IFOREST_FLOAT64 : IFOREST_INT64 };

	if (extremes && !are_extremes_of(view, extremes))
		return IFOREST_ARGUMENT;
	while (n_passed < place && iforest_sketch_next(&reader))
		n_passed += reader.n;
	if (number.kind == IFOREST_INT64)
		number.value.integer = iforest_sketch_integer(reader.bucket);
	else
		number.value.real = iforest_sketch_real(reader.bucket);
	/* where all lie in one bucket its middle may be less than the least of them, and greater than the greatest */
	if (extremes && (place == 1 || (place < view->n && is_less(&number, &extremes->min))))
		number = extremes->min;
	else if (extremes && (place == view->n || is_less(&extremes->max, &number)))
		number = extremes->max;
	*answer = number;
	return IFOREST_OK;
}
