#include "core/model/sketch.h"

#include <math.h>

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/base/xxh64.h"

enum {
	SKETCH_BITS = IFOREST_SKETCH_BITS,
	SKETCH_PER_POWER = 1 << SKETCH_BITS,
	SKETCH_LEAST_EXPONENT = -1074,
	SKETCH_N_POWERS = 1024 - SKETCH_LEAST_EXPONENT,
	SKETCH_ZERO = SKETCH_N_POWERS * SKETCH_PER_POWER + 1,
	SKETCH_MINUS_INFINITY = 0,
	SKETCH_PLUS_INFINITY = 2 * SKETCH_ZERO,
	SKETCH_NAN = 2 * SKETCH_ZERO + 1,

	SKETCH_MAGIC = 0x6b734649,
	SKETCH_VERSION = 1,
	SKETCH_HEADER_BYTES = 10,
};

#define SKETCH_MAX_NUMBERS ((uint64_t)INT64_MAX)

/* ---- Buckets ---- */

/* Returns the bucket of a fixed-point number whose highest bit has the weight 2^exponent, by that bit and the SKETCH_BITS bits
 * after it. */
static uint32_t bucket_of_bits(uint64_t bits, int exponent, bool is_negative)
{
	unsigned highest = iforest_highest_bit(bits);
	uint64_t start = highest >= SKETCH_BITS ? bits >> (highest - SKETCH_BITS) : bits << (SKETCH_BITS - highest);
	uint32_t k = (uint32_t)start % SKETCH_PER_POWER;
	uint32_t distance = (uint32_t)(exponent - SKETCH_LEAST_EXPONENT) * SKETCH_PER_POWER + k + 1;

	return is_negative ? SKETCH_ZERO - distance : SKETCH_ZERO + distance;
}

static uint32_t bucket_of_integer(int64_t number)
{
	uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	return number == 0 ? SKETCH_ZERO : bucket_of_bits(magnitude, (int)iforest_highest_bit(magnitude), number < 0);
}

static uint32_t bucket_of_real(double number)
{
	uint64_t bits, fraction;
	int exponent;

	if (isnan(number))
		return SKETCH_NAN;
	if (isinf(number))
		return number < 0 ? SKETCH_MINUS_INFINITY : SKETCH_PLUS_INFINITY;
	if (number == 0)
		return SKETCH_ZERO;
	memcpy(&bits, &number, sizeof bits);
	fraction = bits & iforest_low_bits(52);
	exponent = (int)(bits >> 52 & 0x7ff);
	if (exponent == 0) /* denormal: fraction 2^-1074 */
		return bucket_of_bits(fraction, (int)iforest_highest_bit(fraction) + SKETCH_LEAST_EXPONENT, number < 0);
	return bucket_of_bits(fraction | UINT64_C(1) << 52, exponent - 1023, number < 0);
}

static uint32_t sketch_bucket(union iforest_number number, enum iforest_value_type type)
{
	return type == IFOREST_INT64 ? bucket_of_integer(number.integer) : bucket_of_real(number.real);
}

/* A bucket of finite numbers other than zero: magnitudes from start * 2^(exponent - SKETCH_BITS) on, `start` in [64, 128). */
struct span_of_bucket {
	bool is_negative;
	int exponent;
	uint64_t start;
};

static bool is_finite_bucket(uint32_t bucket)
{
	return bucket != SKETCH_MINUS_INFINITY && bucket != SKETCH_ZERO && bucket < SKETCH_PLUS_INFINITY;
}

static struct span_of_bucket span_of(uint32_t bucket)
{
	bool is_negative = bucket < SKETCH_ZERO;
	uint32_t distance = (is_negative ? SKETCH_ZERO - bucket : bucket - SKETCH_ZERO) - 1;

	return (struct span_of_bucket){
		.is_negative = is_negative,
		.exponent = (int)(distance / SKETCH_PER_POWER) + SKETCH_LEAST_EXPONENT,
		.start = SKETCH_PER_POWER + distance % SKETCH_PER_POWER,
	};
}

/* True if the bucket contains an int64. */
static bool sketch_holds_integer(uint32_t bucket)
{
	struct span_of_bucket span;

	if (!is_finite_bucket(bucket))
		return bucket == SKETCH_ZERO;
	span = span_of(bucket);
	if (span.exponent >= 63)
		return span.is_negative && span.exponent == 63 && span.start == SKETCH_PER_POWER;
	if (span.exponent < 0)
		return false;
	return span.exponent >= (int)SKETCH_BITS || (span.start & iforest_low_bits(SKETCH_BITS - (unsigned)span.exponent)) == 0;
}

/* Returns the middle of the bucket's integers. Requires sketch_holds_integer(). */
static int64_t sketch_integer(uint32_t bucket)
{
	struct span_of_bucket span;
	int64_t middle;

	if (bucket == SKETCH_ZERO)
		return 0;
	span = span_of(bucket);
	if (span.exponent == 63)
		return INT64_MIN;
	if (span.exponent <= (int)SKETCH_BITS) {
		middle = (int64_t)(span.start >> (SKETCH_BITS - (unsigned)span.exponent));
	} else {
		unsigned shift = (unsigned)span.exponent - SKETCH_BITS;

		middle = (int64_t)((span.start << shift) + iforest_low_bits(shift) / 2);
	}
	return span.is_negative ? -middle : middle;
}

/* Returns x 2^exponent, which must be a double. Denormals are reached in two steps, neither of which rounds. */
static double scale(double x, int exponent)
{
	return exponent < -1022 ? x * iforest_power_of_two(-1022) * iforest_power_of_two(exponent + 1022)
				: x * iforest_power_of_two(exponent);
}

/* Returns the middle of the bucket, or its only number if it is one of denormals. */
static double sketch_real(uint32_t bucket)
{
	struct span_of_bucket span;
	double middle;

	if (bucket == SKETCH_ZERO)
		return 0;
	if (!is_finite_bucket(bucket))
		return bucket == SKETCH_NAN ? NAN : bucket == SKETCH_PLUS_INFINITY ? INFINITY : -INFINITY;
	span = span_of(bucket);
	if (span.exponent - (int)SKETCH_BITS <= SKETCH_LEAST_EXPONENT)
		middle = scale((double)span.start, span.exponent - (int)SKETCH_BITS);
	else
		middle = scale((double)(2 * span.start + 1), span.exponent - (int)SKETCH_BITS - 1);
	return span.is_negative ? -middle : middle;
}

/* ---- Filling ---- */

struct iforest_sketch_chunk {
	uint32_t number; /* holds buckets [64 number, 64 (number + 1)) */
	uint64_t counts[SKETCH_PER_POWER];
};

enum { N_RECENT = sizeof((struct iforest_sketch *)NULL)->recent / sizeof(struct iforest_sketch_chunk *) };

void iforest_sketch_init(struct iforest_sketch *sketch, const struct iforest_alloc *alloc)
{
	*sketch = (struct iforest_sketch){ .alloc = alloc };
}

void iforest_sketch_release(struct iforest_sketch *sketch)
{
	for (uint32_t c = 0; c < sketch->n_chunks; c++)
		iforest_release(sketch->alloc, sketch->chunks[c]);
	iforest_release(sketch->alloc, sketch->chunks);
	iforest_sketch_init(sketch, sketch->alloc);
}

/* Returns the index of the first chunk with that number or a greater one. */
static uint32_t find_chunk(const struct iforest_sketch *sketch, uint32_t number)
{
	uint32_t low = 0, high = sketch->n_chunks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sketch->chunks[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the counter of a bucket. If there is none, adds it if may_add; else, or without memory, returns NULL. */
static uint64_t *counter(struct iforest_sketch *sketch, uint32_t bucket, bool may_add)
{
	uint32_t number = bucket / SKETCH_PER_POWER, at;
	struct iforest_sketch_chunk **recent = &sketch->recent[number % N_RECENT];

	if (*recent && (*recent)->number == number)
		return &(*recent)->counts[bucket % SKETCH_PER_POWER];
	at = find_chunk(sketch, number);
	if (at == sketch->n_chunks || sketch->chunks[at]->number != number) {
		struct iforest_sketch_chunk *chunk = NULL;

		if (may_add && iforest_array_reserve(sketch->alloc, &sketch->chunks, sizeof(struct iforest_sketch_chunk *),
						     (size_t)sketch->n_chunks + 1, &sketch->n_reserved))
			chunk = iforest_allocate(sketch->alloc, sizeof *chunk);
		if (!chunk)
			return NULL;
		*chunk = (struct iforest_sketch_chunk){ .number = number };
		memmove(sketch->chunks + at + 1, sketch->chunks + at,
			(sketch->n_chunks - at) * sizeof(struct iforest_sketch_chunk *));
		sketch->chunks[at] = chunk;
		sketch->n_chunks++;
	}
	*recent = sketch->chunks[at];
	return &(*recent)->counts[bucket % SKETCH_PER_POWER];
}

static enum iforest_status add_to_bucket(struct iforest_sketch *sketch, uint32_t bucket, uint64_t n)
{
	uint64_t *count;

	if (n > SKETCH_MAX_NUMBERS - sketch->n)
		return IFOREST_RANGE;
	count = counter(sketch, bucket, true);
	if (!count)
		return IFOREST_NO_MEMORY;
	*count += n;
	sketch->n += n;
	return IFOREST_OK;
}

static enum iforest_status take_from_bucket(struct iforest_sketch *sketch, uint32_t bucket, uint64_t n)
{
	uint64_t *count = counter(sketch, bucket, false);

	if (!count || *count < n)
		return IFOREST_NOT_FOUND;
	*count -= n;
	sketch->n -= n;
	return IFOREST_OK;
}

enum iforest_status iforest_sketch_add(struct iforest_sketch *sketch, union iforest_number number, enum iforest_value_type type)
{
	enum iforest_status status = add_to_bucket(sketch, sketch_bucket(number, type), 1);

	sketch->n_reals += !status && type == IFOREST_FLOAT64;
	return status;
}

enum iforest_status iforest_sketch_remove(struct iforest_sketch *sketch, union iforest_number number,
					  enum iforest_value_type type)
{
	uint64_t n_reals = type == IFOREST_FLOAT64;
	enum iforest_status status;

	if (n_reals > sketch->n_reals || (!n_reals && sketch->n_reals == sketch->n))
		return IFOREST_NOT_FOUND;
	status = take_from_bucket(sketch, sketch_bucket(number, type), 1);
	sketch->n_reals -= status ? 0 : n_reals;
	return status;
}

/* ---- Stored sketches ---- */

/* Returns the number of bytes of a varint. */
static unsigned sketch_varint_bytes(uint64_t x)
{
	return x ? (iforest_bit_width(x) + 6) / 7 : 1;
}

/* Reads a varint of minimal length; NULL if there is none. */
static const uint8_t *read_shortest(const uint8_t *at, const uint8_t *end, uint64_t *x)
{
	const uint8_t *after = iforest_varint_read(at, end, x);

	return after && (unsigned)(after - at) == sketch_varint_bytes(*x) ? after : NULL;
}

/* A position among the buckets of a view. */
struct sketch_reader {
	const uint8_t *at, *end;
	uint32_t next; /* the lowest bucket that may come next */
	uint32_t bucket;
	uint64_t n;
};

static inline struct sketch_reader sketch_reader_of(const struct iforest_sketch_view *view)
{
	return (struct sketch_reader){ .at = view->bytes, .end = view->end };
}

/* Reads the next bucket. Returns false after the last, and where the bytes are invalid; then reader->at is NULL. */
static bool sketch_next(struct sketch_reader *reader)
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

enum iforest_status iforest_sketch_merge(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch_view view;
	struct sketch_reader reader;
	enum iforest_status status = iforest_sketch_open(&view, bytes, n_bytes);

	if (status)
		return status;
	for (reader = sketch_reader_of(&view); !status && sketch_next(&reader);)
		status = add_to_bucket(sketch, reader.bucket, reader.n);
	sketch->n_reals += view.n_reals;
	return status;
}

enum iforest_status iforest_sketch_subtract(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch_view view;
	struct sketch_reader reader;
	enum iforest_status status = iforest_sketch_open(&view, bytes, n_bytes);

	if (!status && view.n_reals > sketch->n_reals)
		status = IFOREST_NOT_FOUND;
	if (status)
		return status;
	for (reader = sketch_reader_of(&view); !status && sketch_next(&reader);)
		status = take_from_bucket(sketch, reader.bucket, reader.n);
	sketch->n_reals -= view.n_reals;
	return status || sketch->n_reals <= sketch->n ? status : IFOREST_NOT_FOUND;
}

/* Writes the buckets as bytes; out may be NULL. Returns the number of bytes. */
static size_t write_buckets(const struct iforest_sketch *sketch, uint8_t *out)
{
	uint32_t next = 0;
	size_t n_bytes = 0;

	for (uint32_t c = 0; c < sketch->n_chunks; c++)
		for (uint32_t i = 0; i < SKETCH_PER_POWER; i++) {
			uint64_t n = sketch->chunks[c]->counts[i], token;
			uint32_t bucket = sketch->chunks[c]->number * SKETCH_PER_POWER + i, gap = bucket - next;

			if (n == 0)
				continue;
			token = 2 * (n - 1) + (gap > 0);
			n_bytes += sketch_varint_bytes(token) + (gap ? sketch_varint_bytes(gap) : 0);
			if (out) {
				out = iforest_varint_write(out, token);
				out = gap ? iforest_varint_write(out, gap) : out;
			}
			next = bucket + 1;
		}
	return n_bytes;
}

enum iforest_status iforest_sketch_write(const struct iforest_sketch *sketch, uint8_t **bytes, size_t *n_bytes)
{
	size_t n = SKETCH_HEADER_BYTES + sketch_varint_bytes(sketch->n_reals) + write_buckets(sketch, NULL);
	uint8_t *out = iforest_allocate(sketch->alloc, n);

	if (!out)
		return IFOREST_NO_MEMORY;
	out[8] = SKETCH_VERSION;
	out[9] = SKETCH_BITS;
	(void)write_buckets(sketch, iforest_varint_write(out + SKETCH_HEADER_BYTES, sketch->n_reals));
	iforest_store32(out, SKETCH_MAGIC);
	iforest_store32(out + 4, (uint32_t)iforest_xxh64(out + 8, n - 8));
	*bytes = out;
	*n_bytes = n;
	return IFOREST_OK;
}

/* Counts the numbers, and checks that at least those in buckets without integers are counted as reals. */
static enum iforest_status check_buckets(struct iforest_sketch_view *view)
{
	struct sketch_reader reader = sketch_reader_of(view);
	uint64_t n_surely_reals = 0;

	while (sketch_next(&reader)) {
		if (reader.n > SKETCH_MAX_NUMBERS - view->n)
			return IFOREST_CORRUPT;
		if (view->n == 0)
			view->first = reader.bucket;
		view->last = reader.bucket;
		view->n += reader.n;
		n_surely_reals += sketch_holds_integer(reader.bucket) ? 0 : reader.n;
	}
	return reader.at && n_surely_reals <= view->n_reals && view->n_reals <= view->n ? IFOREST_OK : IFOREST_CORRUPT;
}

enum iforest_status iforest_sketch_open(struct iforest_sketch_view *view, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch_view opened = { .n = 0 };
	enum iforest_status status;

	if (n_bytes <= SKETCH_HEADER_BYTES || iforest_load32(bytes) != SKETCH_MAGIC)
		return IFOREST_CORRUPT;
	if (iforest_load32(bytes + 4) != (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8))
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

/* ---- Quantiles ---- */

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
	return sketch_bucket(extremes->min.value, extremes->min.kind) == view->first &&
	       sketch_bucket(extremes->max.value, extremes->max.kind) == view->last && !is_less(&extremes->max, &extremes->min);
}

enum iforest_status iforest_sketch_number_at(const struct iforest_sketch_view *view, uint64_t place,
					     const struct iforest_sketch_extremes *extremes,
					     struct iforest_sketch_number *answer)
{
	uint64_t n_passed = 0;
	struct sketch_reader reader = sketch_reader_of(view);
	struct iforest_sketch_number number = { .kind = view->n_reals ? IFOREST_FLOAT64 : IFOREST_INT64 };

	if (extremes && !are_extremes_of(view, extremes))
		return IFOREST_ARGUMENT;
	while (n_passed < place && sketch_next(&reader))
		n_passed += reader.n;
	if (number.kind == IFOREST_INT64)
		number.value.integer = sketch_integer(reader.bucket);
	else
		number.value.real = sketch_real(reader.bucket);
	/* if all numbers are in one bucket, its middle may lie outside their range */
	if (extremes && (place == 1 || (place < view->n && is_less(&number, &extremes->min))))
		number = extremes->min;
	else if (extremes && (place == view->n || is_less(&extremes->max, &number)))
		number = extremes->max;
	*answer = number;
	return IFOREST_OK;
}

enum iforest_status iforest_sketch_quantile(const struct iforest_sketch_view *view, double q,
					    const struct iforest_sketch_extremes *extremes,
					    struct iforest_sketch_number *answer)
{
	return iforest_sketch_number_at(view, place_of(q, view->n), extremes, answer);
}

/* ---- Counts below a bound ---- */

/* Returns the number that the numbers of a bucket count as. */
static double held_in(const struct iforest_sketch_view *view, uint32_t bucket)
{
	return view->n_reals ? sketch_real(bucket) : (double)sketch_integer(bucket);
}

/* True if the numbers of a bucket count as numbers at or below v, which lies in bucket bucket_of_v. */
static bool is_through(const struct iforest_sketch_view *view, uint32_t bucket, double v, uint32_t bucket_of_v)
{
	return bucket < bucket_of_v || (bucket == bucket_of_v && (bucket == SKETCH_NAN || held_in(view, bucket) <= v));
}

/* True if they count as numbers below v. */
static bool is_below(const struct iforest_sketch_view *view, uint32_t bucket, double v, uint32_t bucket_of_v)
{
	return bucket < bucket_of_v || (bucket == bucket_of_v && held_in(view, bucket) < v);
}

uint64_t iforest_sketch_count_through(const struct iforest_sketch_view *view, double v)
{
	struct sketch_reader reader = sketch_reader_of(view);
	uint32_t bucket_of_v = bucket_of_real(v);
	uint64_t n = 0;

	while (sketch_next(&reader) && is_through(view, reader.bucket, v, bucket_of_v))
		n += reader.n;
	return n;
}

bool iforest_sketch_are_bounds(const double *bounds, size_t n_bounds)
{
	for (size_t i = 0; i < n_bounds; i++)
		if (isnan(bounds[i]) || (i > 0 && !(bounds[i - 1] < bounds[i])))
			return false;
	return true;
}

void iforest_sketch_histogram(const struct iforest_sketch_view *view, const double *bounds, size_t n_bounds, uint64_t *counts)
{
	struct sketch_reader reader = sketch_reader_of(view);
	uint32_t bucket_of_bound = n_bounds ? bucket_of_real(bounds[0]) : 0;
	size_t bin = 0;

	memset(counts, 0, (n_bounds + 1) * sizeof *counts);
	while (sketch_next(&reader)) {
		while (bin < n_bounds && !is_below(view, reader.bucket, bounds[bin], bucket_of_bound))
			if (++bin < n_bounds)
				bucket_of_bound = bucket_of_real(bounds[bin]);
		counts[bin] += reader.n;
	}
}

/* Returns the ends of a bucket of finite numbers other than zero. A bucket of denormals has a single number. */
static struct iforest_sketch_bin bin_of_finite(uint32_t bucket)
{
	struct span_of_bucket span = span_of(bucket);
	int exponent = span.exponent - (int)SKETCH_BITS;
	double start = scale((double)span.start, exponent);
	double end = exponent <= SKETCH_LEAST_EXPONENT ? start + 0x1p-1074 : scale((double)(span.start + 1), exponent);

	if (span.is_negative)
		return (struct iforest_sketch_bin){ .lower = -end, .upper = -start };
	return (struct iforest_sketch_bin){ .lower = start, .upper = end };
}

bool iforest_sketch_next_bin(const struct iforest_sketch_view *view, struct iforest_sketch_place *place,
			     struct iforest_sketch_bin *bin)
{
	struct sketch_reader reader = { .at = view->bytes + place->offset, .end = view->end, .next = place->next };

	if (view->n == 0 || !sketch_next(&reader))
		return false;
	if (is_finite_bucket(reader.bucket))
		*bin = bin_of_finite(reader.bucket);
	else
		bin->lower = bin->upper = sketch_real(reader.bucket);
	bin->n = reader.n;
	*place = (struct iforest_sketch_place){ .offset = (size_t)(reader.at - view->bytes), .next = reader.next };
	return true;
}
