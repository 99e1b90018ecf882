#include "pg_ext/storage/sidecar.h"

#include "miscadmin.h"
#include "utils/memutils.h"

struct iforest_sketches {
	struct iforest_index *index;
	MemoryContext context;
	struct iforest_kept_sketches *runs; /* by number of the run in the manifest; run is NULL: not read yet */

	/* while it is being filled: what is new of the run in hand */
	struct iforest_kept_sketches *filled;
	struct iforest_kept_sketch *added;
	uint32 n_added, n_reserved;
};

struct iforest_sketches *iforest_shelf_begin(struct iforest_index *index)
{
	struct iforest_sketches *shelf = palloc0(sizeof *shelf);

	shelf->index = index;
	shelf->context = CurrentMemoryContext;
	shelf->runs = palloc0((index->manifest.n_runs + 1) * sizeof *shelf->runs);
	return shelf;
}

/* ---- reading ---- */

static struct iforest_kept_sketch named(const struct iforest_shelf_name *name)
{
	return (struct iforest_kept_sketch){ .value = (uint8)name->value, .level = (uint8)name->level,
					     .number = (uint32)name->number, .n_dead = name->n_dead };
}

/* What is kept of the run, read when it is first asked for. */
static struct iforest_kept_sketches *kept_of(struct iforest_sketches *shelf, uint64 run_id)
{
	uint32 r = iforest_manifest_find(&shelf->index->manifest, run_id);
	MemoryContext before;

	if (r == shelf->index->manifest.n_runs)
		return NULL;
	if (!shelf->runs[r].run) {
		before = MemoryContextSwitchTo(shelf->context);
		iforest_kept_sketches_read(shelf->index, &shelf->index->manifest.runs[r], &shelf->runs[r]);
		MemoryContextSwitchTo(before);
	}
	return &shelf->runs[r];
}

static struct iforest_kept_sketch *find_kept(const struct iforest_kept_sketches *kept, const struct iforest_shelf_name *name)
{
	struct iforest_kept_sketch wanted = named(name);
	uint32 low = 0, high = kept ? kept->n : 0;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;
		int order = iforest_kept_sketch_compare(&kept->sketches[middle], &wanted);

		if (order == 0)
			return kept->sketches[middle].n_dead == name->n_dead ? &kept->sketches[middle] : NULL;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static enum iforest_status get(void *context, const struct iforest_shelf_name *name, uint8_t **bytes, size_t *n_bytes,
			       bool *found)
{
	struct iforest_sketches *shelf = context;
	const struct iforest_kept_sketches *kept = kept_of(shelf, name->run_id);
	struct iforest_kept_sketch *place = find_kept(kept, name), loaded;

	*found = false;
	if (!place)
		return IFOREST_OK;
	loaded = *place;
	if (!iforest_kept_sketch_load(shelf->index, kept, &loaded))
		return IFOREST_OK;
	*found = true;
	*bytes = loaded.bytes;
	*n_bytes = loaded.n_bytes;
	return IFOREST_OK;
}

struct iforest_shelf iforest_shelf_of_reader(struct iforest_sketches *shelf)
{
	return (struct iforest_shelf){ .context = shelf, .get = get };
}

/* ---- filling ---- */

/* Children are added before their parents, so what is looked for is near the end. */
static struct iforest_kept_sketch *find_added(const struct iforest_sketches *shelf, const struct iforest_shelf_name *name)
{
	struct iforest_kept_sketch wanted = named(name);

	for (uint32 i = shelf->n_added; i > 0; i--)
		if (iforest_kept_sketch_compare(&shelf->added[i - 1], &wanted) == 0)
			return &shelf->added[i - 1];
	return NULL;
}

/* What cannot be loaded is not there: a crash left it half written. */
static enum iforest_status has_kept(void *context, const struct iforest_shelf_name *name, bool *found)
{
	struct iforest_sketches *shelf = context;
	struct iforest_kept_sketch *place = find_kept(shelf->filled, name);

	*found = place && (place->bytes || iforest_kept_sketch_load(shelf->index, shelf->filled, place));
	return IFOREST_OK;
}

static enum iforest_status get_kept(void *context, const struct iforest_shelf_name *name, uint8_t **bytes, size_t *n_bytes,
				    bool *found)
{
	struct iforest_sketches *shelf = context;
	const struct iforest_kept_sketch *added = find_added(shelf, name);

	if (!added)
		return get(context, name, bytes, n_bytes, found);
	*found = true;
	*n_bytes = added->n_bytes;
	*bytes = palloc(added->n_bytes);
	memcpy(*bytes, added->bytes, added->n_bytes);
	return IFOREST_OK;
}

static enum iforest_status put(void *context, const struct iforest_shelf_name *name, const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketches *shelf = context;
	struct iforest_kept_sketch *added;

	if (shelf->n_added == shelf->n_reserved) {
		shelf->n_reserved = Max(2 * shelf->n_reserved, 64);
		shelf->added = shelf->added ? repalloc_huge(shelf->added, shelf->n_reserved * sizeof *shelf->added)
					    : palloc(shelf->n_reserved * sizeof *shelf->added);
	}
	added = &shelf->added[shelf->n_added++];
	*added = named(name);
	added->n_bytes = (uint32)n_bytes;
	added->bytes = palloc(n_bytes);
	memcpy(added->bytes, bytes, n_bytes);
	return IFOREST_OK;
}

static int compare(const void *left, const void *right)
{
	return iforest_kept_sketch_compare(left, right);
}

/* What was added, and what was there of other nodes and is still wanted. */
static void write_all(struct iforest_sketches *shelf, uint32 values)
{
	struct iforest_kept_sketches all = *shelf->filled;
	uint32 n = shelf->n_added;

	all.sketches = MemoryContextAllocHuge(CurrentMemoryContext, (shelf->filled->n + n) * sizeof *all.sketches);
	memcpy(all.sketches, shelf->added, n * sizeof *all.sketches);
	qsort(shelf->added, n, sizeof *shelf->added, compare);
	for (uint32 i = 0; i < shelf->filled->n; i++) {
		struct iforest_kept_sketch *sketch = &shelf->filled->sketches[i];

		if ((values >> sketch->value & 1) && !bsearch(sketch, shelf->added, shelf->n_added, sizeof *sketch, compare) &&
		    (sketch->bytes || iforest_kept_sketch_load(shelf->index, shelf->filled, sketch)))
			all.sketches[n++] = *sketch;
	}
	all.n = n;
	qsort(all.sketches, n, sizeof *all.sketches, compare);
	iforest_kept_sketches_write(shelf->index, &all);
}

static void keep_run(struct iforest_index *index, const struct iforest_run *run, uint32 values)
{
	struct iforest_sketches *shelf = iforest_shelf_begin(index);
	struct iforest_shelf filling = { .context = shelf, .has = has_kept, .get = get_kept, .put = put };

	shelf->filled = kept_of(shelf, run->place.run_id);
	for (unsigned v = 0; v < IFOREST_MAX_VALUES; v++)
		if (values >> v & 1)
			iforest_index_require(index, iforest_run_keep_sketches(&index->store, &index->manifest, run, v,
									       &filling));
	if (shelf->n_added > 0)
		write_all(shelf, values);
}

/* Calls for each run in a memory context of its own. */
static void for_each_run(struct iforest_index *index,
			 void (*do_run)(struct iforest_index *, const struct iforest_run *, uint32))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest sketches", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	struct iforest_definition definition;

	iforest_definition_read(index->relation, &definition);
	for (uint32 r = 0; definition.sketches && r < index->manifest.n_runs; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];

		CHECK_FOR_INTERRUPTS();
		if ((index->is_build || iforest_run_clock(run) < index->meta.worklist_below) && !run->removal_in_progress)
			do_run(index, run, definition.sketches);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
}

void iforest_shelf_keep(struct iforest_index *index)
{
	for_each_run(index, keep_run);
}

/* ---- checking ---- */

static void check_run(struct iforest_index *index, const struct iforest_run *run, uint32 values)
{
	struct iforest_sketches *shelf = iforest_shelf_begin(index);
	struct iforest_shelf kept = iforest_shelf_of_reader(shelf);
	struct iforest_shelf_comparison comparison = { .kept = &kept, .store = &index->store, .what = IFOREST_SKETCH_WRONG };
	struct iforest_shelf comparing = iforest_shelf_comparing(&comparison);

	for (unsigned v = 0; v < IFOREST_MAX_VALUES && kept_of(shelf, run->place.run_id)->n > 0; v++)
		if (values >> v & 1)
			iforest_index_require(index, iforest_run_keep_sketches(&index->store, &index->manifest, run, v,
									       &comparing));
}

void iforest_shelf_check(struct iforest_index *index)
{
	for_each_run(index, check_run);
}
