#include "tests/support/attempt.h"

#include <stdlib.h>

#include "core/run/check.h"
#include "core/query/scan.h"
#include "core/run/compact.h"
#include "core/run/remove.h"
#include "core/query/sketch_scan.h"
#include "tests/support/harness.h"

static const unsigned merged_groups[] = { 0, 1 };

void attempt_start(struct attempt *attempt, enum attempt_kind kind, struct sample_index *index,
		   const struct sample_shape *shape, size_t n_entries, unsigned n_series, enum sample_times style,
		   struct random *dice)
{
	struct iforest_key *keys;

	*attempt = (struct attempt){ .kind = kind, .index = index };
	sample_start(index, shape);
	index->seed = dice->seed;
	for (unsigned g = 0; g < 3; g++)
		sample_entries(index, dice, n_entries, n_series, style);
	assert_ok(sample_build(index, 0));
	assert_ok(sample_build(index, 1));
	sample_remove(index, dice, 1, 30);
	attempt->n_picked = sample_pick(index, dice, 0, 5, &attempt->keys, &attempt->picked);
	assert_true(attempt->n_picked > 0);
	attempt->n_waiting = sample_pick(index, dice, 2, 100, &keys, &attempt->waiting);
	free(keys);
}

void attempt_stop(struct attempt *attempt)
{
	free(attempt->keys);
	free(attempt->picked);
	free(attempt->waiting);
	sample_stop(attempt->index);
}

/* ---- the operations ---- */

static enum iforest_status build(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;
	struct iforest_run_writer *builder = &attempt->builder;
	struct iforest_run run;
	enum iforest_status status = iforest_run_writer_start(builder, &index->store, &index->manifest);

	if (status)
		return status;
	index->run_ids[2] = builder->place.run_id;
	for (size_t i = 0; i < attempt->n_waiting && !status; i++) {
		struct iforest_entry entry = sample_entry(&index->oracle.entries[attempt->waiting[i]]);

		status = iforest_run_writer_add(builder, &entry);
	}
	if (status)
		iforest_run_writer_abandon(builder);
	else
		status = iforest_run_writer_finish(builder, &run);
	return status ? status : sample_add_run(index, &run);
}

/* Called in key order, which is also the order of the picked keys. */
static bool is_picked(void *context, int64_t ref)
{
	struct attempt *attempt = context;

	if (attempt->on_ask)
		attempt->on_ask(attempt->on_ask_context);
	if (attempt->n_passed == attempt->n_picked || attempt->keys[attempt->n_passed].ref != ref)
		return false;
	attempt->n_passed++;
	return true;
}

static enum iforest_status remove_where(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;
	struct iforest_remover remover = { .is_dead = is_picked, .context = attempt };
	struct iforest_removal removal;
	enum iforest_status status;

	attempt->n_passed = 0;
	status = iforest_run_remove_where(&index->store, &index->manifest, index->run_ids[0], &remover, &removal);
	if (!status)
		assert_int_equal(removal.n_removed, attempt->n_picked);
	return status;
}

static enum iforest_status remove_anywhere(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;
	uint64_t n_removed;
	enum iforest_status status =
		iforest_runs_remove(&index->store, &index->manifest, attempt->keys, attempt->n_picked, &n_removed);

	if (!status)
		assert_int_equal(n_removed, attempt->n_picked);
	return status;
}

static enum iforest_status scan(struct attempt *attempt, bool extremes_alone)
{
	struct iforest_scan *s = &attempt->scan;
	bool found = true;
	int64_t bucket;
	uint32_t all = (1u << attempt->index->oracle.n_values) - 1;
	enum iforest_status status = iforest_scan_init(s, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	s->bucketing = (struct iforest_bucketing){ .mode = IFOREST_STEP, .step = 1000 };
	s->request = (struct iforest_request){
		.values = all, .accumulators = UINT32_MAX, .firsts = all, .lasts = all, .times = true, .node_fields = true
	};
	if (extremes_alone)
		s->request = (struct iforest_request){ .values = all, .extremes_alone = true };
	status = iforest_scan_start(s, 1);
	while (!status && found)
		status = iforest_scan_next(s, &bucket, &attempt->aggregate, &found);
	iforest_scan_release(s);
	return status;
}

static enum iforest_status show_pieces(struct attempt *attempt)
{
	struct iforest_scan *s = &attempt->scan;
	struct iforest_scan_cover pieces;
	struct iforest_scan_cover_part piece;
	bool found = true;
	enum iforest_status status = iforest_scan_init(s, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	s->request = (struct iforest_request){ .values = 1, .times = true };
	status = iforest_scan_start(s, 1);
	iforest_scan_cover_start(&pieces, s);
	while (!status && found)
		status = iforest_scan_cover_next(&pieces, &piece, &found);
	iforest_scan_release(s);
	return status;
}

static enum iforest_status overlap(struct attempt *attempt, bool longest_alone)
{
	struct iforest_overlap *o = &attempt->overlap;
	bool found = true;
	int64_t bucket;
	enum iforest_status status = iforest_scan_init(&attempt->scan, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	status = iforest_overlap_init(o, &attempt->scan);
	o->bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = 30, .window = { true, true, 5000, 100000 } };
	o->wants_longest = true;
	o->wants_inside = !(o->longest_alone = longest_alone);
	if (!status)
		status = iforest_overlap_start(o, 1);
	while (!status && found)
		status = iforest_overlap_next(o, &bucket, &attempt->aggregate, &found);
	iforest_overlap_release(o);
	iforest_scan_release(&attempt->scan);
	return status;
}

static enum iforest_status walk(struct attempt *attempt)
{
	struct iforest_iterator *w = &attempt->walk;
	struct iforest_entry entry;
	bool found = true;
	enum iforest_status status = iforest_iterator_init(w, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	iforest_iterator_start(w, &(struct iforest_iterator_question){ .from = iforest_key_at(0, INT64_MIN),
							       .to = iforest_key_nulls(1),
							       .match = { .values = 1,
									  .low[0].integer = 10,
									  .high[0].integer = INT64_MAX,
									  .has_reach = true,
									  .reach = 20000 } });
	while (!status && found)
		status = iforest_iterator_next(w, &entry, &found);
	iforest_iterator_release(w);
	return status;
}

static enum iforest_status best(struct attempt *attempt)
{
	struct iforest_top_k *b = &attempt->best;
	struct iforest_entry entry;
	bool found = true;
	enum iforest_status status = iforest_top_k_init(b, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	status = iforest_top_k_start(b, &(struct iforest_top_k_question){ .order = IFOREST_LARGEST_FIRST,
									.from = iforest_key_at(0, INT64_MIN),
									.to = iforest_key_at(1, INT64_MIN) });
	while (!status && found)
		status = iforest_top_k_next(b, &entry, &found);
	iforest_top_k_release(b);
	return status;
}

static enum iforest_status find_gaps(struct attempt *attempt)
{
	struct iforest_gap_reader *g = &attempt->gaps;
	struct iforest_gap gap;
	bool found = true;
	enum iforest_status status = iforest_gap_init(g, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	status = iforest_gap_start(
		g, &(struct iforest_gap_question){ .series = 1, .window = { .has_t0 = true, .t0 = 5000 }, .longer_than = 50 });
	while (!status && found)
		status = iforest_gap_next(g, &gap, &found);
	iforest_gap_release(g);
	return status;
}

/* Finds the peaks of one series, and of both. */
static enum iforest_status find_peaks(struct attempt *attempt)
{
	static const uint32_t series[] = { 0, 1 };
	struct iforest_peak_reader *p = &attempt->peaks;
	enum iforest_status status = IFOREST_OK;

	memset(p, 0, sizeof *p);
	status = iforest_peak_init(p, &attempt->index->store, &attempt->index->manifest);
	p->bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = 4, .window = { true, true, 5000, 100000 } };
	for (uint32_t n = 1; n <= 2 && !status; n++) {
		struct iforest_peak peak;

		status = iforest_peak_start(p, series, n);
		for (int64_t bucket = 0; bucket < p->bucketing.n && !status; bucket++)
			status = iforest_peak_of_bucket(p, bucket, &peak);
	}
	iforest_peak_release(p);
	return status;
}

static enum iforest_status count(struct attempt *attempt)
{
	static const struct iforest_manifest nothing;
	struct iforest_counter_scan *c = &attempt->counting;
	struct sample_index *index = attempt->index;
	enum iforest_status status =
		iforest_counter_scan_start(c, 1, NULL, &index->store, &index->manifest, &index->store, &nothing);

	if (!status)
		status = iforest_counter_scan_turn(c, 1, 5000, 100000);
	for (int64_t start = 5000; start < 100000 && !status; start += 5000) {
		bool found;

		status = iforest_counter_scan_bucket(c, start, start + 5000, &attempt->aggregate, &found);
	}
	iforest_counter_scan_release(c);
	return status;
}

static enum iforest_status sketch(struct attempt *attempt, enum iforest_digest_kind kind)
{
	struct iforest_key from = iforest_key_at(0, 5000), to = iforest_key_at(1, 50000);
	enum iforest_status status = iforest_scan_init(&attempt->scan, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	iforest_digest_init(&attempt->sketch, kind, attempt->index->store.alloc);
	status = iforest_scan_sketch(&attempt->scan, &from, &to, 0, NULL, &attempt->sketch);
	iforest_digest_release(&attempt->sketch);
	iforest_scan_release(&attempt->scan);
	return status;
}

enum iforest_status attempt_run(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;
	struct iforest_check_result result;

	switch (attempt->kind) {
	case ATTEMPT_BUILD: return build(attempt);
	case ATTEMPT_REMOVE:
		return iforest_run_remove(&index->store, &index->manifest, index->run_ids[0], attempt->keys, attempt->n_picked);
	case ATTEMPT_REMOVE_ANYWHERE: return remove_anywhere(attempt);
	case ATTEMPT_REMOVE_WHERE: return remove_where(attempt);
	case ATTEMPT_MERGE: return sample_try_merge(index, merged_groups, COUNT_OF(merged_groups));
	case ATTEMPT_REPAIR: return iforest_run_repair(&index->store, &index->manifest, index->run_ids[0]);
	case ATTEMPT_SCAN: return scan(attempt, false);
	case ATTEMPT_EXTREMES: return scan(attempt, true);
	case ATTEMPT_PIECES: return show_pieces(attempt);
	case ATTEMPT_OVERLAP: return overlap(attempt, false);
	case ATTEMPT_LONGEST: return overlap(attempt, true);
	case ATTEMPT_WALK: return walk(attempt);
	case ATTEMPT_GAPS: return find_gaps(attempt);
	case ATTEMPT_PEAKS: return find_peaks(attempt);
	case ATTEMPT_BEST: return best(attempt);
	case ATTEMPT_COUNT: return count(attempt);
	case ATTEMPT_SKETCH: return sketch(attempt, IFOREST_DIGEST_QUANTILES);
	case ATTEMPT_DISTINCT: return sketch(attempt, IFOREST_DIGEST_DISTINCT);
	case ATTEMPT_CHECK: return iforest_check(&index->store, &index->manifest, &result);
	default: return sample_reread(index);
	}
}

/* ---- recovery ---- */

bool attempt_is_marked(const struct sample_index *index)
{
	for (uint32_t r = 0; r < index->manifest.n_runs; r++)
		if (index->manifest.runs[r].removal_in_progress)
			return true;
	return false;
}

/* Removes the entries of group 2 from the oracle if its run was not built. */
static void forget_unbuilt(struct sample_index *index)
{
	size_t n = 0;

	if (sample_run(index, 2) < index->manifest.n_runs)
		return;
	for (size_t i = 0; i < index->oracle.n_entries; i++)
		if (index->oracle.entries[i].run != 2)
			index->oracle.entries[n++] = index->oracle.entries[i];
	index->oracle.n_entries = n;
}

enum iforest_status attempt_recover(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;
	struct iforest_check_result result;
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < index->manifest.n_runs && !status; r++)
		if (index->manifest.runs[r].removal_in_progress) {
			assert_status(iforest_check(&index->store, &index->manifest, &result), IFOREST_CORRUPT);
			status = iforest_run_repair(&index->store, &index->manifest, index->manifest.runs[r].place.run_id);
		}
	if (!status && sample_run(index, 0) < index->manifest.n_runs)
		status = sample_note_removed(index, 0, attempt->keys, attempt->picked, attempt->n_picked);
	if (!status)
		status = iforest_check(&index->store, &index->manifest, &result);
	if (status)
		return status;
	assert_false(attempt_is_marked(index));
	if (sample_run(index, 0) == index->manifest.n_runs)
		sample_note_merge(index, merged_groups, COUNT_OF(merged_groups));
	forget_unbuilt(index);
	sample_check(index);
	return IFOREST_OK;
}
