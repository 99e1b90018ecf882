/* tests/support/attempt.h -- Operation on a small index that may be cut off anywhere, and the recovery from it. */
#ifndef TESTS_ATTEMPT_H
#define TESTS_ATTEMPT_H

#include "core/query/top_k.h"
#include "core/query/counter_scan.h"
#include "core/query/gap.h"
#include "core/query/overlap.h"
#include "core/query/peak.h"
#include "core/run/writer.h"
#include "core/model/digest.h"
#include "core/query/iterator.h"
#include "tests/support/sample_index.h"

enum attempt_kind {
	ATTEMPT_BUILD,
	ATTEMPT_REMOVE,
	ATTEMPT_REMOVE_ANYWHERE,
	ATTEMPT_REMOVE_WHERE,
	ATTEMPT_MERGE,
	ATTEMPT_REPAIR,
	ATTEMPT_SCAN,
	ATTEMPT_EXTREMES,
	ATTEMPT_PIECES,
	ATTEMPT_OVERLAP,
	ATTEMPT_LONGEST,
	ATTEMPT_WALK,
	ATTEMPT_GAPS,
	ATTEMPT_PEAKS,
	ATTEMPT_BEST,
	ATTEMPT_COUNT,
	ATTEMPT_SKETCH,
	ATTEMPT_DISTINCT,
	ATTEMPT_CHECK,
	ATTEMPT_REREAD,
	ATTEMPT_KINDS
};

/* All of an attempt's state is in here, so that a longjmp leaves only core's memory, pages and locks behind. */
struct attempt {
	enum attempt_kind kind;
	struct sample_index *index;
	struct iforest_key *keys;         /* keys of group 0 that a removal removes */
	size_t *picked, n_picked, n_passed;
	size_t *waiting, n_waiting;       /* entries of group 2, which is to be built */
	struct iforest_run_writer builder;
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate aggregate;
	struct iforest_iterator walk;
	struct iforest_top_k best;
	struct iforest_gap_reader gaps;
	struct iforest_peak_reader peaks;
	struct iforest_counter_scan counting;
	struct iforest_digest sketch;
	void (*on_ask)(void *context);    /* NULL, or called whenever remove_where asks */
	void *on_ask_context;
};

/* Makes an index of two runs, groups 0 and 1, of which the second has removed entries. A third run, group 2, waits to be built.
 * The struct must stay in place. */
void attempt_start(struct attempt *attempt, enum attempt_kind kind, struct sample_index *index,
		   const struct sample_shape *shape, size_t n_entries, unsigned n_series, enum sample_times style,
		   struct random *dice);
void attempt_stop(struct attempt *attempt);

enum iforest_status attempt_run(struct attempt *attempt);

/* Requires sample_reread(). Repairs the runs that are marked, and records in the oracle which part of the attempt has happened.
 * Returns an error that core found. */
enum iforest_status attempt_recover(struct attempt *attempt);

bool attempt_is_marked(const struct sample_index *index);

#endif
