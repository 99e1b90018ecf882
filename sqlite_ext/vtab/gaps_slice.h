/* gaps.h -- the gaps of the series chosen, one after the other: series after series, each in order of time; or all in order of
 * time.
 *
 * In order of time those of one series come as they are found. Those of several, which a condition like "= '3'" chooses where
 * there are a text and a number that are written alike, are gathered and sorted first.
 */
#ifndef IFOREST_SQLITE_GAPS_H
#define IFOREST_SQLITE_GAPS_H

#include "core/query/gap.h"
#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/follow/snapshot.h"

struct iforest_gap_row {
	struct iforest_gap gap;
	uint32_t series;
};

struct ifs_gap_query {
	struct iforest_index *index;
	struct iforest_snapshot *snapshot;
	uint64_t n_changes;                     /* as in rows.h */
	struct iforest_choice choice;
	struct iforest_gap_reader reader;
	bool has_reader;
	struct iforest_gap_question question;
	uint32_t n_started;                     /* of the series chosen */
	struct iforest_gap_row *sorted;         /* gathered, or NULL */
	size_t n_sorted, n_reserved, at;
	bool at_end;
	struct iforest_gap_row row;
};

/* What is asked for, beside the window and the bound: conditions on by columns and whether all come in order of time. */
struct iforest_gaps_plan {
	bool in_order;
	unsigned n_conditions;
	struct iforest_by_condition conditions[32];
};

/* Starts on a question. Ends with iforest_gaps_release(), also on error; may be started again after that. */
int iforest_gaps_start(struct ifs_gap_query *gaps, struct iforest_index *index, const struct iforest_gaps_plan *plan,
		       const struct iforest_window *window, uint64_t longer_than, sqlite3_value **argv,
		       struct iforest_error *error);
void iforest_gaps_release(struct ifs_gap_query *gaps);

/* Moves to the next row (also needed for the first); gaps->at_end when there is none. */
int iforest_gaps_next(struct ifs_gap_query *gaps, struct iforest_error *error);

#endif
