#include "core/model/sketch_internal.h"

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/base/varint.h"

struct iforest_sketch_chunk {
	uint32_t number; /* holds buckets [64 number, 64 (number + 1)) */
	uint64_t counts[SKETCH_PER_POWER];
};

enum { N_RECENT = sizeof ((struct iforest_sketch *)NULL)->recent / sizeof(struct iforest_sketch_chunk *) };

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

/* The first chunk of that number or a greater one. */
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

static bool reserve(struct iforest_sketch *sketch)
{
	uint32_t n_wanted = sketch->n_reserved ? 2 * sketch->n_reserved : 8;
	const struct iforest_alloc *alloc = sketch->alloc;
	void *grown;

	if (sketch->n_chunks < sketch->n_reserved)
		return true;
	grown = alloc->reallocate(alloc->context, sketch->chunks, n_wanted * sizeof(struct iforest_sketch_chunk *));
	if (!grown)
		return false;
	sketch->chunks = grown;
	sketch->n_reserved = n_wanted;
	return true;
}

/* The counter of a bucket; NULL where there is none, and without may_add or memory to make one. */
static uint64_t *counter(struct iforest_sketch *sketch, uint32_t bucket, bool may_add)
{
	uint32_t number = bucket / SKETCH_PER_POWER, at;
	struct iforest_sketch_chunk **recent = &sketch->recent[number % N_RECENT];

	if (*recent && (*recent)->number == number)
		return &(*recent)->counts[bucket % SKETCH_PER_POWER];
	at = find_chunk(sketch, number);
	if (at == sketch->n_chunks || sketch->chunks[at]->number != number) {
		struct iforest_sketch_chunk *chunk = NULL;

		if (may_add && reserve(sketch))
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

enum iforest_status iforest_sketch_add(struct iforest_sketch *sketch, union iforest_number number, enum iforest_value_kind kind)
{
	enum iforest_status status = add_to_bucket(sketch, iforest_sketch_bucket(number, kind), 1);

	sketch->n_reals += !status && kind == IFOREST_FLOAT64;
	return status;
}

enum iforest_status iforest_sketch_remove(struct iforest_sketch *sketch, union iforest_number number,
					  enum iforest_value_kind kind)
{
	uint64_t n_reals = kind == IFOREST_FLOAT64;
	enum iforest_status status;

	if (n_reals > sketch->n_reals || (!n_reals && sketch->n_reals == sketch->n))
		return IFOREST_NOT_FOUND;
	status = take_from_bucket(sketch, iforest_sketch_bucket(number, kind), 1);
	sketch->n_reals -= status ? 0 : n_reals;
	return status;
}

/* ---- bytes ---- */

enum iforest_status iforest_sketch_merge(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch_view view;
	struct iforest_sketch_reader reader;
	enum iforest_status status = iforest_sketch_open(&view, bytes, n_bytes);

	if (status)
		return status;
	for (reader = iforest_sketch_reader_of(&view); !status && iforest_sketch_next(&reader);)
		status = add_to_bucket(sketch, reader.bucket, reader.n);
	sketch->n_reals += view.n_reals;
	return status;
}

enum iforest_status iforest_sketch_subtract(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch_view view;
	struct iforest_sketch_reader reader;
	enum iforest_status status = iforest_sketch_open(&view, bytes, n_bytes);

	if (!status && view.n_reals > sketch->n_reals)
		status = IFOREST_NOT_FOUND;
	if (status)
		return status;
	for (reader = iforest_sketch_reader_of(&view); !status && iforest_sketch_next(&reader);)
		status = take_from_bucket(sketch, reader.bucket, reader.n);
	sketch->n_reals -= view.n_reals;
	return status || sketch->n_reals <= sketch->n ? status : IFOREST_NOT_FOUND;
}

/* The buckets as bytes, or, where out is NULL, how many bytes these are. */
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
			n_bytes += iforest_sketch_varint_bytes(token) + (gap ? iforest_sketch_varint_bytes(gap) : 0);
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
	size_t n = SKETCH_HEADER_BYTES + iforest_sketch_varint_bytes(sketch->n_reals) + write_buckets(sketch, NULL);
	uint8_t *out = iforest_allocate(sketch->alloc, n);

	if (!out)
		return IFOREST_NO_MEMORY;
	out[8] = SKETCH_VERSION;
	out[9] = SKETCH_BITS;
	(void)write_buckets(sketch, iforest_varint_write(out + SKETCH_HEADER_BYTES, sketch->n_reals));
	iforest_store32(out, SKETCH_MAGIC);
	iforest_store32(out + 4, (uint32_t)iforest_checksum64(out + 8, n - 8));
	*bytes = out;
	*n_bytes = n;
	return IFOREST_OK;
}
