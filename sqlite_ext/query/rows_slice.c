#include "sqlite_ext/query/rows_slice.h"

#include <math.h>

#include "sqlite_ext/query/arguments.h"
#include "sqlite_ext/query/rows_question.h"

static void drop_readers(struct ifs_row_query *rows)
{
	if (rows->has_walk)
		iforest_walk_release(&rows->walk);
	if (rows->has_best)
		iforest_best_release(&rows->best);
	rows->has_walk = rows->has_best = false;
}

void iforest_rows_release(struct ifs_row_query *rows)
{
	drop_readers(rows);
	iforest_snapshot_release(rows->snapshot);
	iforest_choice_release(&rows->choice);
	*rows = (struct ifs_row_query){ .at_end = true };
}

/* The state to read now: the one of the last question, if nothing has changed. */
static int open_snapshot(struct ifs_row_query *rows, struct iforest_error *error)
{
	struct iforest_snapshot *snapshot;
	int rc = iforest_index_open(rows->index, &snapshot, error);

	if (rc)
		return rc;
	if (snapshot == rows->snapshot) {
		iforest_snapshot_release(snapshot);
		return SQLITE_OK;
	}
	drop_readers(rows);
	iforest_snapshot_release(rows->snapshot);
	rows->snapshot = snapshot;
	return iforest_choice_list(&rows->choice, &snapshot->dictionary, error);
}

/* Over the runs of the index and those of what is pending. */
static enum iforest_status need_walk(struct ifs_row_query *rows)
{
	struct iforest_snapshot *snapshot = rows->snapshot;
	enum iforest_status status = IFOREST_OK;

	if (!rows->has_walk) {
		status = iforest_walk_init(&rows->walk, &rows->index->store, &snapshot->manifest);
		rows->has_walk = !status;
		if (!status)
			status = iforest_walk_join(&rows->walk, &snapshot->tail.store, &snapshot->tail.manifest);
	}
	return status;
}

static enum iforest_status need_best(struct ifs_row_query *rows)
{
	struct iforest_snapshot *snapshot = rows->snapshot;
	enum iforest_status status = IFOREST_OK;

	if (!rows->has_best) {
		status = iforest_best_init(&rows->best, &rows->index->store, &snapshot->manifest);
		rows->has_best = !status;
		if (!status)
			status = iforest_best_join(&rows->best, &snapshot->tail.store, &snapshot->tail.manifest);
	}
	return status;
}

int iforest_rows_start(struct ifs_row_query *rows, struct iforest_index *index, const struct iforest_rows_plan *plan,
		       sqlite3_value **argv, struct iforest_error *error)
{
	int rc;

	rows->index = index;
	rows->n_changes = index->connection->n_changes;
	rows->plan = *plan;
	rows->n_parts = rows->part = 0;
	rows->part_is_open = false;
	rc = open_snapshot(rows, error);
	return rc ? rc : iforest_rows_ask(rows, argv, error);
}

/* ---- rows ---- */

static const struct iforest_filter *filter_of(const struct ifs_row_query *rows)
{
	return rows->snapshot->tail.n_removed > 0 ? &rows->snapshot->tail.filter : NULL;
}

static struct iforest_match match_of(const struct ifs_row_query *rows, const struct iforest_rows_part *part)
{
	struct iforest_match match = rows->match;

	if (part->lacks_value)
		match.nulls |= 1u << rows->plan.value;
	return match;
}

static void start_walk(struct ifs_row_query *rows, const struct iforest_rows_part *part, uint64_t from, uint64_t to)
{
	struct iforest_walk_question question = { .from = part->from, .to = part->to, .descends = part->descends,
		.match = match_of(rows, part), .filter = filter_of(rows), .values = rows->plan.values };

	question.from.series += from;
	question.to.series += to;
	iforest_walk_start(&rows->walk, &question);
}

static enum iforest_status start_best(struct ifs_row_query *rows, const struct iforest_rows_part *part)
{
	struct iforest_best_question question = { .order = part->order,
						  .value = rows->plan.value,
						  .from = part->from,
						  .to = part->to,
						  .series = rows->choice.n < rows->choice.n_by_id ? rows->choice.ids : NULL,
						  .n_series = rows->choice.n,
						  .match = match_of(rows, part),
						  .filter = filter_of(rows),
						  .values = rows->plan.values };

	return iforest_best_start(&rows->best, &question);
}

/* By a walk, for there is but one series and its order is that of the keys. */
static bool is_walked(const struct ifs_row_query *rows, const struct iforest_rows_part *part)
{
	return !part->is_ordered ||
	       (rows->choice.n == 1 && (part->order == IFOREST_EARLIEST_FIRST || part->order == IFOREST_LATEST_FIRST));
}

static enum iforest_status open_part(struct ifs_row_query *rows, const struct iforest_rows_part *part)
{
	bool is_whole = rows->choice.n == rows->choice.n_by_id && part->to.series == 1 && !part->from.time_is_null &&
			part->from.time == INT64_MIN;
	enum iforest_status status = is_walked(rows, part) ? need_walk(rows) : need_best(rows);

	rows->part_is_open = true;
	rows->at_series = 0;
	if (status)
		return status;
	if (!is_walked(rows, part))
		return start_best(rows, part);
	if (is_whole && rows->choice.n > 0) { /* one walk instead of one a series */
		start_walk(rows, part, rows->choice.ids[0], rows->choice.ids[rows->choice.n - 1]);
		rows->at_series = rows->choice.n;
	} else if (rows->choice.n > 0) {
		start_walk(rows, part, rows->choice.ids[0], rows->choice.ids[0]);
		rows->at_series = 1;
	}
	return IFOREST_OK;
}

static enum iforest_status next_of_part(struct ifs_row_query *rows, const struct iforest_rows_part *part, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	if (!is_walked(rows, part))
		return iforest_best_next(&rows->best, &rows->entry, found);
	while (rows->choice.n > 0) {
		uint32_t id;

		status = iforest_walk_next(&rows->walk, &rows->entry, found);
		if (status || *found || rows->at_series == rows->choice.n)
			break;
		id = rows->choice.ids[rows->at_series++];
		start_walk(rows, part, id, id);
	}
	return status;
}

int iforest_rows_next(struct ifs_row_query *rows, struct iforest_error *error)
{
	enum iforest_status status = IFOREST_OK;
	bool found = false;

	if (rows->n_changes != rows->index->connection->n_changes) {
		if (iforest_index_check_snapshot(rows->index, rows->snapshot, error))
			return error->rc;
		rows->n_changes = rows->index->connection->n_changes;
	}
	while (!status && !found && rows->part < rows->n_parts) {
		const struct iforest_rows_part *part = &rows->parts[rows->part];

		if (!rows->part_is_open)
			status = open_part(rows, part);
		if (!status)
			status = next_of_part(rows, part, &found);
		if (!status && !found) {
			rows->part++;
			rows->part_is_open = false;
		}
	}
	if (!status && found && !iforest_rows_series(rows)) {
		rows->index->store.fault = (struct iforest_fault){ .what = "an entry is of a series that there is not" };
		status = IFOREST_CORRUPT;
	}
	rows->at_end = status || !found;
	return iforest_index_error(rows->index, rows->snapshot, status, error);
}

const struct iforest_series *iforest_rows_series(const struct ifs_row_query *rows)
{
	return iforest_choice_series(&rows->choice, rows->entry.key.series);
}

bool iforest_rows_end_of(const struct ifs_row_query *rows, int64_t *end)
{
	const struct iforest_fields *fields = &rows->snapshot->manifest.fields;
	const struct iforest_entry *entry = &rows->entry;
	unsigned v = fields->duration_value;

	*end = iforest_span_end(entry->key.time, entry->values[v].integer, entry->present >> v & 1,
				(enum iforest_end_rule)fields->end_rule);
	return !entry->key.time_is_null;
}
