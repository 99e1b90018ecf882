/* bucket_list.h -- buckets with their aggregates, ascending: what a fold over several series is added up in. */
#ifndef IFOREST_SQLITE_BUCKET_LIST_H
#define IFOREST_SQLITE_BUCKET_LIST_H

#include "core/model/aggregate.h"
#include "core/page/node.h"
#include "sqlite_ext/storage/engine.h"

struct iforest_bucket_list {
	char *items;              /* each: int64 bucket, then an aggregate of the index's width */
	size_t n, n_reserved;
};

/* Bucket and aggregate of item i. */
int64_t iforest_bucket_list_bucket(const struct iforest_bucket_list *list, const struct iforest_fields *fields, size_t i);
struct iforest_aggregate *iforest_bucket_list_aggregate(const struct iforest_bucket_list *list,
							const struct iforest_fields *fields, size_t i);

/* Appends a bucket, greater than those before. Returns IFOREST_NO_MEMORY and leaves the list as it was. */
enum iforest_status iforest_bucket_list_append(struct iforest_bucket_list *list, const struct iforest_fields *fields,
					       int64_t bucket, const struct iforest_aggregate *aggregate);

/* into = into + from; from is empty afterwards. On IFOREST_NO_MEMORY both are empty. */
enum iforest_status iforest_bucket_list_merge(struct iforest_bucket_list *into, struct iforest_bucket_list *from,
					      const struct iforest_fields *fields);

void iforest_bucket_list_release(struct iforest_bucket_list *list);

#endif
