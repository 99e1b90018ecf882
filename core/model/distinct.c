#include "core/model/distinct.h"

#include <math.h>

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/base/xxh64.h"

enum {
	REGISTER_BITS = IFOREST_DISTINCT_BITS,
	N_REGISTERS = 1 << REGISTER_BITS,
	HIGHEST_PLACE = 64 - REGISTER_BITS + 1,
	PLACE_BITS = 6, /* of a place, in a register and in the list */

	LISTED_BITS = 26,
	HIGHEST_LISTED_PLACE = 64 - LISTED_BITS + 1,

	MAGIC = 0x6c684649,
	VERSION = 1,
	FORM_LIST = 0,
	FORM_REGISTERS = 1,
	HEADER_BYTES = 12,
	REGISTERS_BYTES = N_REGISTERS * PLACE_BITS / 8,

	KEY_BITS = 40,
};

/* ---- Keys ---- */

/* Keys that are hashes lie above this one, a range for each kind of value. */
#define LEAST_HASHED_KEY (-(INT64_C(1) << 62))

enum key_kind { KEY_OF_TEXT, KEY_OF_BLOB, KEY_OF_REAL };

static int64_t hashed_key(enum key_kind kind, const uint8_t *bytes, size_t n_bytes)
{
	uint64_t hash = iforest_xxh64(bytes, n_bytes) & iforest_low_bits(KEY_BITS);

	return LEAST_HASHED_KEY + ((int64_t)kind << KEY_BITS) + (int64_t)hash;
}

int64_t iforest_distinct_key_of_number(union iforest_number number, enum iforest_value_type type)
{
	double real = isnan(number.real) ? NAN : number.real;
	uint8_t bytes[sizeof real];
	uint64_t bits;
	int64_t integer;

	if (type == IFOREST_INT64)
		return number.integer;
	if (iforest_integral(real, &integer))
		return integer;
	memcpy(&bits, &real, sizeof bits);
	iforest_store64(bytes, isnan(real) ? UINT64_C(0x7ff8000000000000) : bits);
	return hashed_key(KEY_OF_REAL, bytes, sizeof bytes);
}

int64_t iforest_distinct_key_of_text(const void *bytes, size_t n_bytes)
{
	return hashed_key(KEY_OF_TEXT, bytes, n_bytes);
}

int64_t iforest_distinct_key_of_blob(const void *bytes, size_t n_bytes)
{
	return hashed_key(KEY_OF_BLOB, bytes, n_bytes);
}

/* ---- Hashes ---- */

/* Returns the place of the first bit set in a word of n bits, from 1; n + 1 where none is. */
static unsigned first_place(uint64_t word, unsigned n)
{
	return n - iforest_bit_width(word) + 1;
}

/* Returns a hash as the list has it: its first 26 bits, and the place of the first bit set in the others. */
static uint32_t listed_of_hash(uint64_t hash)
{
	unsigned rest = 64 - LISTED_BITS;

	return (uint32_t)(hash >> rest) << PLACE_BITS | first_place(hash & iforest_low_bits(rest), rest);
}

static void raise_register(uint8_t *registers, uint32_t number, unsigned place)
{
	if (registers[number] < place)
		registers[number] = (uint8_t)place;
}

static void raise_by_hash(uint8_t *registers, uint64_t hash)
{
	unsigned rest = 64 - REGISTER_BITS;

	raise_register(registers, (uint32_t)(hash >> rest), first_place(hash & iforest_low_bits(rest), rest));
}

static void raise_by_listed(uint8_t *registers, uint32_t listed)
{
	unsigned rest = LISTED_BITS - REGISTER_BITS;
	uint32_t first = listed >> PLACE_BITS, behind = first & (uint32_t)iforest_low_bits(rest);
	unsigned place = behind ? first_place(behind, rest) : rest + (listed & (uint32_t)iforest_low_bits(PLACE_BITS));

	raise_register(registers, first >> rest, place);
}

/* ---- Filling ---- */

void iforest_distinct_init(struct iforest_distinct *distinct, const struct iforest_alloc *alloc)
{
	*distinct = (struct iforest_distinct){ .alloc = alloc };
}

void iforest_distinct_release(struct iforest_distinct *distinct)
{
	iforest_release(distinct->alloc, distinct->list);
	iforest_release(distinct->alloc, distinct->registers);
	iforest_distinct_init(distinct, distinct->alloc);
}

bool iforest_distinct_is_empty(const struct iforest_distinct *distinct)
{
	return !distinct->registers && distinct->n_listed == 0;
}

/* Puts registers in the place of the list. */
static enum iforest_status use_registers(struct iforest_distinct *distinct)
{
	uint8_t *registers = iforest_allocate(distinct->alloc, N_REGISTERS);

	if (!registers)
		return IFOREST_NO_MEMORY;
	memset(registers, 0, N_REGISTERS);
	for (size_t i = 0; i < distinct->n_listed; i++)
		raise_by_listed(registers, distinct->list[i]);
	iforest_distinct_release(distinct);
	distinct->registers = registers;
	return IFOREST_OK;
}

/* Returns the place in the list of the first item with these 26 bits or greater ones. */
static size_t find_listed(const struct iforest_distinct *distinct, uint32_t listed)
{
	size_t low = 0, high = distinct->n_listed;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (distinct->list[middle] >> PLACE_BITS < listed >> PLACE_BITS)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static enum iforest_status add_listed(struct iforest_distinct *distinct, uint32_t listed)
{
	size_t at = find_listed(distinct, listed);
	enum iforest_status status;

	if (at < distinct->n_listed && distinct->list[at] >> PLACE_BITS == listed >> PLACE_BITS) {
		if (distinct->list[at] < listed)
			distinct->list[at] = listed;
		return IFOREST_OK;
	}
	if (distinct->n_listed == IFOREST_DISTINCT_MOST_LISTED) {
		status = use_registers(distinct);
		if (!status)
			raise_by_listed(distinct->registers, listed);
		return status;
	}
	if (!iforest_array_reserve(distinct->alloc, &distinct->list, sizeof *distinct->list, distinct->n_listed + 1,
				   &distinct->n_reserved))
		return IFOREST_NO_MEMORY;
	memmove(distinct->list + at + 1, distinct->list + at, (distinct->n_listed - at) * sizeof *distinct->list);
	distinct->list[at] = listed;
	distinct->n_listed++;
	return IFOREST_OK;
}

enum iforest_status iforest_distinct_add(struct iforest_distinct *distinct, union iforest_number number,
					 enum iforest_value_type type)
{
	uint8_t bytes[sizeof(int64_t)];
	uint64_t hash;

	iforest_store64(bytes, (uint64_t)iforest_distinct_key_of_number(number, type));
	hash = iforest_xxh64(bytes, sizeof bytes);
	if (!distinct->registers)
		return add_listed(distinct, listed_of_hash(hash));
	raise_by_hash(distinct->registers, hash);
	return IFOREST_OK;
}

/* ---- Bytes ---- */

/* Four registers lie in three bytes. */
static void pack_registers(const uint8_t *registers, uint8_t *out)
{
	for (unsigned i = 0; i < N_REGISTERS; i += 4, out += 3) {
		uint32_t word = registers[i] | (uint32_t)registers[i + 1] << 6 | (uint32_t)registers[i + 2] << 12 |
				(uint32_t)registers[i + 3] << 18;

		out[0] = (uint8_t)word;
		out[1] = (uint8_t)(word >> 8);
		out[2] = (uint8_t)(word >> 16);
	}
}

static unsigned packed_register(const uint8_t *packed, unsigned i)
{
	const uint8_t *in = packed + i / 4 * 3;
	uint32_t word = in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16;

	return word >> i % 4 * PLACE_BITS & (unsigned)iforest_low_bits(PLACE_BITS);
}

enum iforest_status iforest_distinct_write(const struct iforest_distinct *distinct, uint8_t **bytes, size_t *n_bytes)
{
	size_t n = HEADER_BYTES + (distinct->registers ? REGISTERS_BYTES : distinct->n_listed * sizeof(uint32_t));
	uint8_t *out = iforest_allocate(distinct->alloc, n);

	if (!out)
		return IFOREST_NO_MEMORY;
	out[8] = VERSION;
	out[9] = REGISTER_BITS;
	out[10] = distinct->registers ? FORM_REGISTERS : FORM_LIST;
	out[11] = 0;
	if (distinct->registers)
		pack_registers(distinct->registers, out + HEADER_BYTES);
	for (size_t i = 0; i < distinct->n_listed; i++)
		iforest_store32(out + HEADER_BYTES + i * sizeof(uint32_t), distinct->list[i]);
	iforest_store32(out, MAGIC);
	iforest_store32(out + 4, (uint32_t)iforest_xxh64(out + 8, n - 8));
	*bytes = out;
	*n_bytes = n;
	return IFOREST_OK;
}

static bool is_list(const uint8_t *items, size_t n_bytes)
{
	if (n_bytes % sizeof(uint32_t) || n_bytes > IFOREST_DISTINCT_MOST_LISTED * sizeof(uint32_t))
		return false;
	for (size_t i = 0; i < n_bytes; i += sizeof(uint32_t)) {
		uint32_t listed = iforest_load32(items + i), place = listed & (uint32_t)iforest_low_bits(PLACE_BITS);

		if (place < 1 || place > HIGHEST_LISTED_PLACE ||
		    (i > 0 && iforest_load32(items + i - sizeof(uint32_t)) >> PLACE_BITS >= listed >> PLACE_BITS))
			return false;
	}
	return true;
}

static bool are_registers(const uint8_t *packed, size_t n_bytes)
{
	unsigned n_used = 0;

	for (unsigned i = 0; n_bytes == REGISTERS_BYTES && i < N_REGISTERS; i++) {
		if (packed_register(packed, i) > HIGHEST_PLACE)
			return false;
		n_used += packed_register(packed, i) > 0;
	}
	return n_used > 0;
}

/* Stored bytes that were checked: the items of a list, or registers. */
struct stored {
	bool is_list;
	const uint8_t *items;
	size_t n_bytes;
};

static enum iforest_status open_stored(struct stored *stored, const uint8_t *bytes, size_t n_bytes)
{
	if (n_bytes < HEADER_BYTES || iforest_load32(bytes) != MAGIC ||
	    iforest_load32(bytes + 4) != (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8))
		return IFOREST_CORRUPT;
	if (bytes[8] != VERSION || bytes[9] != REGISTER_BITS)
		return IFOREST_FORMAT;
	*stored = (struct stored){ bytes[10] == FORM_LIST, bytes + HEADER_BYTES, n_bytes - HEADER_BYTES };
	if (bytes[10] > FORM_REGISTERS || bytes[11] != 0)
		return IFOREST_CORRUPT;
	return (stored->is_list ? is_list : are_registers)(stored->items, stored->n_bytes) ? IFOREST_OK : IFOREST_CORRUPT;
}

enum iforest_status iforest_distinct_merge(struct iforest_distinct *distinct, const uint8_t *bytes, size_t n_bytes)
{
	struct stored stored;
	enum iforest_status status = open_stored(&stored, bytes, n_bytes);

	if (!status && !stored.is_list && !distinct->registers)
		status = use_registers(distinct);
	if (status)
		return status;
	for (unsigned i = 0; !stored.is_list && i < N_REGISTERS; i++)
		raise_register(distinct->registers, i, packed_register(stored.items, i));
	for (size_t i = 0; stored.is_list && !status && i < stored.n_bytes; i += sizeof(uint32_t)) {
		uint32_t listed = iforest_load32(stored.items + i);

		if (distinct->registers)
			raise_by_listed(distinct->registers, listed);
		else
			status = add_listed(distinct, listed);
	}
	return status;
}

/* ---- The estimate ---- */

/* Returns the sum of x^(2^k) 2^(k - 1) over k > 0, plus x: Ertl's sigma. Requires  0 <= x < 1. */
static double sum_of_lowest(double x)
{
	double sum = x, before = -1, power = 1;

	while (sum != before) {
		x *= x;
		before = sum;
		sum += x * power;
		power += power;
	}
	return sum;
}

/* Ertl's improved raw estimator, with registers at the highest place as any others: sets that fit a disk have none. At least one
 * register is not 0. */
static uint64_t estimate(const uint8_t *packed)
{
	const double n_registers = N_REGISTERS, alpha = 0.72134752044448170368; /* 1 / (2 ln 2) */
	uint32_t counts[HIGHEST_PLACE + 1] = { 0 };
	double sum = 0;

	for (unsigned i = 0; i < N_REGISTERS; i++)
		counts[packed_register(packed, i)]++;
	for (unsigned place = HIGHEST_PLACE; place >= 1; place--)
		sum = 0.5 * (sum + counts[place]);
	sum += n_registers * sum_of_lowest(counts[0] / n_registers);
	sum = alpha * n_registers * n_registers / sum + 0.5;
	return sum < 0x1p63 ? (uint64_t)sum : INT64_MAX;
}

enum iforest_status iforest_distinct_count(const uint8_t *bytes, size_t n_bytes, uint64_t *n)
{
	struct stored stored;
	enum iforest_status status = open_stored(&stored, bytes, n_bytes);

	if (!status)
		*n = stored.is_list ? stored.n_bytes / sizeof(uint32_t) : estimate(stored.items);
	return status;
}
