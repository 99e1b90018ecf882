#include "tests/support/specimen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/best.h"
#include "core/bits.h"
#include "core/check.h"
#include "core/overlap.h"
#include "core/run_build.h"
#include "core/run_merge.h"
#include "core/run_remove.h"
#include "core/run_counter.h"
#include "core/run_sketch.h"
#include "core/scan.h"
#include "core/walk.h"

enum { N_ENTRIES = 150, N_REMOVED = 10, N_KEYS = 5, LARGEST_BLOCK = 1 << 22 };

static void promise(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "specimen: %s\n", what);
	abort();
}

/* ---- building ---- */

/* Entry i of a run; some have no time. Many values that do not pack: few entries make many pages. */
static struct iforest_entry entry_of(unsigned run, unsigned i)
{
	unsigned a_series = N_ENTRIES / SPECIMEN_SERIES, place = i % a_series;
	struct iforest_entry entry = {
		.key = { .series = i / a_series, .time_is_null = place > 35, .time = place > 35 ? 0 : place * 25 + place % 3,
			 .ref = (int64_t)(place * 5 + run) << 16 | i },
		.present = i % 7 ? 31 : 1,
	};

	entry.values[0].integer = (int64_t)(i * 2654435761u % 100000) - 20;
	entry.values[1].real = i / 7.0;
	for (unsigned v = 2; v < 5; v++)
		entry.values[v].integer = (int64_t)((i + v) * (i + v) * UINT64_C(0x9E3779B97F4A7C15));
	return entry;
}

static void build_run(struct specimen *specimen, unsigned r)
{
	struct iforest_run_builder *builder = malloc(sizeof *builder);
	struct iforest_key removed[N_REMOVED];
	struct iforest_run run;
	struct iforest_edit edit = { .added = &run };

	promise(builder && !iforest_run_builder_start(builder, &specimen->store, &specimen->manifest), "start");
	for (unsigned i = 0; i < N_ENTRIES; i++) {
		struct iforest_entry entry = entry_of(r, i);

		promise(!iforest_run_builder_add(builder, &entry), "add");
	}
	promise(!iforest_run_builder_finish(builder, &run), "finish");
	promise(!iforest_manifest_commit(&specimen->manifest, &specimen->store, &edit), "commit");
	for (unsigned k = 0; k < N_REMOVED; k++)
		removed[k] = entry_of(r, k * 14 + 1).key;
	promise(!iforest_run_remove(&specimen->store, &specimen->manifest, run.place.run_id, removed, N_REMOVED), "remove");
	free(builder);
}

static void start_pager(struct specimen *specimen)
{
	iforest_pager_memory_init(&specimen->memory, &specimen->alloc.alloc, SPECIMEN_PAGE_BYTES, 3, false);
}

static uint8_t *copy_of(const uint8_t *bytes, uint32_t n_bytes)
{
	uint8_t *copy = malloc(n_bytes);

	promise(copy != NULL, "memory");
	memcpy(copy, bytes, n_bytes);
	return copy;
}

void specimen_start(struct specimen *specimen)
{
	struct iforest_fields fields = { .n_values = 5, .squares = 1 << 2, .duration_value = 0, .has_blocks = true,
		.kinds = { IFOREST_INT64, IFOREST_FLOAT64, IFOREST_INT64, IFOREST_INT64, IFOREST_INT64 } };

	memset(specimen, 0, sizeof *specimen);
	alloc_fault_init(&specimen->alloc);
	specimen->alloc.n_most_bytes = LARGEST_BLOCK;
	start_pager(specimen);
	specimen->store = (struct iforest_store){ .pager = &specimen->memory.pager, .alloc = &specimen->alloc.alloc };
	promise(!iforest_fields_finish(&fields), "fields");
	promise(!iforest_manifest_init(&specimen->manifest, &specimen->alloc.alloc, &fields, SPECIMEN_PAGE_BYTES), "manifest");
	for (unsigned r = 0; r < SPECIMEN_RUNS; r++) {
		build_run(specimen, r);
		specimen->run_ids[r] = specimen->manifest.runs[r].place.run_id;
		specimen->n_pages[r] = iforest_run_pages(&specimen->manifest, &specimen->manifest.runs[r]);
		promise(specimen->manifest.runs[r].n_levels >= 3, "levels");
		specimen->pages[r] = malloc(specimen->n_pages[r] * sizeof *specimen->pages[r]);
		promise(specimen->pages[r] != NULL, "memory");
		for (uint64_t i = 0; i < specimen->n_pages[r]; i++) {
			uint32_t *n_bytes;
			uint8_t *bytes = iforest_pager_memory_bytes(&specimen->memory, r, i, &n_bytes);

			specimen->pages[r][i] = (struct specimen_page){ copy_of(bytes, *n_bytes), *n_bytes };
		}
	}
	specimen->n_manifest_bytes = specimen->memory.n_manifest_bytes;
	specimen->manifest_bytes = copy_of(specimen->memory.manifest, specimen->n_manifest_bytes);
	specimen_forget(specimen);
}

void specimen_stop(struct specimen *specimen)
{
	specimen_forget(specimen);
	iforest_pager_memory_release(&specimen->memory);
	for (unsigned r = 0; r < SPECIMEN_RUNS; r++) {
		for (uint64_t i = 0; i < specimen->n_pages[r]; i++)
			free(specimen->pages[r][i].bytes);
		free(specimen->pages[r]);
	}
	free(specimen->manifest_bytes);
	promise(specimen->alloc.n_live == 0, "memory was leaked");
}

void specimen_restore(struct specimen *specimen)
{
	const struct iforest_pager *pager = &specimen->memory.pager;

	specimen_forget(specimen);
	iforest_pager_memory_release(&specimen->memory);
	promise(specimen->alloc.n_live == 0, "memory was leaked");
	start_pager(specimen);
	for (unsigned r = 0; r < SPECIMEN_RUNS; r++) {
		struct iforest_place place = { .run_id = specimen->run_ids[r] };

		promise(!pager->create_run(pager->context, &place) && place.location == r, "create_run");
		for (uint64_t i = 0; i < specimen->n_pages[r]; i++) {
			struct iforest_page_write page = { i, specimen->pages[r][i].bytes, specimen->pages[r][i].n_bytes };

			promise(!pager->write(pager->context, &place, &page, 1), "write");
		}
	}
	promise(!pager->publish(pager->context, specimen->manifest_bytes, specimen->n_manifest_bytes), "publish");
}

/* ---- damaging ---- */

uint8_t *specimen_page(struct specimen *specimen, unsigned run, uint64_t index, uint32_t **n_bytes)
{
	return iforest_pager_memory_bytes(&specimen->memory, run, index, n_bytes);
}

void specimen_seal_page(uint8_t *bytes, uint32_t n_bytes)
{
	uint32_t length;

	if (n_bytes < IFOREST_PAGE_HEADER)
		return;
	length = iforest_load16(bytes + 20);
	if (length >= 8 && length <= n_bytes)
		iforest_store32(bytes + 4, (uint32_t)iforest_checksum64(bytes + 8, length - 8));
}

void specimen_seal_manifest(uint8_t *bytes, uint32_t n_bytes)
{
	if (n_bytes >= 16)
		iforest_store32(bytes + 4, (uint32_t)iforest_checksum64(bytes + 8, n_bytes - 8));
}

/* ---- using ---- */

enum iforest_status specimen_read(struct specimen *specimen)
{
	const char *what = NULL;
	enum iforest_status status;

	specimen_forget(specimen);
	status = iforest_manifest_read(&specimen->manifest, &specimen->alloc.alloc, specimen->memory.manifest,
				       specimen->memory.n_manifest_bytes, &what);
	if (status == IFOREST_CORRUPT || status == IFOREST_FORMAT)
		promise(what != NULL, "a manifest was refused without a reason");
	return status;
}

void specimen_forget(struct specimen *specimen)
{
	iforest_manifest_release(&specimen->manifest);
}

/* After each operation on stored bytes: what it holds and says. Returns the status. */
static enum iforest_status judge(struct specimen *specimen, enum iforest_status status)
{
	promise(specimen->memory.n_pages_held == 0, "a page is still held");
	if (status == IFOREST_CORRUPT || status == IFOREST_FORMAT)
		promise(specimen->store.fault.what != NULL, "it is corrupt, but the fault says not where");
	specimen->store.fault = (struct iforest_fault){ .what = NULL };
	return status;
}

enum iforest_status specimen_check(struct specimen *specimen)
{
	struct iforest_check_result result;

	specimen->store.fault = (struct iforest_fault){ .what = NULL };
	return iforest_check(&specimen->store, &specimen->manifest, &result);
}

static void scan(struct specimen *specimen, const struct iforest_bucketing *bucketing, const struct iforest_wanted *wanted)
{
	struct iforest_scan scan;
	struct iforest_aggregate aggregate;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	scan.bucketing = *bucketing;
	scan.wanted = *wanted;
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
	struct iforest_sketch sketch;
	struct iforest_scan at;
	enum iforest_status status = iforest_scan_init(&at, &specimen->store, &specimen->manifest);

	if (status)
		return;
	iforest_sketch_init(&sketch, specimen->store.alloc);
	for (unsigned v = 0; v < specimen->manifest.fields.n_values && !status; v++)
		status = iforest_scan_sketch(&at, &from, &to, v, NULL, &sketch);
	iforest_sketch_release(&sketch);
	iforest_scan_release(&at);
	judge(specimen, status);
}

/* Not in steps without an end: a forged span may reach over any number of them. */
static void overlap(struct specimen *specimen, const struct iforest_bucketing *bucketing)
{
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate aggregate;
	enum iforest_status status = iforest_scan_init(&scan, &specimen->store, &specimen->manifest);

	if (status)
		return;
	status = iforest_overlap_init(&overlap, &scan);
	overlap.bucketing = *bucketing;
	overlap.wants_inside = overlap.wants_longest = true;
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

static enum iforest_status get_none(void *context, const struct iforest_shelf_name *name, uint8_t **bytes, size_t *n_bytes, bool *found)
{
	(void)context;
	(void)name;
	(void)bytes;
	(void)n_bytes;
	*found = false;
	return IFOREST_OK;
}

static enum iforest_status put_nowhere(void *context, const struct iforest_shelf_name *name, const uint8_t *bytes, size_t n_bytes)
{
	(void)context;
	(void)name;
	(void)bytes;
	(void)n_bytes;
	return IFOREST_OK;
}

/* What would be kept for counters. */
static void keep_counters(struct specimen *specimen)
{
	const struct iforest_shelf shelf = { .get = get_none, .put = put_nowhere };
	const struct iforest_manifest *manifest = &specimen->manifest;
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < manifest->n_runs && !status; r++)
		for (unsigned v = 0; v < manifest->fields.n_values && !status; v++)
			status = iforest_run_keep_counters(&specimen->store, manifest, &manifest->runs[r], v, &shelf);
	judge(specimen, status);
}

static void scan_all(struct specimen *specimen)
{
	static const struct iforest_bucketing whole = { .mode = IFOREST_WHOLE },
		half = { .mode = IFOREST_WHOLE, .window = { .has_t0 = true, .t0 = 333, .has_t1 = true, .t1 = 700 } },
		many = { .mode = IFOREST_COUNT, .n = INT64_MAX, .window = { true, true, 100, INT64_MAX } },
		seven = { .mode = IFOREST_COUNT, .n = 7, .window = { true, true, 0, 900 } },
		steps = { .mode = IFOREST_STEP, .step = 3, .origin = 1 };
	const struct iforest_bucketing *const bucketings[] = { &whole, &half, &many, &seven, &steps };
	static const struct iforest_wanted wanted[] = {
		{ .values = UINT32_MAX, .squares = UINT32_MAX, .firsts = UINT32_MAX, .lasts = UINT32_MAX, .times = true, .node_fields = true },
		{ .values = UINT32_MAX, .extremes_alone = true },
	};

	for (unsigned b = 0; b < 5; b++)
		for (unsigned w = 0; w < 2; w++)
			scan(specimen, bucketings[b], &wanted[w]);
	overlap(specimen, &half);
	overlap(specimen, &seven);
	sketch_all(specimen);
	keep_counters(specimen);
}

/* Both ways, and only what reaches far and is large. */
static void walk(struct specimen *specimen, unsigned way)
{
	const struct iforest_fields *fields = &specimen->manifest.fields;
	struct iforest_walk_question question = { .from = iforest_key_at(0, way < 2 ? INT64_MIN : 500), .to = iforest_key_at(2, 700),
		.descends = way & 1, .values = (1u << fields->n_values) - 1 };
	struct iforest_walk walk;
	struct iforest_key before = { .series = 0 };
	struct iforest_entry entry;
	bool found = true, is_first = true;
	enum iforest_status status = iforest_walk_init(&walk, &specimen->store, &specimen->manifest);

	if (status)
		return;
	if (way >= 2 && fields->n_values > 0)
		iforest_match_at_least(&question.match, 0, (union iforest_number){ .integer = 30000 }, (enum iforest_value_kind)fields->kinds[0]);
	question.match.has_reach = way >= 2 && fields->latest_end_offset;
	question.match.reach = 600;
	iforest_walk_start(&walk, &question);
	for (; !status && found; is_first = false) {
		status = iforest_walk_next(&walk, &entry, &found);
		promise(status || !found || is_first || specimen->manifest.n_runs > 1 ||
			(iforest_key_compare(&before, &entry.key) < 0) != question.descends, "entries do not ascend");
		before = entry.key;
	}
	iforest_walk_release(&walk);
	judge(specimen, status);
}

static void order(struct specimen *specimen, enum iforest_best_order order)
{
	struct iforest_best best;
	struct iforest_entry entry;
	bool found = true;
	unsigned n = 0;
	enum iforest_status status = iforest_best_init(&best, &specimen->store, &specimen->manifest);

	if (status)
		return;
	status = iforest_best_start(&best, &(struct iforest_best_question){ .order = order,
		.value = specimen->manifest.fields.n_values > 1 && order == IFOREST_SMALLEST_FIRST,
		.from = iforest_key_at(0, 100), .to = iforest_key_at(1, INT64_MIN) });
	for (; !status && found; n++)
		status = iforest_best_next(&best, &entry, &found);
	promise(n < 1000000, "more entries than pages can hold");
	iforest_best_release(&best);
	judge(specimen, status);
}

static void list_all(struct specimen *specimen)
{
	for (unsigned way = 0; way < 4; way++)
		walk(specimen, way);
	for (int o = specimen->manifest.fields.n_values ? IFOREST_SMALLEST_FIRST : IFOREST_EARLIEST_FIRST; o <= IFOREST_LATEST_FIRST; o++)
		order(specimen, (enum iforest_best_order)o);
}

static bool is_multiple_of_11(void *context, int64_t ref)
{
	(void)context;
	return ref % 11 == 0;
}

static void remove_some(struct specimen *specimen, uint32_t r)
{
	static const struct iforest_remover remover = { .is_dead = is_multiple_of_11 };
	struct iforest_removal removal;
	struct iforest_key keys[N_KEYS];

	for (unsigned k = 0; k < N_KEYS; k++)
		keys[k] = entry_of(r & 1, k * 29 + 3).key;
	judge(specimen, iforest_run_remove(&specimen->store, &specimen->manifest, specimen->manifest.runs[r].place.run_id, keys, N_KEYS));
	judge(specimen, iforest_run_remove_where(&specimen->store, &specimen->manifest, specimen->manifest.runs[r].place.run_id, &remover, &removal));
}

void specimen_exercise(struct specimen *specimen, bool merges)
{
	uint64_t chosen[SPECIMEN_RUNS];
	uint32_t n_chosen = 0;
	struct iforest_run merged;

	if (specimen_read(specimen))
		return;
	judge(specimen, specimen_check(specimen));
	scan_all(specimen);
	list_all(specimen);
	for (uint32_t r = 0; r < specimen->manifest.n_runs && r < SPECIMEN_RUNS; r++)
		remove_some(specimen, r);
	if (specimen->manifest.n_runs > 0)
		judge(specimen, iforest_run_repair(&specimen->store, &specimen->manifest, specimen->manifest.runs[0].place.run_id));
	judge(specimen, specimen_check(specimen));
	for (; n_chosen < specimen->manifest.n_runs && n_chosen < SPECIMEN_RUNS; n_chosen++)
		chosen[n_chosen] = specimen->manifest.runs[n_chosen].place.run_id;
	if (merges && n_chosen > 0)
		judge(specimen, iforest_runs_merge(&specimen->store, &specimen->manifest, chosen, n_chosen, &merged));
	specimen_forget(specimen);
}
