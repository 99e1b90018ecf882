/* query/gap.h -- Gaps: stretches of a series in which no span is open, or no sample was taken.
 *
 * A gap lies between the latest end of all spans that start before it and the next start; where the index keeps no ends,
 * between two successive times. It is reported whole, even if the window has only a part of it. There is none before the first
 * entry or after the last.
 *
 * A node whose times lie no further apart than the bound contains no longer gap, and is used as one span from its first time to
 * its latest end: a gap longer than the node's width would begin before the node's first start, which ends it, or after its
 * last.
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
	struct iforest_window window; /* gaps that overlap it */
	uint64_t longer_than;
	const struct iforest_filter *filter; /* as in struct iforest_iterator_question */
};

struct iforest_gap_reader {
	struct iforest_scan scan;
	struct iforest_iterator iterator;
	struct iforest_gap_question question;
	const struct iforest_node_schema *fields;
	bool has_before; /* an entry was passed; latest_end: of all so far */
	int64_t latest_end;
	bool is_at_end;
};

/* Like iforest_iterator_init(), iforest_iterator_join() and iforest_iterator_release(). */
enum iforest_status iforest_gap_init(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest);
enum iforest_status iforest_gap_join(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest);
void iforest_gap_release(struct iforest_gap_reader *reader);

/* Starts a question, which is copied. The reader must stay in place from here on.
 * Cost    one fold up to the start of the window.
 * Errors  as iforest_scan_next(). */
enum iforest_status iforest_gap_start(struct iforest_gap_reader *reader, const struct iforest_gap_question *question);

/* Gives the next gap in order of time; *found is false after the last.
 * Cost    only nodes wider than the bound are opened, and those at both ends. A level has at most (width passed) / longer_than
 *         of them a run, so k gaps cost O((k + width / longer_than) log N) nodes. Nodes with removed entries, or not
 *         classified ALL by the filter, are opened too.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_gap_next(struct iforest_gap_reader *reader, struct iforest_gap *gap, bool *found);

#endif
