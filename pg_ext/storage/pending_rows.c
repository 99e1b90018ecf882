#include "pg_ext/storage/pending_rows.h"

#include "miscadmin.h"

static void read_chain(struct iforest_chain_reader *reader,
		       bool (*is_chosen)(void *context, const struct iforest_key *key), void *context,
		       struct iforest_pending_rows *rows)
{
	while (iforest_chain_next(reader)) {
		CHECK_FOR_INTERRUPTS();
		if (rows->n + reader->n_entries > rows->n_reserved) {
			rows->n_reserved = 2 * (rows->n + reader->n_entries);
			rows->entries = repalloc_huge(rows->entries, rows->n_reserved * sizeof *rows->entries);
		}
		rows->n_read += reader->n_entries;
		for (uint32 i = 0; i < reader->n_entries; i++) {
			struct iforest_key key;

			iforest_chain_key(reader, i, &key);
			if (is_chosen(context, &key))
				iforest_chain_entry(reader, i, &rows->entries[rows->n++]);
		}
	}
}

bool iforest_pending_rows_read(struct iforest_index *index,
			       bool (*is_chosen)(void *context, const struct iforest_key *key), void *context,
			       struct iforest_pending_rows *rows)
{
	struct iforest_chain_reader *reader = palloc(sizeof *reader);

	*rows = (struct iforest_pending_rows){ .entries = palloc(sizeof *rows->entries), .n_reserved = 1 };
	for (uint32 c = 0; c < IFOREST_CHAINS + index->meta.n_closed && !index->met_foreign_page; c++) {
		iforest_chain_open(reader, index,
				   c < IFOREST_CHAINS ? &index->meta.open[c] : &index->meta.closed[c - IFOREST_CHAINS]);
		read_chain(reader, is_chosen, context, rows);
	}
	pfree(reader);
	return !index->met_foreign_page;
}

void iforest_pending_rows_keep(struct iforest_pending_rows *rows,
			       bool (*is_kept)(void *context, const struct iforest_entry *entry), void *context)
{
	uint32 n = 0;

	for (uint32 i = 0; i < rows->n; i++)
		if (is_kept(context, &rows->entries[i]))
			rows->entries[n++] = rows->entries[i];
	rows->n = n;
}

/* Moves to place i the entry that belongs there, to where that stood the one that belongs there, and so on. In place, for to
 * write new memory would take longer. */
static void move_cycle(struct iforest_entry *entries, struct iforest_arrival *arrivals, uint32 i)
{
	struct iforest_entry first;
	uint32 to = i, from = arrivals[i].entry;

	if (from == i)
		return;
	first = entries[i];
	for (; from != i; to = from, from = arrivals[to].entry) {
		entries[to] = entries[from];
		arrivals[to].entry = to;
	}
	entries[to] = first;
	arrivals[to].entry = to;
}

void iforest_pending_rows_sort(struct iforest_pending_rows *rows)
{
	struct iforest_arrival *arrivals = iforest_arrivals_sorted(&rows->entries->key, sizeof *rows->entries, rows->n);

	for (uint32 i = 0; i < rows->n; i++)
		move_cycle(rows->entries, arrivals, i);
	pfree(arrivals);
}

uint32 iforest_pending_rows_find(const struct iforest_pending_rows *rows, const struct iforest_key *key)
{
	uint32 low = 0, high = rows->n;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (iforest_key_compare(&rows->entries[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_value(const struct iforest_entry *entry, unsigned v, enum iforest_value_kind kind,
		      struct iforest_value_aggregate *into)
{
	struct iforest_row row = { .value = entry->values[v], .time = entry->key.time, .ref = entry->key.ref,
				   .time_is_null = entry->key.time_is_null, .is_set = true };

	iforest_value_add(into, row.value, kind);
	if (kind == IFOREST_INT64)
		iforest_squares_add(&into->squares, row.value.integer);
	iforest_row_min(&into->min, &row, kind);
	iforest_row_max(&into->max, &row, kind);
	iforest_row_first(&into->first, &row);
	iforest_row_last(&into->last, &row);
}

void iforest_pending_rows_fold(const struct iforest_pending_rows *rows, uint32 from, uint32 to,
			       const struct iforest_fields *fields, struct iforest_aggregate *aggregate)
{
	for (uint32 i = from; i < to; i++) {
		const struct iforest_entry *entry = &rows->entries[i];

		aggregate->n_rows++;
		if (!entry->key.time_is_null)
			iforest_aggregate_add_time(aggregate, entry->key.time);
		for (unsigned v = 0; v < fields->n_values; v++)
			if (entry->present >> v & 1)
				add_value(entry, v, (enum iforest_value_kind)fields->kinds[v], &aggregate->values[v]);
	}
}
