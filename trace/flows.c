#include "trace/flows.h"

#include <stdlib.h>
#include <string.h>

/* Records of the sorter are points. Their keys have the flow's key, the time and the order; their data have what the point is
 * bound to, and the rest of it. */

int trace_flows_begin(struct trace_flows *flows, size_t memory_bytes)
{
	flows->sorter = trace_sorter_new(memory_bytes);
	return flows->sorter ? TRACE_OK : trace_report_check(flows->report, TRACE_ERROR_MEMORY);
}

void trace_flows_release(struct trace_flows *flows)
{
	trace_bytes_release(&flows->waiting);
	free(flows->candidates);
	trace_sorter_free(flows->sorter);
	trace_record_release(&flows->key);
	trace_record_release(&flows->data);
	trace_bytes_release(&flows->last_key);
}

/* ---- Points ---- */

static struct trace_text key_of(const struct trace_flow_point *point)
{
	return point->key.data ? point->key : (struct trace_text){ "", 0 };
}

void trace_flow_point_put(struct trace_record *record, const struct trace_flow_point *point, uint64_t order)
{
	trace_put_i64(record, point->ts_ns);
	trace_put_u64(record, order);
	trace_put_u8(record, (uint8_t)point->role);
	trace_put_literal(record, point->what);
	trace_put_text(record, key_of(point));
	trace_put_text(record, point->name);
	trace_put_text(record, point->category);
	trace_put_text(record, point->id);
}

struct trace_flow_point trace_flow_point_take(struct trace_unpacking *unpacking, uint64_t *order)
{
	struct trace_flow_point point = { .ts_ns = trace_take_i64(unpacking) };

	*order = trace_take_u64(unpacking);
	point.role = trace_take_u8(unpacking);
	point.what = trace_take_literal(unpacking);
	point.key = trace_take_text(unpacking);
	point.name = trace_take_text(unpacking);
	point.category = trace_take_text(unpacking);
	point.id = trace_take_text(unpacking);
	return point;
}

__attribute__((format(printf, 2, 3))) static int leave_out(struct trace_flows *flows, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	trace_report_count(flows->report, TRACE_LEFT_OUT, 1, format, arguments);
	va_end(arguments);
	return TRACE_OK;
}

int trace_flows_add(struct trace_flows *flows, const struct trace_flow_point *point, uint64_t order, struct trace_bound bound)
{
	struct trace_record *key = &flows->key, *data = &flows->data;

	if (!bound.span && !bound.instant)
		return leave_out(flows, "%s binds to no span", point->what);
	trace_record_clear(key);
	trace_record_clear(data);
	trace_put_text(key, key_of(point));
	trace_put_i64(key, point->role == TRACE_FLOW_SOURCE ? INT64_MIN : point->ts_ns);
	trace_put_u64(key, order);
	trace_put_u8(data, (uint8_t)point->role);
	trace_put_literal(data, point->what);
	trace_put_u64(data, bound.span);
	trace_put_u64(data, bound.instant);
	trace_put_u32(data, bound.track);
	trace_put_i64(data, point->ts_ns);
	trace_put_text(data, point->name);
	trace_put_text(data, point->category);
	trace_put_text(data, point->id);
	return trace_report_check_sorter(flows->report, flows->sorter, trace_sorter_add_record(flows->sorter, key, data));
}

/* ---- Points that are bound by time ---- */

int trace_flows_bind_next(struct trace_flows *flows, struct trace_text packed)
{
	struct trace_bytes *waiting = &flows->waiting;

	if (packed.n_bytes > TRACE_MAX_KEPT_BYTES - waiting->n_bytes)
		return trace_report_fail_anywhere(flows->report, TRACE_ERROR_LIMIT,
						  "more than 256 MiB of flow points wait for the next span of their track");
	return trace_report_check(flows->report, trace_bytes_append(waiting, packed, NULL));
}

/* Binds the waiting points. */
static int bind_waiting(struct trace_flows *flows, struct trace_bound bound)
{
	struct trace_unpacking unpacking = { flows->waiting.data };
	int status = TRACE_OK;

	while (status == TRACE_OK && (size_t)(unpacking.at - flows->waiting.data) < flows->waiting.n_bytes) {
		uint64_t order;
		struct trace_flow_point point = trace_flow_point_take(&unpacking, &order);

		status = trace_flows_add(flows, &point, order, bound);
	}
	trace_bytes_clear(&flows->waiting);
	return status;
}

static int add_candidate(struct trace_flows *flows, const struct trace_span *span)
{
	if (flows->n_candidates == flows->n_candidates_allocated) {
		size_t n_allocated = flows->n_candidates_allocated ? 2 * flows->n_candidates_allocated : 64;
		struct trace_flow_candidate *candidates = realloc(flows->candidates, n_allocated * sizeof *candidates);

		if (!candidates)
			return trace_report_check(flows->report, TRACE_ERROR_MEMORY);
		flows->candidates = candidates;
		flows->n_candidates_allocated = n_allocated;
	}
	flows->candidates[flows->n_candidates++] = (struct trace_flow_candidate){ span->number, span->ts_ns, span->dur_ns };
	return TRACE_OK;
}

/* Times never decrease, so spans that ended before this one are no longer candidates. */
static void drop_ended(struct trace_flows *flows, int64_t ts_ns)
{
	while (flows->n_candidates > 0) {
		const struct trace_flow_candidate *top = &flows->candidates[flows->n_candidates - 1];

		if (top->dur_ns < 0 || (uint64_t)ts_ns - (uint64_t)top->ts_ns <= (uint64_t)top->dur_ns)
			break;
		flows->n_candidates--;
	}
}

int trace_flows_pass_span(struct trace_flows *flows, const struct trace_span *span)
{
	int status = bind_waiting(flows, (struct trace_bound){ .span = span->number, .track = span->track->number });

	if (status < 0)
		return status;
	drop_ended(flows, span->ts_ns);
	return add_candidate(flows, span);
}

int trace_flows_bind_enclosing(struct trace_flows *flows, struct trace_unpacking *packed, uint32_t track)
{
	uint64_t order;
	struct trace_flow_point point = trace_flow_point_take(packed, &order);
	struct trace_bound bound = { .track = track };

	drop_ended(flows, point.ts_ns);
	if (flows->n_candidates > 0)
		bound.span = flows->candidates[flows->n_candidates - 1].span;
	return trace_flows_add(flows, &point, order, bound);
}

int trace_flows_end_track(struct trace_flows *flows, uint32_t track)
{
	flows->n_candidates = 0;
	return bind_waiting(flows, (struct trace_bound){ .track = track });
}

/* ---- Links of flows ---- */

static int link_points(struct trace_flows *flows, const struct trace_flow_point *point, const struct trace_flow_end *to)
{
	struct trace_flow flow = {
		.from = flows->from,
		.to = *to,
		.name = point->name,
		.category = point->category,
		.id = point->id,
	};

	flows->counts->n_flows++;
	return flows->sink->on_flow(flows->sink->context, &flow);
}

static int follow_flow(struct trace_flows *flows, const struct trace_flow_point *point, const struct trace_flow_end *end)
{
	bool is_source = point->role == TRACE_FLOW_SOURCE;
	bool begins = is_source || point->role == TRACE_FLOW_START || point->role == TRACE_FLOW_OPEN ||
		      (point->role == TRACE_FLOW_JOIN && !flows->has_begun);
	int status = TRACE_OK;

	if (is_source && flows->has_begun)
		return TRACE_OK;
	if (point->role == TRACE_FLOW_OPEN && flows->has_begun)
		return leave_out(flows, "%s of a flow that has begun", point->what);
	if (!begins && !flows->has_begun)
		return leave_out(flows, "%s without start", point->what);
	if (!begins)
		status = link_points(flows, point, end);
	flows->has_begun = point->role != TRACE_FLOW_END;
	if (point->role != TRACE_FLOW_ARRIVE)
		flows->from = *end;
	return status;
}

static int take_flow(struct trace_flows *flows, const struct trace_sorted_record *record)
{
	struct trace_unpacking key = { record->key.data }, data = { record->data.data };
	struct trace_text flow_key = trace_take_text(&key);
	struct trace_bytes *before = &flows->last_key;
	struct trace_flow_point point = { 0 };
	struct trace_flow_end end = { 0 };

	if (flow_key.n_bytes != before->n_bytes ||
	    (before->n_bytes > 0 && memcmp(flow_key.data, before->data, before->n_bytes) != 0)) {
		flows->has_begun = false;
		trace_bytes_clear(before);
		if (trace_bytes_append(before, flow_key, NULL) < 0)
			return trace_report_check(flows->report, TRACE_ERROR_MEMORY);
	}
	point.role = trace_take_u8(&data);
	point.what = trace_take_literal(&data);
	end.span = trace_take_u64(&data);
	end.instant = trace_take_u64(&data);
	end.track = flows->tracks->by_number[trace_take_u32(&data) - 1];
	end.ts_ns = trace_take_i64(&data);
	point.name = trace_take_text(&data);
	point.category = trace_take_text(&data);
	point.id = trace_take_text(&data);
	return follow_flow(flows, &point, &end);
}

int trace_flows_sort(struct trace_flows *flows)
{
	return trace_report_check_sorter(flows->report, flows->sorter, trace_sorter_sort(flows->sorter));
}

int trace_flows_next(struct trace_flows *flows)
{
	struct trace_sorted_record record;
	int status = trace_report_check_sorter(flows->report, flows->sorter, trace_sorter_next(flows->sorter, &record));

	if (status != TRACE_ROW)
		return status;
	status = take_flow(flows, &record);
	return status < 0 ? status : TRACE_ROW;
}
