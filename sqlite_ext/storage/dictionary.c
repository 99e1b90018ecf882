#include "sqlite_ext/storage/dictionary.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/xxh64.h"

/* Returns the slot of the series with that key, or the free slot where it belongs. */
static struct ifs_series **slot_of(struct ifs_series **slots, uint32_t n_slots, const uint8_t *key, uint32_t n_bytes)
{
	uint64_t at = iforest_xxh64(n_bytes ? key : (const uint8_t *)"", n_bytes);

	for (;; at++) {
		struct ifs_series **slot = &slots[at & (n_slots - 1)];

		if (!*slot || ((*slot)->n_bytes == n_bytes && (n_bytes == 0 || memcmp((*slot)->key, key, n_bytes) == 0)))
			return slot;
	}
}

/* Hashes the series, with at least half of the slots free and room for another series. */
static enum iforest_status reserve_slot(struct ifs_dictionary *dictionary)
{
	uint64_t capacity = dictionary->n_slots ? dictionary->n_slots : 64;
	struct ifs_series **slots;

	while (capacity < 2 * ((uint64_t)dictionary->n_series + 1))
		capacity *= 2;
	if (capacity == dictionary->n_slots)
		return IFOREST_OK;
	slots = sqlite3_malloc64(capacity * sizeof(struct ifs_series *));
	if (!slots)
		return IFOREST_NO_MEMORY;
	memset(slots, 0, capacity * sizeof(struct ifs_series *));
	for (uint32_t s = 0; s < dictionary->n_series; s++) {
		struct ifs_series *series = dictionary->series[s];

		*slot_of(slots, (uint32_t)capacity, series->key, series->n_bytes) = series;
	}
	sqlite3_free(dictionary->slots);
	dictionary->slots = slots;
	dictionary->n_slots = (uint32_t)capacity;
	return IFOREST_OK;
}

enum iforest_status ifs_dictionary_find(struct ifs_dictionary *dictionary, const uint8_t *key, uint32_t n_bytes,
					const struct ifs_series **series)
{
	*series = NULL;
	if (dictionary->n_slots == 0 && reserve_slot(dictionary))
		return IFOREST_NO_MEMORY;
	*series = *slot_of(dictionary->slots, dictionary->n_slots, key, n_bytes);
	return IFOREST_OK;
}

struct ifs_series_chunk {
	struct ifs_series_chunk *older;
	size_t n_bytes; /* of its memory */
	uint64_t memory[];
};

/* Returns memory for a series; NULL if there is none. A chunk is as large as all before it, within limits. */
static void *allocate(struct ifs_dictionary *dictionary, size_t n_bytes)
{
	enum { SMALLEST = 1 << 12, LARGEST = 1 << 20 };
	struct ifs_series_chunk *chunk = dictionary->chunks;

	n_bytes = (n_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t); /* as sqlite3_malloc64() aligns */
	if (!chunk || dictionary->n_free < n_bytes) {
		size_t n_usual = !chunk ? SMALLEST : chunk->n_bytes < LARGEST ? 2 * chunk->n_bytes : LARGEST;
		size_t n_new = n_usual > n_bytes ? n_usual : n_bytes;

		chunk = sqlite3_malloc64(sizeof *chunk + n_new);
		if (!chunk)
			return NULL;
		chunk->older = dictionary->chunks;
		chunk->n_bytes = dictionary->n_free = n_new;
		dictionary->chunks = chunk;
	}
	dictionary->n_free -= n_bytes;
	return (uint8_t *)chunk->memory + chunk->n_bytes - dictionary->n_free - n_bytes;
}

static unsigned skip(const struct iforest_by_value *text, unsigned *at, const char *bytes)
{
	unsigned from = *at;

	while (*at < text->n_bytes && text->data[*at] && strchr(bytes, text->data[*at]))
		++*at;
	return *at - from;
}

bool ifs_by_is_number_text(const struct iforest_by_value *text)
{
	static const char spaces[] = " \t\n\v\f\r", digits[] = "0123456789";
	unsigned at = 0, n_digits;

	if (text->tag != IFOREST_BY_TEXT)
		return false;
	skip(text, &at, spaces);
	at += at < text->n_bytes && (text->data[at] == '-' || text->data[at] == '+');
	n_digits = skip(text, &at, digits);
	if (at < text->n_bytes && text->data[at] == '.') {
		at++;
		n_digits += skip(text, &at, digits);
	}
	if (at < text->n_bytes && (text->data[at] == 'e' || text->data[at] == 'E')) {
		at++;
		at += at < text->n_bytes && (text->data[at] == '-' || text->data[at] == '+');
		n_digits = n_digits && skip(text, &at, digits);
	}
	skip(text, &at, spaces);
	return n_digits && at == text->n_bytes;
}

enum iforest_status ifs_dictionary_add(struct ifs_dictionary *dictionary, uint32_t id, const uint8_t *key, uint32_t n_bytes)
{
	size_t n_value_bytes = dictionary->n_by * sizeof(struct iforest_by_value);
	struct ifs_series *series;
	uint32_t offset = 0;

	if (!iforest_array_reserve(&ifs_alloc, &dictionary->series, sizeof(struct ifs_series *),
				   dictionary->n_series + (size_t)1, &dictionary->n_reserved) ||
	    (dictionary->n_slots && reserve_slot(dictionary)))
		return IFOREST_NO_MEMORY;
	series = allocate(dictionary, sizeof *series + n_value_bytes + n_bytes + 1);
	if (!series)
		return IFOREST_NO_MEMORY;
	series->id = id;
	series->n_bytes = n_bytes;
	series->key = (uint8_t *)(series + 1) + n_value_bytes;
	if (n_bytes)
		memcpy(series->key, key, n_bytes);
	series->key[n_bytes] = 0;
	for (unsigned b = 0; b < dictionary->n_by; b++)
		if (iforest_series_key_next(series->key, n_bytes, &offset, &series->values[b]))
			offset = UINT32_MAX;
	if (offset != n_bytes)
		return IFOREST_CORRUPT;
	for (unsigned b = 0; b < dictionary->n_by; b++)
		if (ifs_by_is_number_text(&series->values[b]))
			dictionary->number_texts |= 1u << b;
	if (dictionary->n_slots)
		*slot_of(dictionary->slots, dictionary->n_slots, key, n_bytes) = series;
	dictionary->series[dictionary->n_series++] = series;
	return IFOREST_OK;
}

/* Compares an integer with a real that is not an int64. */
static int compare_mixed(int64_t integer, double real)
{
	if (real >= 0x1p63)
		return -1;
	if (real < -0x1p63)
		return 1;
	return integer <= (int64_t)floor(real) ? -1 : 1;
}

static int class_of(enum iforest_series_tag tag)
{
	return tag == IFOREST_BY_REAL ? IFOREST_BY_INTEGER : (int)tag;
}

bool ifs_by_is_same_class(const struct iforest_by_value *a, const struct iforest_by_value *b)
{
	return class_of(a->tag) == class_of(b->tag);
}

int ifs_by_compare(const struct iforest_by_value *a, const struct iforest_by_value *b)
{
	uint32_t n_common = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
	int order;

	if (class_of(a->tag) != class_of(b->tag))
		return class_of(a->tag) - class_of(b->tag);
	if (a->tag == IFOREST_BY_INTEGER && b->tag == IFOREST_BY_INTEGER)
		return (a->integer > b->integer) - (a->integer < b->integer);
	if (a->tag == IFOREST_BY_INTEGER)
		return compare_mixed(a->integer, b->real);
	if (b->tag == IFOREST_BY_INTEGER)
		return -compare_mixed(b->integer, a->real);
	if (a->tag == IFOREST_BY_REAL)
		return (a->real > b->real) - (a->real < b->real);
	order = n_common ? memcmp(a->data, b->data, n_common) : 0;
	return order ? order : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

/* qsort() passes no context, so the number of by columns is derived from the series: its values end where its key begins. */
static int compare_series(const void *left, const void *right)
{
	const struct ifs_series *a = *(struct ifs_series *const *)left, *b = *(struct ifs_series *const *)right;
	unsigned n_by = (unsigned)((const struct iforest_by_value *)(const void *)a->key - a->values);
	int order = 0;

	for (unsigned k = 0; k < n_by && !order; k++)
		order = ifs_by_compare(&a->values[k], &b->values[k]);
	return order ? order : (a->id > b->id) - (a->id < b->id);
}

void ifs_dictionary_sort(struct ifs_dictionary *dictionary)
{
	uint32_t s = 1;

	while (s < dictionary->n_series && compare_series(&dictionary->series[s - 1], &dictionary->series[s]) < 0)
		s++;
	if (s < dictionary->n_series)
		qsort(dictionary->series, dictionary->n_series, sizeof(struct ifs_series *), compare_series);
}

/* Returns the first series whose first by value is not less than a value of the class, or greater with `after`. Without a
 * value: the beginning or the end of the class. */
static uint32_t stand(const struct ifs_dictionary *dictionary, int class, const struct iforest_by_value *value, bool after)
{
	uint32_t low = 0, high = dictionary->n_series;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct iforest_by_value *at = &dictionary->series[middle]->values[0];
		int order = class_of(at->tag) - class;

		if (order == 0 && value)
			order = ifs_by_compare(at, value);
		if (order < 0 || (order == 0 && after))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ifs_dictionary_narrow(const struct ifs_dictionary *dictionary, const struct iforest_by_value *operand,
			   struct ifs_series_stretch stretches[2])
{
	int class = class_of(operand->tag), text = class_of(IFOREST_BY_TEXT), number = class_of(IFOREST_BY_INTEGER);
	struct ifs_series_stretch of_value = { stand(dictionary, class, operand, false),
					       stand(dictionary, class, operand, true) };
	struct ifs_series_stretch others = { of_value.to, of_value.to };

	if (class == text || class == number) {
		int other = class == text ? number : text;

		others = (struct ifs_series_stretch){ stand(dictionary, other, NULL, false),
						      stand(dictionary, other, NULL, true) };
	}
	stretches[0] = class == text ? others : of_value;
	stretches[1] = class == text ? of_value : others;
}

void ifs_dictionary_release(struct ifs_dictionary *dictionary)
{
	for (struct ifs_series_chunk *chunk = dictionary->chunks, *older; chunk; chunk = older) {
		older = chunk->older;
		sqlite3_free(chunk);
	}
	sqlite3_free(dictionary->series);
	sqlite3_free(dictionary->slots);
	*dictionary = (struct ifs_dictionary){ .n_by = 0 };
}

struct iforest_by_value ifs_by_from_sql(sqlite3_value *value)
{
	struct iforest_by_value by = { .tag = IFOREST_BY_NULL };

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		by.tag = IFOREST_BY_INTEGER;
		by.integer = sqlite3_value_int64(value);
		break;
	case SQLITE_FLOAT:
		by.tag = IFOREST_BY_REAL;
		by.real = sqlite3_value_double(value);
		break;
	case SQLITE_TEXT:
		by.tag = IFOREST_BY_TEXT;
		by.data = sqlite3_value_text(value);
		by.n_bytes = (uint32_t)sqlite3_value_bytes(value);
		break;
	case SQLITE_BLOB:
		by.tag = IFOREST_BY_BLOB;
		by.data = sqlite3_value_blob(value);
		by.n_bytes = (uint32_t)sqlite3_value_bytes(value);
		break;
	default:
		break;
	}
	return iforest_by_canonical(by);
}

/* Without a length, SQLite knows that the text ends with a zero byte. Otherwise it allocates room for one as soon as a client
 * reads the text. */
static void result_text(sqlite3_context *context, const struct iforest_by_value *value)
{
	const char *text = (const char *)value->data;
	bool is_terminated = !text[value->n_bytes] && strlen(text) == value->n_bytes;

	sqlite3_result_text(context, text, is_terminated ? -1 : (int)value->n_bytes, SQLITE_TRANSIENT);
}

void ifs_by_result(sqlite3_context *context, const struct iforest_by_value *value)
{
	switch (value->tag) {
	case IFOREST_BY_NULL:
		sqlite3_result_null(context);
		break;
	case IFOREST_BY_INTEGER:
		sqlite3_result_int64(context, value->integer);
		break;
	case IFOREST_BY_REAL:
		sqlite3_result_double(context, value->real);
		break;
	case IFOREST_BY_TEXT:
		result_text(context, value);
		break;
	case IFOREST_BY_BLOB:
		sqlite3_result_blob(context, value->data, (int)value->n_bytes, SQLITE_TRANSIENT);
		break;
	}
}

bool ifs_by_may_equal(const struct iforest_by_value *value, const struct iforest_by_value *operand, bool is_null_equal)
{
	int class = class_of(value->tag), operand_class = class_of(operand->tag);

	if (class == IFOREST_BY_NULL || operand_class == IFOREST_BY_NULL)
		return is_null_equal && class == operand_class;
	if (class == operand_class)
		return ifs_by_compare(value, operand) == 0;
	return class != IFOREST_BY_BLOB && operand_class != IFOREST_BY_BLOB;
}
