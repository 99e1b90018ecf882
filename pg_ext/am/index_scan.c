#include "pg_ext/am/index_scan.h"

#include "access/amapi.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "core/query/iterator.h"
#include "core/query/top_k.h"
#include "core/run/memtable.h"
#include "pg_ext/am/scan_keys.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/types/values.h"

enum { MOST_RESTARTS = 100 };

/* A position between entries. Everything up to the last key returned, in scan direction, is done. */
struct scan_position {
	bool is_started;      /* false: before the first entry (after the last one, backward) */
	uint32 series, range; /* indexes into the lists of scan_keys; range n_ranges: NULL times */
	bool has_key;
	struct iforest_key key; /* last one returned */
};

/* A scan in the order of a value. */
struct value_order_scan {
	bool is_open, best_is_open;
	struct iforest_memtable *pending; /* selected pending entries, as a run */
	struct iforest_top_k best;	  /* over the index's runs and that one */
	uint32 series;			  /* if each is searched alone: which one, as an index into the list of scan_keys */
	/* the current part of the entries: those whose value is NULL, or the others */
	bool best_is_of_nulls, best_is_done;
	bool has_last;
	struct iforest_entry last; /* last one returned: a restarted scan continues after it */
};

struct index_scan {
	MemoryContext context, key_context, run_context; /* whole scan; until the next rescan; until the index is read again */
	struct ifp_definition definition;
	struct ifp_index *index; /* as of the start of the scan: later entries are invisible to its snapshot */
	struct ifp_scan_keys keys;
	struct iforest_batch matching; /* keys of the pending entries of the selected series and ranges, sorted */
	bool has_keys;		       /* keys and matching are set */
	struct scan_position place, mark;
	bool leaves_series; /* the rest of the series is skipped */
	bool is_open;	    /* a range is open, in this direction */
	bool backward;
	uint32 from, to; /* the rest of `matching` in the range, `to` excluded */
	bool has_iterator;
	struct iforest_iterator iterator; /* over the runs, in the range */
	unsigned ahead, n_ahead;	  /* its next keys: keys_ahead[ahead] up to n_ahead */
	struct iforest_key keys_ahead[IFOREST_BLOCK_ENTRIES];
	IndexFetchTableData *fetch; /* of an index-only scan, and the slot for its rows */
	TupleTableSlot *row;
	struct ifp_scan_order order; /* if is_set, `top` is used instead of the fields from `place` to `keys_ahead` */
	struct value_order_scan top;
};

/* ---- ranges ---- */

static struct iforest_key key_after(int64 series, int64 time)
{
	return time == PG_INT64_MAX ? iforest_key_nulls((uint64_t)series) : iforest_key_at((uint64_t)series, time + 1);
}

/* Opens the range at the position, without entries already returned. */
static void open_range(struct index_scan *scan)
{
	const struct scan_position *place = &scan->place;
	uint32 series = scan->keys.series[place->series];
	struct iforest_iterator_question question = { .descends = scan->backward };

	if (place->range == scan->keys.n_ranges) {
		question.from = iforest_key_nulls(series);
		question.to = iforest_key_at((uint64_t)series + 1, PG_INT64_MIN);
	} else {
		question.from = iforest_key_at(series, scan->keys.ranges[place->range].low);
		question.to = key_after(series, scan->keys.ranges[place->range].high);
	}
	if (place->has_key && scan->backward) {
		question.to = place->key;
	} else if (place->has_key) {
		question.from = place->key;
		question.from.ref++;
	}
	scan->from = iforest_batch_find(&scan->matching, 0, &question.from);
	scan->to = iforest_batch_find(&scan->matching, scan->from, &question.to);
	iforest_iterator_start(&scan->iterator, &question);
	scan->ahead = scan->n_ahead = 0;
	scan->is_open = true;
}

/* Takes the next entry of the open range, and sets the position's key to its key. */
static enum iforest_status next_in_range(struct index_scan *scan, bool *found)
{
	const struct iforest_key *next = NULL, *pending = NULL;
	enum iforest_status status = IFOREST_OK;

	if (scan->ahead == scan->n_ahead) {
		scan->ahead = 0;
		status = iforest_iterator_next_keys(&scan->iterator, scan->keys_ahead, &scan->n_ahead);
	}
	if (scan->ahead < scan->n_ahead)
		next = &scan->keys_ahead[scan->ahead];
	if (scan->from < scan->to)
		pending = iforest_batch_key(&scan->matching, scan->backward ? scan->to - 1 : scan->from);
	*found = !status && (next || pending);
	if (!*found)
		return status;
	if (next && pending) {
		int order = iforest_key_compare(next, pending);

		if (scan->backward ? order > 0 : order < 0)
			pending = NULL;
	}
	scan->place.key = pending ? *pending : *next;
	scan->place.has_key = true;
	if (!pending)
		scan->ahead++;
	else if (scan->backward)
		scan->to--;
	else
		scan->from++;
	return IFOREST_OK;
}

/* ---- reading the index ---- */

static void release_iterator(struct index_scan *scan)
{
	if (scan->has_iterator)
		iforest_iterator_release(&scan->iterator);
	scan->has_iterator = false;
	MemoryContextReset(scan->run_context);
}

/* Reads metapage and manifest (again). */
static void read_index(struct index_scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->context);

	release_iterator(scan);
	scan->index->met_foreign_page = false;
	ifp_index_refresh(scan->index);
	MemoryContextSwitchTo(scan->run_context);
	ifp_index_require(scan->index, iforest_iterator_init(&scan->iterator, &scan->index->store, &scan->index->manifest));
	scan->has_iterator = true;
	MemoryContextSwitchTo(before);
}

/* Selects pending entries of the scan's series and ranges. */
struct pending_choice {
	const struct ifp_scan_keys *keys;
	uint32 *ids; /* of the series, ascending */
};

static uint32 choose(void *context, const struct iforest_key *keys, uint32 n_keys, uint16 *chosen)
{
	const struct pending_choice *choice = context;

	return ifp_scan_keys_choose(choice->keys, choice->ids, keys, n_keys, chosen);
}

/* Adds the selected pending entries to the batch. Returns false if the index has to be read again. */
static bool read_chosen(struct index_scan *scan, struct iforest_batch *batch)
{
	struct pending_choice choice = { .keys = &scan->keys, .ids = palloc((scan->keys.n_series + 1) * sizeof *choice.ids) };
	uint64 n_read;
	bool is_read;

	memcpy(choice.ids, scan->keys.series, scan->keys.n_series * sizeof *choice.ids);
	qsort(choice.ids, scan->keys.n_series, sizeof *choice.ids, ifp_compare_series);
	is_read = ifp_pending_read(scan->index, &(struct ifp_pending_choice){ choose, &choice }, batch, &n_read);
	pfree(choice.ids);
	return is_read;
}

/* Reads the pending entries. If a chain was flushed and its pages reused since the metapage was read, reads everything
 * again. */
static void match_pending(struct index_scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->key_context);

	if (!scan->matching.alloc)
		iforest_batch_init(&scan->matching, &ifp_palloc_allocator, 0);
	iforest_batch_clear(&scan->matching);
	for (int n = 0; !read_chosen(scan, &scan->matching); n++) {
		if (n == MOST_RESTARTS)
			ifp_require(IFOREST_CORRUPT, scan->index->relation,
				    &(struct iforest_fault){ .what = "a chain of pending pages is broken" });
		iforest_batch_clear(&scan->matching);
		read_index(scan);
	}
	ifp_index_require(scan->index, iforest_batch_sort(&scan->matching, &scan->index->pager.interrupt));
	MemoryContextSwitchTo(before);
}

/* Reads the scan keys, after reading the index if necessary, but not the pending entries. */
static void begin_keys(IndexScanDesc scan_desc, bool in_order)
{
	struct index_scan *scan = scan_desc->opaque;
	MemoryContext before;

	if (!scan->index) {
		before = MemoryContextSwitchTo(scan->context);
		ifp_definition_read(scan_desc->indexRelation, &scan->definition);
		scan->index = palloc(sizeof *scan->index);
		ifp_index_open(scan->index, scan_desc->indexRelation);
		MemoryContextSwitchTo(before);
		read_index(scan);
	} else if (!IsMVCCSnapshot(scan_desc->xs_snapshot)) {
		/* an exclusion constraint, or a subscriber looking up a row, also needs entries added since */
		read_index(scan);
	}
	ifp_meta_test_for_old_snapshot(scan_desc->indexRelation, scan_desc->xs_snapshot);
	before = MemoryContextSwitchTo(scan->key_context);
	/* series are read after the manifest, so all series of its runs are known */
	ifp_scan_keys_read(scan_desc->indexRelation, &scan->definition, scan->index->meta.index_id, scan_desc->keyData,
			   scan_desc->numberOfKeys, in_order, &scan->keys);
	MemoryContextSwitchTo(before);
	scan->has_keys = true;
}

static void begin_scan(IndexScanDesc scan_desc, bool in_order)
{
	begin_keys(scan_desc, in_order);
	match_pending(scan_desc->opaque);
}

/* Reads the index again if a run was merged away under the scan: its entries are now in another run, or were of dead rows.
 * Returns false if that is not the case, and the page is corrupt. */
static bool read_again(struct index_scan *scan)
{
	uint64 manifest_id = scan->index->manifest.id;

	scan->is_open = false;
	if (!scan->index->met_foreign_page)
		return false;
	read_index(scan);
	match_pending(scan);
	return scan->index->manifest.id != manifest_id;
}

/* ---- order of a value: questions ---- */

static const struct iforest_node_schema *fields_of(const struct index_scan *scan)
{
	return &scan->index->manifest.fields;
}

static bool is_null(const struct index_scan *scan, const struct iforest_entry *entry)
{
	return scan->order.by_value && !(entry->present >> scan->order.value & 1);
}

static struct iforest_extreme row_of(const struct index_scan *scan, const struct iforest_entry *entry)
{
	bool has_value = scan->order.by_value && !is_null(scan, entry);

	return (struct iforest_extreme){ .value = has_value ? entry->values[scan->order.value] : (union iforest_number){ 0 },
					 .time = entry->key.time,
					 .ref = entry->key.ref,
					 .time_is_null = entry->key.time_is_null,
					 .is_set = true };
}

static bool wants_part(const struct index_scan *scan, bool of_nulls)
{
	return of_nulls ? scan->order.has_nulls : scan->order.has_values;
}

static void narrow_value(const struct index_scan *scan, const struct ifp_scan_bound *bound,
			 struct iforest_value_predicate *match)
{
	uint8 value = scan->order.value;
	enum iforest_value_type type = (enum iforest_value_type)fields_of(scan)->value_types[value];
	union iforest_number number = ifp_value_from_datum(scan->index->relation, &scan->definition, value, bound->datum);

	if (bound->type == IFP_BOUND_LOW)
		iforest_value_predicate_at_least(match, value, number, type);
	else
		iforest_value_predicate_at_most(match, value, number, type);
}

/* Spans that start exactly at the time pass in both cases. */
static void narrow_reach(const struct index_scan *scan, const struct ifp_scan_bound *bound,
			 struct iforest_value_predicate *match)
{
	int64 time = ifp_time_from_datum(&scan->definition, bound->datum);

	if (bound->type == IFP_BOUND_REACHES && time > PG_INT64_MIN)
		time--;
	match->reach = match->has_reach ? Max(match->reach, time) : time;
	match->has_reach = true;
}

static void narrow(const struct index_scan *scan, bool of_nulls, struct iforest_value_predicate *match)
{
	for (int i = 0; i < scan->order.n_bounds; i++) {
		const struct ifp_scan_bound *bound = &scan->order.bounds[i];

		if (bound->type == IFP_BOUND_REACHES || bound->type == IFP_BOUND_REACHES_BEYOND)
			narrow_reach(scan, bound, match);
		else if (!of_nulls)
			narrow_value(scan, bound, match);
	}
}

/* Starts the part of the entries whose value is NULL, or the other part; after the last entry returned if that is in this part.
 */
static enum iforest_status start_part(struct index_scan *scan, bool of_nulls)
{
	struct value_order_scan *top = &scan->top;
	const struct ifp_scan_keys *keys = &scan->keys;
	uint32 bit = 1u << scan->order.value;
	int64 high = keys->n_ranges > 0 ? keys->ranges[keys->n_ranges - 1].high : INT64_MAX;
	struct iforest_top_k_question question = {
		.value = scan->order.value,
		.series = keys->series + (scan->order.by_series ? top->series : 0),
		.n_series = scan->order.by_series ? 1 : keys->n_series,
		.from = keys->n_ranges > 0 ? iforest_key_at(0, keys->ranges[0].low) : iforest_key_nulls(0),
		.to = high < INT64_MAX ? iforest_key_at(0, high + 1) : iforest_key_nulls(0),
	};

	if (keys->has_nulls)
		question.to = iforest_key_at(1, INT64_MIN);
	if (scan->order.by_value && !of_nulls) {
		question.order = scan->order.descends ? IFOREST_LARGEST_FIRST : IFOREST_SMALLEST_FIRST;
		question.values = bit;
	} else {
		question.order = IFOREST_EARLIEST_FIRST;
		question.match.nulls = of_nulls ? bit : 0;
	}
	narrow(scan, of_nulls, &question.match);
	if (top->has_last && is_null(scan, &top->last) == of_nulls)
		question.after = row_of(scan, &top->last);
	top->best_is_of_nulls = of_nulls;
	return iforest_top_k_start(&top->best, &question);
}

static enum iforest_status start_search(struct index_scan *scan)
{
	struct value_order_scan *top = &scan->top;
	bool in_nulls = scan->order.nulls_first;

	if ((top->has_last && is_null(scan, &top->last) != in_nulls) || !wants_part(scan, in_nulls))
		in_nulls = !in_nulls;
	top->best_is_done =
		(scan->keys.n_ranges == 0 && !scan->keys.has_nulls) || scan->keys.n_series == 0 || !wants_part(scan, in_nulls);
	return top->best_is_done ? IFOREST_OK : start_part(scan, in_nulls);
}

/* Searches the next series, if each is searched alone. */
static enum iforest_status search_next_series(struct index_scan *scan)
{
	struct value_order_scan *top = &scan->top;

	CHECK_FOR_INTERRUPTS();
	scan->leaves_series = top->has_last = false;
	top->best_is_done = !scan->order.by_series || top->series + 1 >= scan->keys.n_series;
	if (top->best_is_done)
		return IFOREST_OK;
	top->series++;
	return start_search(scan);
}

/* Starts the second part, if it is wanted, or the next series. */
static enum iforest_status next_part(struct index_scan *scan)
{
	bool of_nulls = !scan->top.best_is_of_nulls;

	if (of_nulls == scan->order.nulls_first || !wants_part(scan, of_nulls))
		return search_next_series(scan);
	return start_part(scan, of_nulls);
}

/* ---- order of a value: the search ---- */

static void close_search(struct index_scan *scan)
{
	struct value_order_scan *top = &scan->top;

	if (top->best_is_open)
		iforest_top_k_release(&top->best);
	top->best_is_open = false;
	if (top->pending) {
		iforest_memtable_release(top->pending);
		pfree(top->pending);
	}
	top->pending = NULL;
}

/* Opens the search over the runs and the pending entries. */
static enum iforest_status open_search(struct index_scan *scan)
{
	struct value_order_scan *top = &scan->top;
	enum iforest_status status = iforest_memtable_build(top->pending);

	if (!status)
		status = iforest_top_k_init(&top->best, &scan->index->store, &scan->index->manifest);
	top->best_is_open = !status;
	if (!status)
		status = iforest_top_k_join(&top->best, &top->pending->store, &top->pending->manifest);
	return status ? status : start_search(scan);
}

/* Reads everything again if a run was merged away under the scan or a pending chain was flushed: the entries are elsewhere now,
 * or were of dead rows. */
static enum iforest_status open_scan(struct index_scan *scan, bool again)
{
	for (int n = 0;; n++) {
		if (again || scan->index->met_foreign_page) {
			close_search(scan);
			read_index(scan);
		}
		scan->top.pending = palloc(sizeof *scan->top.pending);
		ifp_index_require(scan->index, iforest_memtable_init(scan->top.pending, &scan->index->store, fields_of(scan)));
		if (read_chosen(scan, &scan->top.pending->batch))
			return open_search(scan);
		if (n == MOST_RESTARTS)
			return IFOREST_CORRUPT;
	}
}

/* Fetches the next entry, if there is one. */
static enum iforest_status find_next(struct index_scan *scan, bool *found)
{
	struct value_order_scan *top = &scan->top;
	enum iforest_status status = IFOREST_OK;

	*found = false;
	if (scan->leaves_series)
		status = search_next_series(scan);
	while (!status && !*found && !top->best_is_done) {
		struct iforest_entry entry;

		status = iforest_top_k_next(&top->best, &entry, found);
		if (!status && !*found) {
			status = next_part(scan);
		} else if (!status) {
			*found = ifp_scan_keys_hold(&scan->keys, &entry.key);
			if (*found)
				top->last = entry;
		}
	}
	top->has_last = top->has_last || *found;
	return status;
}

static void begin_value_order(IndexScanDesc scan_desc)
{
	struct index_scan *scan = scan_desc->opaque;
	enum iforest_status status;
	MemoryContext before;

	pgstat_count_index_scan(scan_desc->indexRelation);
	begin_keys(scan_desc, false);
	before = MemoryContextSwitchTo(scan->run_context);
	status = open_scan(scan, false);
	MemoryContextSwitchTo(before);
	ifp_index_require(scan->index, status);
	scan->top.is_open = true;
}

/* Takes the next entry; returns false after the last. */
static bool value_order_next(IndexScanDesc scan_desc, struct iforest_key *key)
{
	struct index_scan *scan = scan_desc->opaque;
	struct value_order_scan *top = &scan->top;
	enum iforest_status status;
	MemoryContext before;
	bool found;

	if (!top->is_open)
		begin_value_order(scan_desc);
	before = MemoryContextSwitchTo(scan->run_context);
	status = find_next(scan, &found);
	for (int n = 0; status && scan->index->met_foreign_page && n < MOST_RESTARTS; n++) {
		status = open_scan(scan, true);
		if (!status)
			status = find_next(scan, &found);
	}
	MemoryContextSwitchTo(before);
	ifp_index_require(scan->index, status);
	if (found)
		*key = top->last.key;
	return found;
}

static void value_order_rescan(struct index_scan *scan)
{
	close_search(scan);
	scan->top = (struct value_order_scan){ .is_open = false };
}

/* ---- order of the key ---- */

/* Moves the position to the next range in scan direction. Returns false after the last. */
static bool next_range(struct index_scan *scan)
{
	struct scan_position *place = &scan->place;
	uint32 n_ranges = scan->keys.n_ranges + (scan->keys.has_nulls ? 1 : 0);

	if (n_ranges == 0 || scan->keys.n_series == 0)
		return false;
	if (!place->is_started) {
		*place = (struct scan_position){ .is_started = true,
						 .series = scan->backward ? scan->keys.n_series - 1 : 0,
						 .range = scan->backward ? n_ranges - 1 : 0 };
		return true;
	}
	place->has_key = false;
	if (!scan->backward && ++place->range == n_ranges) {
		place->range = 0;
		return ++place->series < scan->keys.n_series;
	}
	if (scan->backward && place->range-- == 0) {
		place->range = n_ranges - 1;
		return place->series-- > 0;
	}
	return true;
}

/* Moves the position to the next series in scan direction. Returns false after the last. */
static bool next_series(struct index_scan *scan)
{
	uint32 n_ranges = scan->keys.n_ranges + (scan->keys.has_nulls ? 1 : 0);

	scan->is_open = scan->leaves_series = false;
	scan->place.range = scan->backward ? 0 : n_ranges - 1;
	scan->place.is_started = next_range(scan);
	return scan->place.is_started;
}

/* Takes the next entry in this direction, and sets the position's key to its key. */
static bool next_entry(struct index_scan *scan, bool backward)
{
	bool found = false;

	if (backward != scan->backward)
		scan->is_open = false;
	scan->backward = backward;
	if (scan->leaves_series && !next_series(scan))
		return false;
	for (int n_restarts = 0; !found;) {
		enum iforest_status status = IFOREST_OK;

		if (!scan->is_open && scan->place.is_started)
			open_range(scan);
		if (scan->is_open)
			status = next_in_range(scan, &found);
		if (status) {
			if (n_restarts++ == MOST_RESTARTS || !read_again(scan))
				ifp_index_require(scan->index, status);
		} else if (!found) {
			/* there may be many series and ranges without a page to read */
			CHECK_FOR_INTERRUPTS();
			scan->is_open = false;
			if (!next_range(scan)) {
				scan->place.is_started = false;
				break;
			}
		}
	}
	return found;
}

/* ---- functions that PostgreSQL calls ---- */

IndexScanDesc ifp_begin_scan(Relation index, int n_keys, int n_order_bys)
{
	IndexScanDesc scan_desc = RelationGetIndexScan(index, n_keys, n_order_bys);
	struct index_scan *scan = palloc0(sizeof *scan);

	scan->context = AllocSetContextCreate(CurrentMemoryContext, "iforest scan", ALLOCSET_DEFAULT_SIZES);
	scan->key_context = AllocSetContextCreate(scan->context, "iforest scan keys", ALLOCSET_DEFAULT_SIZES);
	scan->run_context = AllocSetContextCreate(scan->context, "iforest scan runs", ALLOCSET_DEFAULT_SIZES);
	scan_desc->opaque = scan;
	return scan_desc;
}

void ifp_index_scan_set_order(IndexScanDesc scan_desc, const struct ifp_scan_order *order)
{
	((struct index_scan *)scan_desc->opaque)->order = *order;
}

void ifp_rescan(IndexScanDesc scan_desc, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys)
{
	struct index_scan *scan = scan_desc->opaque;

	(void)n_keys;
	(void)order_bys;
	(void)n_order_bys;
	if (keys && scan_desc->numberOfKeys > 0)
		memmove(scan_desc->keyData, keys, (size_t)scan_desc->numberOfKeys * sizeof *keys);
	value_order_rescan(scan);
	MemoryContextReset(scan->key_context);
	scan->matching = (struct iforest_batch){ .alloc = NULL };
	scan->has_keys = scan->is_open = scan->leaves_series = false;
	scan->place = scan->mark = (struct scan_position){ .is_started = false };
}

/* The planner uses any index for an index-only scan that needs no column, such as count(*). The executor would then trust the
 * visibility map after the entry was read, but a VACUUM in between may have removed the row and set the bit. So the row is
 * fetched here: a row visible to this snapshot is not removed. Nobody reads a column of the index tuple. */
static bool is_visible(IndexScanDesc scan_desc)
{
	struct index_scan *scan = scan_desc->opaque;
	bool again = false, found;

	if (!scan->fetch) {
		MemoryContext before = MemoryContextSwitchTo(scan->context);
		Datum values[INDEX_MAX_KEYS] = { 0 };
		bool are_null[INDEX_MAX_KEYS];

		memset(are_null, true, sizeof are_null);
		scan->fetch = table_index_fetch_begin(scan_desc->heapRelation);
		scan->row = table_slot_create(scan_desc->heapRelation, NULL);
		scan_desc->xs_itupdesc = RelationGetDescr(scan_desc->indexRelation);
		scan_desc->xs_itup = index_form_tuple(scan_desc->xs_itupdesc, values, are_null);
		MemoryContextSwitchTo(before);
	}
	found = table_index_fetch_tuple(scan->fetch, &scan_desc->xs_heaptid, scan_desc->xs_snapshot, scan->row, &again, NULL);
	ExecClearTuple(scan->row);
	return found;
}

/* Takes the next entry, in the order of a value if that is set. */
static bool next_of_scan(IndexScanDesc scan_desc, ScanDirection direction, struct iforest_key *key)
{
	struct index_scan *scan = scan_desc->opaque;

	if (scan->order.is_set)
		return value_order_next(scan_desc, key);
	if (!scan->has_keys) {
		pgstat_count_index_scan(scan_desc->indexRelation);
		begin_scan(scan_desc, true);
	}
	if (!next_entry(scan, ScanDirectionIsBackward(direction)))
		return false;
	*key = scan->place.key;
	return true;
}

bool ifp_get_tuple(IndexScanDesc scan_desc, ScanDirection direction)
{
	struct index_scan *scan = scan_desc->opaque;
	struct iforest_key key;

	while (next_of_scan(scan_desc, direction, &key)) {
		ItemPointerData tid;

		/* with a non-MVCC snapshot an entry may lead to another row by now */
		scan_desc->xs_recheck = scan->keys.must_recheck || !IsMVCCSnapshot(scan_desc->xs_snapshot);
		ifp_ref_to_tid(key.ref, &tid);
		scan_desc->xs_heaptid = tid;
		if (!scan_desc->xs_want_itup || is_visible(scan_desc)) {
			scan_desc->xs_heaptid = tid;
			return true;
		}
	}
	return false;
}

int64 ifp_get_bitmap(IndexScanDesc scan_desc, TIDBitmap *bitmap)
{
	struct index_scan *scan = scan_desc->opaque;
	ItemPointerData tids[256];
	int n = 0;
	int64 n_all = 0;

	pgstat_count_index_scan(scan_desc->indexRelation);
	begin_scan(scan_desc, false);
	while (next_entry(scan, false)) {
		ifp_ref_to_tid(scan->place.key.ref, &tids[n++]);
		n_all++;
		if (n == lengthof(tids)) {
			tbm_add_tuples(bitmap, tids, n, scan->keys.must_recheck);
			n = 0;
		}
	}
	tbm_add_tuples(bitmap, tids, n, scan->keys.must_recheck);
	return n_all;
}

struct ifp_scan_place ifp_index_scan_place(IndexScanDesc scan_desc)
{
	const struct index_scan *scan = scan_desc->opaque;
	const struct iforest_entry *last = &scan->top.last;
	const struct iforest_key *key = &scan->place.key;

	if (!scan->order.is_set)
		return (struct ifp_scan_place){ .series = key->series,
						.type = IFOREST_INT64,
						.is_null = key->time_is_null,
						.number.integer = key->time_is_null ? 0 : key->time };
	return (struct ifp_scan_place){ .series = last->key.series,
					.type = (enum iforest_value_type)fields_of(scan)->value_types[scan->order.value],
					.is_null = is_null(scan, last),
					.number = row_of(scan, last).value };
}

void ifp_index_scan_leave_series(IndexScanDesc scan_desc)
{
	((struct index_scan *)scan_desc->opaque)->leaves_series = true;
}

void ifp_end_scan(IndexScanDesc scan_desc)
{
	struct index_scan *scan = scan_desc->opaque;

	/* pages found intact are recorded as verified when they are unpinned */
	release_iterator(scan);
	if (scan->fetch) {
		table_index_fetch_end(scan->fetch);
		ExecDropSingleTupleTableSlot(scan->row);
		scan_desc->xs_itup = NULL;
	}
	MemoryContextDelete(scan->context);
	pfree(scan);
}

void ifp_mark_position(IndexScanDesc scan_desc)
{
	struct index_scan *scan = scan_desc->opaque;

	scan->mark = scan->place;
}

void ifp_restore_position(IndexScanDesc scan_desc)
{
	struct index_scan *scan = scan_desc->opaque;

	scan->place = scan->mark;
	scan->is_open = false;
}
