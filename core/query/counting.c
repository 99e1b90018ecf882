#include "core/query/counting.h"

#include <math.h>
#include <string.h>

#include "core/run/cursor_internal.h"

enum { N_TABLES = (IFOREST_MAX_LEVELS + 2) * IFOREST_MAX_VALUES };

enum iforest_status iforest_counting_start(struct iforest_counting *counting, uint32_t wanted,
					   const struct iforest_filter *filter, struct iforest_store *store,
					   const struct iforest_manifest *manifest,
					   struct iforest_store *joined, const struct iforest_manifest *joined_manifest)
{
	enum iforest_status status = iforest_walk_init(&counting->walk, store, manifest);

	counting->has_walk = !status;
	counting->store = store;
	counting->fields = &manifest->fields;
	counting->filter = filter;
	counting->wanted = wanted;
	return status ? status : iforest_walk_join(&counting->walk, joined, joined_manifest);
}

void iforest_counting_release(struct iforest_counting *counting)
{
	if (!counting->has_walk)
		return;
	iforest_walk_release(&counting->walk);
	for (unsigned t = 0; counting->tables && t < N_TABLES; t++)
		iforest_release(counting->store->alloc, counting->tables[t].bytes);
	iforest_release(counting->store->alloc, counting->tables);
	counting->tables = NULL;
	counting->has_walk = false;
}

/* ---- nodes ---- */

/* The table of the node above those of a page that is held; NULL where there is none. */
static enum iforest_status find_table(struct iforest_counting *counting, struct iforest_cursor *cursor,
				      const struct iforest_shelf_name *name, const uint8_t **bytes)
{
	struct iforest_counting_table *table = &counting->tables[name->level * IFOREST_MAX_VALUES + name->value];
	const struct iforest_held_page *held = &cursor->path[name->level - 1];
	const struct iforest_alloc *alloc = counting->store->alloc;
	enum iforest_status status;
	size_t n_bytes;
	bool found;

	*bytes = table->bytes;
	if (held->header.n_items < 2) {
		*bytes = NULL; /* none is kept of an only child */
		return IFOREST_OK;
	}
	if (table->name.level && table->name.run_id == name->run_id && table->name.number == name->number &&
	    table->name.n_dead == name->n_dead)
		return IFOREST_OK;
	iforest_release(alloc, table->bytes);
	table->name.level = 0;
	table->bytes = NULL;
	status = counting->shelf->get(counting->shelf->context, name, &table->bytes, &n_bytes, &found);
	table->bytes = !status && found ? table->bytes : NULL;
	if (status)
		return status;
	if (found && !iforest_counter_table_check(table->bytes, n_bytes, held->header.n_items))
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, IFOREST_COUNTER_WRONG, name->level - 1, name->number);
	table->name = *name;
	*bytes = table->bytes;
	return IFOREST_OK;
}

/* iforest_node_taker: a node of which all that is asked for is kept. The root is in no table, but its children are. */
static enum iforest_status take_node(void *context, struct iforest_cursor *cursor, unsigned level, uint64_t i,
				     const uint8_t *node, bool *taken)
{
	struct iforest_counting *counting = context;
	uint32_t fanout = cursor->manifest->fanout;
	struct iforest_shelf_name name = { .run_id = cursor->run->place.run_id, .level = level + 1, .number = i / fanout };
	const uint8_t *parent, *table;
	enum iforest_status status = IFOREST_OK;

	*taken = level <= cursor->run->n_levels && cursor->store == counting->store;
	if (!*taken)
		return IFOREST_OK;
	status = iforest_cursor_node(cursor, level + 1, i / fanout, &parent);
	name.n_dead = status ? 0 : iforest_node_dead(parent);
	for (unsigned v = 0; counting->asked >> v && !status && *taken; v++) {
		if (!(counting->asked >> v & 1))
			continue;
		name.value = v;
		status = find_table(counting, cursor, &name, &table);
		*taken = !status && table;
		if (*taken && !iforest_counter_row_read(table, (unsigned)(i % fanout), node, counting->fields, v,
							&counting->ahead_node[v]))
			status = iforest_cursor_blame(cursor, IFOREST_CORRUPT, IFOREST_COUNTER_WRONG, level, i / fanout);
	}
	counting->ahead_rows = iforest_node_rows(node);
	return status;
}

enum iforest_status iforest_counting_use(struct iforest_counting *counting, const struct iforest_shelf *shelf, uint32_t kept)
{
	if (!kept || (counting->wanted & ~kept))
		return IFOREST_OK;
	counting->tables = iforest_allocate(counting->store->alloc, N_TABLES * sizeof *counting->tables);
	if (!counting->tables)
		return IFOREST_NO_MEMORY;
	memset(counting->tables, 0, N_TABLES * sizeof *counting->tables);
	counting->shelf = shelf;
	counting->asked = counting->wanted ? counting->wanted : kept & -kept;
	counting->taker = (struct iforest_node_taker){ .context = counting, .take = take_node };
	return IFOREST_OK;
}

/* ---- samples ---- */

/* The last row before t0, of those with a value where the question says so. */
static enum iforest_status find_before(struct iforest_counting *counting, uint64_t series, int64_t t0,
				       struct iforest_walk_question *question, struct iforest_entry *entry, bool *found)
{
	question->from = iforest_key_at(series, INT64_MIN);
	question->to = iforest_key_at(series, t0);
	question->descends = true;
	question->filter = counting->filter;
	iforest_walk_start(&counting->walk, question);
	return iforest_walk_next(&counting->walk, entry, found);
}

static int64_t until_of(const struct iforest_counting *counting, const struct iforest_entry *entry)
{
	unsigned d = counting->fields->duration_value;
	bool has_duration = d != IFOREST_NO_VALUE && entry->present >> d & 1;

	return iforest_sample_until(counting->fields, entry->key.time, has_duration,
				    has_duration ? entry->values[d].integer : 0);
}

/* The columns to read, durations among them. */
static uint32_t with_durations(const struct iforest_counting *counting, uint32_t values)
{
	unsigned v = counting->fields->duration_value;

	return values && v != IFOREST_NO_VALUE ? values | 1u << v : values;
}

static enum iforest_status carry_in(struct iforest_counting *counting, uint64_t series, int64_t t0, unsigned v)
{
	struct iforest_walk_question question = { .match = { .values = 1u << v }, .values = with_durations(counting, 1u << v) };
	struct iforest_counter *counter = &counting->values[v];
	struct iforest_entry entry;
	enum iforest_status status;

	if (counting->fields->kinds[v] == IFOREST_INT64) {
		question.match.low[v].integer = INT64_MIN;
		question.match.high[v].integer = INT64_MAX;
	} else {
		question.match.low[v].real = -INFINITY;
		question.match.high[v].real = NAN; /* which is the greatest */
	}
	status = find_before(counting, series, t0, &question, &entry, &counter->is_known);
	if (!status && counter->is_known) {
		counter->value = entry.values[v];
		counter->until = until_of(counting, &entry);
	}
	return status;
}

static enum iforest_status look_ahead(struct iforest_counting *counting)
{
	enum iforest_status status = iforest_walk_next(&counting->walk, &counting->ahead, &counting->has_ahead);
	int64_t end;

	counting->ahead_is_node = !status && counting->has_ahead && iforest_walk_gave_node(&counting->walk, &end);
	return status;
}

enum iforest_status iforest_counting_turn(struct iforest_counting *counting, uint64_t series, int64_t t0, int64_t t1)
{
	struct iforest_walk_question question = { .from = iforest_key_at(series, t0),
						  .to = iforest_key_at(series, t1),
						  .filter = counting->filter,
						  .values = with_durations(counting, counting->wanted) };
	struct iforest_walk_question any = { .values = 0 };
	enum iforest_status status;

	question.taker = counting->shelf ? &counting->taker : NULL;
	counting->window_end = question.to;
	memset(counting->values, 0, sizeof counting->values);
	status = find_before(counting, series, t0, &any, &counting->ahead, &counting->has_begun);
	for (unsigned v = 0; v < counting->fields->n_values && !status && counting->has_begun; v++)
		if (counting->wanted >> v & 1)
			status = carry_in(counting, series, t0, v);
	if (status)
		return status;
	iforest_walk_start(&counting->walk, &question);
	return look_ahead(counting);
}

static void add_sample(struct iforest_counting *counting, struct iforest_aggregate *aggregate)
{
	const struct iforest_entry *entry = &counting->ahead;
	int64_t until = until_of(counting, entry);

	counting->n_entries++;
	aggregate->n_rows++;
	iforest_aggregate_add_time(aggregate, entry->key.time);
	for (unsigned v = 0; v < counting->fields->n_values; v++)
		if (counting->wanted & entry->present & 1u << v)
			iforest_counter_add(&counting->values[v], (enum iforest_value_kind)counting->fields->kinds[v],
					    entry->key.time, entry->values[v], until);
}

static void add_node(struct iforest_counting *counting, struct iforest_aggregate *aggregate)
{
	const struct iforest_counter_row *any = &counting->ahead_node[iforest_trailing_zeros(counting->asked)];

	counting->n_nodes++;
	aggregate->n_rows += counting->ahead_rows;
	iforest_aggregate_add_time(aggregate, any->first_time);
	iforest_aggregate_add_time(aggregate, any->last_time);
	for (unsigned v = 0; v < counting->fields->n_values; v++)
		if (counting->wanted >> v & 1)
			iforest_counter_add_piece(&counting->values[v], (enum iforest_value_kind)counting->fields->kinds[v],
						  &counting->ahead_node[v].piece);
}

enum iforest_status iforest_counting_bucket(struct iforest_counting *counting, int64_t start, int64_t end,
					    struct iforest_aggregate *aggregate, bool *found)
{
	unsigned n_values = counting->fields->n_values;
	struct iforest_key stretch_end = iforest_key_at(counting->window_end.series, end);
	enum iforest_status status = IFOREST_OK;

	iforest_aggregate_clear(aggregate, n_values);
	iforest_walk_stretch(&counting->walk, &stretch_end);
	counting->width = (uint64_t)end - (uint64_t)start;
	for (unsigned v = 0; v < n_values; v++)
		iforest_counter_open(&counting->values[v], start);
	while (!status && counting->has_ahead && counting->ahead.key.time < end) {
		if (counting->ahead_is_node)
			add_node(counting, aggregate);
		else
			add_sample(counting, aggregate);
		status = look_ahead(counting);
	}
	for (unsigned v = 0; v < n_values; v++)
		iforest_counter_close(&counting->values[v], (enum iforest_value_kind)counting->fields->kinds[v], end);
	counting->has_begun = counting->has_begun || aggregate->n_rows > 0;
	*found = counting->has_begun;
	return status;
}
