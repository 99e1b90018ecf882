#include "sqlite_ext/query/buckets.h"

static size_t item_bytes(const struct iforest_fields *fields)
{
	return sizeof(int64_t) + iforest_aggregate_bytes(fields->n_values);
}

int64_t iforest_bucket_list_bucket(const struct iforest_bucket_list *list, const struct iforest_fields *fields, size_t i)
{
	return *(int64_t *)(void *)(list->items + i * item_bytes(fields));
}

struct iforest_aggregate *iforest_bucket_list_aggregate(const struct iforest_bucket_list *list,
							const struct iforest_fields *fields, size_t i)
{
	return (struct iforest_aggregate *)(void *)(list->items + i * item_bytes(fields) + sizeof(int64_t));
}

enum iforest_status iforest_bucket_list_append(struct iforest_bucket_list *list, const struct iforest_fields *fields,
					       int64_t bucket, const struct iforest_aggregate *aggregate)
{
	if (list->n == list->n_reserved) {
		size_t n_wanted = list->n_reserved ? 2 * list->n_reserved : 16;
		char *items = sqlite3_realloc64(list->items, n_wanted * item_bytes(fields));

		if (!items)
			return IFOREST_NO_MEMORY;
		list->items = items;
		list->n_reserved = n_wanted;
	}
	memcpy(list->items + list->n * item_bytes(fields), &bucket, sizeof bucket);
	memcpy(iforest_bucket_list_aggregate(list, fields, list->n), aggregate, iforest_aggregate_bytes(fields->n_values));
	list->n++;
	return IFOREST_OK;
}

enum iforest_status iforest_bucket_list_merge(struct iforest_bucket_list *into, struct iforest_bucket_list *from,
					      const struct iforest_fields *fields)
{
	struct iforest_bucket_list merged = { .items = NULL };
	enum iforest_status status = IFOREST_OK;
	size_t i = 0, k = 0;

	while (!status && (i < into->n || k < from->n)) {
		bool is_first = k == from->n || (i < into->n && iforest_bucket_list_bucket(into, fields, i) <=
								iforest_bucket_list_bucket(from, fields, k));
		const struct iforest_bucket_list *list = is_first ? into : from;
		size_t at = is_first ? i++ : k++;
		int64_t bucket = iforest_bucket_list_bucket(list, fields, at);

		if (merged.n > 0 && iforest_bucket_list_bucket(&merged, fields, merged.n - 1) == bucket)
			iforest_aggregate_combine(iforest_bucket_list_aggregate(&merged, fields, merged.n - 1),
						  iforest_bucket_list_aggregate(list, fields, at), fields->kinds,
						  fields->n_values);
		else
			status = iforest_bucket_list_append(&merged, fields, bucket,
							    iforest_bucket_list_aggregate(list, fields, at));
	}
	iforest_bucket_list_release(into);
	iforest_bucket_list_release(from);
	if (status)
		iforest_bucket_list_release(&merged);
	*into = merged;
	return status;
}

void iforest_bucket_list_release(struct iforest_bucket_list *list)
{
	sqlite3_free(list->items);
	*list = (struct iforest_bucket_list){ .items = NULL };
}
