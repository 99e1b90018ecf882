#include "tests/support/specimen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/check.h"
#include "core/run/writer.h"
#include "core/run/compact.h"
#include "core/run/remove.h"
#include "core/base/xxh64.h"
#include "tests/support/pager_fault.h"
#include "tests/support/pager_maxima.h"

enum { N_ENTRIES = 150, N_REMOVED = 10, N_KEYS = 5, LARGEST_BLOCK = 1 << 22 };

void specimen_promise(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "specimen: %s\n", what);
	abort();
}

/* ---- building ---- */

/* Returns entry i of a run. Some have no time. The values do not compress, so that few entries make many pages. */
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
	struct iforest_run_writer *builder = malloc(sizeof *builder);
	struct iforest_key removed[N_REMOVED];
	struct iforest_run run;
	struct iforest_edit edit = { .added = &run };

	specimen_promise(builder && !iforest_run_writer_start(builder, &specimen->store, &specimen->manifest), "start");
	for (unsigned i = 0; i < N_ENTRIES; i++) {
		struct iforest_entry entry = entry_of(r, i);

		specimen_promise(!iforest_run_writer_add(builder, &entry), "add");
	}
	specimen_promise(!iforest_run_writer_finish(builder, &run), "finish");
	specimen_promise(!iforest_manifest_commit(&specimen->manifest, &specimen->store, &edit), "commit");
	for (unsigned k = 0; k < N_REMOVED; k++)
		removed[k] = entry_of(r, k * 14 + 1).key;
	specimen_promise(!iforest_run_remove(&specimen->store, &specimen->manifest, run.place.run_id, removed, N_REMOVED), "remove");
	free(builder);
}

static void start_pager(struct specimen *specimen)
{
	iforest_pager_memory_init(&specimen->memory, &specimen->alloc.alloc, SPECIMEN_PAGE_BYTES, 3, false);
}

static uint8_t *copy_of(const uint8_t *bytes, uint32_t n_bytes)
{
	uint8_t *copy = malloc(n_bytes);

	specimen_promise(copy != NULL, "memory");
	memcpy(copy, bytes, n_bytes);
	return copy;
}

void specimen_start(struct specimen *specimen)
{
	struct iforest_node_schema fields = { .n_values = 5, .duration_value = 0, .has_blocks = true,
		.value_types = { IFOREST_INT64, IFOREST_FLOAT64, IFOREST_INT64, IFOREST_INT64, IFOREST_INT64 } };

	memset(specimen, 0, sizeof *specimen);
	alloc_fault_init(&specimen->alloc);
	specimen->alloc.n_most_bytes = LARGEST_BLOCK;
	start_pager(specimen);
	specimen->store = (struct iforest_store){ .pager = &specimen->memory.pager, .alloc = &specimen->alloc.alloc };
	specimen_promise(!iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_SQUARES, 2, IFOREST_NO_VALUE, NULL, 0), "squares");
	specimen_promise(!iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_HISTOGRAM, 2, IFOREST_NO_VALUE,
						   (const int64_t[]){ 100, 5000 }, 2),
			 "histogram");
	specimen_promise(!iforest_node_schema_finish(&fields), "fields");
	specimen_promise(!iforest_manifest_init(&specimen->manifest, &specimen->alloc.alloc, &fields, SPECIMEN_PAGE_BYTES), "manifest");
	for (unsigned r = 0; r < SPECIMEN_RUNS; r++) {
		build_run(specimen, r);
		specimen->run_ids[r] = specimen->manifest.runs[r].place.run_id;
		specimen->n_pages[r] = iforest_run_pages(&specimen->manifest, &specimen->manifest.runs[r]);
		specimen_promise(specimen->manifest.runs[r].n_levels >= 3, "levels");
		specimen->pages[r] = malloc(specimen->n_pages[r] * sizeof *specimen->pages[r]);
		specimen_promise(specimen->pages[r] != NULL, "memory");
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
	specimen_promise(specimen->alloc.n_live == 0, "memory was leaked");
}

void specimen_restore(struct specimen *specimen)
{
	const struct iforest_pager *pager = &specimen->memory.pager;

	specimen_forget(specimen);
	iforest_pager_memory_release(&specimen->memory);
	specimen_promise(specimen->alloc.n_live == 0, "memory was leaked");
	start_pager(specimen);
	for (unsigned r = 0; r < SPECIMEN_RUNS; r++) {
		struct iforest_place place = { .run_id = specimen->run_ids[r] };

		specimen_promise(!pager->create_run(pager->context, &place) && place.location == r, "create_run");
		for (uint64_t i = 0; i < specimen->n_pages[r]; i++) {
			struct iforest_page_write page = { i, specimen->pages[r][i].bytes, specimen->pages[r][i].n_bytes };

			specimen_promise(!pager->write(pager->context, &place, &page, 1), "write");
		}
	}
	specimen_promise(!pager->publish(pager->context, specimen->manifest_bytes, specimen->n_manifest_bytes), "publish");
}

/* ---- damaging ---- */

uint8_t *specimen_page(struct specimen *specimen, unsigned run, uint64_t index, uint32_t **n_bytes)
{
	return iforest_pager_memory_bytes(&specimen->memory, run, index, n_bytes);
}

void specimen_finish_page(uint8_t *bytes, uint32_t n_bytes)
{
	uint32_t length;

	if (n_bytes < IFOREST_PAGE_HEADER)
		return;
	length = iforest_load16(bytes + 20);
	if (length >= 8 && length <= n_bytes)
		iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, length - 8));
}

void specimen_finish_manifest(uint8_t *bytes, uint32_t n_bytes)
{
	if (n_bytes >= 16)
		iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8));
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
		specimen_promise(what != NULL, "a manifest was refused without a reason");
	return status;
}

void specimen_forget(struct specimen *specimen)
{
	iforest_manifest_release(&specimen->manifest);
}

enum iforest_status specimen_judge(struct specimen *specimen, enum iforest_status status)
{
	specimen_promise(specimen->memory.n_pages_pinned == 0, "a page is still held");
	if (status == IFOREST_CORRUPT || status == IFOREST_FORMAT)
		specimen_promise(specimen->store.fault.what != NULL, "it is corrupt, but the fault says not where");
	specimen->store.fault = (struct iforest_fault){ .what = NULL };
	return status;
}

enum iforest_status specimen_check(struct specimen *specimen)
{
	struct iforest_check_result result;

	specimen->store.fault = (struct iforest_fault){ .what = NULL };
	return iforest_check(&specimen->store, &specimen->manifest, &result);
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
	specimen_judge(specimen, iforest_run_remove(&specimen->store, &specimen->manifest,
						    specimen->manifest.runs[r].place.run_id, keys, N_KEYS));
	specimen_judge(specimen, iforest_run_remove_where(&specimen->store, &specimen->manifest,
							  specimen->manifest.runs[r].place.run_id, &remover, &removal));
}

/* Asks with pages as the memory pager returns them, with their maxima as a cache has them, or lent. */
static void ask(struct specimen *specimen, unsigned how)
{
	const struct iforest_pager *pager = specimen->store.pager;
	struct pager_maxima maxima;
	struct pager_fault lender;

	pager_maxima_start(&maxima, pager);
	pager_fault_init(&lender, pager);
	pager_fault_lend(&lender);
	if (how & (SPECIMEN_MAXIMA | SPECIMEN_LENDS))
		specimen->store.pager = how & SPECIMEN_MAXIMA ? &maxima.pager : &lender.pager;
	specimen_ask(specimen);
	specimen->store.pager = pager;
	pager_maxima_stop(&maxima);
}

void specimen_exercise(struct specimen *specimen, unsigned how)
{
	uint64_t chosen[SPECIMEN_RUNS];
	uint32_t n_chosen = 0;
	struct iforest_run merged;

	if (specimen_read(specimen))
		return;
	specimen_judge(specimen, specimen_check(specimen));
	ask(specimen, how);
	for (uint32_t r = 0; r < specimen->manifest.n_runs && r < SPECIMEN_RUNS; r++)
		remove_some(specimen, r);
	if (specimen->manifest.n_runs > 0)
		specimen_judge(specimen, iforest_run_repair(&specimen->store, &specimen->manifest,
							    specimen->manifest.runs[0].place.run_id));
	specimen_judge(specimen, specimen_check(specimen));
	for (; n_chosen < specimen->manifest.n_runs && n_chosen < SPECIMEN_RUNS; n_chosen++)
		chosen[n_chosen] = specimen->manifest.runs[n_chosen].place.run_id;
	if (how & SPECIMEN_MERGES && n_chosen > 0)
		specimen_judge(specimen, iforest_compact(&specimen->store, &specimen->manifest, chosen, n_chosen, &merged));
	specimen_forget(specimen);
}
