#include "sqlite_ext/follow/delta.h"

/* ---- in order ---- */

/* The row of that id among those in order, or NULL. Most have no gaps between them. */
static struct iforest_pending_row *find_ordered(const struct ifs_pending_rows *pending, sqlite3_int64 id)
{
	struct iforest_pending_row *rows = pending->ordered;
	size_t low = 0, high = pending->n_ordered;
	uint64_t guess;

	if (high == 0 || id < rows[0].id)
		return NULL;
	guess = (uint64_t)id - (uint64_t)rows[0].id;
	if (guess < high && rows[guess].id == id)
		return &rows[guess];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pending->n_ordered && rows[low].id == id ? &rows[low] : NULL;
}

static struct iforest_pending_row *append(struct ifs_pending_rows *pending)
{
	if (pending->n_ordered == pending->n_reserved) {
		size_t n_wanted = pending->n_reserved ? 2 * pending->n_reserved : 64;
		void *grown = sqlite3_realloc64(pending->ordered, n_wanted * sizeof *pending->ordered);

		if (!grown)
			return NULL;
		pending->ordered = grown;
		pending->n_reserved = n_wanted;
	}
	return &pending->ordered[pending->n_ordered++];
}

/* ---- by hash ---- */

enum { NEIGHBOURS = 8 }; /* rowids beside each other, as most come, whose slots are so too: a cache miss for all of them */

static struct iforest_pending_row *slot_of(struct iforest_pending_row *rows, size_t n_slots, sqlite3_int64 id)
{
	uint64_t at = (uint64_t)id / NEIGHBOURS * UINT64_C(0x9E3779B97F4A7C15);

	for (at = (at ^ at >> 32) * NEIGHBOURS + (uint64_t)id % NEIGHBOURS;; at++) {
		struct iforest_pending_row *row = &rows[at & (n_slots - 1)];

		if (!row->is_used || row->id == id)
			return row;
	}
}

/* Half of the slots are free at least. */
static bool reserve_slot(struct ifs_pending_rows *pending)
{
	size_t n_slots = pending->n_slots ? 2 * pending->n_slots : 64;
	struct iforest_pending_row *rows;

	if (2 * (pending->n_others + 1) <= pending->n_slots)
		return true;
	rows = sqlite3_malloc64(n_slots * sizeof *rows);
	if (!rows)
		return false;
	memset(rows, 0, n_slots * sizeof *rows);
	for (size_t i = 0; i < pending->n_slots; i++)
		if (pending->others[i].is_used)
			*slot_of(rows, n_slots, pending->others[i].id) = pending->others[i];
	sqlite3_free(pending->others);
	pending->others = rows;
	pending->n_slots = n_slots;
	return true;
}

/* ---- both ---- */

struct iforest_pending_row *iforest_pending_take(struct ifs_pending_rows *pending, sqlite3_int64 id, bool *is_new)
{
	bool is_last = pending->n_ordered == 0 || pending->ordered[pending->n_ordered - 1].id < id;
	struct iforest_pending_row *row = is_last ? NULL : find_ordered(pending, id);

	*is_new = false;
	if (row)
		return row;
	if (is_last) {
		row = append(pending);
		*is_new = row;
	} else if (reserve_slot(pending)) {
		row = slot_of(pending->others, pending->n_slots, id);
		*is_new = !row->is_used;
		pending->n_others += *is_new;
	}
	if (*is_new)
		*row = (struct iforest_pending_row){ .id = id, .is_used = true };
	return row;
}

bool iforest_pending_holds(const struct ifs_pending_rows *pending, sqlite3_int64 id)
{
	return find_ordered(pending, id) || (pending->n_slots && slot_of(pending->others, pending->n_slots, id)->is_used);
}

const struct iforest_pending_row *iforest_pending_next(const struct ifs_pending_rows *pending, size_t *at)
{
	const struct iforest_pending_row *row = NULL;

	for (; !row && *at < pending->n_ordered + pending->n_slots; ++*at) {
		row = *at < pending->n_ordered ? &pending->ordered[*at] : &pending->others[*at - pending->n_ordered];
		if (!row->is_used)
			row = NULL;
	}
	return row;
}

void iforest_pending_release(struct ifs_pending_rows *pending)
{
	sqlite3_free(pending->ordered);
	sqlite3_free(pending->others);
	*pending = (struct ifs_pending_rows){ .ordered = NULL };
}
