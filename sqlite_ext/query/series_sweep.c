#include "sqlite_ext/query/series_sweep.h"

#include "sqlite_ext/storage/pager.h"

enum { PASSED_A_CHECK = 4096 }; /* series, so that a long query can be interrupted */

/* Returns the greatest `end` such that the ids below it ascend: the least id that a later, lower id follows. */
static uint32_t end_of_ascending(const struct ifs_series *const *members, uint32_t n_members)
{
	uint32_t end = UINT32_MAX, lowest_after = UINT32_MAX;

	for (uint32_t m = n_members; m-- > 0;) {
		uint32_t id = members[m]->id;

		if (id < lowest_after)
			lowest_after = id;
		else if (id < end)
			end = id;
	}
	return end;
}

/* True if there is one bucket, and nothing is requested of rows without a time that a sweep does not know. */
static bool can_sweep(const struct iforest_scan *scan, bool has_nulls)
{
	const struct iforest_request *request = &scan->request;

	return scan->bucketing.mode == IFOREST_WHOLE && !(has_nulls && (request->times || request->firsts || request->lasts));
}

static enum iforest_status open_scan(struct ifs_series_sweep *sweep, struct ifs_index *index, struct ifs_snapshot *snapshot,
				     const struct iforest_scan *scan)
{
	enum iforest_status status = iforest_scan_init(&sweep->scan, &index->store, &snapshot->manifest);

	if (status)
		return status;
	sweep->has_scan = true;
	sweep->scan.bucketing = scan->bucketing;
	sweep->scan.request = scan->request;
	sweep->scan.joined_filter = scan->joined_filter;
	if (scan->request.filter) {
		sweep->filter = *scan->request.filter;
		sweep->filter.filtered_nodes = NULL;
		sweep->filter.n_excluded = NULL;
		sweep->scan.request.filter = &sweep->filter;
	}
	return iforest_scan_join_memtable(&sweep->scan, &snapshot->delta.memtable);
}

enum iforest_status ifs_series_sweep_open(struct ifs_series_sweep *sweep, struct ifs_index *index,
					  struct ifs_snapshot *snapshot, const struct iforest_scan *scan,
					  const struct ifs_series *const *members, uint32_t n_members)
{
	const struct iforest_window *window = &scan->bucketing.window;
	bool has_nulls = !window->has_t0 && !window->has_t1;
	uint32_t end, first = 0, last = 0, n_swept = 0;
	enum iforest_status status;

	*sweep = (struct ifs_series_sweep){ .index = index };
	if (n_members < IFOREST_FEWEST_SWEPT_SERIES || !can_sweep(scan, has_nulls))
		return IFOREST_OK;
	end = end_of_ascending(members, n_members);
	for (uint32_t m = 0; m < n_members; m++) {
		if (members[m]->id >= end)
			continue;
		first = n_swept++ == 0 ? members[m]->id : first;
		last = members[m]->id;
	}
	if (n_swept < IFOREST_FEWEST_SWEPT_SERIES || n_swept < snapshot->dictionary.n_series / IFOREST_MOST_PASSED_SERIES)
		return IFOREST_OK;
	status = open_scan(sweep, index, snapshot, scan);
	if (!status)
		status = iforest_sweep_start(&sweep->sweep, &sweep->scan, first, last, has_nulls);
	if (status)
		return status;
	sweep->has_sweep = true;
	sweep->end = end;
	return iforest_sweep_next(&sweep->sweep, &sweep->at, &(bool){ false });
}

void ifs_series_sweep_release(struct ifs_series_sweep *sweep)
{
	if (sweep->has_sweep)
		iforest_sweep_release(&sweep->sweep);
	if (sweep->has_scan)
		iforest_scan_release(&sweep->scan);
	sweep->has_sweep = sweep->has_scan = false;
	sweep->end = 0;
}

enum iforest_status ifs_series_sweep_answer(struct ifs_series_sweep *sweep, uint32_t series,
					    struct iforest_aggregate *aggregate, bool *found)
{
	const struct iforest_node_schema *fields = &sweep->scan.manifest->fields;
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && sweep->at < series) {
		if (++sweep->n_passed % PASSED_A_CHECK == 0)
			status = ifs_pager_may_go_on(sweep->index);
		if (!status)
			status = iforest_sweep_next(&sweep->sweep, &sweep->at, &(bool){ false });
	}
	if (status || sweep->at != series)
		return status;
	iforest_aggregate_clear(aggregate, fields->n_values, &fields->accumulators);
	status = iforest_sweep_fold(&sweep->sweep, &sweep->scan.request, aggregate);
	*found = !status && aggregate->n_rows > 0;
	return status;
}
