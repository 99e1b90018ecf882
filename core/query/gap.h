/* query/gap.h -- Gaps: intervals of a series in which no span is open, or no sample was taken.
 *
 * A gap lies between the latest end of all spans that start before it and the next start; if the index keeps no ends, between
 * two successive times. It is reported whole, even if only part of it lies in the window. There is no gap before the first
 * entry or after the last.
 *
 * A node whose first and last time are at most `longer_than` apart contains no gap longer than that, so it is used as one span
 * from its first time to its latest end, without opening it.
 */
#ifndef IFOREST_QUERY_GAP_H
#define IFOREST_QUERY_GAP_H

#include "core/query/iterator.h"
#include "core/query/scan.h"

struct iforest_gap {
	int64_t start, end; /* [start, end), start < end */
};

struct iforest_gap_question {
	uint64_t series;
	struct iforest_window window; /* only gaps that overlap it */
	uint64_t longer_than;
	const struct iforest_filter *filter; /* as in struct iforest_iterator_question */
};

struct iforest_gap_reader {
	struct iforest_scan scan;
	struct iforest_iterator iterator;
	struct iforest_gap_question question;
	const struct iforest_node_schema *fields;
	bool has_before; /* an entry was passed; latest_end is that of all entries so far */
	int64_t latest_end;
	bool is_at_end;
};

/* Like iforest_iterator_init(), iforest_iterator_join() and iforest_iterator_release(). */
enum iforest_status iforest_gap_init(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest);
enum iforest_status iforest_gap_join(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest);
void iforest_gap_release(struct iforest_gap_reader *reader);

/* Starts a question, which is copied. The reader must not be moved afterwards.
 * Cost    one fold up to the start of the window.
 * Errors  as iforest_scan_next(). */
enum iforest_status iforest_gap_start(struct iforest_gap_reader *reader, const struct iforest_gap_question *question);

/* Gives the next gap in order of time; *found is false after the last.
 * Cost    only nodes wider than `longer_than` and those at both ends of the window are opened. Each level of a run has at most
 *         (width passed) / longer_than of them, so k gaps cost O((k + width / longer_than) log N) nodes. Nodes with removed
 *         entries, or not classified ALL by the filter, are opened too.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_gap_next(struct iforest_gap_reader *reader, struct iforest_gap *gap, bool *found);

#endif
