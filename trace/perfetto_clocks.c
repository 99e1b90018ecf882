#include "trace/perfetto_clocks.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 4, MAX_VISITED = 128 };

/* What two clocks showed at the same moment. */
struct clock_pair {
	int64_t from_ns, to_ns;
};

/* The connection from a clock to another one. */
struct clock_edge {
	size_t to;
	struct clock_pair *pairs; /* owned; in the order of the file; from_ns never decreases */
	size_t n_pairs, n_allocated;
};

struct trace_perfetto_clock {
	uint64_t id;
	int64_t unit_ns, last_ns;
	bool is_incremental;
	bool is_no_source;	  /* the clock went back, so that one time may mean several moments */
	struct clock_edge *edges; /* owned; ordered by the ids of the clocks that they lead to */
	size_t n_edges, n_allocated;

	/* the path to the trace's clock, as of `n_changes`: indexes of edges */
	uint64_t n_changes;
	size_t way[MAX_STEPS];
	int n_steps; /* 0 if there is none */
};

/* A clock reached by the search for a path. */
struct clock_visit {
	size_t clock, edge; /* the edge that led here */
	int before;	    /* index of the visit before */
	int n_steps;
};

uint64_t trace_perfetto_clock_id(uint32_t number, uint32_t sequence)
{
	bool is_of_sequence = number >= 64 && number < 128;

	return (uint64_t)number << 32 | (is_of_sequence ? sequence : 0);
}

void trace_perfetto_clocks_release(struct trace_perfetto_clocks *clocks)
{
	for (size_t i = 0; i < clocks->n_clocks; i++) {
		for (size_t j = 0; j < clocks->clocks[i].n_edges; j++)
			free(clocks->clocks[i].edges[j].pairs);
		free(clocks->clocks[i].edges);
	}
	free(clocks->clocks);
	clocks->clocks = NULL;
	clocks->n_clocks = clocks->n_allocated = 0;
	trace_u64_map_clear(&clocks->by_id, clocks->budget);
}

/* ---- Snapshots ---- */

static int find_clock(struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *reading, size_t *place)
{
	uint64_t *value;
	bool is_new;
	int status = trace_array_reserve(clocks->budget, &clocks->clocks, clocks->n_clocks, &clocks->n_allocated,
					 sizeof *clocks->clocks);

	if (status < 0)
		return status;
	status = trace_u64_map_put(&clocks->by_id, clocks->budget, reading->id, &value, &is_new);
	if (status < 0)
		return status;
	if (is_new) {
		*value = clocks->n_clocks;
		clocks->clocks[clocks->n_clocks++] = (struct trace_perfetto_clock){
			.id = reading->id,
			.unit_ns = (int64_t)reading->unit_ns,
			.is_incremental = reading->is_incremental,
			.n_changes = UINT64_MAX,
		};
	}
	*place = (size_t)*value;
	return TRACE_OK;
}

/* Returns the index of the edge to a clock among those of another, or the index where it belongs. */
static size_t edge_place(const struct trace_perfetto_clocks *clocks, const struct trace_perfetto_clock *clock, size_t to)
{
	size_t low = 0, high = clock->n_edges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (clocks->clocks[clock->edges[middle].to].id < clocks->clocks[to].id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int find_edge(struct trace_perfetto_clocks *clocks, size_t from, size_t to, struct clock_edge **edge)
{
	struct trace_perfetto_clock *clock = &clocks->clocks[from];
	size_t place = edge_place(clocks, clock, to);
	int status;

	if (place < clock->n_edges && clock->edges[place].to == to) {
		*edge = &clock->edges[place];
		return TRACE_OK;
	}
	status = trace_array_reserve(clocks->budget, &clock->edges, clock->n_edges, &clock->n_allocated, sizeof **edge);
	if (status < 0)
		return status;
	*edge = &clock->edges[place];
	memmove(*edge + 1, *edge, (clock->n_edges - place) * sizeof **edge);
	**edge = (struct clock_edge){ .to = to };
	clock->n_edges++;
	clocks->n_changes++;
	return TRACE_OK;
}

static int join(struct trace_perfetto_clocks *clocks, size_t from, size_t to, struct clock_pair pair)
{
	struct trace_perfetto_clock *clock = &clocks->clocks[from];
	struct clock_edge *edge;
	int status = find_edge(clocks, from, to, &edge);

	if (status < 0)
		return status;
	status = trace_array_reserve(clocks->budget, &edge->pairs, edge->n_pairs, &edge->n_allocated, sizeof *edge->pairs);
	if (status < 0)
		return status;
	if (!clock->is_no_source && edge->n_pairs > 0 && pair.from_ns < edge->pairs[edge->n_pairs - 1].from_ns) {
		clock->is_no_source = true;
		clocks->n_changes++;
	}
	if (!clock->is_no_source)
		edge->pairs[edge->n_pairs++] = pair;
	return TRACE_OK;
}

/* Converts a reading to nanoseconds; false if they do not fit. */
static bool reading_ns(const struct trace_clock_reading *reading, int64_t *ns)
{
	return reading->timestamp <= INT64_MAX && reading->unit_ns <= INT64_MAX &&
	       !__builtin_mul_overflow((int64_t)reading->timestamp, (int64_t)reading->unit_ns, ns);
}

/* Returns why a reading is not credible, or NULL. */
static const char *doubt(const struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t i)
{
	const struct trace_clock_reading *reading = &readings[i];
	const uint64_t *place = trace_u64_map_find(&clocks->by_id, reading->id);
	int64_t ns;

	if (!reading_ns(reading, &ns))
		return "clock snapshot: a time beyond 64-bit nanoseconds";
	if (reading->is_incremental && (uint32_t)reading->id == 0)
		return "clock snapshot: a clock of no sequence is incremental";
	if (reading->id == clocks->trace_clock && reading->unit_ns != 1)
		return "clock snapshot: the trace's clock does not count nanoseconds";
	if (place && ((uint64_t)clocks->clocks[*place].unit_ns != reading->unit_ns ||
		      clocks->clocks[*place].is_incremental != reading->is_incremental))
		return "clock snapshot: a clock has changed its unit";
	if (place && reading->id == clocks->trace_clock && ns < clocks->clocks[*place].last_ns)
		return "clock snapshot: the trace's clock goes back";
	for (size_t j = 0; j < i; j++) {
		if (readings[j].id == reading->id)
			return "clock snapshot: a clock twice";
	}
	return NULL;
}

int trace_perfetto_clocks_add(struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t n,
			      const char **problem)
{
	struct trace_clock_reading known[TRACE_CLOCKS_A_SNAPSHOT];
	size_t places[TRACE_CLOCKS_A_SNAPSHOT];
	int64_t times_ns[TRACE_CLOCKS_A_SNAPSHOT] = { 0 };
	int status = TRACE_OK;

	*problem = n > TRACE_CLOCKS_A_SNAPSHOT ? "clock snapshot: of more than 32 clocks" : NULL;
	for (size_t i = 0; i < n && !*problem; i++) {
		known[i] = readings[i];
		known[i].unit_ns = readings[i].unit_ns ? readings[i].unit_ns : 1;
		*problem = doubt(clocks, known, i);
	}
	for (size_t i = 0; i < n && !*problem && status == TRACE_OK; i++) {
		status = find_clock(clocks, &known[i], &places[i]);
		if (status == TRACE_OK && reading_ns(&known[i], &times_ns[i]))
			clocks->clocks[places[i]].last_ns = times_ns[i];
	}
	for (size_t i = 0; i < n && !*problem; i++) {
		for (size_t j = 0; j < n && status == TRACE_OK; j++) {
			if (i != j)
				status = join(clocks, places[i], places[j], (struct clock_pair){ times_ns[i], times_ns[j] });
		}
	}
	return status;
}

/* ---- Conversion ---- */

static bool was_visited(const struct clock_visit *visits, int n, size_t clock)
{
	for (int i = 0; i < n; i++) {
		if (visits[i].clock == clock)
			return true;
	}
	return false;
}

/* Finds the shortest path from a clock to the trace's, by breadth-first search. */
static void find_way(struct trace_perfetto_clocks *clocks, size_t source, size_t target)
{
	struct trace_perfetto_clock *clock = &clocks->clocks[source];
	struct clock_visit visits[MAX_VISITED] = { { source, 0, -1, 0 } };
	int n = 1, found = -1;

	for (int i = 0; i < n && found < 0; i++) {
		const struct trace_perfetto_clock *at = &clocks->clocks[visits[i].clock];

		if (at->is_no_source || visits[i].n_steps == MAX_STEPS)
			continue;
		for (size_t j = 0; j < at->n_edges && found < 0 && n < MAX_VISITED; j++) {
			if (was_visited(visits, n, at->edges[j].to))
				continue;
			visits[n] = (struct clock_visit){ at->edges[j].to, j, i, visits[i].n_steps + 1 };
			if (at->edges[j].to == target)
				found = n;
			n++;
		}
	}
	clock->n_changes = clocks->n_changes;
	clock->n_steps = found < 0 ? 0 : visits[found].n_steps;
	for (int i = found; i > 0; i = visits[i].before)
		clock->way[visits[i].n_steps - 1] = visits[i].edge;
}

/* Returns the latest pair at or before a time, or else the first one. */
static struct clock_pair pair_at(const struct clock_edge *edge, int64_t ns)
{
	size_t low = 0, high = edge->n_pairs;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (edge->pairs[middle].from_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return edge->pairs[low > 0 ? low - 1 : 0];
}

/* Converts a time of a clock to nanoseconds; false if it does not fit. An incremental clock adds each time to the last. */
static bool take_time(struct trace_perfetto_clock *clock, uint64_t timestamp, int64_t *ns)
{
	if (timestamp > INT64_MAX || __builtin_mul_overflow((int64_t)timestamp, clock->unit_ns, ns))
		return false;
	if (!clock->is_incremental)
		return true;
	if (__builtin_add_overflow(clock->last_ns, *ns, ns))
		return false;
	clock->last_ns = *ns;
	return true;
}

int trace_perfetto_clocks_convert(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *ts_ns)
{
	const uint64_t *source = trace_u64_map_find(&clocks->by_id, id);
	const uint64_t *target = trace_u64_map_find(&clocks->by_id, clocks->trace_clock);
	struct trace_perfetto_clock *clock;
	size_t at;

	if (id == clocks->trace_clock) {
		*ts_ns = (int64_t)timestamp;
		return timestamp <= INT64_MAX ? TRACE_ROW : TRACE_OK;
	}
	if (!source || !target)
		return TRACE_OK;
	at = (size_t)*source;
	clock = &clocks->clocks[at];
	if (clock->n_changes != clocks->n_changes)
		find_way(clocks, at, (size_t)*target);
	if (clock->n_steps == 0 || !take_time(clock, timestamp, ts_ns))
		return TRACE_OK;
	for (int i = 0; i < clock->n_steps; i++) {
		const struct clock_edge *edge = &clocks->clocks[at].edges[clock->way[i]];
		struct clock_pair pair = pair_at(edge, *ts_ns);
		int64_t shift;

		if (__builtin_sub_overflow(pair.to_ns, pair.from_ns, &shift) || __builtin_add_overflow(*ts_ns, shift, ts_ns))
			return TRACE_OK;
		at = edge->to;
	}
	return TRACE_ROW;
}
