/* rows.h -- the entries that a plan asks for, one after the other.
 *
 * The series are chosen from the dictionary; of these the entries within a range of time, bounds of values and ends. Without an
 * order they are walked through series after series. In an order they come from a walk where there is one series and the order
 * is that of time, else from a best-first descent; entries of which the column is NULL, of which nodes know no order, are a
 * part of their own, before the others or after them as SQLite has it.
 */
#ifndef IFOREST_SQLITE_ROWS_H
#define IFOREST_SQLITE_ROWS_H

#include "core/query/top_k.h"
#include "core/query/walk.h"
#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/rows.h"

/* Entries that come one after the other in the same way. */
struct iforest_rows_part {
	struct iforest_key from, to;            /* of series 0: of each series likewise */
	bool lacks_value;                       /* those alone of which the value ordered by is NULL */
	bool is_ordered, descends;
	enum iforest_best_order order;          /* if it is ordered */
};

struct ifs_row_query {
	struct iforest_index *index;
	struct iforest_snapshot *snapshot;      /* of the last question; what follows up to has_best holds for that one */
	uint64_t n_changes;                     /* of the connection, when the snapshot was last seen to be the one stored */
	struct iforest_choice choice;
	struct iforest_walk walk;
	bool has_walk;
	struct iforest_best best;
	bool has_best;

	struct iforest_rows_plan plan;
	struct iforest_match match;
	struct iforest_rows_part parts[2];
	unsigned n_parts, part;                 /* the one being given; */
	bool part_is_open;
	uint32_t at_series;                     /* the next of the chosen, in a part without order */
	bool at_end;
	struct iforest_entry entry;             /* the row */
};

/* Starts on a question. argv are the values that the plan names. Ends with iforest_rows_release(), also on error; may be
 * started again before that. */
int iforest_rows_start(struct ifs_row_query *rows, struct iforest_index *index, const struct iforest_rows_plan *plan,
		       sqlite3_value **argv, struct iforest_error *error);
void iforest_rows_release(struct ifs_row_query *rows);

/* Moves to the next row (also needed for the first); rows->at_end when there is none. */
int iforest_rows_next(struct ifs_row_query *rows, struct iforest_error *error);

/* The series of the row. */
const struct iforest_series *iforest_rows_series(const struct ifs_row_query *rows);

/* The end of the row's span, if its duration was read; false without a time. */
bool iforest_rows_end_of(const struct ifs_row_query *rows, int64_t *end);

#endif
