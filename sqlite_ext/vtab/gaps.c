#include "sqlite_ext/vtab/gaps_slice.h"

#include <stdlib.h>

void iforest_gaps_release(struct ifs_gap_query *gaps)
{
	if (gaps->has_reader)
		iforest_gap_release(&gaps->reader);
	iforest_snapshot_release(gaps->snapshot);
	iforest_choice_release(&gaps->choice);
	sqlite3_free(gaps->sorted);
	*gaps = (struct ifs_gap_query){ .at_end = true };
}

static enum iforest_status open_reader(struct ifs_gap_query *gaps)
{
	struct iforest_snapshot *snapshot = gaps->snapshot;
	enum iforest_status status = iforest_gap_init(&gaps->reader, &gaps->index->store, &snapshot->manifest);

	gaps->has_reader = !status;
	return status ? status : iforest_gap_join(&gaps->reader, &snapshot->tail.store, &snapshot->tail.manifest);
}

/* The next gap, series after series. */
static enum iforest_status find_next(struct ifs_gap_query *gaps, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status) {
		if (gaps->n_started > 0)
			status = iforest_gap_next(&gaps->reader, &gaps->row.gap, found);
		if (status || *found || gaps->n_started == gaps->choice.n)
			break;
		gaps->row.series = gaps->choice.ids[gaps->n_started++];
		gaps->question.series = gaps->row.series;
		status = iforest_gap_start(&gaps->reader, &gaps->question);
	}
	return status;
}

static int compare_rows(const void *left, const void *right)
{
	const struct iforest_gap_row *a = left, *b = right;

	if (a->gap.start != b->gap.start)
		return a->gap.start < b->gap.start ? -1 : 1;
	return (a->series > b->series) - (a->series < b->series);
}

static enum iforest_status gather(struct ifs_gap_query *gaps)
{
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	while (!status && found) {
		if (gaps->n_sorted == gaps->n_reserved) {
			size_t n = gaps->n_reserved ? 2 * gaps->n_reserved : 64;
			void *grown = sqlite3_realloc64(gaps->sorted, n * sizeof *gaps->sorted);

			if (!grown)
				return IFOREST_NO_MEMORY;
			gaps->sorted = grown;
			gaps->n_reserved = n;
		}
		status = find_next(gaps, &found);
		if (!status && found)
			gaps->sorted[gaps->n_sorted++] = gaps->row;
	}
	if (gaps->n_sorted > 0)
		qsort(gaps->sorted, gaps->n_sorted, sizeof *gaps->sorted, compare_rows);
	return status;
}

int iforest_gaps_start(struct ifs_gap_query *gaps, struct iforest_index *index, const struct iforest_gaps_plan *plan,
		       const struct iforest_window *window, uint64_t longer_than, sqlite3_value **argv,
		       struct iforest_error *error)
{
	enum iforest_status status;
	int rc;

	gaps->index = index;
	gaps->n_changes = index->connection->n_changes;
	rc = iforest_index_open(index, &gaps->snapshot, error);
	if (!rc)
		rc = iforest_choice_list(&gaps->choice, &gaps->snapshot->dictionary, error);
	if (!rc)
		rc = iforest_choice_make(&gaps->choice, plan->conditions, plan->n_conditions, argv, error);
	if (rc)
		return rc;
	gaps->question = (struct iforest_gap_question){ .window = *window, .longer_than = longer_than,
		.filter = gaps->snapshot->tail.n_removed > 0 ? &gaps->snapshot->tail.filter : NULL };
	status = open_reader(gaps);
	if (!status && plan->in_order && gaps->choice.n > 1)
		status = gather(gaps);
	return iforest_index_error(index, gaps->snapshot, status, error);
}

int iforest_gaps_next(struct ifs_gap_query *gaps, struct iforest_error *error)
{
	enum iforest_status status = IFOREST_OK;
	bool found;

	if (gaps->n_changes != gaps->index->connection->n_changes) {
		if (iforest_index_check_snapshot(gaps->index, gaps->snapshot, error))
			return error->rc;
		gaps->n_changes = gaps->index->connection->n_changes;
	}
	if (gaps->sorted) {
		found = gaps->at < gaps->n_sorted;
		if (found)
			gaps->row = gaps->sorted[gaps->at++];
	} else {
		status = find_next(gaps, &found);
	}
	gaps->at_end = status || !found;
	return iforest_index_error(gaps->index, gaps->snapshot, status, error);
}
