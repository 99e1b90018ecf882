/* query_sketch.c -- the sketch of an answer's row: made when its column is first read, from the entries of the row's group and
 * bucket. */
#include "sqlite_ext/query/query.h"

#include "core/query/sketch_scan.h"

/* The keys of a series that belong to the row. Entries without a time belong to one that has no bounds at all. */
static void range_of(const struct iforest_query *query, uint64_t series, struct iforest_key *from, struct iforest_key *to)
{
	const struct iforest_bucketing *bucketing = &query->scan.bucketing;
	const struct iforest_window *window = &bucketing->window;
	int64_t start = iforest_bucket_start(bucketing, query->bucket);
	bool after_all;
	int64_t end = iforest_bucket_end(bucketing, query->bucket, &after_all);

	if (window->has_t0 && start < window->t0)
		start = window->t0;
	if (window->has_t1 && (after_all || end > window->t1)) {
		end = window->t1;
		after_all = false;
	}
	*from = iforest_key_at(series, start);
	*to = after_all ? iforest_key_nulls(series) : iforest_key_at(series, end);
	if (bucketing->mode == IFOREST_WHOLE && !window->has_t0 && !window->has_t1)
		*to = iforest_key_at(series + 1, INT64_MIN);
}

static enum iforest_status add_group(struct iforest_query *query, unsigned v, struct iforest_sketch *sketch)
{
	struct iforest_index_shelf shelf;
	enum iforest_status status = IFOREST_OK;

	iforest_shelf_open(&shelf, query->index, IFOREST_SHELF_SKETCHES);
	for (uint32_t m = query->group_starts[query->group]; m < query->group_starts[query->group + 1] && !status; m++) {
		struct iforest_key from, to;

		range_of(query, query->members[m]->id, &from, &to);
		status = iforest_scan_sketch(&query->scan, &from, &to, v, &shelf.shelf, sketch);
	}
	return status;
}

static int make_sketch(struct iforest_query *query, unsigned v, struct iforest_error *error)
{
	struct iforest_query_sketch *made = &query->sketches[v];
	struct iforest_sketch sketch;
	enum iforest_status status;

	/* it reads pages, and a command may have been run since the row was */
	if (iforest_query_check(query, error))
		return error->rc;
	query->has_sketches = true;
	iforest_sketch_init(&sketch, &iforest_sqlite_alloc);
	status = add_group(query, v, &sketch);
	if (!status && sketch.n > 0)
		status = iforest_sketch_write(&sketch, &made->bytes, &made->n_bytes);
	iforest_sketch_release(&sketch);
	made->is_made = !status;
	return iforest_index_error(query->index, query->snapshot, status, error);
}

int iforest_query_sketch(struct iforest_query *query, unsigned v, const uint8_t **bytes, size_t *n_bytes,
			 struct iforest_error *error)
{
	int rc = SQLITE_OK;

	if (!query->sketches[v].is_made && query->aggregate.n_rows > 0)
		rc = make_sketch(query, v, error);
	*bytes = query->sketches[v].bytes;
	*n_bytes = query->sketches[v].n_bytes;
	return rc;
}

void iforest_query_forget_sketches(struct iforest_query *query)
{
	for (unsigned v = 0; v < IFOREST_MAX_VALUES && query->has_sketches; v++) {
		sqlite3_free(query->sketches[v].bytes);
		query->sketches[v] = (struct iforest_query_sketch){ .bytes = NULL };
	}
	query->has_sketches = false;
}
