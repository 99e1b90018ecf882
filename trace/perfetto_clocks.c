#include "trace/perfetto_clocks.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 4, MAX_VISITED = 128, MAX_LINKS = 16 /* series that connect two clocks; later ones are not used */ };

/* The snapshots of a set of clocks. */
struct trace_clock_series {
	uint64_t ids[TRACE_CLOCKS_A_SNAPSHOT]; /* ascending */
	size_t n_clocks;
	int64_t *times_ns; /* owned; a row of n_clocks times for each snapshot */
	size_t n_snapshots, n_allocated;
};

/* What two clocks showed at the same moment. */
struct clock_pair {
	int64_t from_ns, to_ns;
};

/* A connection from a clock to another one by a series. */
struct clock_edge {
	size_t to;
	size_t series, from_column, to_column;
};

struct trace_perfetto_clock {
	uint64_t id;
	int64_t unit_ns, last_ns;
	bool is_incremental;
	bool is_no_source;	  /* the clock went back, so that one time may mean several moments */
	struct clock_edge *edges; /* owned; ordered by the ids of the clocks that they lead to, those of a clock by age */
	size_t n_edges, n_allocated;

	/* the path to the trace's clock, as of `n_changes`: indexes of the first edges */
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
	for (size_t i = 0; i < clocks->n_clocks; i++)
		free(clocks->clocks[i].edges);
	for (size_t i = 0; i < clocks->n_series; i++)
		free(clocks->series[i].times_ns);
	free(clocks->clocks);
	free(clocks->series);
	clocks->clocks = NULL;
	clocks->series = NULL;
	clocks->n_clocks = clocks->n_allocated = clocks->n_series = clocks->n_series_allocated = 0;
	trace_u64_map_clear(&clocks->by_id, clocks->budget);
	trace_u64_map_clear(&clocks->by_set, clocks->budget);
}

/* ---- Clocks and their connections ---- */

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

/* Returns the index behind the edges of a clock that lead to clocks of this id or a lower one. */
static size_t edges_up_to(const struct trace_perfetto_clocks *clocks, const struct trace_perfetto_clock *clock, uint64_t id)
{
	size_t low = 0, high = clock->n_edges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (clocks->clocks[clock->edges[middle].to].id <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int connect(struct trace_perfetto_clocks *clocks, size_t from, const struct clock_edge *edge)
{
	struct trace_perfetto_clock *clock = &clocks->clocks[from];
	size_t place = edges_up_to(clocks, clock, clocks->clocks[edge->to].id);
	int status;

	if (place >= MAX_LINKS && clock->edges[place - MAX_LINKS].to == edge->to)
		return TRACE_OK;
	status = trace_array_reserve(clocks->budget, &clock->edges, clock->n_edges, &clock->n_allocated, sizeof *edge);
	if (status < 0)
		return status;
	memmove(&clock->edges[place + 1], &clock->edges[place], (clock->n_edges - place) * sizeof *edge);
	clock->edges[place] = *edge;
	clock->n_edges++;
	clocks->n_changes++;
	return TRACE_OK;
}

/* ---- Snapshots ---- */

/* A snapshot that is being added, its clocks in order of their ids. */
struct snapshot {
	struct trace_clock_reading readings[TRACE_CLOCKS_A_SNAPSHOT];
	size_t n;
	int64_t times_ns[TRACE_CLOCKS_A_SNAPSHOT];
	struct trace_clock_series *series; /* of the snapshots of this set; NULL if this is the first */
	uint64_t key;			   /* in by_set: of the series, or for it */
};

static int compare_ids(const void *left, const void *right)
{
	const struct trace_clock_reading *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static bool is_of(const struct trace_clock_series *series, const struct snapshot *snapshot)
{
	if (series->n_clocks != snapshot->n)
		return false;
	for (size_t i = 0; i < snapshot->n; i++) {
		if (series->ids[i] != snapshot->readings[i].id)
			return false;
	}
	return true;
}

/* Finds the series of a snapshot by a hash of its clocks; of another set with the same hash the next number is tried. */
static void find_series(const struct trace_perfetto_clocks *clocks, struct snapshot *snapshot)
{
	const uint64_t *place;

	snapshot->key = 0xcbf29ce484222325u;
	for (size_t i = 0; i < snapshot->n; i++) {
		snapshot->key = (snapshot->key ^ snapshot->readings[i].id) * 0x9e3779b97f4a7c15u;
		snapshot->key ^= snapshot->key >> 32;
	}
	snapshot->series = NULL;
	while (!snapshot->series && (place = trace_u64_map_find(&clocks->by_set, snapshot->key))) {
		if (is_of(&clocks->series[*place], snapshot))
			snapshot->series = &clocks->series[*place];
		else
			snapshot->key++;
	}
}

/* Returns the times of the latest snapshot, or NULL if there is none. */
static const int64_t *latest_times_ns(const struct trace_clock_series *series)
{
	return series ? series->times_ns + (series->n_snapshots - 1) * series->n_clocks : NULL;
}

/* Converts a reading to nanoseconds; false if they do not fit. */
static bool reading_ns(const struct trace_clock_reading *reading, int64_t *ns)
{
	return reading->timestamp <= INT64_MAX && reading->unit_ns <= INT64_MAX &&
	       !__builtin_mul_overflow((int64_t)reading->timestamp, (int64_t)reading->unit_ns, ns);
}

/* Returns why a reading of the snapshot is not credible, or NULL. */
static const char *doubt(const struct trace_perfetto_clocks *clocks, const struct snapshot *snapshot, size_t i)
{
	const struct trace_clock_reading *reading = &snapshot->readings[i];
	const uint64_t *place = trace_u64_map_find(&clocks->by_id, reading->id);
	const int64_t *before_ns = latest_times_ns(snapshot->series);

	if (reading->is_incremental && (uint32_t)reading->id == 0)
		return "clock snapshot: a clock of no sequence is incremental";
	if (reading->id == clocks->trace_clock && reading->unit_ns != 1)
		return "clock snapshot: the trace's clock does not count nanoseconds";
	if (place && ((uint64_t)clocks->clocks[*place].unit_ns != reading->unit_ns ||
		      clocks->clocks[*place].is_incremental != reading->is_incremental))
		return "clock snapshot: a clock has changed its unit";
	if (i > 0 && reading->id == snapshot->readings[i - 1].id)
		return "clock snapshot: a clock twice";
	if (before_ns && reading->id == clocks->trace_clock && snapshot->times_ns[i] < before_ns[i])
		return "clock snapshot: the trace's clock goes back";
	return NULL;
}

/* Puts the clocks of a snapshot in order. Returns why it is not credible, or NULL. */
static const char *prepare(const struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t n,
			   struct snapshot *snapshot)
{
	const char *problem = NULL;

	if (n > TRACE_CLOCKS_A_SNAPSHOT)
		return "clock snapshot: of more than 32 clocks";
	snapshot->n = n;
	for (size_t i = 0; i < n; i++) {
		snapshot->readings[i] = readings[i];
		snapshot->readings[i].unit_ns = readings[i].unit_ns ? readings[i].unit_ns : 1;
	}
	qsort(snapshot->readings, n, sizeof *readings, compare_ids);
	for (size_t i = 0; i < n; i++) {
		if (!reading_ns(&snapshot->readings[i], &snapshot->times_ns[i]))
			return "clock snapshot: a time beyond 64-bit nanoseconds";
	}
	find_series(clocks, snapshot);
	for (size_t i = 0; i < n && !problem; i++)
		problem = doubt(clocks, snapshot, i);
	return problem;
}

/* Begins the series of the snapshot, and connects its clocks with each other. */
static int begin_series(struct trace_perfetto_clocks *clocks, const size_t *places, struct snapshot *snapshot)
{
	uint64_t *place;
	bool is_new;
	int status = trace_array_reserve(clocks->budget, &clocks->series, clocks->n_series, &clocks->n_series_allocated,
					 sizeof *clocks->series);

	if (status == TRACE_OK)
		status = trace_u64_map_put(&clocks->by_set, clocks->budget, snapshot->key, &place, &is_new);
	if (status < 0)
		return status;
	*place = clocks->n_series;
	snapshot->series = &clocks->series[clocks->n_series++];
	*snapshot->series = (struct trace_clock_series){ .n_clocks = snapshot->n };
	for (size_t i = 0; i < snapshot->n; i++)
		snapshot->series->ids[i] = snapshot->readings[i].id;
	for (size_t i = 0; i < snapshot->n; i++) {
		for (size_t j = 0; j < snapshot->n && status == TRACE_OK; j++) {
			if (i != j)
				status = connect(clocks, places[i],
						 &(struct clock_edge){ places[j], clocks->n_series - 1, i, j });
		}
	}
	return status;
}

/* Adds the times to the series. A clock that goes back is no source from now on. */
static int append(struct trace_perfetto_clocks *clocks, const size_t *places, const struct snapshot *snapshot)
{
	struct trace_clock_series *series = snapshot->series;
	const int64_t *before_ns = series->n_snapshots > 0 ? latest_times_ns(series) : NULL;
	int status;

	for (size_t i = 0; i < snapshot->n; i++) {
		struct trace_perfetto_clock *clock = &clocks->clocks[places[i]];

		clock->last_ns = snapshot->times_ns[i];
		if (!before_ns || snapshot->times_ns[i] >= before_ns[i] || clock->is_no_source)
			continue;
		clock->is_no_source = true;
		clocks->n_changes++;
	}
	status = trace_array_reserve(clocks->budget, &series->times_ns, series->n_snapshots, &series->n_allocated,
				     series->n_clocks * sizeof *series->times_ns);
	if (status == TRACE_OK)
		memcpy(series->times_ns + series->n_snapshots++ * series->n_clocks, snapshot->times_ns,
		       series->n_clocks * sizeof *series->times_ns);
	return status;
}

int trace_perfetto_clocks_add(struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t n,
			      const char **problem)
{
	size_t places[TRACE_CLOCKS_A_SNAPSHOT];
	struct snapshot snapshot;
	int status = TRACE_OK;

	*problem = prepare(clocks, readings, n, &snapshot);
	if (*problem || n == 0)
		return TRACE_OK;
	for (size_t i = 0; i < n && status == TRACE_OK; i++)
		status = find_clock(clocks, &snapshot.readings[i], &places[i]);
	if (status == TRACE_OK && !snapshot.series)
		status = begin_series(clocks, places, &snapshot);
	return status < 0 ? status : append(clocks, places, &snapshot);
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

/* Returns the latest pair of a series at or before a time, or else the first one. */
static struct clock_pair pair_of(const struct trace_clock_series *series, const struct clock_edge *edge, int64_t ns)
{
	size_t low = 0, high = series->n_snapshots;
	const int64_t *times_ns;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (series->times_ns[middle * series->n_clocks + edge->from_column] <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	times_ns = series->times_ns + (low > 0 ? low - 1 : 0) * series->n_clocks;
	return (struct clock_pair){ times_ns[edge->from_column], times_ns[edge->to_column] };
}

/* True if a pair is nearer to what is wanted than another: the latest at or before the time, or else the first. */
static bool is_nearer(const struct clock_pair *pair, const struct clock_pair *other, int64_t ns)
{
	bool is_before = pair->from_ns <= ns, is_other_before = other->from_ns <= ns;

	if (is_before != is_other_before)
		return is_before;
	return is_before ? pair->from_ns > other->from_ns : pair->from_ns < other->from_ns;
}

/* Returns the best pair of all series that connect a clock with the one that edge i leads to. */
static struct clock_pair pair_at(const struct trace_perfetto_clocks *clocks, const struct trace_perfetto_clock *clock, size_t i,
				 int64_t ns)
{
	size_t to = clock->edges[i].to;
	struct clock_pair best = pair_of(&clocks->series[clock->edges[i].series], &clock->edges[i], ns);

	for (i++; i < clock->n_edges && clock->edges[i].to == to; i++) {
		struct clock_pair pair = pair_of(&clocks->series[clock->edges[i].series], &clock->edges[i], ns);

		if (is_nearer(&pair, &best, ns))
			best = pair;
	}
	return best;
}

int trace_perfetto_clocks_take(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *time_ns)
{
	const uint64_t *place = trace_u64_map_find(&clocks->by_id, id);
	struct trace_perfetto_clock *clock = place ? &clocks->clocks[*place] : NULL;

	*time_ns = (int64_t)timestamp;
	if (timestamp > INT64_MAX)
		return TRACE_OK;
	if (id == clocks->trace_clock)
		return TRACE_ROW;
	if (!clock || __builtin_mul_overflow(*time_ns, clock->unit_ns, time_ns))
		return TRACE_OK;
	if (!clock->is_incremental)
		return TRACE_ROW;
	if (__builtin_add_overflow(clock->last_ns, *time_ns, time_ns))
		return TRACE_OK;
	clock->last_ns = *time_ns;
	return TRACE_ROW;
}

bool trace_perfetto_clocks_is_incremental(const struct trace_perfetto_clocks *clocks, uint64_t id)
{
	const uint64_t *place = trace_u64_map_find(&clocks->by_id, id);

	return place && clocks->clocks[*place].is_incremental;
}

int trace_perfetto_clocks_resolve(struct trace_perfetto_clocks *clocks, uint64_t id, int64_t time_ns, int64_t *ts_ns)
{
	const uint64_t *source = trace_u64_map_find(&clocks->by_id, id);
	const uint64_t *target = trace_u64_map_find(&clocks->by_id, clocks->trace_clock);
	struct trace_perfetto_clock *clock;
	size_t at;

	*ts_ns = time_ns;
	if (id == clocks->trace_clock)
		return TRACE_ROW;
	if (!source || !target)
		return TRACE_OK;
	at = (size_t)*source;
	clock = &clocks->clocks[at];
	if (clock->n_changes != clocks->n_changes)
		find_way(clocks, at, (size_t)*target);
	if (clock->n_steps == 0)
		return TRACE_OK;
	for (int i = 0; i < clock->n_steps; i++) {
		struct clock_pair pair = pair_at(clocks, &clocks->clocks[at], clock->way[i], *ts_ns);
		int64_t shift;

		if (__builtin_sub_overflow(pair.to_ns, pair.from_ns, &shift) || __builtin_add_overflow(*ts_ns, shift, ts_ns))
			return TRACE_OK;
		at = clocks->clocks[at].edges[clock->way[i]].to;
	}
	return TRACE_ROW;
}

int trace_perfetto_clocks_convert(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *ts_ns)
{
	int status = trace_perfetto_clocks_take(clocks, id, timestamp, ts_ns);

	return status == TRACE_ROW ? trace_perfetto_clocks_resolve(clocks, id, *ts_ns, ts_ns) : status;
}
