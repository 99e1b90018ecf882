#include <stdlib.h>
#include <string.h>

#include "core/query/top_k.h"
#include "core/query/counter_scan.h"
#include "core/query/gap.h"
#include "core/query/peak.h"
#include "core/query/overlap.h"
#include "core/query/scan.h"
#include "core/query/sweep.h"
#include "core/query/sketch_scan.h"
#include "tests/support/specimen.h"

static void promise(bool kept, const char *what)
{
	specimen_promise(kept, what);
}

static void judge(struct specimen *specimen, enum iforest_status status)
{
	(void)specimen_judge(specimen, status);
}

/* ---- a filter that gives nodes every class ---- */

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	static const enum iforest_filter_class verdicts[] = { IFOREST_COUNTS_ALL, IFOREST_COUNTS_MOST, IFOREST_COUNTS_MOST, IFOREST_COUNTS_SOME };

	(void)context;
	return verdicts[iforest_node_first(node).ref & 3];
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	enum iforest_status status = iforest_block_need(reader, IFOREST_REFS);

	(void)context;
	for (unsigned i = 0; i < reader->block.n && !status; i++)
		if (reader->block.refs[i] % 11 == 0)
			*live &= ~(UINT64_C(1) << i);
	return status;
}

/* Lists some refs that the page may have, and one that it does not have. */
static bool refs_gone(void *context, const uint8_t *node, int64_t refs[IFOREST_MAX_EXCLUDED_REFS], unsigned *n_refs)
{
	int64_t first = iforest_node_first(node).ref;

	(void)context;
	for (*n_refs = 0; *n_refs < 4; ++*n_refs)
		refs[*n_refs] = (int64_t)((uint64_t)first + *n_refs * UINT64_C(0x50001));
	return first & 4;
}

static const struct iforest_filter filter = { .of_node = of_node, .of_entries = of_entries, .list_excluded = refs_gone };

static void scan(struct specimen *specimen, const struct iforest_bucketing *bucketing, const struct iforest_request *request)
{
	struct iforest_scan scan;
	struct iforest_aggregate aggregate;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	scan.bucketing = *bucketing;
	scan.request = *request;
	for (unsigned s = 0; s < SPECIMEN_SERIES && !status; s++) {
		bool found = true;
		int64_t bucket, before = INT64_MIN;

		status = iforest_scan_start(&scan, s);
		while (!status && found) {
			status = iforest_scan_next(&scan, &bucket, &aggregate, &found);
			if (status || !found)
				break;
			promise(bucketing->mode != IFOREST_COUNT || (bucket >= 0 && bucket < bucketing->n), "a bucket that is none");
			promise(before == INT64_MIN || bucket > before, "buckets do not ascend");
			before = bucket;
		}
	}
	iforest_scan_release(&scan);
	judge(specimen, status);
}

static void sketch_all(struct specimen *specimen)
{
	struct iforest_key from = iforest_key_at(0, 333), to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	struct iforest_scan at;
	enum iforest_status status = iforest_scan_init(&at, &specimen->store, &specimen->manifest);

	if (status)
		return;
	for (unsigned k = 0; k < IFOREST_N_DIGESTS; k++) {
		struct iforest_digest sketch;

		iforest_digest_init(&sketch, (enum iforest_digest_kind)k, specimen->store.alloc);
		for (unsigned v = 0; v < specimen->manifest.fields.n_values && !status; v++)
			status = iforest_scan_sketch(&at, &from, &to, v, NULL, &sketch);
		iforest_digest_release(&sketch);
	}
	iforest_scan_release(&at);
	judge(specimen, status);
}

/* Requires a limited number of buckets, because a forged span may overlap any number of steps. */
static void overlap(struct specimen *specimen, const struct iforest_bucketing *bucketing, bool longest_alone)
{
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate aggregate;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	status = iforest_overlap_init(&overlap, &scan);
	overlap.bucketing = *bucketing;
	overlap.wants_longest = true;
	overlap.wants_inside = !(overlap.longest_alone = longest_alone);
	for (unsigned s = 0; s < SPECIMEN_SERIES && !status; s++) {
		bool found = true;
		int64_t bucket, before = -1;

		status = iforest_overlap_start(&overlap, s);
		while (!status && found) {
			status = iforest_overlap_next(&overlap, &bucket, &aggregate, &found);
			if (status || !found)
				break;
			promise(bucket > before && (bucketing->mode == IFOREST_WHOLE || bucket < bucketing->n), "a bucket that is none");
			before = bucket;
		}
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	judge(specimen, status);
}

/* Reads buckets of any width, as an engine does that chooses their ends itself. */
static void pass_by_hand(struct specimen *specimen)
{
	static const struct iforest_request request = { .values = UINT32_MAX, .firsts = UINT32_MAX, .times = true };
	struct iforest_scan scan;
	struct iforest_aggregate aggregate;
	int64_t time, latest;
	bool found = true;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	for (unsigned s = 0; s < SPECIMEN_SERIES && !status; s++) {
		status = iforest_scan_latest(&scan, s, 800, &latest, &found);
		if (!status)
			status = iforest_scan_start(&scan, s);
		for (found = true; !status && found;) {
			iforest_aggregate_clear(&aggregate, specimen->manifest.fields.n_values, &specimen->manifest.fields.accumulators);
			status = iforest_scan_earliest(&scan, &time, &found);
			if (!status && found)
				status = iforest_scan_through(&scan, time > INT64_MAX - 60 ? INT64_MAX : time + (time & 31),
							      &request, &aggregate);
		}
		if (!status)
			status = iforest_scan_nulls(&scan, &(struct iforest_request){ .values = UINT32_MAX }, &aggregate);
	}
	if (!status)
		status = iforest_scan_everything(&scan, &(struct iforest_request){ .values = UINT32_MAX }, &aggregate);
	iforest_scan_release(&scan);
	judge(specimen, status);
}

/* Reads all series of a window in one sweep, which skips every third. */
static void sweep_over(struct specimen *specimen, const struct iforest_window *window, bool has_nulls, const struct iforest_filter *with)
{
	const struct iforest_request request = { .values = UINT32_MAX, .filter = with };
	struct iforest_scan scan;
	struct iforest_sweep sweep;
	struct iforest_aggregate aggregate;
	uint64_t series;
	bool found = true;
	unsigned n = 0;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	scan.bucketing.window = *window;
	status = iforest_sweep_start(&sweep, &scan, 0, UINT32_MAX, has_nulls);
	if (!status) {
		for (; !(status = iforest_sweep_next(&sweep, &series, &found)) && found; n++) {
			iforest_aggregate_clear(&aggregate, specimen->manifest.fields.n_values, &specimen->manifest.fields.accumulators);
			if (n % 3 && (status = iforest_sweep_fold(&sweep, &request, &aggregate)))
				break;
			promise(n < 1000000, "more series than pages can have");
		}
		iforest_sweep_release(&sweep);
	}
	iforest_scan_release(&scan);
	judge(specimen, status);
}

static void show_pieces(struct specimen *specimen, const struct iforest_filter *with)
{
	struct iforest_scan scan;
	struct iforest_scan_cover pieces;
	struct iforest_scan_cover_part piece;
	unsigned n = 0;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	scan.request = (struct iforest_request){ .values = UINT32_MAX, .times = true, .filter = with };
	for (unsigned s = 0; s < SPECIMEN_SERIES && !status; s++) {
		bool found = true;

		status = iforest_scan_start(&scan, s);
		iforest_scan_cover_start(&pieces, &scan);
		for (; !status && found; n++)
			status = iforest_scan_cover_next(&pieces, &piece, &found);
	}
	promise(n < 1000000, "more pieces than pages can make");
	iforest_scan_release(&scan);
	judge(specimen, status);
}

static void find_gaps(struct specimen *specimen, uint64_t longer_than)
{
	struct iforest_gap_reader reader;
	struct iforest_gap gap;
	enum iforest_status status = iforest_gap_init(&reader, &specimen->store, &specimen->manifest);

	if (status)
		return;
	for (unsigned s = 0; s < SPECIMEN_SERIES && !status; s++) {
		struct iforest_gap_question question = { .series = s,
							 .window = { .has_t0 = s, .t0 = 100 },
							 .longer_than = longer_than };
		bool found = true;

		status = iforest_gap_start(&reader, &question);
		while (!status && found) {
			status = iforest_gap_next(&reader, &gap, &found);
			promise(status || !found || gap.start < gap.end, "a gap that is none");
		}
	}
	iforest_gap_release(&reader);
	judge(specimen, status);
}

static void find_peaks(struct specimen *specimen, const struct iforest_bucketing *bucketing, uint32_t n_series)
{
	static const uint32_t series[SPECIMEN_SERIES] = { 0, 1, 2 };
	struct iforest_peak_reader reader;
	struct iforest_peak peak;
	enum iforest_status status = iforest_peak_init(&reader, &specimen->store, &specimen->manifest);

	if (status)
		return;
	reader.bucketing = *bucketing;
	status = iforest_peak_start(&reader, series, n_series);
	for (int64_t bucket = 0; bucket < 7 && !status; bucket++) {
		status = iforest_peak_of_bucket(&reader, bucket, &peak);
		promise(status || peak.n == 0 || iforest_window_holds(&bucketing->window, peak.time),
			"a peak outside the window");
	}
	iforest_peak_release(&reader);
	judge(specimen, status);
}

/* ---- counters, with a sidecar store that keeps the summaries of the last few nodes ---- */

enum { MOST_KEPT = 64 };

struct kept {
	struct specimen *specimen;
	struct { struct iforest_sidecar_name name; uint8_t *bytes; size_t n_bytes; } tables[MOST_KEPT];
	unsigned n;
};

static enum iforest_status get_table(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
				     bool *found)
{
	const struct kept *kept = context;
	const struct iforest_alloc *alloc = &kept->specimen->alloc.alloc;

	*found = false;
	for (unsigned t = 0; t < kept->n && !*found; t++) {
		const struct iforest_sidecar_name *other = &kept->tables[t].name;

		if (other->run_id != name->run_id || other->level != name->level || other->number != name->number ||
		    other->value != name->value || other->n_dead != name->n_dead)
			continue;
		*n_bytes = kept->tables[t].n_bytes;
		*bytes = iforest_allocate(alloc, *n_bytes);
		promise(*bytes != NULL, "memory");
		memcpy(*bytes, kept->tables[t].bytes, *n_bytes);
		*found = true;
	}
	return IFOREST_OK;
}

static enum iforest_status put_table(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes, size_t n_bytes)
{
	struct kept *kept = context;

	if (kept->n == MOST_KEPT)
		return IFOREST_OK;
	kept->tables[kept->n].name = *name;
	kept->tables[kept->n].n_bytes = n_bytes;
	kept->tables[kept->n].bytes = malloc(n_bytes);
	promise(kept->tables[kept->n].bytes != NULL, "memory");
	memcpy(kept->tables[kept->n++].bytes, bytes, n_bytes);
	return IFOREST_OK;
}

static void count(struct specimen *specimen, const struct iforest_sidecar *sidecar)
{
	static const struct iforest_manifest none;
	struct iforest_counter_scan *counting = calloc(1, sizeof *counting);
	struct iforest_aggregate aggregate;
	uint32_t all = (1u << specimen->manifest.fields.n_values) - 1;
	enum iforest_status status;

	promise(counting != NULL, "memory");
	status = iforest_counter_scan_start(counting, all, NULL, &specimen->store, &specimen->manifest, &specimen->store, &none);
	if (!status)
		status = iforest_counter_scan_use(counting, sidecar, all);
	for (unsigned s = 0; s < SPECIMEN_SERIES && !status; s++) {
		status = iforest_counter_scan_turn(counting, s, 50, INT64_MAX);
		for (int64_t start = 50, width = 1; start < INT64_MAX / 16 && !status; start += width, width *= 4) {
			bool found;

			status = iforest_counter_scan_bucket(counting, start, start + width, &aggregate, &found);
		}
	}
	iforest_counter_scan_release(counting);
	free(counting);
	judge(specimen, status);
}

static void count_and_keep(struct specimen *specimen)
{
	struct kept kept = { .specimen = specimen };
	const struct iforest_sidecar sidecar = { .context = &kept, .get = get_table, .put = put_table };
	const struct iforest_manifest *manifest = &specimen->manifest;
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < manifest->n_runs && !status; r++)
		for (unsigned v = 0; v < manifest->fields.n_values && !status; v++)
			status = iforest_run_keep_counters(&specimen->store, manifest, &manifest->runs[r], v, &sidecar);
	judge(specimen, status);
	count(specimen, &sidecar);
	for (unsigned t = 0; t < kept.n; t++)
		free(kept.tables[t].bytes);
}

static void scan_all(struct specimen *specimen)
{
	static const struct iforest_bucketing whole = { .mode = IFOREST_WHOLE },
		half = { .mode = IFOREST_WHOLE, .window = { .has_t0 = true, .t0 = 333, .has_t1 = true, .t1 = 700 } },
		many = { .mode = IFOREST_COUNT, .n = INT64_MAX, .window = { true, true, 100, INT64_MAX } },
		seven = { .mode = IFOREST_COUNT, .n = 7, .window = { true, true, 0, 900 } },
		steps = { .mode = IFOREST_STEP, .step = 3, .origin = 1 },
		without_numbers = { .mode = IFOREST_STEP, .step = 1, .origin = INT64_MIN };
	const struct iforest_bucketing *const bucketings[] = { &half, &seven, &whole, &many, &steps, &without_numbers };
	static const struct iforest_request request[] = {
		{ .values = UINT32_MAX,
		  .accumulators = UINT32_MAX,
		  .firsts = UINT32_MAX,
		  .lasts = UINT32_MAX,
		  .times = true,
		  .node_fields = true },
		{ .values = UINT32_MAX, .extremes_alone = true },
		{ .values = 1, .no_mins = 1, .extremes_alone = true },
		{ .values = 1, .no_mins = 1, .no_maxs = 1 },
		{ .values = 1, .no_rows = 1 },
		{ .values = UINT32_MAX & ~2u },
		{ .values = UINT32_MAX & ~2u, .filter = &filter },
		{ .values = UINT32_MAX, .extremes_alone = true, .filter = &filter },
	};

	for (unsigned b = 0; b < sizeof bucketings / sizeof *bucketings; b++)
		for (unsigned w = 0; w < (b < 2 ? sizeof request / sizeof *request : 2); w++)
			scan(specimen, bucketings[b], &request[w]);
	for (unsigned alone = 0; alone < 2; alone++) {
		overlap(specimen, &half, alone);
		overlap(specimen, &seven, alone);
	}
	pass_by_hand(specimen);
	sweep_over(specimen, &(struct iforest_window){ .has_t0 = true, .t0 = 200, .has_t1 = true, .t1 = 800 }, false, NULL);
	sweep_over(specimen, &(struct iforest_window){ .has_t1 = true, .t1 = 500 }, false, &filter);
	sweep_over(specimen, &(struct iforest_window){ .has_t0 = false }, true, NULL);
	show_pieces(specimen, NULL);
	show_pieces(specimen, &filter);
	find_gaps(specimen, 0);
	find_gaps(specimen, 40);
	find_peaks(specimen, &seven, 1);
	find_peaks(specimen, &seven, SPECIMEN_SERIES);
	sketch_all(specimen);
	count_and_keep(specimen);
}

/* Reads entries in both directions, also only those that reach far and have large values. */
static void walk(struct specimen *specimen, unsigned way)
{
	const struct iforest_node_schema *fields = &specimen->manifest.fields;
	struct iforest_iterator_question question = { .from = iforest_key_at(0, way < 2 ? INT64_MIN : 500),
						  .to = iforest_key_at(2, 700),
						  .descends = way & 1,
						  .values = (1u << fields->n_values) - 1 };
	struct iforest_iterator walk;
	struct iforest_key before = { .series = 0 };
	struct iforest_entry entry;
	bool found = true, is_first = true;
	enum iforest_status status = iforest_iterator_init(&walk, &specimen->store, &specimen->manifest);

	if (status)
		return;
	if (way >= 2 && fields->n_values > 0)
		iforest_value_predicate_at_least(&question.match, 0, (union iforest_number){ .integer = 30000 },
				       (enum iforest_value_type)fields->value_types[0]);
	question.match.has_reach = way >= 2 && fields->latest_end_offset;
	question.match.reach = 600;
	iforest_iterator_start(&walk, &question);
	for (; !status && found; is_first = false) {
		status = iforest_iterator_next(&walk, &entry, &found);
		promise(status || !found || is_first || specimen->manifest.n_runs > 1 ||
			(iforest_key_compare(&before, &entry.key) < 0) != question.descends, "entries do not ascend");
		before = entry.key;
	}
	iforest_iterator_release(&walk);
	judge(specimen, status);
}

static void order(struct specimen *specimen, enum iforest_top_k_order order)
{
	struct iforest_top_k best;
	struct iforest_entry entry;
	bool found = true;
	unsigned n = 0;
	enum iforest_status status = iforest_top_k_init(&best, &specimen->store, &specimen->manifest);

	if (status)
		return;
	status = iforest_top_k_start(&best, &(struct iforest_top_k_question){ .order = order,
		.value = specimen->manifest.fields.n_values > 1 && order == IFOREST_SMALLEST_FIRST,
		.from = iforest_key_at(0, 100), .to = iforest_key_at(1, INT64_MIN) });
	for (; !status && found; n++)
		status = iforest_top_k_next(&best, &entry, &found);
	promise(n < 1000000, "more entries than pages can hold");
	iforest_top_k_release(&best);
	judge(specimen, status);
}

void specimen_ask(struct specimen *specimen)
{
	scan_all(specimen);
	for (unsigned way = 0; way < 4; way++)
		walk(specimen, way);
	for (int o = specimen->manifest.fields.n_values ? IFOREST_SMALLEST_FIRST : IFOREST_EARLIEST_FIRST;
	     o <= IFOREST_LATEST_FIRST; o++)
		order(specimen, (enum iforest_top_k_order)o);
}
