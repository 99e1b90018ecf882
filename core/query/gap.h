/* query/gap.h -- Gaps: stretches of a series in which no span is open, or no sample was taken.
 *
 * A gap lies between the latest end of all spans that start before it and the next start; where the index keeps no ends,
 * between two successive times. It is told as it is, whatever part of it lies in the window. Before the first entry and after
 * the last one there is none.
 *
 * A node whose times lie no further apart than the bound has no longer gap in it, and is as good as one span from its first
 * time to its latest end: a gap that is longer than its width would have to begin before its first start, which ends it, or
 * after its last one.
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
	struct iforest_window window; /* gaps that have a part in it */
	uint64_t longer_than;
	const struct iforest_filter *filter; /* as iforest_iterator has it */
};

struct iforest_gap_reader {
	struct iforest_scan scan;
	struct iforest_iterator walk;
	struct iforest_gap_question question;
	const struct iforest_node_schema *fields;
	bool has_before; /* an entry, and when all so far are over */
	int64_t latest_end;
	bool is_at_end;
};

/* As iforest_iterator_init(), iforest_iterator_join(), iforest_iterator_release(). */
enum iforest_status iforest_gap_init(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest);
enum iforest_status iforest_gap_join(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest);
void iforest_gap_release(struct iforest_gap_reader *reader);

/* Turns to a question, which is copied. The reader must stay in place from here on.
 * Cost    one fold up to the start of the window.
 * Errors  as iforest_scan_next(). */
enum iforest_status iforest_gap_start(struct iforest_gap_reader *reader, const struct iforest_gap_question *question);

/* The next gap in order of time; *found is false after the last.
 * Cost    Nodes that are wider than the bound are opened, and no others that are whole: on a level there are at most (width of
 *         what is passed) / (longer_than) of them a run, and those at the ends. So k gaps cost O((k + width / longer_than) log
 *         N) nodes; where entries were removed, or are not judged by their nodes, the nodes above these too.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_gap_next(struct iforest_gap_reader *reader, struct iforest_gap *gap, bool *found);

#endif
