#include "sqlite_ext/follow/tail_internal.h"

#include <stdlib.h>

#include "core/model/key_sort.h"
#include "core/run/writer.h"
#include "core/run/run_merge.h"
#include "core/run/remove.h"
#include "sqlite_ext/storage/shadow_tables.h"
#include "sqlite_ext/storage/pager.h"

/* ---- sorting ---- */

/* Keys that stand alone, or at the start of something larger. */
struct keyed {
	const void *first;
	size_t n, stride;          /* bytes from one to the next */
};

static const struct iforest_key *key_at(const struct keyed *items, size_t i)
{
	return (const struct iforest_key *)(const void *)((const char *)items->first + i * items->stride);
}

/* The items in order of their keys, to be freed; NULL: there is no memory. There are fewer than 2^32. */
static struct iforest_arrival *sort(const struct keyed *items)
{
	struct iforest_arrival *arrivals = sqlite3_malloc64(items->n * sizeof *arrivals);
	struct iforest_arrival *room = sqlite3_malloc64(items->n * sizeof *room);

	if (!arrivals || !room) {
		sqlite3_free(arrivals);
		arrivals = NULL;
	}
	for (size_t i = 0; arrivals && i < items->n; i++)
		arrivals[i] = (struct iforest_arrival){ .key = *key_at(items, i), .entry = (uint32_t)i };
	if (arrivals)
		iforest_key_sort(arrivals, room, (uint32_t)items->n);
	sqlite3_free(room);
	return arrivals;
}

/* ---- lists ---- */

static int compare_keys(const void *left, const void *right)
{
	return iforest_key_compare(left, right);
}

bool iforest_keys_push(struct iforest_keys *list, const struct iforest_key *key)
{
	if (list->n == list->n_reserved) {
		size_t n_wanted = list->n_reserved ? 2 * list->n_reserved : 64;
		void *grown = sqlite3_realloc64(list->keys, n_wanted * sizeof *list->keys);

		if (!grown)
			return false;
		list->keys = grown;
		list->n_reserved = n_wanted;
	}
	list->keys[list->n++] = *key;
	return true;
}

bool iforest_entry_list_push(struct iforest_entry_list *list, const struct iforest_entry *entry)
{
	if (list->n == list->n_reserved) {
		size_t n_wanted = list->n_reserved ? 2 * list->n_reserved : 64;
		void *grown = sqlite3_realloc64(list->entries, n_wanted * sizeof *list->entries);

		if (!grown)
			return false;
		list->entries = grown;
		list->n_reserved = n_wanted;
	}
	list->entries[list->n++] = *entry;
	return true;
}

/* Merged from the back. */
enum iforest_status iforest_tail_remove(struct iforest_tail *tail, struct iforest_keys *keys)
{
	size_t old = tail->n_removed, new = keys->n, to = old + new;
	struct iforest_arrival *sorted;

	if (new == 0)
		return IFOREST_OK;
	if (to > tail->n_reserved) {
		size_t n_wanted = to > 2 * tail->n_reserved ? to : 2 * tail->n_reserved;
		void *grown = sqlite3_realloc64(tail->removed, n_wanted * sizeof *tail->removed);

		if (!grown)
			return IFOREST_NO_MEMORY;
		tail->removed = grown;
		tail->n_reserved = n_wanted;
	}
	sorted = sort(&(struct keyed){ keys->keys, new, sizeof *keys->keys });
	if (!sorted)
		return IFOREST_NO_MEMORY;
	tail->n_removed = to;
	while (new > 0) {
		bool is_old = old > 0 && iforest_key_compare(&tail->removed[old - 1], &sorted[new - 1].key) > 0;

		tail->removed[--to] = is_old ? tail->removed[--old] : sorted[--new].key;
	}
	sqlite3_free(sorted);
	keys->n = 0;
	iforest_remainders_outdate(&tail->remainders);
	return IFOREST_OK;
}

/* ---- runs in memory ---- */

static enum iforest_status write_run(struct iforest_tail *tail, const struct iforest_tail_news *news,
				     const struct iforest_arrival *sorted, struct iforest_run_builder *builder,
				     struct iforest_run *run)
{
	enum iforest_status status = iforest_run_builder_start(builder, &tail->store, &tail->manifest);

	if (status)
		return status;
	for (size_t i = 0; i < news->rows.n && !status; i++)
		status = iforest_run_builder_add(builder, &news->rows.entries[sorted[i].entry]);
	if (status)
		iforest_run_builder_abandon(builder);
	else
		status = iforest_run_builder_finish(builder, run);
	return status;
}

static enum iforest_status add_run(struct iforest_tail *tail, struct iforest_tail_news *news)
{
	const struct iforest_entry_list *rows = &news->rows;
	struct iforest_arrival *sorted = sort(&(struct keyed){ &rows->entries->key, rows->n, sizeof *rows->entries });
	struct iforest_run_builder *builder = sqlite3_malloc64(sizeof *builder);
	struct iforest_run *run = sqlite3_malloc64(sizeof *run);
	struct iforest_edit edit = { .added = run };
	enum iforest_status status = IFOREST_NO_MEMORY;

	if (sorted && builder && run)
		status = write_run(tail, news, sorted, builder, run);
	if (!status)
		status = iforest_manifest_commit(&tail->manifest, &tail->store, &edit);
	news->rows.n = 0;
	sqlite3_free(sorted);
	sqlite3_free(builder);
	sqlite3_free(run);
	return status;
}

static enum iforest_status merge_from(struct iforest_tail *tail, uint32_t first)
{
	uint64_t run_ids[IFOREST_MAX_LEVELS * 2];
	uint32_t n = tail->manifest.n_runs - first;
	struct iforest_run merged;

	for (uint32_t r = 0; r < n; r++)
		run_ids[r] = tail->manifest.runs[first + r].place.run_id;
	return iforest_runs_merge(&tail->store, &tail->manifest, run_ids, n, &merged);
}

/* The last two runs become one until each is larger than all that come after it; so there are no more than log n. */
static enum iforest_status merge_by_doubling(struct iforest_tail *tail)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && tail->manifest.n_runs > 1) {
		const struct iforest_run *last = &tail->manifest.runs[tail->manifest.n_runs - 1];

		if (iforest_node_rows(last[-1].root) > 2 * iforest_node_rows(last->root))
			break;
		status = merge_from(tail, tail->manifest.n_runs - 2);
	}
	return status;
}

enum iforest_status iforest_tail_settle(struct iforest_tail *tail, struct iforest_tail_news *news)
{
	enum iforest_status status = IFOREST_OK;
	uint64_t n_removed;

	if (news->outdated.n > 0) {
		qsort(news->outdated.keys, news->outdated.n, sizeof *news->outdated.keys, compare_keys);
		status = iforest_runs_remove(&tail->store, &tail->manifest, news->outdated.keys, news->outdated.n, &n_removed);
		if (!status && n_removed < news->outdated.n)
			status = IFOREST_NOT_FOUND;
		news->outdated.n = 0;
	}
	if (!status && news->rows.n > 0)
		status = add_run(tail, news);
	return status ? status : merge_by_doubling(tail);
}

/* ---- the whole ---- */

enum iforest_status iforest_tail_unite(struct iforest_tail *tail)
{
	const struct iforest_manifest *manifest = &tail->manifest;
	bool is_one = manifest->n_runs == 0 || (manifest->n_runs == 1 && iforest_node_dead(manifest->runs[0].root) == 0);

	return is_one ? IFOREST_OK : merge_from(tail, 0);
}

enum iforest_status iforest_tail_init(struct iforest_tail *tail, const struct iforest_fields *fields, sqlite3_int64 sealed)
{
	*tail = (struct iforest_tail){ .sealed = sealed, .followed = sealed, .last_rowid = sealed };
	iforest_pager_sqlite_in_memory(&tail->memory);
	tail->store = (struct iforest_store){ .pager = &tail->memory.pager, .alloc = &iforest_sqlite_alloc };
	iforest_remainders_init(&tail->remainders, &iforest_sqlite_alloc);
	iforest_tail_filter_init(tail);
	return iforest_manifest_init(&tail->manifest, &iforest_sqlite_alloc, fields, IFOREST_SQLITE_PAGE_BYTES);
}

void iforest_tail_release(struct iforest_tail *tail)
{
	iforest_manifest_release(&tail->manifest);
	if (tail->memory.alloc)
		iforest_pager_memory_release(&tail->memory);
	if (tail->remainders.alloc)
		iforest_remainders_release(&tail->remainders);
	iforest_pending_release(&tail->pending);
	sqlite3_free(tail->removed);
	sqlite3_free(tail->front.entries);
	*tail = (struct iforest_tail){ .n_batches = 0 };
}
