#include "tests/support/sample_index.h"

#include <stdlib.h>
#include <string.h>

#include "core/run/check.h"
#include "core/run/compact.h"
#include "core/run/remove.h"
#include "tests/support/harness.h"

struct iforest_node_schema sample_fields(const struct sample_shape *shape)
{
	struct iforest_node_schema fields = { .n_values = (uint8_t)strlen(shape->kinds), .has_blocks = shape->has_blocks,
		.duration_value = shape->duration == ORACLE_NONE ? IFOREST_NO_VALUE : (uint8_t)shape->duration,
		.end_rule = shape->end_rule };

	for (unsigned v = 0; v < fields.n_values; v++)
		fields.value_types[v] = shape->kinds[v] == 'f' ? IFOREST_FLOAT64 : IFOREST_INT64;
	for (unsigned v = 0; v < fields.n_values; v++)
		if (strchr("sa", shape->kinds[v]))
			assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_SQUARES, v, IFOREST_NO_VALUE, NULL, 0));
	for (unsigned v = 0; v < fields.n_values; v++)
		if (strchr("ha", shape->kinds[v]))
			assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_HISTOGRAM, v, IFOREST_NO_VALUE,
							   oracle_bounds, ORACLE_BOUNDS));
	for (unsigned v = 0; v < fields.n_values; v++)
		if (strchr("pa", shape->kinds[v]))
			assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_PRODUCTS, v, IFOREST_TIME_COLUMN,
							   NULL, 0));
	assert_ok(iforest_node_schema_finish(&fields));
	return fields;
}

void sample_start(struct sample_index *index, const struct sample_shape *shape)
{
	struct iforest_node_schema fields = sample_fields(shape);

	memset(index, 0, sizeof *index);
	alloc_fault_init(&index->core_alloc);
	alloc_fault_init(&index->pager_alloc);
	iforest_pager_memory_init(&index->memory, &index->pager_alloc.alloc, shape->page_bytes, shape->max_batch_pages,
				  shape->fixed_pages);
	pager_fault_init(&index->pager, &index->memory.pager);
	index->store = (struct iforest_store){ .pager = &index->pager.pager, .alloc = &index->core_alloc.alloc };
	assert_ok(iforest_manifest_init(&index->manifest, &index->core_alloc.alloc, &fields, shape->page_bytes));
	index->oracle.n_values = fields.n_values;
	index->oracle.duration = shape->duration;
	index->oracle.end_rule = shape->end_rule;
	for (unsigned v = 0; v < fields.n_values; v++)
		index->oracle.is_real[v] = shape->kinds[v] == 'f';
}

void sample_stop(struct sample_index *index)
{
	iforest_manifest_release(&index->manifest);
	assert_int_equal(index->memory.n_pages_pinned, 0);
	assert_int_equal(index->core_alloc.n_live, 0);
	iforest_pager_memory_release(&index->memory);
	assert_int_equal(index->pager_alloc.n_live, 0);
	free(index->oracle.entries);
}

struct iforest_key sample_key(const struct oracle_entry *entry)
{
	return (struct iforest_key){ .series = entry->series, .time_is_null = entry->time_is_null, .time = entry->time,
				     .ref = entry->ref };
}

struct iforest_entry sample_entry(const struct oracle_entry *entry)
{
	struct iforest_entry made = { .key = sample_key(entry) };

	for (unsigned v = 0; v < ORACLE_VALUES; v++) {
		made.values[v].integer = entry->value[v].integer;
		made.present |= (uint32_t)entry->has[v] << v;
	}
	return made;
}

/* ---- runs ---- */

static int by_key(const void *a, const void *b)
{
	return oracle_entry_order(*(struct oracle_entry *const *)a, *(struct oracle_entry *const *)b);
}

/* Returns the entries of a group in key order. The caller frees the array. */
static struct oracle_entry **sorted_group(const struct sample_index *index, unsigned group, size_t *n)
{
	struct oracle_entry **sorted = malloc((index->oracle.n_entries + 1) * sizeof *sorted);

	assert_non_null(sorted);
	*n = 0;
	for (size_t i = 0; i < index->oracle.n_entries; i++)
		if (index->oracle.entries[i].run == group)
			sorted[(*n)++] = &index->oracle.entries[i];
	qsort(sorted, *n, sizeof *sorted, by_key);
	return sorted;
}

enum iforest_status sample_add_run(struct sample_index *index, const struct iforest_run *run)
{
	struct iforest_edit edit = { .added = run->n_leaves > 0 ? run : NULL };

	return iforest_manifest_commit(&index->manifest, &index->store, &edit);
}

struct iforest_run sample_write_run(struct sample_index *index,
				    void (*add)(struct iforest_run_writer *writer, const void *context), const void *context)
{
	struct iforest_run_writer *writer = malloc(sizeof *writer);
	struct iforest_run run;

	assert_non_null(writer);
	assert_ok(iforest_run_writer_start(writer, &index->store, &index->manifest));
	add(writer, context);
	assert_ok(iforest_run_writer_finish(writer, &run));
	assert_ok(sample_add_run(index, &run));
	free(writer);
	return run;
}

enum iforest_status sample_build(struct sample_index *index, unsigned group)
{
	struct iforest_run_writer *builder = malloc(sizeof *builder);
	struct iforest_run run;
	size_t n;
	struct oracle_entry **sorted = sorted_group(index, group, &n);
	enum iforest_status status;

	assert_non_null(builder);
	status = iforest_run_writer_start(builder, &index->store, &index->manifest);
	if (!status) {
		for (size_t i = 0; i < n && !status; i++) {
			struct iforest_entry entry = sample_entry(sorted[i]);

			status = iforest_run_writer_add(builder, &entry);
		}
		if (status)
			iforest_run_writer_abandon(builder);
		else
			status = iforest_run_writer_finish(builder, &run);
	}
	if (!status) {
		index->run_ids[group] = run.place.run_id;
		status = sample_add_run(index, &run);
	}
	free(sorted);
	free(builder);
	return status;
}

uint32_t sample_run(const struct sample_index *index, unsigned group)
{
	return iforest_manifest_find(&index->manifest, index->run_ids[group]);
}

enum iforest_status sample_reread(struct sample_index *index)
{
	const char *what;

	iforest_manifest_release(&index->manifest);
	return iforest_manifest_read(&index->manifest, index->store.alloc, index->memory.manifest,
				     index->memory.n_manifest_bytes, &what);
}

size_t sample_pick(const struct sample_index *index, struct random *dice, unsigned group, unsigned percent,
		   struct iforest_key **keys, size_t **picked)
{
	size_t n, n_picked = 0;
	struct oracle_entry **sorted = sorted_group(index, group, &n);

	*keys = malloc((n + 1) * sizeof **keys);
	*picked = malloc((n + 1) * sizeof **picked);
	assert_non_null(*keys);
	assert_non_null(*picked);
	for (size_t i = 0; i < n; i++) {
		if (sorted[i]->is_dead || (percent < 100 && !random_chance(dice, percent)))
			continue;
		(*keys)[n_picked] = sample_key(sorted[i]);
		(*picked)[n_picked++] = (size_t)(sorted[i] - index->oracle.entries);
	}
	free(sorted);
	return n_picked;
}

void sample_remove(struct sample_index *index, struct random *dice, unsigned group, unsigned percent)
{
	struct iforest_key *keys;
	size_t *picked, n = sample_pick(index, dice, group, percent, &keys, &picked);

	if (n > 0)
		assert_ok(iforest_run_remove(&index->store, &index->manifest, index->run_ids[group], keys, n));
	for (size_t i = 0; i < n; i++)
		index->oracle.entries[picked[i]].is_dead = true;
	free(keys);
	free(picked);
}

static bool is_picked(void *context, int64_t ref)
{
	struct sample_remover *remover = context;

	assert_true(remover->n_asked < remover->n_live);
	assert_true(remover->live[remover->n_asked].ref == ref);
	return remover->goes[remover->n_asked++];
}

void sample_remover_start(struct sample_remover *remover, const struct sample_index *index, unsigned group)
{
	*remover = (struct sample_remover){ .remover = { .is_dead = is_picked, .context = remover }, .index = index };
	remover->n_live = sample_pick(index, NULL, group, 100, &remover->live, &remover->entries);
	remover->goes = calloc(remover->n_live + 1, sizeof *remover->goes);
	assert_non_null(remover->goes);
}

void sample_remover_stop(struct sample_remover *remover)
{
	free(remover->live);
	free(remover->entries);
	free(remover->goes);
}

void sample_remove_where(struct sample_index *index, unsigned group, struct sample_remover *remover)
{
	struct iforest_removal removal;
	uint64_t n_removed = 0;

	assert_ok(
		iforest_run_remove_where(&index->store, &index->manifest, index->run_ids[group], &remover->remover, &removal));
	assert_int_equal(remover->n_asked, remover->n_live);
	for (size_t k = 0; k < remover->n_live; k++) {
		index->oracle.entries[remover->entries[k]].is_dead = remover->goes[k];
		n_removed += remover->goes[k];
	}
	assert_int_equal(removal.n_removed, n_removed);
	assert_int_equal(removal.n_kept, remover->n_live - n_removed);
}

enum iforest_status sample_note_removed(struct sample_index *index, unsigned group, const struct iforest_key *keys,
					const size_t *picked, size_t n_picked)
{
	struct iforest_cursor *cursor = malloc(sizeof *cursor);
	const struct iforest_block *block;
	enum iforest_status status;
	size_t k = 0;

	assert_non_null(cursor);
	iforest_cursor_init(cursor, &index->store, &index->manifest, &index->manifest.runs[sample_run(index, group)]);
	while (!(status = iforest_cursor_block(cursor, 1u << IFOREST_TIMES | 1u << IFOREST_REFS, &block)) && block) {
		for (unsigned i = 0; i < block->n && k < n_picked; i++) {
			struct iforest_key key = { .series = block->series, .time_is_null = block->time_is_null,
						   .time = block->times[i], .ref = block->refs[i] };

			if (iforest_key_compare(&key, &keys[k]) == 0)
				index->oracle.entries[picked[k++]].is_dead = block->dead >> i & 1;
		}
		status = iforest_cursor_next(cursor);
		if (status)
			break;
	}
	iforest_cursor_release(cursor);
	free(cursor);
	if (!status)
		assert_int_equal(k, n_picked);
	return status;
}

enum iforest_status sample_try_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups)
{
	uint64_t chosen[SAMPLE_GROUPS];
	uint32_t n_chosen = 0;
	struct iforest_run merged;

	for (unsigned g = 0; g < n_groups; g++)
		if (sample_run(index, groups[g]) < index->manifest.n_runs)
			chosen[n_chosen++] = index->run_ids[groups[g]];
	return n_chosen ? iforest_compact(&index->store, &index->manifest, chosen, n_chosen, &merged) : IFOREST_OK;
}

/* Returns the id of the run that belongs to no group yet; 0 if there is none, because a merge found no live entries. */
static uint64_t newest_run(const struct sample_index *index)
{
	uint64_t id = index->manifest.n_runs ? index->manifest.runs[index->manifest.n_runs - 1].place.run_id : 0;

	for (unsigned g = 0; g < index->n_groups; g++)
		if (index->run_ids[g] == id)
			return 0;
	return id;
}

void sample_note_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups)
{
	uint64_t run_id = newest_run(index);
	unsigned merged = index->n_groups++;
	size_t n_left = 0;

	assert_true(merged < SAMPLE_GROUPS);
	index->run_ids[merged] = run_id;
	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		struct oracle_entry entry = index->oracle.entries[i];

		for (unsigned g = 0; g < n_groups; g++)
			if (entry.run == groups[g]) {
				entry.run = merged;
				break;
			}
		if (entry.run != merged || !entry.is_dead)
			index->oracle.entries[n_left++] = entry;
	}
	index->oracle.n_entries = n_left;
}

unsigned sample_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups)
{
	assert_ok(sample_try_merge(index, groups, n_groups));
	sample_note_merge(index, groups, n_groups);
	return index->n_groups - 1;
}

void sample_check(struct sample_index *index)
{
	struct iforest_check_result result;
	uint64_t n_dead = 0;

	if (iforest_check(&index->store, &index->manifest, &result))
		fail_msg("seed %llu: %s, run %llu, level %u, page %llu", (unsigned long long)index->seed,
			 index->store.fault.what, (unsigned long long)index->store.fault.run_id, index->store.fault.level,
			 (unsigned long long)index->store.fault.number);
	for (size_t i = 0; i < index->oracle.n_entries; i++)
		n_dead += index->oracle.entries[i].is_dead;
	assert_int_equal(result.n_rows, index->oracle.n_entries - n_dead);
	assert_int_equal(result.n_dead, n_dead);
}

/* ---- a filter of entries ---- */

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	(void)context;
	return iforest_node_first(node).series == 0 && iforest_node_last(node).series == 0 ? IFOREST_COUNTS_ALL : IFOREST_COUNTS_SOME;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	enum iforest_status status = iforest_block_need(reader, IFOREST_REFS);

	(void)context;
	for (unsigned i = 0; i < reader->block.n && !status; i++)
		if (reader->block.series > 0 && reader->block.refs[i] % 2 == 0)
			*live &= ~(UINT64_C(1) << i);
	return status;
}

const struct iforest_filter sample_odd_refs = { .of_node = of_node, .of_entries = of_entries };
