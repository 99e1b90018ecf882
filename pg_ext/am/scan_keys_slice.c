#include "pg_ext/am/scan_keys.h"

#include "access/stratnum.h"
#include "miscadmin.h"
#include "lib/qunique.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "pg_ext/storage/series_dict.h"
#include "pg_ext/am/am_scan_keys_own.h"

/* of values of by columns: so many are looked up, however few series there are */
enum { FEW_COMBINATIONS = 4096 };

int iforest_scan_key_elements(ScanKey key, Datum **elements)
{
	ArrayType *array = DatumGetArrayTypeP(key->sk_argument);
	int16 length;
	bool by_value, *are_null;
	char alignment;
	int n, n_kept = 0;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, elements, &are_null, &n);
	for (int i = 0; i < n; i++)
		if (!are_null[i])
			(*elements)[n_kept++] = (*elements)[i];
	return n_kept;
}

int iforest_compare_series(const void *left, const void *right)
{
	uint32 a = *(const uint32 *)left, b = *(const uint32 *)right;

	return (a > b) - (a < b);
}

struct matched_series {
	uint32 id;
	Datum *values;
	bool *are_null;
};

/* A scan key on a by column, with the values that it compares with. */
struct by_key {
	ScanKey key;
	int column;
	Datum *elements;
	int n_elements;
	bool is_listed;             /* series are looked up by these values: what is found need not be compared with them */
};

static int read_by_keys(const struct iforest_definition *definition, ScanKey keys, int n_keys, struct by_key *by_keys)
{
	int n = 0;

	for (int k = 0; k < n_keys; k++) {
		struct by_key *by_key = &by_keys[n];

		if (keys[k].sk_attno > definition->n_by)
			continue;
		*by_key = (struct by_key){ .key = &keys[k], .column = keys[k].sk_attno - 1, .elements = &keys[k].sk_argument };
		if (!(keys[k].sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_ISNULL)))
			by_key->n_elements = keys[k].sk_flags & SK_SEARCHARRAY
						     ? iforest_scan_key_elements(&keys[k], &by_key->elements)
						     : 1;
		n++;
	}
	return n;
}

static bool key_accepts(const struct by_key *by_key, Datum value, bool is_null)
{
	bool accepted = false;

	if (by_key->key->sk_flags & SK_SEARCHNULL)
		return is_null;
	if (by_key->key->sk_flags & SK_SEARCHNOTNULL)
		return !is_null;
	for (int i = 0; i < by_key->n_elements && !is_null && !accepted; i++)
		accepted = DatumGetBool(
			FunctionCall2Coll(&by_key->key->sk_func, by_key->key->sk_collation, value, by_key->elements[i]));
	return accepted;
}

static bool accepts(const struct by_key *by_keys, int n_by_keys, const struct matched_series *series)
{
	bool accepted = true;

	for (int k = 0; k < n_by_keys && accepted; k++)
		accepted = by_keys[k].is_listed || key_accepts(&by_keys[k], series->values[by_keys[k].column],
							       series->are_null[by_keys[k].column]);
	return accepted;
}

struct ordering {
	unsigned n_by;
	FmgrInfo *compare;
	Oid *collations;
};

static int compare_series(const void *left, const void *right, void *context)
{
	const struct matched_series *a = left, *b = right;
	struct ordering *ordering = context;
	int order = 0;

	for (unsigned i = 0; i < ordering->n_by && order == 0; i++) {
		if (a->are_null[i] || b->are_null[i])
			order = a->are_null[i] - b->are_null[i];
		else
			order = DatumGetInt32(FunctionCall2Coll(&ordering->compare[i], ordering->collations[i], a->values[i],
								b->values[i]));
	}
	return order;
}

static void sort_series(Relation index, const struct iforest_definition *definition, struct matched_series *series, uint32 n)
{
	struct ordering ordering = { .n_by = definition->n_by, .compare = palloc(definition->n_by * sizeof(FmgrInfo)),
				     .collations = index->rd_indcollation };

	for (unsigned i = 0; i < definition->n_by; i++)
		ordering.compare[i] = *index_getprocinfo(index, (AttrNumber)(i + 1), 1);
	qsort_arg(series, n, sizeof *series, compare_series, &ordering);
}

/* The keys that tie each by column to values of its own type, by column; NULL if some column is not tied so, or in more ways
 * than there are series, or values. */
static struct by_key **listed_keys(Relation index, const struct iforest_definition *definition, struct by_key *by_keys,
				   int n_by_keys, uint32 n_known, uint32 *n_ways)
{
	struct by_key **listed = palloc0((definition->n_by + 1) * sizeof *listed);
	double n_combinations = 1, n_values = 0;

	for (int k = 0; k < n_by_keys; k++) {
		ScanKey key = by_keys[k].key;

		if (key->sk_strategy == BTEqualStrategyNumber && !(key->sk_flags & ~SK_SEARCHARRAY) &&
		    (!OidIsValid(key->sk_subtype) || key->sk_subtype == index->rd_opcintype[by_keys[k].column]))
			listed[by_keys[k].column] = &by_keys[k];
	}
	for (unsigned i = 0; i < definition->n_by; i++) {
		if (!listed[i])
			return NULL;
		n_combinations *= listed[i]->n_elements;
		n_values += listed[i]->n_elements;
	}
	if (n_combinations > Max(Max(n_known, FEW_COMBINATIONS), n_values))
		return NULL;
	*n_ways = (uint32)n_combinations;
	for (unsigned i = 0; i < definition->n_by; i++)
		listed[i]->is_listed = true;
	return listed;
}

/* Looks each combination of listed values up. Writes ids, ascending and each once; returns their number. */
static uint32 find_listed(Relation index, const struct iforest_definition *definition, struct by_key **listed,
			  struct iforest_series_cache *cache, uint32 *ids)
{
	struct iforest_series_key key = { .alloc = &iforest_pg_alloc };
	int at[INDEX_MAX_KEYS] = { 0 };
	uint32 n = 0;
	int column = 0;

	for (unsigned i = 0; i < definition->n_by; i++)
		if (listed[i]->n_elements == 0)
			return 0;
	while (column >= 0) {
		key.n_bytes = 0;
		for (unsigned i = 0; i < definition->n_by; i++)
			iforest_by_append(index, definition, i, listed[i]->elements[at[i]], false, &key);
		n += iforest_series_find(cache, key.bytes, key.n_bytes, &ids[n]);
		for (column = definition->n_by - 1; column >= 0 && ++at[column] == listed[column]->n_elements; column--)
			at[column] = 0;
	}
	iforest_series_release(&key);
	qsort(ids, n, sizeof *ids, iforest_compare_series);
	return (uint32)qunique(ids, n, sizeof *ids, iforest_compare_series);
}

static void read_series(Relation index, const struct iforest_definition *definition, uint64 index_id, ScanKey keys,
			int n_keys, bool in_order, struct iforest_scan_keys *result)
{
	struct iforest_series_cache *cache = iforest_series_cache_get(index, index_id);
	uint32 n_known = iforest_series_refresh(index, cache), n = 0, n_listed = n_known, n_ways = 0;
	struct by_key *by_keys = palloc((n_keys + 1) * sizeof *by_keys);
	int n_by_keys = read_by_keys(definition, keys, n_keys, by_keys);
	struct by_key **listed = listed_keys(index, definition, by_keys, n_by_keys, n_known, &n_ways);
	struct matched_series *matched;

	result->series = MemoryContextAllocHuge(CurrentMemoryContext,
						((Size)Max(n_known, n_ways) + 1) * sizeof *result->series);
	if (listed)
		n_listed = find_listed(index, definition, listed, cache, result->series);
	matched = MemoryContextAllocHuge(CurrentMemoryContext, (n_listed + 1) * sizeof *matched);
	for (uint32 i = 0; i < n_listed; i++) {
		uint32 id = listed ? result->series[i] : i, n_bytes;
		const uint8 *key = iforest_series_key_of(cache, id, &n_bytes);

		matched[n] = (struct matched_series){ .id = id, .values = palloc(definition->n_by * sizeof(Datum)),
						      .are_null = palloc(definition->n_by * sizeof(bool)) };
		iforest_by_read(index, definition, key, n_bytes, matched[n].values, matched[n].are_null);
		n += accepts(by_keys, n_by_keys, &matched[n]);
		CHECK_FOR_INTERRUPTS();
	}
	if (in_order)
		sort_series(index, definition, matched, n);
	for (uint32 i = 0; i < n; i++)
		result->series[i] = matched[i].id;
	result->n_series = n;
}

void iforest_scan_keys_read(Relation index, const struct iforest_definition *definition, uint64 index_id, ScanKey keys,
			    int n_keys, bool in_order, struct iforest_scan_keys *result)
{
	iforest_scan_times_read(index, definition, keys, n_keys, result);
	if (definition->n_by > 0) {
		read_series(index, definition, index_id, keys, n_keys, in_order, result);
	} else {
		result->series = palloc0(sizeof *result->series);
		result->n_series = 1;
	}
}
