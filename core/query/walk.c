#include "core/query/walk.h"

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_walk *walk = context;
	const struct iforest_walk_head *x = &walk->heads[a], *y = &walk->heads[b];
	int order = iforest_key_compare(&x->bound, &y->bound);

	if (order)
		return walk->question.descends ? order > 0 : order < 0;
	return !x->is_found && y->is_found; /* what is not known yet may be the same key, and has to be looked at */
}

static enum iforest_status add_runs(struct iforest_walk *walk, struct iforest_store *store,
				    const struct iforest_manifest *manifest, bool is_joined)
{
	const struct iforest_alloc *alloc = walk->store->alloc;
	uint32_t n = walk->n_heads + manifest->n_runs;
	struct iforest_walk_head *heads;
	uint32_t *items;

	if (manifest->n_runs == 0)
		return IFOREST_OK;
	heads = alloc->reallocate(alloc->context, walk->heads, n * sizeof *heads);
	if (!heads)
		return IFOREST_NO_MEMORY;
	walk->heads = heads;
	items = alloc->reallocate(alloc->context, walk->heap.items, n * sizeof *items);
	if (!items)
		return IFOREST_NO_MEMORY;
	walk->heap.items = items;
	walk->heap.n_reserved = n;
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		struct iforest_walk_head *head = &heads[walk->n_heads + r];

		iforest_run_walk_init(&head->run, store, manifest, &manifest->runs[r]);
		head->is_joined = is_joined;
	}
	walk->n_heads = n;
	return IFOREST_OK;
}

enum iforest_status iforest_walk_init(struct iforest_walk *walk, struct iforest_store *store,
				      const struct iforest_manifest *manifest)
{
	enum iforest_status status;

	walk->store = store;
	walk->heads = NULL;
	walk->n_heads = 0;
	walk->heap = (struct iforest_heap){ .comes_before = comes_before };
	status = add_runs(walk, store, manifest, false);
	if (status)
		iforest_walk_release(walk);
	return status;
}

enum iforest_status iforest_walk_join(struct iforest_walk *walk, struct iforest_store *store,
				      const struct iforest_manifest *manifest)
{
	return add_runs(walk, store, manifest, true);
}

void iforest_walk_release(struct iforest_walk *walk)
{
	for (uint32_t r = 0; r < walk->n_heads; r++)
		iforest_run_walk_release(&walk->heads[r].run);
	iforest_release(walk->store->alloc, walk->heads);
	iforest_heap_release(&walk->heap, walk->store->alloc);
	walk->heads = NULL;
	walk->n_heads = 0;
}

void iforest_walk_start(struct iforest_walk *walk, const struct iforest_walk_question *question)
{
	walk->question = walk->joined = *question;
	walk->joined.filter = NULL;
	walk->stretch_end = question->from;
	walk->heap.context = walk;
	walk->heap.n = 0;
	for (uint32_t r = 0; r < walk->n_heads; r++) {
		struct iforest_walk_head *head = &walk->heads[r];

		iforest_run_walk_start(&head->run, head->is_joined ? &walk->joined : &walk->question);
		head->is_found = false;
		if (iforest_run_walk_may_begin(&head->run, &head->bound))
			iforest_heap_push(&walk->heap, walk->store->alloc, r); /* there is room for all */
	}
}

void iforest_walk_stretch(struct iforest_walk *walk, const struct iforest_key *end)
{
	walk->stretch_end = *end;
}

/* Up to where the run that comes first has no others beside it: the next two in the heap are the first of all others. */
static struct iforest_key end_of_stretch(const struct iforest_walk *walk)
{
	struct iforest_key end = walk->stretch_end;

	for (uint32_t k = 1; k <= 2 && k < walk->heap.n; k++) {
		const struct iforest_key *bound = &walk->heads[walk->heap.items[k]].bound;

		if (iforest_key_compare(bound, &end) < 0)
			end = *bound;
	}
	return end;
}

enum iforest_status iforest_walk_next(struct iforest_walk *walk, struct iforest_entry *entry, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && walk->heap.n > 0) {
		struct iforest_walk_head *head = &walk->heads[walk->heap.items[0]];

		if (head->is_found) {
			/* the key stays the run's bound: what comes next is looked for when it is asked for */
			*entry = head->entry;
			*found = true;
			head->is_found = false;
			continue;
		}
		if (walk->question.taker && iforest_run_walk_looks(&head->run)) {
			struct iforest_key end = end_of_stretch(walk);

			iforest_run_walk_stretch(&head->run, &end);
		}
		status = iforest_run_walk_next(&head->run, &head->entry, &head->is_found);
		if (!head->is_found) {
			iforest_heap_pop(&walk->heap);
			continue;
		}
		head->bound = head->entry.key;
		iforest_heap_settle(&walk->heap);
	}
	return status;
}

bool iforest_walk_gave_node(const struct iforest_walk *walk, int64_t *end)
{
	const struct iforest_run_walk *run = &walk->heads[walk->heap.items[0]].run;

	*end = run->node_end;
	return run->gave_node;
}

uint64_t iforest_walk_pages(const struct iforest_walk *walk)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < walk->n_heads; r++)
		n_pages += walk->heads[r].run.cursor.n_pages_opened;
	return n_pages;
}
