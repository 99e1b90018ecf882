#include "layout.h"

#include "database.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A track that is to be placed. */
struct node {
	char *key, *kind, *name, *pid, *tid, *labels, *parent_key, *label;
	int64_t sort_index;
	int rank;   /* among the children of its parent */
	int parent; /* a number in `nodes`, or -1 */
	int from_lane, to_lane, from_series, to_series;
	int from_child, to_child; /* in `order` */
	bool is_used;		  /* it, or one below it, has something to show */
};

struct builder {
	struct layout *layout;
	sqlite3_stmt *span_name, *instant_name;
	struct node *nodes; /* ordered by their keys */
	int *order;	    /* numbers of nodes, parent by parent */
	int n_nodes, n_row_lanes;
};

enum { MOST_SLOTS_SEARCHED = 1000, N_PARTS = 64, SHORTEST_BUSY_NS = 1000 };

static const int64_t longest_trace_ns = INT64_MAX / 4;

/* ---- memory: none is given back, as a layout lives as long as the program ---- */

static void *must(void *memory)
{
	if (!memory) {
		database_complain("out of memory");
		exit(1);
	}
	return memory;
}

/* Makes room for one more in an array of n; it doubles. */
static void *grown(void *array, int n, size_t size)
{
	return n & (n - 1) ? array : must(realloc(array, (n ? 2 * (size_t)n : 1) * size));
}

static char *copy_column(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? must(strdup(text)) : NULL;
}

__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return must(text);
}

static bool has_text(const char *text)
{
	return text && *text;
}

/* ---- reading ---- */

static bool finish(sqlite3 *db, sqlite3_stmt *statement)
{
	if (!sqlite3_finalize(statement))
		return true;
	database_complain("%s", sqlite3_errmsg(db));
	return false;
}

/* The id of the span of a lane that was never closed, whose duration is NULL: what begins later is deeper. */
#define OPEN_ID \
	"(SELECT id FROM spans_rows AS r WHERE r.track = f.track AND r.depth = f.depth AND r.ts = f.last_ts AND r.dur IS NULL)"

/* A track that has spans has some of depth 0. A duration of -1 is that of older databases. */
static const char lanes_sql[] =
	"SELECT track, depth, max(has_spans), max(has_instants), min(first), max(end), min(open_ts), min(open_id), "
	"coalesce(max(span_id), min(open_id)), max(instant_id) FROM ("
	"SELECT track, depth, 1 AS has_spans, 0 AS has_instants, first_ts AS first, "
	"max(last_ts, coalesce(last_dur_ts + max(last_dur, 0), last_ts)) AS end, "
	"CASE WHEN min_dur < 0 THEN min_dur_ts WHEN count > count_dur AND " OPEN_ID " IS NOT NULL THEN last_ts END AS open_ts, "
	"CASE WHEN min_dur < 0 THEN min_dur_id WHEN count > count_dur THEN " OPEN_ID " END AS open_id, "
	"max_dur_id AS span_id, NULL AS instant_id FROM spans_if AS f "
	"UNION ALL SELECT track, 0, 0, 1, first_ts, last_ts, NULL, NULL, NULL, first_id FROM instants_if) "
	"WHERE first IS NOT NULL AND track IS NOT NULL GROUP BY track, depth ORDER BY track, depth";

static bool read_lanes(struct layout *layout, sqlite3 *db)
{
	sqlite3_stmt *statement;

	if (!database_prepare(db, &statement, lanes_sql))
		return false;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		bool has_spans = sqlite3_column_int(statement, 2);

		layout->lanes = grown(layout->lanes, layout->n_lanes, sizeof *layout->lanes);
		layout->lanes[layout->n_lanes++] = (struct lane){
			.track = copy_column(statement, 0),
			.depth = sqlite3_column_int64(statement, 1),
			.has_spans = has_spans,
			.has_instants = sqlite3_column_int(statement, 3),
			.first = sqlite3_column_int64(statement, 4),
			.end = sqlite3_column_int64(statement, 5),
			.is_open = sqlite3_column_type(statement, 6) != SQLITE_NULL,
			.open_ts = sqlite3_column_int64(statement, 6),
			.open_id = sqlite3_column_int64(statement, 7),
			.some_id = sqlite3_column_int64(statement, has_spans ? 8 : 9),
			.row = -1,
		};
	}
	return finish(db, statement);
}

static void widen(int64_t range[2], int64_t first, int64_t end)
{
	range[0] = first < range[0] ? first : range[0];
	range[1] = end > range[1] ? end : range[1];
}

static bool read_series(struct layout *layout, sqlite3 *db, int64_t range[2])
{
	sqlite3_stmt *statement;

	if (!database_prepare(db, &statement,
			      "SELECT track, name, counter_id, key, min_value, max_value, first_ts, last_ts, "
			      "(SELECT unit FROM counters WHERE id = max_value_id) "
			      "FROM counters_if WHERE first_ts IS NOT NULL AND min_value IS NOT NULL "
			      "ORDER BY coalesce(track, ''), name, counter_id, key"))
		return false;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		layout->series = grown(layout->series, layout->n_series, sizeof *layout->series);
		layout->series[layout->n_series++] = (struct series){
			.track = copy_column(statement, 0),
			.name = copy_column(statement, 1),
			.id = copy_column(statement, 2),
			.key = copy_column(statement, 3),
			.unit = copy_column(statement, 8),
			.least = sqlite3_column_double(statement, 4),
			.most = sqlite3_column_double(statement, 5),
		};
		widen(range, sqlite3_column_int64(statement, 6), sqlite3_column_int64(statement, 7));
	}
	return finish(db, statement);
}

static bool find_range(struct layout *layout, int64_t range[2])
{
	for (int i = 0; i < layout->n_lanes; i++)
		widen(range, layout->lanes[i].first, layout->lanes[i].end);
	if (layout->n_lanes == 0 && layout->n_series == 0) {
		database_complain("there are no spans, instants or counters to show");
		return false;
	}
	if ((uint64_t)range[1] - (uint64_t)range[0] > (uint64_t)longest_trace_ns) {
		database_complain("the trace is longer than 73 years; are its times in nanoseconds?");
		return false;
	}
	layout->base = range[0];
	layout->length = range[1] > range[0] ? range[1] - range[0] : 1;
	layout->busy[1] = layout->length;
	return true;
}

/* How much there is in each part of the busy window. */
static void count_parts(const struct layout *layout, sqlite3_stmt *statement, int64_t counts[N_PARTS])
{
	memset(counts, 0, N_PARTS * sizeof *counts);
	sqlite3_bind_int64(statement, 1, layout->base + layout->busy[0]);
	sqlite3_bind_int64(statement, 2, layout->base + layout->busy[1]);
	sqlite3_bind_int(statement, 3, N_PARTS);
	while (sqlite3_step(statement) == SQLITE_ROW)
		counts[sqlite3_column_int(statement, 0)] = sqlite3_column_int64(statement, 1);
	sqlite3_reset(statement);
}

/* When a part begins; N_PARTS is the end. */
static int64_t begin_of_part(int64_t begin, int64_t length, int part)
{
	return begin + length / N_PARTS * part + length % N_PARTS * part / N_PARTS;
}

/* The parts [*from, *to) of which nine tenths of all are in the two neighbours that have most. False if these have less. */
static bool find_busy_parts(const int64_t counts[N_PARTS], int *from, int *to)
{
	int64_t total = 0;

	*from = 0;
	for (int i = 0; i < N_PARTS; i++) {
		total += counts[i];
		if (i + 1 < N_PARTS && counts[i] + counts[i + 1] > counts[*from] + counts[*from + 1])
			*from = i;
	}
	*to = *from + 2;
	return total > 0 && counts[*from] + counts[*from + 1] >= total - total / 10;
}

/* But for one part on either side, nothing is empty at the ends. */
static void find_used_parts(const int64_t counts[N_PARTS], int *from, int *to)
{
	for (*from = 0; *from + 2 < N_PARTS && !counts[*from + 1]; ++*from)
		;
	for (*to = N_PARTS; *to > *from + 2 && !counts[*to - 2]; --*to)
		;
}

/* Some traces have a few events of another clock, hours away. Two neighbouring parts of 64 become the busy window as long as nine
 * tenths of it are in them, and in the end it is made to fit. */
static bool find_busy(struct layout *layout, sqlite3 *db, const struct tables *tables)
{
	char *sql = print("SELECT bucket, sum(count) FROM (SELECT bucket, count FROM spans_if(?1, ?2, ?3)%s%s) GROUP BY bucket",
			  tables->instants ? " UNION ALL SELECT bucket, count FROM instants_if(?1, ?2, ?3)" : "",
			  tables->counters ? " UNION ALL SELECT bucket, count FROM counters_if(?1, ?2, ?3)" : "");
	sqlite3_stmt *statement;
	bool is_prepared = database_prepare(db, &statement, sql), is_narrower = true;

	free(sql);
	if (!is_prepared)
		return false;
	while (is_narrower && layout->busy[1] - layout->busy[0] > SHORTEST_BUSY_NS) {
		int64_t counts[N_PARTS], begin = layout->busy[0], length = layout->busy[1] - begin;
		int from, to;

		count_parts(layout, statement, counts);
		is_narrower = find_busy_parts(counts, &from, &to);
		if (!is_narrower && length < layout->length)
			find_used_parts(counts, &from, &to);
		if (is_narrower || length < layout->length) {
			layout->busy[0] = begin_of_part(begin, length, from);
			layout->busy[1] = begin_of_part(begin, length, to);
		}
	}
	return finish(db, statement);
}

/* Also those that the table of tracks does not have. */
static bool read_nodes(struct builder *builder, sqlite3 *db)
{
	sqlite3_stmt *statement;

	if (!database_prepare(
		    db, &statement,
		    "WITH used(track) AS (SELECT track FROM tracks UNION SELECT track FROM spans_if UNION SELECT track FROM "
		    "instants_if UNION SELECT coalesce(track, '') FROM counters_if) "
		    "SELECT track, kind, name, pid, tid, labels, parent, sort_index FROM used LEFT JOIN (SELECT min(id), track, "
		    "kind, name, pid, tid, labels, parent, sort_index FROM tracks GROUP BY track) USING (track) "
		    "WHERE track IS NOT NULL ORDER BY track"))
		return false;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct node node = { .parent = -1, .sort_index = sqlite3_column_int64(statement, 7) };
		char **const texts[] = {
			&node.key, &node.kind, &node.name, &node.pid, &node.tid, &node.labels, &node.parent_key
		};

		for (int i = 0; i < 7; i++)
			*texts[i] = copy_column(statement, i);
		node.pid = node.pid ? node.pid : node.key;
		node.tid = node.tid ? node.tid : node.key;
		builder->nodes = grown(builder->nodes, builder->n_nodes, sizeof node);
		builder->nodes[builder->n_nodes++] = node;
	}
	return finish(db, statement);
}

/* ---- tracks and their parents ---- */

static int compare_with_node(const void *key, const void *node)
{
	return strcmp(key, ((const struct node *)node)->key);
}

static int find_node(const struct builder *builder, const char *key)
{
	struct node *found = key && builder->n_nodes
				     ? bsearch(key, builder->nodes, (size_t)builder->n_nodes, sizeof *found, compare_with_node)
				     : NULL;

	return found ? (int)(found - builder->nodes) : -1;
}

static bool is_kind(const struct node *node, const char *kind)
{
	return node->kind && strcmp(node->kind, kind) == 0;
}

/* Lanes and series are ordered by the keys of their tracks, as nodes are. */
static void give_contents(struct builder *builder)
{
	struct layout *layout = builder->layout;
	int lane = 0, series = 0;

	for (int n = 0; n < builder->n_nodes; n++) {
		struct node *node = &builder->nodes[n];

		node->from_lane = lane;
		while (lane < layout->n_lanes && strcmp(layout->lanes[lane].track, node->key) == 0)
			lane++;
		node->to_lane = lane;
		node->from_series = series;
		while (series < layout->n_series &&
		       strcmp(layout->series[series].track ? layout->series[series].track : "", node->key) == 0)
			series++;
		node->to_series = series;
	}
}

/* A parent that is too high above, or that is below, is none. */
static void find_parents(struct builder *builder)
{
	for (int n = 0; n < builder->n_nodes; n++)
		builder->nodes[n].parent = find_node(builder, builder->nodes[n].parent_key);
	for (int n = 0; n < builder->n_nodes; n++) {
		int n_levels = 0;

		for (int p = n; p >= 0 && n_levels <= MOST_LEVELS; p = builder->nodes[p].parent)
			n_levels++;
		if (n_levels > MOST_LEVELS)
			builder->nodes[n].parent = -1;
	}
	for (int n = 0; n < builder->n_nodes; n++) {
		const struct node *node = &builder->nodes[n];

		if (node->from_lane == node->to_lane && node->from_series == node->to_series)
			continue;
		for (int p = n; p >= 0 && !builder->nodes[p].is_used; p = builder->nodes[p].parent)
			builder->nodes[p].is_used = true;
	}
}

/* ---- names ---- */

static char *name_of_row(sqlite3_stmt *statement, int64_t id)
{
	char *name = NULL;

	sqlite3_bind_int64(statement, 1, id);
	if (sqlite3_step(statement) == SQLITE_ROW)
		name = copy_column(statement, 0);
	sqlite3_reset(statement);
	return name;
}

/* An operation that the file does not name is called after its longest span. */
static char *operation_name(struct builder *builder, const struct node *node)
{
	const struct lane *lane = &builder->layout->lanes[node->from_lane];

	if (has_text(node->name) || node->from_lane == node->to_lane)
		return node->name;
	return name_of_row(lane->has_spans ? builder->span_name : builder->instant_name, lane->some_id);
}

static char *node_label(struct builder *builder, const struct node *node)
{
	char *name = node->name;

	if (is_kind(node, "process") && has_text(name))
		return print("%s (%s)%s%s", name, node->pid, has_text(node->labels) ? " " : "",
			     has_text(node->labels) ? node->labels : "");
	if (is_kind(node, "process") || is_kind(node, "thread"))
		return has_text(name) ? name : print("%s %s", node->kind, is_kind(node, "process") ? node->pid : node->tid);
	if (is_kind(node, "cpu") && strncmp(node->key, "cpu:", 4) == 0)
		return print("CPU %s", node->key + 4);
	if (is_kind(node, "async"))
		name = operation_name(builder, node);
	return has_text(name) ? name : has_text(node->key) ? node->key : must(strdup("counters"));
}

static void name_nodes(struct builder *builder)
{
	static const char *const ranks[] = { "global", "cpu", "process", "thread", "state", "service", "async" };

	for (int n = 0; n < builder->n_nodes; n++) {
		struct node *node = &builder->nodes[n];

		for (size_t rank = 0; rank < sizeof ranks / sizeof *ranks && !is_kind(node, ranks[rank]); rank++)
			node->rank = (int)rank + 1;
		if (node->is_used)
			node->label = node_label(builder, node);
	}
	/* what state a thread is in stands below its spans */
	for (int n = 0; n < builder->n_nodes; n++) {
		struct node *node = &builder->nodes[n];
		int thread =
			is_kind(node, "state") && strncmp(node->key, "state:", 6) == 0 ? find_node(builder, node->key + 6) : -1;

		if (thread < 0 || !node->is_used || node->name)
			continue;
		node->label =
			print("%s: state", has_text(builder->nodes[thread].name) ? builder->nodes[thread].name : node->tid);
		node->sort_index = builder->nodes[thread].sort_index;
		node->rank = builder->nodes[thread].rank;
	}
}

/* ---- order ---- */

static int compare_nodes(const void *left, const void *right)
{
	const struct node *a = *(const struct node *const *)left, *b = *(const struct node *const *)right;
	int by_label;

	if (a->is_used != b->is_used)
		return a->is_used ? -1 : 1;
	if (!a->is_used)
		return 0;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->sort_index != b->sort_index)
		return a->sort_index < b->sort_index ? -1 : 1;
	by_label = strverscmp(a->label, b->label);
	return by_label ? by_label : strverscmp(a->key, b->key);
}

/* Returns how many nodes have no parent. */
static int order_nodes(struct builder *builder)
{
	const struct node **sorted = must(malloc(((size_t)builder->n_nodes + 1) * sizeof *sorted));
	int n_roots = 0;

	builder->order = must(malloc(((size_t)builder->n_nodes + 1) * sizeof *builder->order));
	for (int n = 0; n < builder->n_nodes; n++)
		sorted[n] = &builder->nodes[n];
	qsort(sorted, (size_t)builder->n_nodes, sizeof *sorted, compare_nodes);
	for (int n = 0; n < builder->n_nodes; n++)
		builder->order[n] = (int)(sorted[n] - builder->nodes);
	free(sorted);
	for (int i = 0; i < builder->n_nodes && builder->nodes[builder->order[i]].is_used; i++) {
		int parent = builder->nodes[builder->order[i]].parent;

		if (parent < 0) {
			n_roots++;
			continue;
		}
		if (builder->nodes[parent].to_child == 0)
			builder->nodes[parent].from_child = i;
		builder->nodes[parent].to_child = i + 1;
	}
	return n_roots;
}

/* ---- rows ---- */

static struct row *add_row(struct builder *builder, enum row_kind kind, int level)
{
	struct layout *layout = builder->layout;

	layout->rows = grown(layout->rows, layout->n_rows, sizeof *layout->rows);
	layout->rows[layout->n_rows] =
		(struct row){ .kind = kind, .level = level, .from = builder->n_row_lanes, .to = builder->n_row_lanes };
	return &layout->rows[layout->n_rows++];
}

static void add_lane(struct builder *builder, int lane)
{
	struct layout *layout = builder->layout;

	layout->row_lanes = grown(layout->row_lanes, builder->n_row_lanes, sizeof *layout->row_lanes);
	layout->row_lanes[builder->n_row_lanes++] = lane;
	layout->lanes[lane].row = layout->n_rows - 1;
	layout->rows[layout->n_rows - 1].to = builder->n_row_lanes;
	layout->rows[layout->n_rows - 1].has_spans |= layout->lanes[lane].has_spans;
}

static char *node_title(const struct builder *builder, const struct node *node)
{
	const struct node *parent = node->parent < 0 ? NULL : &builder->nodes[node->parent];
	char *title = print("%s %s", node->kind ? node->kind : "track", node->key);

	if (parent)
		title = print("%s, of %s", title, parent->label);
	return has_text(node->labels) ? print("%s, %s", title, node->labels) : title;
}

/* A track of its own, a row for each lane. */
static void add_lanes(struct builder *builder, const struct node *node, int level, const char *label)
{
	for (int lane = node->from_lane; lane < node->to_lane; lane++) {
		struct row *row = add_row(builder, ROW_SPANS, level);

		row->depth = (int)builder->layout->lanes[lane].depth;
		if (lane == node->from_lane) {
			row->label = must(strdup(label));
			row->title = node_title(builder, node);
		}
		add_lane(builder, lane);
	}
}

static bool is_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* An id is a name only where it tells counters of one name apart. */
static bool needs_id(const struct layout *layout, const struct node *node, int s)
{
	for (int other = s - 1; other <= s + 1; other += 2)
		if (other >= node->from_series && other < node->to_series &&
		    is_same(layout->series[other].name, layout->series[s].name) &&
		    !is_same(layout->series[other].id, layout->series[s].id))
			return has_text(layout->series[s].id);
	return false;
}

static void add_series(struct builder *builder, const struct node *node, int level)
{
	for (int s = node->from_series; s < node->to_series; s++) {
		const struct series *series = &builder->layout->series[s];
		struct row *row = add_row(builder, ROW_COUNTER, level);
		bool has_id = needs_id(builder->layout, node, s),
		     has_key = has_text(series->key) && strcmp(series->key, "value") != 0;

		row->series = s;
		row->label = print("%s%s%s%s%s", has_text(series->name) ? series->name : "counter", has_id ? " " : "",
				   has_id ? series->id : "", has_key ? ": " : "", has_key ? series->key : "");
		row->title = print("counter of %s", node->label);
	}
}

/* An operation among those of its name. */
struct placed {
	int node, slot;
	int64_t first, end;
};

static int compare_first(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	return a->first != b->first ? (a->first < b->first ? -1 : 1) : a->node - b->node;
}

static int compare_slot(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	return a->slot != b->slot ? a->slot - b->slot : compare_first(left, right);
}

/* The first slot that is free; one that goes on for ever never is. */
static void give_slots(struct placed *placed, int n)
{
	int64_t *ends = must(malloc((size_t)n * sizeof *ends));
	int n_slots = 0;

	qsort(placed, (size_t)n, sizeof *placed, compare_first);
	for (int i = 0; i < n; i++) {
		int slot = n_slots > MOST_SLOTS_SEARCHED ? n_slots - MOST_SLOTS_SEARCHED : 0;

		while (slot < n_slots && ends[slot] > placed[i].first)
			slot++;
		n_slots += slot == n_slots;
		/* what takes no time takes its moment */
		ends[slot] = placed[i].end > placed[i].first ? placed[i].end : placed[i].first + 1;
		placed[i].slot = slot;
	}
	free(ends);
	qsort(placed, (size_t)n, sizeof *placed, compare_slot);
}

static void add_slot(struct builder *builder, const struct placed *placed, int n, int level, const char *label)
{
	int n_lanes = 1;

	for (int depth = 0; depth < n_lanes; depth++) {
		struct row *row = add_row(builder, ROW_SPANS, level);

		row->depth = depth;
		if (depth == 0 && label) {
			row->label = must(strdup(label));
			row->title = node_title(builder, &builder->nodes[placed->node]);
		}
		for (int i = 0; i < n; i++) {
			const struct node *node = &builder->nodes[placed[i].node];

			if (node->from_lane + depth < node->to_lane)
				add_lane(builder, node->from_lane + depth);
			if (node->to_lane - node->from_lane > n_lanes)
				n_lanes = node->to_lane - node->from_lane;
		}
	}
}

/* Operations of one name. */
static void add_operations(struct builder *builder, const int *numbers, int n, int level)
{
	struct placed *placed = must(malloc((size_t)n * sizeof *placed));
	const char *label = builder->nodes[numbers[0]].label;

	for (int i = 0; i < n; i++) {
		const struct node *node = &builder->nodes[numbers[i]];
		int64_t range[2] = { INT64_MAX, INT64_MIN };

		for (int lane = node->from_lane; lane < node->to_lane; lane++)
			widen(range, builder->layout->lanes[lane].first,
			      builder->layout->lanes[lane].is_open ? INT64_MAX : builder->layout->lanes[lane].end);
		placed[i] = (struct placed){ .node = numbers[i], .first = range[0], .end = range[1] };
	}
	give_slots(placed, n);
	for (int from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && placed[to].slot == placed[from].slot; to++)
			;
		add_slot(builder, &placed[from], to - from, level, from == 0 ? label : NULL);
	}
	free(placed);
}

/* Has it nothing but lanes, and is it one of many? */
static bool is_operation(const struct node *node)
{
	return is_kind(node, "async") && node->from_lane < node->to_lane && node->from_series == node->to_series &&
	       node->to_child == 0;
}

static void add_nodes(struct builder *builder, int from, int to, int level);

static void add_node(struct builder *builder, const struct node *node, int level)
{
	bool has_lanes = node->from_lane < node->to_lane, is_process = is_kind(node, "process");

	if (is_process || (!has_lanes && *node->key)) {
		struct row *row = add_row(builder, ROW_HEADING, level);

		row->label = node->label;
		row->title = node_title(builder, node);
	}
	add_lanes(builder, node, level + is_process, is_process ? "(process)" : node->label);
	add_series(builder, node, level + (*node->key != '\0'));
	add_nodes(builder, node->from_child, node->to_child, level + 1);
}

static void add_nodes(struct builder *builder, int from, int to, int level)
{
	const struct node *nodes = builder->nodes;
	const int *order = builder->order;

	for (int i = from, next; i < to; i = next) {
		next = i + 1;
		if (!is_operation(&nodes[order[i]])) {
			add_node(builder, &nodes[order[i]], level);
			continue;
		}
		while (next < to && is_operation(&nodes[order[next]]) &&
		       strcmp(nodes[order[next]].label, nodes[order[i]].label) == 0)
			next++;
		add_operations(builder, &order[i], next - i, level);
	}
}

/* ---- the whole ---- */

bool layout_read(struct layout *layout, sqlite3 *db, const struct tables *tables)
{
	struct builder builder = { .layout = layout };
	int64_t range[2] = { INT64_MAX, INT64_MIN };

	*layout = (struct layout){ .n_rows = 0 };
	if (!read_lanes(layout, db) || !read_series(layout, db, range) || !find_range(layout, range) ||
	    !find_busy(layout, db, tables) || !read_nodes(&builder, db) ||
	    !database_prepare(db, &builder.span_name, "SELECT name FROM spans WHERE id = ?1") ||
	    (tables->instants && !database_prepare(db, &builder.instant_name, "SELECT name FROM instants WHERE id = ?1")))
		return false;
	give_contents(&builder);
	find_parents(&builder);
	name_nodes(&builder);
	add_nodes(&builder, 0, order_nodes(&builder), 0);
	sqlite3_finalize(builder.span_name);
	sqlite3_finalize(builder.instant_name);
	free(builder.order);
	free(builder.nodes);
	return true;
}

static int find_lane(const struct layout *layout, const char *track, int64_t depth)
{
	int from = 0, to = layout->n_lanes;

	while (from < to) {
		int middle = from + (to - from) / 2, order = strcmp(layout->lanes[middle].track, track);

		if (order < 0 || (order == 0 && layout->lanes[middle].depth < depth))
			from = middle + 1;
		else
			to = middle;
	}
	return from < layout->n_lanes && strcmp(layout->lanes[from].track, track) == 0 ? from : -1;
}

int layout_first_lane(const struct layout *layout, const char *track)
{
	return find_lane(layout, track, INT64_MIN);
}

int layout_row(const struct layout *layout, const char *track, int64_t depth)
{
	int lane = find_lane(layout, track, depth);

	if (lane < 0 || layout->lanes[lane].depth != depth)
		lane = layout_first_lane(layout, track);
	return lane < 0 ? -1 : layout->lanes[lane].row;
}

void layout_describe(const struct layout *layout, struct bytes *out)
{
	bytes_append(out, "[", 1);
	for (int r = 0; r < layout->n_rows; r++) {
		const struct row *row = &layout->rows[r];

		bytes_print(out, "%s[%d, %d, ", r ? ",\n" : "", row->kind, row->level);
		bytes_quote_text(out, row->label);
		bytes_append(out, ", ", 2);
		bytes_quote_text(out, row->title);
		bytes_print(out, ", %d, %s", row->depth, row->has_spans ? "true" : "false");
		if (row->kind == ROW_COUNTER) {
			bytes_print(out, ", %.17g, %.17g, ", layout->series[row->series].least,
				    layout->series[row->series].most);
			bytes_quote_text(out, layout->series[row->series].unit);
		}
		bytes_append(out, "]", 1);
	}
	bytes_append(out, "]", 1);
}
