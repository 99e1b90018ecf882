/* storage/dictionary.h -- Dictionary of series: their ids and by-column values in memory, sorted and compared as SQL does. */
#ifndef IFS_STORAGE_DICTIONARY_H
#define IFS_STORAGE_DICTIONARY_H

#include "core/model/series_key.h"
#include "sqlite_ext/storage/engine.h"

struct ifs_series {
	uint32_t id;
	uint32_t n_bytes;
	uint8_t *key;			  /* canonical form, n_bytes and a zero byte, behind the values */
	struct iforest_by_value values[]; /* n_by, pointing into key */
};

struct ifs_dictionary {
	unsigned n_by;
	struct ifs_series **series; /* sorted by their values */
	uint32_t n_series;
	size_t n_reserved;
	struct ifs_series **slots; /* hash table by key, from the first search on; n_slots is a power of two, or 0 */
	uint32_t n_slots;
	struct ifs_series_chunk *chunks; /* memory of the series, the newest first */
	size_t n_free;			 /* bytes at the end of the newest */
	uint32_t number_texts;		 /* bits of the by columns in which a text is a number: ifs_by_is_number_text() */
	uint32_t end_of_stored, next_id; /* stored series have ids below end_of_stored; the next new series gets next_id */
};

/* Adds a series. The key may come from a damaged file.
 * Returns  IFOREST_NO_MEMORY, or IFOREST_CORRUPT if the key is not n_by values */
enum iforest_status ifs_dictionary_add(struct ifs_dictionary *dictionary, uint32_t id, const uint8_t *key, uint32_t n_bytes);

/* Finds the series with that key: NULL if there is none.
 * Errors  IFOREST_NO_MEMORY
 * Cost    O(1) on average, O(n) for the first search, by which the series are hashed */
enum iforest_status ifs_dictionary_find(struct ifs_dictionary *dictionary, const uint8_t *key, uint32_t n_bytes,
					const struct ifs_series **series);

/* Sorts the series by value: NULL, numbers, text, blobs; text and blobs by bytes. Required after series were added.
 * Cost  O(n log n), O(n) if they are in order */
void ifs_dictionary_sort(struct ifs_dictionary *dictionary);

/* Finds the ranges of the sorted series, ascending, that contain every series whose first by value may equal `operand`
 * (ifs_by_may_equal()): those of the value itself; also all texts for a number, and all numbers for a text.
 * Requires  n_by > 0
 * Cost      O(log n) */
struct ifs_series_stretch {
	uint32_t from, to;
};
void ifs_dictionary_narrow(const struct ifs_dictionary *dictionary, const struct iforest_by_value *operand,
			   struct ifs_series_stretch stretches[2]);

void ifs_dictionary_release(struct ifs_dictionary *dictionary);

/* Compares in the order of ifs_dictionary_sort(): returns a negative number, 0 or a positive one. */
int ifs_by_compare(const struct iforest_by_value *a, const struct iforest_by_value *b);

/* True if both are numbers, both texts, both blobs, or both NULL. */
bool ifs_by_is_same_class(const struct iforest_by_value *a, const struct iforest_by_value *b);

/* True for a text that SQLite takes for a number when comparing it with one. */
bool ifs_by_is_number_text(const struct iforest_by_value *value);

/* Returns the canonical form of an SQL value, whose text or blob belongs to the value. */
struct iforest_by_value ifs_by_from_sql(sqlite3_value *value);

/* Sets the result of an SQL function or column to a by value of a series. */
void ifs_by_result(sqlite3_context *context, const struct iforest_by_value *value);

/* True if `value = operand` (with is_null_equal: `IS`) may be true in SQL; also if affinities could make a number equal to a
 * text, because SQLite checks the condition of the rows again. */
bool ifs_by_may_equal(const struct iforest_by_value *value, const struct iforest_by_value *operand, bool is_null_equal);

#endif
