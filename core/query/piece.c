#include "core/query/piece.h"
#include "core/query/fold.h"

void iforest_pieces_start(struct iforest_pieces *pieces, struct iforest_scan *scan)
{
	*pieces = (struct iforest_pieces){ .scan = scan, .wanted = scan->wanted };
	pieces->wanted.firsts = pieces->wanted.lasts = 0;
}

/* To the entries without a time, if they belong to the answer. */
static bool go_on_to_nulls(struct iforest_pieces *pieces)
{
	const struct iforest_window *window = &pieces->scan->bucketing.window;

	if (pieces->in_nulls || window->has_t0 || window->has_t1)
		return false;
	pieces->in_nulls = true;
	pieces->wanted.times = false;
	pieces->at = 0;
	return true;
}

enum iforest_status iforest_pieces_next(struct iforest_pieces *pieces, struct iforest_piece *piece, bool *found)
{
	const struct iforest_scan *scan = pieces->scan;
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && (pieces->at < scan->n_active || go_on_to_nulls(pieces))) {
		struct iforest_key to = pieces->in_nulls ? iforest_key_at(scan->series + 1, INT64_MIN) : scan->end;
		struct iforest_wanted wanted = pieces->wanted;
		struct iforest_cursor *cursor;
		bool at_end;

		if (pieces->at == scan->n_active)
			break;
		cursor = scan->active[pieces->at];
		piece->run = cursor->run;
		piece->is_joined = cursor->store != scan->store;
		piece->time_is_null = pieces->in_nulls;
		if (piece->is_joined)
			wanted.filter = NULL;
		iforest_aggregate_clear(&piece->aggregate, scan->manifest->fields.n_values);
		status = iforest_cursor_fold_piece(cursor, &to, &wanted, &piece->aggregate, &piece->level, &piece->number,
						   &at_end);
		*found = !status && piece->aggregate.n_rows > 0;
		pieces->at += at_end;
	}
	return status;
}
