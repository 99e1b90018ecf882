#include "core/query/counter_scan.h"

#include <math.h>
#include <string.h>

#include "core/base/xxh64.h"
#include "core/model/real_time.h"
#include "core/run/cursor.h"

#define MAGIC 0x62634649u
#define VERSION 1u

/* Upper bound of the samples of a run: a run has fewer than 2^32 pages, a page fewer than 2^16 entries. */
#define MOST_SAMPLES (UINT64_C(1) << 48)

enum { FIRST_TIME = 0, LAST_TIME = 8, N = 16, FIRST = 24, LAST = 40, N_RESETS = 64, KNOWN = 72, INTEGRAL = 80, INCREASE = 96 };

int64_t iforest_sample_until(const struct iforest_node_schema *fields, int64_t time, bool has_duration, int64_t duration)
{
	bool is_unfinished = fields->end_rule == IFOREST_END_COLUMN ? duration < time : duration < 0;

	if (!has_duration || is_unfinished)
		return INT64_MAX;
	return iforest_span_end(time, duration, true, (enum iforest_end_rule)fields->end_rule);
}

bool iforest_node_is_counted(const uint8_t *node)
{
	struct iforest_key last = iforest_node_last(node);

	return iforest_node_first(node).series == last.series && !last.time_is_null && iforest_node_rows(node) > 0;
}

/* Returns the row of a node without entries. */
static struct iforest_counter_row empty_row(const struct iforest_node_schema *fields)
{
	return (struct iforest_counter_row){ .piece.samples.has_real_times = fields->has_real_times };
}

/* ---- Bytes ---- */

/* Returns the type in which an integral over time is kept. */
static enum iforest_value_type type_of_integral(const struct iforest_counter *samples, enum iforest_value_type type)
{
	return samples->has_real_times ? IFOREST_FLOAT64 : type;
}

static void write_sum(uint8_t *bytes, enum iforest_value_type type, iforest_int128 sum, double real)
{
	union iforest_number number = { .real = real };

	if (type == IFOREST_INT64) {
		iforest_store64(bytes, (uint64_t)sum);
		iforest_store64(bytes + 8, (uint64_t)((iforest_uint128)sum >> 64));
		return;
	}
	iforest_store64(bytes, (uint64_t)number.integer);
	iforest_store64(bytes + 8, 0);
}

static void write_row(uint8_t *bytes, enum iforest_value_type type, const struct iforest_counter_row *row)
{
	const struct iforest_counter *samples = &row->piece.samples;
	union iforest_number known = { .integer = (int64_t)samples->known };

	if (samples->has_real_times)
		known.real = samples->real_known;
	iforest_store64(bytes + FIRST_TIME, (uint64_t)row->first_time);
	iforest_store64(bytes + LAST_TIME, (uint64_t)row->last_time);
	if (samples->n == 0)
		return;
	iforest_store64(bytes + N, samples->n);
	iforest_store64(bytes + FIRST, (uint64_t)row->piece.first_time);
	iforest_store64(bytes + FIRST + 8, (uint64_t)row->piece.first.integer);
	iforest_store64(bytes + LAST, (uint64_t)samples->since);
	iforest_store64(bytes + LAST + 8, (uint64_t)samples->value.integer);
	iforest_store64(bytes + LAST + 16, (uint64_t)samples->until);
	iforest_store64(bytes + N_RESETS, samples->n_resets);
	iforest_store64(bytes + KNOWN, (uint64_t)known.integer);
	write_sum(bytes + INTEGRAL, type_of_integral(samples, type), samples->integral, samples->real_integral);
	write_sum(bytes + INCREASE, type, samples->increase, samples->real_increase);
}

static void finish_table(uint8_t *bytes, unsigned n)
{
	iforest_store32(bytes, MAGIC);
	iforest_store32(bytes + 8, VERSION);
	iforest_store32(bytes + 12, n);
	iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, IFOREST_COUNTER_HEADER - 8 + n * IFOREST_COUNTER_ROW));
}

/* True if the bytes are a table of n rows. */
static bool is_table(const uint8_t *bytes, size_t n_bytes, unsigned n)
{
	return n_bytes == IFOREST_COUNTER_HEADER + (size_t)n * IFOREST_COUNTER_ROW && iforest_load32(bytes) == MAGIC &&
	       iforest_load32(bytes + 8) == VERSION && iforest_load32(bytes + 12) == n &&
	       iforest_load32(bytes + 4) == (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8);
}

static void read_sum(const uint8_t *bytes, enum iforest_value_type type, iforest_int128 *sum, double *real)
{
	union iforest_number number = { .integer = iforest_load_int64(bytes) };

	if (type == IFOREST_FLOAT64)
		*real = number.real;
	else
		*sum = (iforest_int128)((iforest_uint128)iforest_load64(bytes + 8) << 64 | iforest_load64(bytes));
}

/* Returns false for sums that such samples cannot have; these might overflow when added up. */
static bool is_possible(const struct iforest_counter *samples, enum iforest_value_type type, int64_t first_time)
{
	iforest_int128 most, most_increase;

	if (samples->n >= MOST_SAMPLES || samples->n_resets >= samples->n || first_time > samples->since ||
	    samples->known > (uint64_t)samples->since - (uint64_t)first_time || !(samples->real_known >= 0))
		return false;
	most = (iforest_int128)samples->known << 63;
	most_increase = (iforest_int128)samples->n << 64;
	return type == IFOREST_FLOAT64 || (samples->integral <= most && samples->integral >= -most &&
					   samples->increase <= most_increase && samples->increase >= -most_increase);
}

bool iforest_counter_row_read(const uint8_t *table, unsigned i, const uint8_t *node, const struct iforest_node_schema *fields,
			      unsigned value, struct iforest_counter_row *row)
{
	const uint8_t *bytes = table + IFOREST_COUNTER_HEADER + i * IFOREST_COUNTER_ROW;
	enum iforest_value_type type = (enum iforest_value_type)fields->value_types[value];
	struct iforest_counter *samples = &row->piece.samples;
	union iforest_number known = { .integer = iforest_load_int64(bytes + KNOWN) };

	*row = empty_row(fields);
	row->first_time = iforest_load_int64(bytes + FIRST_TIME);
	row->last_time = iforest_load_int64(bytes + LAST_TIME);
	samples->n = iforest_load64(bytes + N);
	if (row->first_time < iforest_node_first(node).time || row->first_time > row->last_time ||
	    row->last_time > iforest_node_last(node).time || samples->n != iforest_node_value_rows(node, fields, value))
		return false;
	if (samples->n == 0)
		return true;
	row->piece.first_time = iforest_load_int64(bytes + FIRST);
	row->piece.first.integer = iforest_load_int64(bytes + FIRST + 8);
	samples->is_known = true;
	samples->since = iforest_load_int64(bytes + LAST);
	samples->value.integer = iforest_load_int64(bytes + LAST + 8);
	samples->until = iforest_load_int64(bytes + LAST + 16);
	samples->n_resets = iforest_load64(bytes + N_RESETS);
	if (samples->has_real_times)
		samples->real_known = known.real;
	else
		samples->known = (uint64_t)known.integer;
	read_sum(bytes + INTEGRAL, type_of_integral(samples, type), &samples->integral, &samples->real_integral);
	read_sum(bytes + INCREASE, type, &samples->increase, &samples->real_increase);
	return row->piece.first_time >= row->first_time && samples->since <= row->last_time &&
	       is_possible(samples, type, row->piece.first_time);
}

/* ---- Making of tables ---- */

struct keeper {
	struct iforest_cursor *cursor;
	const struct iforest_sidecar *sidecar;
	unsigned value;
};

static enum iforest_value_type kind_of(const struct keeper *keeper)
{
	return (enum iforest_value_type)keeper->cursor->manifest->fields.value_types[keeper->value];
}

/* Reports decreasing times, whose widths could add up to more than the whole. */
static enum iforest_status out_of_order(const struct keeper *keeper, unsigned level, uint64_t number)
{
	return iforest_cursor_report_corrupt(keeper->cursor, IFOREST_CORRUPT, "entries are out of order", level, number);
}

/* into = into + from, rows of successive nodes. Returns false if they overlap. */
static bool join_rows(struct iforest_counter_row *into, enum iforest_value_type type, const struct iforest_counter_row *from,
		      bool is_first)
{
	if (!is_first && from->first_time < into->last_time)
		return false;
	into->first_time = is_first ? from->first_time : into->first_time;
	into->last_time = from->last_time;
	iforest_counter_piece_join(&into->piece, type, &from->piece);
	return true;
}

static enum iforest_status add_block(const struct keeper *keeper, unsigned b, struct iforest_counter_row *row, bool *is_first)
{
	struct iforest_block_reader *reader = &keeper->cursor->reader;
	const struct iforest_node_schema *fields = &keeper->cursor->manifest->fields;
	const struct iforest_block *block = &reader->block;
	unsigned d = fields->duration_value, v = keeper->value;
	enum iforest_status status;
	uint64_t live;

	iforest_cursor_read_block(keeper->cursor, b);
	live = iforest_low_bits(block->n) & ~block->dead;
	if (!live)
		return IFOREST_OK;
	if (block->time_is_null) /* by its node, all entries have times */
		return out_of_order(keeper, 0, keeper->cursor->path[0].number);
	status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status)
		status = iforest_block_need(reader, IFOREST_VALUES + v);
	if (!status && d != IFOREST_NO_VALUE)
		status = iforest_block_need(reader, IFOREST_VALUES + d);
	if (status)
		return iforest_cursor_report_leaf(keeper->cursor, status);
	for (; live; live &= live - 1) {
		unsigned i = iforest_trailing_zeros(live);
		bool has_duration = d != IFOREST_NO_VALUE && block->present[d] >> i & 1;

		if (!*is_first && block->times[i] < row->last_time)
			return out_of_order(keeper, 0, keeper->cursor->path[0].number);
		row->first_time = *is_first ? block->times[i] : row->first_time;
		row->last_time = block->times[i];
		*is_first = false;
		if (block->present[v] >> i & 1)
			iforest_counter_piece_add(&row->piece, kind_of(keeper), block->times[i],
						  (union iforest_number){ .integer = block->values[v][i] },
						  iforest_sample_until(fields, block->times[i], has_duration,
								       has_duration ? block->values[d][i] : 0));
	}
	return IFOREST_OK;
}

static enum iforest_status count_leaf(const struct keeper *keeper, uint64_t number, struct iforest_counter_row *row)
{
	struct iforest_cursor *cursor = keeper->cursor;
	enum iforest_status status = iforest_cursor_pin(cursor, 0, number);
	bool is_first = true;

	for (unsigned b = 0; !status && b < cursor->leaf.header.n_items; b++)
		status = add_block(keeper, b, row, &is_first);
	return status;
}

static enum iforest_status count_node(const struct keeper *keeper, unsigned level, uint64_t i, struct iforest_counter_row *row);

/* Computes the table of a node, and its row unless sum is NULL. The page of its children is pinned. */
static enum iforest_status make_table(const struct keeper *keeper, unsigned level, uint64_t i, uint8_t *table,
				      struct iforest_counter_row *sum)
{
	const struct iforest_cursor *cursor = keeper->cursor;
	unsigned n = cursor->path[level - 1].header.n_items;
	enum iforest_status status = IFOREST_OK;
	bool is_first = true;

	memset(table, 0, IFOREST_COUNTER_HEADER + n * IFOREST_COUNTER_ROW);
	for (unsigned k = 0; k < n && !status; k++) {
		struct iforest_counter_row row = empty_row(&cursor->manifest->fields);
		const uint8_t *child;

		status = count_node(keeper, level - 1, i * cursor->manifest->fanout + k, &row);
		if (status)
			break;
		child = iforest_cursor_sibling(cursor, level - 1, k);
		if (!iforest_node_is_counted(child))
			continue;
		write_row(table + IFOREST_COUNTER_HEADER + k * IFOREST_COUNTER_ROW, kind_of(keeper), &row);
		if (sum && !join_rows(sum, kind_of(keeper), &row, is_first))
			return out_of_order(keeper, level - 1, i);
		is_first = false;
	}
	finish_table(table, n);
	return status;
}

/* Computes a node's row from its stored table, unless sum is NULL. Returns false if the table is invalid. */
static bool add_up(const struct keeper *keeper, unsigned level, const uint8_t *table, size_t n_bytes,
		   struct iforest_counter_row *sum)
{
	const struct iforest_pinned_page *pinned = &keeper->cursor->path[level - 1];
	const struct iforest_node_schema *fields = &keeper->cursor->manifest->fields;
	bool is_first = true, is_sound = is_table(table, n_bytes, pinned->header.n_items);

	for (unsigned k = 0; is_sound && k < pinned->header.n_items; k++) {
		const uint8_t *child = iforest_cursor_sibling(keeper->cursor, level - 1, k);
		struct iforest_counter_row row;

		if (!iforest_node_is_counted(child))
			continue;
		is_sound = iforest_counter_row_read(table, k, child, fields, keeper->value, &row);
		if (is_sound && sum)
			is_sound = join_rows(sum, kind_of(keeper), &row, is_first);
		is_first = false;
	}
	return is_sound;
}

/* Stores the missing tables of a node of level 2 and up and of all nodes below it. Adds the node's row to sum, unless that is
 * NULL. */
static enum iforest_status keep_node(const struct keeper *keeper, unsigned level, uint64_t i, const uint8_t *node,
				     struct iforest_counter_row *sum)
{
	const struct iforest_alloc *alloc = keeper->cursor->store->alloc;
	const struct iforest_sidecar *sidecar = keeper->sidecar;
	struct iforest_sidecar_name name = { .run_id = keeper->cursor->run->place.run_id,
					     .level = level,
					     .number = i,
					     .value = keeper->value,
					     .n_dead = iforest_node_dead(node) };
	enum iforest_status status = iforest_cursor_pin(keeper->cursor, level - 1, i);
	unsigned n = status ? 0 : keeper->cursor->path[level - 1].header.n_items;
	uint8_t *table = NULL;
	size_t n_bytes;
	bool found = false;

	if (!status && n > 1)
		status = sidecar->get(sidecar->context, &name, &table, &n_bytes, &found);
	if (!status && found) {
		found = add_up(keeper, level, table, n_bytes, sum);
		iforest_release(alloc, table);
	}
	if (status || found)
		return status;
	if (sum)
		*sum = empty_row(&keeper->cursor->manifest->fields);
	n_bytes = IFOREST_COUNTER_HEADER + n * IFOREST_COUNTER_ROW;
	table = iforest_allocate(alloc, n_bytes);
	if (!table)
		return IFOREST_NO_MEMORY;
	status = make_table(keeper, level, i, table, sum);
	if (!status && n > 1)
		status = sidecar->put(sidecar->context, &name, table, n_bytes);
	iforest_release(alloc, table);
	return status;
}

/* Computes a node's row, if it is counted. Samples of several series are not added up, because their sums might overflow. */
static enum iforest_status count_node(const struct keeper *keeper, unsigned level, uint64_t i, struct iforest_counter_row *row)
{
	const uint8_t *node;
	enum iforest_status status = iforest_cursor_node(keeper->cursor, level, i, &node);

	if (status || iforest_node_rows(node) == 0)
		return status;
	if (level > 1)
		return keep_node(keeper, level, i, node, iforest_node_is_counted(node) ? row : NULL);
	return iforest_node_is_counted(node) ? count_leaf(keeper, i, row) : IFOREST_OK;
}

enum iforest_status iforest_run_keep_counters(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar)
{
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	struct keeper keeper = { .cursor = cursor, .sidecar = sidecar, .value = value };
	struct iforest_counter_row row = empty_row(&manifest->fields);
	enum iforest_status status;

	if (!cursor)
		return IFOREST_NO_MEMORY;
	iforest_cursor_init(cursor, store, manifest, run);
	status = count_node(&keeper, run->n_levels + 1, 0, &row);
	iforest_cursor_release(cursor);
	iforest_release(store->alloc, cursor);
	return status;
}

/* ---- The scan, bucket by bucket ---- */

enum { N_TABLES = (IFOREST_MAX_LEVELS + 2) * IFOREST_MAX_VALUES };

enum iforest_status iforest_counter_scan_start(struct iforest_counter_scan *scan, uint32_t request,
					       const struct iforest_filter *filter, struct iforest_store *store,
					       const struct iforest_manifest *manifest, struct iforest_store *joined,
					       const struct iforest_manifest *joined_manifest)
{
	enum iforest_status status = iforest_iterator_init(&scan->iterator, store, manifest);

	scan->has_iterator = !status;
	scan->store = store;
	scan->fields = &manifest->fields;
	scan->filter = filter;
	scan->request = request;
	return status ? status : iforest_iterator_join(&scan->iterator, joined, joined_manifest);
}

void iforest_counter_scan_release(struct iforest_counter_scan *scan)
{
	if (!scan->has_iterator)
		return;
	iforest_iterator_release(&scan->iterator);
	for (unsigned t = 0; scan->tables && t < N_TABLES; t++)
		iforest_release(scan->store->alloc, scan->tables[t].bytes);
	iforest_release(scan->store->alloc, scan->tables);
	scan->tables = NULL;
	scan->has_iterator = false;
}

/* ---- Nodes ---- */

/* Gives the table of the parent of the nodes on the pinned page; NULL if there is none. */
static enum iforest_status find_table(struct iforest_counter_scan *scan, struct iforest_cursor *cursor,
				      const struct iforest_sidecar_name *name, const uint8_t **bytes)
{
	struct iforest_counter_scan_table *table = &scan->tables[name->level * IFOREST_MAX_VALUES + name->value];
	const struct iforest_pinned_page *pinned = &cursor->path[name->level - 1];
	const struct iforest_alloc *alloc = scan->store->alloc;
	enum iforest_status status;
	size_t n_bytes;
	bool found;

	*bytes = table->bytes;
	if (pinned->header.n_items < 2) {
		*bytes = NULL; /* an only child has none */
		return IFOREST_OK;
	}
	if (table->name.level && table->name.run_id == name->run_id && table->name.number == name->number &&
	    table->name.n_dead == name->n_dead)
		return IFOREST_OK;
	iforest_release(alloc, table->bytes);
	table->name.level = 0;
	table->bytes = NULL;
	status = scan->sidecar->get(scan->sidecar->context, name, &table->bytes, &n_bytes, &found);
	table->bytes = !status && found ? table->bytes : NULL;
	if (status)
		return status;
	if (found && !is_table(table->bytes, n_bytes, pinned->header.n_items))
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, IFOREST_COUNTER_WRONG, name->level - 1,
						     name->number);
	table->name = *name;
	*bytes = table->bytes;
	return IFOREST_OK;
}

/* Callback of iforest_node_taker: takes a node if its rows of all requested columns are stored. The root is in no table, but
 * its children are. */
static enum iforest_status take_node(void *context, struct iforest_cursor *cursor, unsigned level, uint64_t i,
				     const uint8_t *node, bool *taken)
{
	struct iforest_counter_scan *scan = context;
	uint32_t fanout = cursor->manifest->fanout;
	struct iforest_sidecar_name name = { .run_id = cursor->run->place.run_id, .level = level + 1, .number = i / fanout };
	const uint8_t *parent, *table;
	enum iforest_status status = IFOREST_OK;

	*taken = level <= cursor->run->n_levels && cursor->store == scan->store;
	if (!*taken)
		return IFOREST_OK;
	status = iforest_cursor_node(cursor, level + 1, i / fanout, &parent);
	name.n_dead = status ? 0 : iforest_node_dead(parent);
	for (unsigned v = 0; scan->asked >> v && !status && *taken; v++) {
		if (!(scan->asked >> v & 1))
			continue;
		name.value = v;
		status = find_table(scan, cursor, &name, &table);
		*taken = !status && table;
		if (*taken &&
		    !iforest_counter_row_read(table, (unsigned)(i % fanout), node, scan->fields, v, &scan->ahead_node[v]))
			status = iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, IFOREST_COUNTER_WRONG, level,
							       i / fanout);
	}
	scan->ahead_rows = iforest_node_rows(node);
	return status;
}

enum iforest_status iforest_counter_scan_use(struct iforest_counter_scan *scan, const struct iforest_sidecar *sidecar,
					     uint32_t kept)
{
	if (!kept || (scan->request & ~kept))
		return IFOREST_OK;
	scan->tables = iforest_allocate(scan->store->alloc, N_TABLES * sizeof *scan->tables);
	if (!scan->tables)
		return IFOREST_NO_MEMORY;
	memset(scan->tables, 0, N_TABLES * sizeof *scan->tables);
	scan->sidecar = sidecar;
	scan->asked = scan->request ? scan->request : kept & -kept;
	scan->taker = (struct iforest_node_taker){ .context = scan, .take = take_node };
	return IFOREST_OK;
}

/* ---- Samples ---- */

/* Finds the last row before t0 that meets the question's predicate. */
static enum iforest_status find_before(struct iforest_counter_scan *scan, uint64_t series, int64_t t0,
				       struct iforest_iterator_question *question, struct iforest_entry *entry, bool *found)
{
	question->from = iforest_key_at(series, INT64_MIN);
	question->to = iforest_key_at(series, t0);
	question->descends = true;
	question->filter = scan->filter;
	iforest_iterator_start(&scan->iterator, question);
	return iforest_iterator_next(&scan->iterator, entry, found);
}

static int64_t until_of(const struct iforest_counter_scan *scan, const struct iforest_entry *entry)
{
	unsigned d = scan->fields->duration_value;
	bool has_duration = d != IFOREST_NO_VALUE && entry->present >> d & 1;

	return iforest_sample_until(scan->fields, entry->key.time, has_duration, has_duration ? entry->values[d].integer : 0);
}

/* Returns the columns to read, durations included. */
static uint32_t with_durations(const struct iforest_counter_scan *scan, uint32_t values)
{
	unsigned v = scan->fields->duration_value;

	return values && v != IFOREST_NO_VALUE ? values | 1u << v : values;
}

static enum iforest_status carry_in(struct iforest_counter_scan *scan, uint64_t series, int64_t t0, unsigned v)
{
	struct iforest_iterator_question question = { .match = { .values = 1u << v }, .values = with_durations(scan, 1u << v) };
	struct iforest_counter *counter = &scan->values[v];
	struct iforest_entry entry;
	enum iforest_status status;

	if (scan->fields->value_types[v] == IFOREST_INT64) {
		question.match.low[v].integer = INT64_MIN;
		question.match.high[v].integer = INT64_MAX;
	} else {
		question.match.low[v].real = -INFINITY;
		question.match.high[v].real = NAN; /* the greatest number */
	}
	status = find_before(scan, series, t0, &question, &entry, &counter->is_known);
	if (!status && counter->is_known) {
		counter->value = entry.values[v];
		counter->until = until_of(scan, &entry);
	}
	return status;
}

static enum iforest_status look_ahead(struct iforest_counter_scan *scan)
{
	enum iforest_status status = iforest_iterator_next(&scan->iterator, &scan->ahead, &scan->has_ahead);
	int64_t end;

	scan->ahead_is_node = !status && scan->has_ahead && iforest_iterator_gave_node(&scan->iterator, &end);
	return status;
}

enum iforest_status iforest_counter_scan_turn(struct iforest_counter_scan *scan, uint64_t series, int64_t t0, int64_t t1)
{
	struct iforest_iterator_question question = { .from = iforest_key_at(series, t0),
						      .to = iforest_key_at(series, t1),
						      .filter = scan->filter,
						      .values = with_durations(scan, scan->request) };
	struct iforest_iterator_question any = { .values = 0 };
	enum iforest_status status;

	question.taker = scan->sidecar ? &scan->taker : NULL;
	scan->window_end = question.to;
	memset(scan->values, 0, sizeof scan->values);
	for (unsigned v = 0; v < scan->fields->n_values; v++)
		scan->values[v].has_real_times = scan->fields->has_real_times;
	status = find_before(scan, series, t0, &any, &scan->ahead, &scan->has_begun);
	for (unsigned v = 0; v < scan->fields->n_values && !status && scan->has_begun; v++)
		if (scan->request >> v & 1)
			status = carry_in(scan, series, t0, v);
	if (status)
		return status;
	iforest_iterator_start(&scan->iterator, &question);
	return look_ahead(scan);
}

static void add_sample(struct iforest_counter_scan *scan, struct iforest_aggregate *aggregate)
{
	const struct iforest_entry *entry = &scan->ahead;
	int64_t until = until_of(scan, entry);

	scan->n_entries++;
	aggregate->n_rows++;
	iforest_aggregate_add_time(aggregate, entry->key.time);
	for (unsigned v = 0; v < scan->fields->n_values; v++)
		if (scan->request & entry->present & 1u << v)
			iforest_counter_add(&scan->values[v], (enum iforest_value_type)scan->fields->value_types[v],
					    entry->key.time, entry->values[v], until);
}

static void add_node(struct iforest_counter_scan *scan, struct iforest_aggregate *aggregate)
{
	const struct iforest_counter_row *any = &scan->ahead_node[iforest_trailing_zeros(scan->asked)];

	scan->n_nodes++;
	aggregate->n_rows += scan->ahead_rows;
	iforest_aggregate_add_time(aggregate, any->first_time);
	iforest_aggregate_add_time(aggregate, any->last_time);
	for (unsigned v = 0; v < scan->fields->n_values; v++)
		if (scan->request >> v & 1)
			iforest_counter_add_piece(&scan->values[v], (enum iforest_value_type)scan->fields->value_types[v],
						  &scan->ahead_node[v].piece);
}

enum iforest_status iforest_counter_scan_bucket(struct iforest_counter_scan *scan, int64_t start, int64_t end,
						struct iforest_aggregate *aggregate, bool *found)
{
	unsigned n_values = scan->fields->n_values;
	struct iforest_key stretch_end = iforest_key_at(scan->window_end.series, end);
	enum iforest_status status = IFOREST_OK;

	iforest_aggregate_clear(aggregate, n_values, &scan->fields->accumulators);
	iforest_iterator_stretch(&scan->iterator, &stretch_end);
	scan->width = scan->fields->has_real_times ? iforest_real_of_time(end) - iforest_real_of_time(start)
						   : (double)((uint64_t)end - (uint64_t)start);
	for (unsigned v = 0; v < n_values; v++)
		iforest_counter_open(&scan->values[v], start);
	while (!status && scan->has_ahead && scan->ahead.key.time < end) {
		if (scan->ahead_is_node)
			add_node(scan, aggregate);
		else
			add_sample(scan, aggregate);
		status = look_ahead(scan);
	}
	for (unsigned v = 0; v < n_values; v++)
		iforest_counter_close(&scan->values[v], (enum iforest_value_type)scan->fields->value_types[v], end);
	scan->has_begun = scan->has_begun || aggregate->n_rows > 0;
	*found = scan->has_begun;
	return status;
}
