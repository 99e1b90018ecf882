#include "core/run/cursor_internal.h"
#include "core/query/scan_internal.h"
#include "core/query/fold.h"

const struct iforest_wanted *iforest_scan_wanted(const struct iforest_scan *scan, const struct iforest_cursor *cursor,
					      const struct iforest_wanted *wanted, struct iforest_wanted *joined)
{
	if (wanted->filter == scan->joined_filter || cursor->store == scan->store)
		return wanted;
	*joined = *wanted;
	joined->filter = scan->joined_filter;
	return joined;
}

static enum iforest_status fold_until(const struct iforest_scan *scan, struct iforest_cursor *cursor,
				      const struct iforest_key *to, const struct iforest_wanted *wanted,
				      struct iforest_aggregate *aggregate)
{
	struct iforest_wanted joined;

	return iforest_cursor_fold_until(cursor, to, iforest_scan_wanted(scan, cursor, wanted, &joined), aggregate);
}

enum iforest_status iforest_scan_fold(struct iforest_scan *scan, const struct iforest_key *to,
				    const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t a = 0; a < scan->n_active && !status; a++)
		status = fold_until(scan, scan->active[a], to, wanted, aggregate);
	if (iforest_key_compare(&scan->reached, to) < 0)
		scan->reached = *to;
	return status;
}

/* Cursors that have none left are dropped. */
enum iforest_status iforest_scan_earliest(struct iforest_scan *scan, int64_t *time, bool *found)
{
	uint32_t n_left = 0;

	*found = false;
	for (uint32_t a = 0; a < scan->n_active; a++) {
		struct iforest_key key;
		bool at_end;
		enum iforest_status status = iforest_cursor_key(scan->active[a], &key, &at_end);

		if (status)
			return status;
		if (at_end || key.time_is_null || iforest_key_compare(&key, &scan->end) >= 0)
			continue;
		/* unnoticed, a forged page could hold those here for ever who go on from bucket to bucket */
		if (iforest_key_compare(&key, &scan->reached) < 0)
			return iforest_cursor_blame(scan->active[a], IFOREST_CORRUPT, "entries are out of order", 0,
						    scan->active[a]->leaf_number);
		scan->active[n_left++] = scan->active[a];
		if (!*found || key.time < *time)
			*time = key.time;
		*found = true;
	}
	scan->n_active = n_left;
	return IFOREST_OK;
}

enum iforest_status iforest_scan_through(struct iforest_scan *scan, int64_t time, const struct iforest_wanted *wanted,
					 struct iforest_aggregate *aggregate)
{
	struct iforest_key to = time == INT64_MAX ? iforest_key_nulls(scan->series) : iforest_key_at(scan->series, time + 1);

	if (iforest_key_compare(&scan->end, &to) < 0)
		to = scan->end;
	return iforest_scan_fold(scan, &to, wanted, aggregate);
}

enum iforest_status iforest_scan_nulls(struct iforest_scan *scan, const struct iforest_wanted *wanted,
				       struct iforest_aggregate *aggregate)
{
	struct iforest_key from = iforest_key_nulls(scan->series), to = iforest_key_at(scan->series + 1, INT64_MIN);
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < scan->n_cursors && !status; r++) {
		struct iforest_cursor *cursor = &scan->cursors[r];

		if (!iforest_scan_may_hold(cursor->run, &from, &to))
			continue;
		status = iforest_cursor_seek(cursor, &from);
		if (!status)
			status = fold_until(scan, cursor, &to, wanted, aggregate);
	}
	scan->is_done = true;
	return status;
}

/* Of the run's entries before `end`, the last one's time, if it is of that series. */
static enum iforest_status latest_of_run(struct iforest_cursor *cursor, const struct iforest_key *end, int64_t *time,
					 bool *found)
{
	const struct iforest_block *block = NULL;
	bool at_start = false;
	unsigned n = 0;
	enum iforest_status status = iforest_cursor_seek(cursor, end);

	if (!status && cursor->entry > 0)
		n = cursor->entry;
	else if (!status)
		status = iforest_cursor_previous(cursor, &at_start);
	if (!status && !at_start)
		status = iforest_cursor_block(cursor, 1u << IFOREST_TIMES, &block);
	if (status || at_start || block->series != end->series || block->time_is_null)
		return status;
	n = n ? n : block->n;
	if (!*found || block->times[n - 1] > *time)
		*time = block->times[n - 1];
	*found = true;
	return IFOREST_OK;
}

enum iforest_status iforest_scan_latest(struct iforest_scan *scan, uint64_t series, int64_t until, int64_t *time, bool *found)
{
	struct iforest_key from = iforest_key_at(series, INT64_MIN);
	struct iforest_key end = until == INT64_MAX ? iforest_key_nulls(series) : iforest_key_at(series, until + 1);
	enum iforest_status status = IFOREST_OK;

	*found = false;
	for (uint32_t r = 0; r < scan->n_cursors && !status; r++)
		if (iforest_scan_may_hold(scan->cursors[r].run, &from, &end))
			status = latest_of_run(&scan->cursors[r], &end, time, found);
	return status;
}

enum iforest_status iforest_scan_everything(struct iforest_scan *scan, const struct iforest_wanted *wanted,
					    struct iforest_aggregate *aggregate)
{
	struct iforest_key from = iforest_key_at(0, INT64_MIN), to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < scan->n_cursors && !status; r++) {
		status = iforest_cursor_seek(&scan->cursors[r], &from);
		if (!status)
			status = fold_until(scan, &scan->cursors[r], &to, wanted, aggregate);
	}
	return status;
}

uint64_t iforest_scan_pages(const struct iforest_scan *scan)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < scan->n_cursors; r++)
		n_pages += scan->cursors[r].n_pages_opened;
	return n_pages;
}

uint64_t iforest_scan_leaf_pages(const struct iforest_scan *scan)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < scan->n_cursors; r++)
		n_pages += scan->cursors[r].n_leaf_pages_opened;
	return n_pages;
}

uint64_t iforest_scan_nodes(const struct iforest_scan *scan)
{
	uint64_t n_nodes = 0;

	for (uint32_t r = 0; r < scan->n_cursors; r++)
		n_nodes += scan->cursors[r].n_nodes_folded;
	return n_nodes;
}
