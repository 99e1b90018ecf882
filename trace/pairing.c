#include "trace/pairing.h"

#include <stdlib.h>
#include <string.h>

#include "trace/model.h"

enum {
	N_SLOTS = 4096,
	FEWEST_STACKS = 64,
	STEPS_BEFORE_HASHING = 16,
	OPEN_BYTES = 8 * 1024 * 1024, /* of open spans of all tracks, while the file is read */
	RECORDS_A_STEP = 256
};

/* Records of the sorters:
 *
 *             key                             data
 *     log     order of adding                 ends with the begins that they have closed, and points
 *     sorter  track, time, order of adding    operations that are still to be done; without the time, in the order of the file */

/* An operation with its place among operations of the same time. */
struct placed {
	struct trace_pair_operation operation;
	uint64_t order;
};

/* A begin whose end has not come. It is in two lists: that of its track, in order of time, and that of its name's hash. */
struct trace_pair_begun {
	struct trace_pair_begun *below, *above; /* those begun before and after it on its track */
	struct trace_pair_begun *older;		/* of the same hash */
	struct placed placed;			/* its packed texts are in data */
	struct trace_text name, category;	/* in the packed texts */
	char data[];
};

struct trace_pair_stack {
	struct trace_pair_begun *top;
	int64_t last_ts_ns; /* of the last operation that was done */
	int64_t late_ts_ns; /* the earliest in the sorter; logged operations up to then are final */
	bool is_sorted, is_hashed;
};

/* ---- Life ---- */

static int checked(struct trace_pairing *pairing, int status)
{
	return trace_report_check(pairing->report, status);
}

static int checked_sorter(struct trace_pairing *pairing, const struct trace_sorter *sorter, int status)
{
	return trace_report_check_sorter(pairing->report, sorter, status);
}

int trace_pairing_begin(struct trace_pairing *pairing, size_t memory_bytes)
{
	pairing->log = trace_sorter_new(memory_bytes);
	pairing->sorter = trace_sorter_new(memory_bytes);
	pairing->slots = calloc(N_SLOTS, sizeof(struct trace_pair_begun *));
	return checked(pairing, pairing->log && pairing->sorter && pairing->slots ? TRACE_OK : TRACE_ERROR_MEMORY);
}

/* Frees the memory and the file of an exhausted sorter for the next. */
static void drop_sorter(struct trace_sorter **sorter)
{
	trace_sorter_free(*sorter);
	*sorter = NULL;
}

void trace_pairing_release(struct trace_pairing *pairing)
{
	for (size_t i = 0; i < pairing->n_stacks; i++) {
		while (pairing->stacks[i].top) {
			struct trace_pair_begun *begun = pairing->stacks[i].top;

			pairing->stacks[i].top = begun->below;
			free(begun);
		}
	}
	free(pairing->stacks);
	free(pairing->slots);
	drop_sorter(&pairing->log);
	drop_sorter(&pairing->sorter);
	trace_record_release(&pairing->key);
	trace_record_release(&pairing->data);
}

/* ---- The stack of a track ---- */

static int make_stacks(struct trace_pairing *pairing, uint32_t track)
{
	size_t n_stacks = pairing->n_stacks ? pairing->n_stacks : FEWEST_STACKS;
	struct trace_pair_stack *stacks;

	while (n_stacks < track)
		n_stacks *= 2;
	stacks = realloc(pairing->stacks, n_stacks * sizeof *stacks);
	if (!stacks)
		return checked(pairing, TRACE_ERROR_MEMORY);
	for (size_t i = pairing->n_stacks; i < n_stacks; i++)
		stacks[i] = (struct trace_pair_stack){ .last_ts_ns = INT64_MIN, .late_ts_ns = INT64_MAX };
	pairing->stacks = stacks;
	pairing->n_stacks = n_stacks;
	return TRACE_OK;
}

static struct trace_pair_stack *stack_of(const struct trace_pairing *pairing, uint32_t track)
{
	return &pairing->stacks[track - 1];
}

static struct trace_pair_begun **slot_of(const struct trace_pairing *pairing, uint32_t track, struct trace_text name)
{
	uint64_t hash = 0xcbf29ce484222325u ^ track;

	for (size_t i = 0; i < name.n_bytes; i++)
		hash = (hash ^ (unsigned char)name.data[i]) * 0x100000001b3u;
	return &pairing->slots[(hash ^ hash >> 32) % N_SLOTS];
}

static void put_in_slot(struct trace_pairing *pairing, struct trace_pair_begun *begun)
{
	struct trace_pair_begun **slot = slot_of(pairing, begun->placed.operation.track, begun->name);

	begun->older = *slot;
	*slot = begun;
}

/* Adds the open spans of the track to the hash table of names. */
static void hash_stack(struct trace_pairing *pairing, struct trace_pair_stack *stack)
{
	struct trace_pair_begun *begun = stack->top;

	while (begun && begun->below)
		begun = begun->below;
	for (; begun; begun = begun->above)
		put_in_slot(pairing, begun);
	stack->is_hashed = true;
}

/* Removes a begin from any position of its stack; the caller frees it. Expected O(1) for the newest of its name. */
static void take_off(struct trace_pairing *pairing, struct trace_pair_stack *stack, struct trace_pair_begun *begun)
{
	if (stack->is_hashed) {
		struct trace_pair_begun **link = slot_of(pairing, begun->placed.operation.track, begun->name);

		while (*link != begun)
			link = &(*link)->older;
		*link = begun->older;
	}
	if (begun->above)
		begun->above->below = begun->below;
	else
		stack->top = begun->below;
	if (begun->below)
		begun->below->above = begun->above;
	stack->is_hashed = stack->is_hashed && stack->top;
	pairing->n_begun_bytes -= sizeof *begun + begun->placed.operation.packed.n_bytes;
}

static int push(struct trace_pairing *pairing, struct trace_pair_stack *stack, const struct placed *placed)
{
	const struct trace_pair_operation *operation = &placed->operation;
	size_t n_bytes = operation->packed.n_bytes;
	struct trace_unpacking unpacking;
	struct trace_pair_begun *begun;

	if (sizeof *begun + n_bytes > TRACE_MAX_KEPT_BYTES - pairing->n_begun_bytes)
		return trace_report_fail_anywhere(pairing->report, TRACE_ERROR_LIMIT,
						  "more than 256 MiB of spans are open at a time on a track");
	begun = malloc(sizeof *begun + n_bytes);
	if (!begun)
		return checked(pairing, TRACE_ERROR_MEMORY);
	pairing->n_begun_bytes += sizeof *begun + n_bytes;
	*begun = (struct trace_pair_begun){ .below = stack->top, .placed = *placed };
	begun->placed.operation.packed.data = memcpy(begun->data, operation->packed.data, n_bytes);
	unpacking.at = begun->data;
	begun->name = trace_take_text(&unpacking);
	begun->category = trace_take_text(&unpacking);
	if (stack->top)
		stack->top->above = begun;
	stack->top = begun;
	if (stack->is_hashed)
		put_in_slot(pairing, begun);
	return TRACE_OK;
}

static bool fits(struct trace_text wanted, struct trace_text text)
{
	return !wanted.data ||
	       (text.data && wanted.n_bytes == text.n_bytes && memcmp(wanted.data, text.data, text.n_bytes) == 0);
}

/* What an end says of the span that it closes; data of what it does not say is NULL. */
struct wanted_begin {
	struct trace_text name, category;
};

/* An end of any name closes a span without one. */
static bool is_wanted(const struct wanted_begin *wanted, const struct trace_pair_begun *begun)
{
	return (begun->name.n_bytes == 0 || fits(wanted->name, begun->name)) && fits(wanted->category, begun->category);
}

/* Returns the innermost open span of that name, or without one, that an end matches, or NULL. Requires a hashed stack. */
static struct trace_pair_begun *find_hashed(const struct trace_pairing *pairing, uint32_t track, struct trace_text name,
					    const struct wanted_begin *wanted)
{
	struct trace_pair_begun *begun = *slot_of(pairing, track, name);

	while (begun && !(begun->placed.operation.track == track && fits(name, begun->name) && is_wanted(wanted, begun)))
		begun = begun->older;
	return begun;
}

/* True if a stands above b on their stack; NULL is below all. */
static bool is_above(const struct trace_pairing *pairing, const struct trace_pair_begun *a, const struct trace_pair_begun *b)
{
	if (!a || !b)
		return a != NULL;
	if (!pairing->in_file_order && a->placed.operation.ts_ns != b->placed.operation.ts_ns)
		return a->placed.operation.ts_ns > b->placed.operation.ts_ns;
	return a->placed.order > b->placed.order;
}

/* Returns the innermost open span that an end matches, or NULL. Expected O(1), except for an end with only a category. */
static struct trace_pair_begun *find_begun(struct trace_pairing *pairing, struct trace_pair_stack *stack, uint32_t track,
					   struct trace_text packed)
{
	static const struct trace_text no_name = { "", 0 };
	struct trace_unpacking unpacking = { packed.data };
	struct wanted_begin wanted = { .name = trace_take_text(&unpacking) };
	struct trace_pair_begun *begun = stack->top, *nameless;
	int n_steps = 0;

	wanted.category = trace_take_text(&unpacking);
	while (begun && (!wanted.name.data || n_steps < STEPS_BEFORE_HASHING) && !is_wanted(&wanted, begun)) {
		begun = begun->below;
		n_steps++;
	}
	if (!begun || !wanted.name.data || n_steps < STEPS_BEFORE_HASHING)
		return begun;
	if (!stack->is_hashed)
		hash_stack(pairing, stack);
	begun = find_hashed(pairing, track, wanted.name, &wanted);
	nameless = find_hashed(pairing, track, no_name, &wanted);
	return is_above(pairing, nameless, begun) ? nameless : begun;
}

/* ---- Results of operations ---- */

/* Computes the duration; false if it does not fit into 63 bits. */
static bool has_duration(int64_t ts_ns, int64_t end_ns, int64_t *dur_ns)
{
	uint64_t elapsed_ns = (uint64_t)end_ns - (uint64_t)ts_ns;

	*dur_ns = TRACE_NEVER_CLOSED;
	if (end_ns < ts_ns)
		return true;

	*dur_ns = (int64_t)elapsed_ns;
	return elapsed_ns <= INT64_MAX;
}

static int leave_out(struct trace_pairing *pairing, const char *what)
{
	trace_report_count_text(pairing->report, TRACE_LEFT_OUT, 1, what);
	return TRACE_OK;
}

/* Counts an end that has closed nothing, by its name if it has one. */
static int leave_out_end(struct trace_pairing *pairing, const struct trace_pair_operation *end)
{
	struct trace_unpacking unpacking = { end->packed.data };

	trace_report_count_named(pairing->report, TRACE_LEFT_OUT, 1, end->unmatched, trace_take_text(&unpacking));
	return TRACE_OK;
}

static int hand_out_closed(struct trace_pairing *pairing, struct trace_paired_span *span, int64_t end_ns)
{
	if (end_ns < span->ts_ns)
		trace_report_count_text(pairing->report, TRACE_MENDED, 1, "span that ends before it starts");
	if (!has_duration(span->ts_ns, end_ns, &span->dur_ns))
		return leave_out(pairing, "span longer than 64-bit nanoseconds");
	return pairing->on_span(pairing->context, span);
}

/* Returns the span of a begin that nothing has closed yet. */
static struct trace_paired_span span_of(const struct trace_pair_operation *begin)
{
	return (struct trace_paired_span){ .number = begin->number,
					   .track = begin->track,
					   .ts_ns = begin->ts_ns,
					   .dur_ns = TRACE_NEVER_CLOSED,
					   .packed = begin->packed };
}

/* Returns the rest of data that was not taken yet. */
static struct trace_text rest_of(struct trace_text data, const struct trace_unpacking *unpacking)
{
	return (struct trace_text){ unpacking->at, (size_t)(data.data + data.n_bytes - unpacking->at) };
}

static void begin_record(struct trace_pairing *pairing)
{
	trace_record_clear(&pairing->key);
	trace_record_clear(&pairing->data);
}

static int end_record(struct trace_pairing *pairing, struct trace_sorter *sorter)
{
	return checked_sorter(pairing, sorter, trace_sorter_add_record(sorter, &pairing->key, &pairing->data));
}

/* Puts the begin of a span into the log; take_closed() is the inverse. Its order is not behind that of the end, and as a rule
 * its time neither. */
static void put_closed(struct trace_record *record, const struct placed *end, const struct placed *begin)
{
	trace_put_small(record, end->order - begin->order);
	trace_put_small(record, (uint64_t)end->operation.ts_ns - (uint64_t)begin->operation.ts_ns);
	trace_put_small(record, begin->operation.number);
	trace_put_small(record, begin->operation.packed.n_bytes);
	trace_put_bytes(record, begin->operation.packed);
}

/* Logs an end with what it closes, if anything, or a point with the span that was closed. */
static int log_operation(struct trace_pairing *pairing, const struct placed *placed, const struct trace_pair_begun *begun)
{
	const struct trace_pair_operation *operation = &placed->operation;
	struct trace_record *data = &pairing->data;

	begin_record(pairing);
	trace_put_u64(&pairing->key, placed->order);
	trace_put_u8(data, (uint8_t)operation->kind);
	trace_put_small(data, operation->track);
	trace_put_i64(data, operation->ts_ns);
	if (operation->kind == TRACE_PAIR_POINT)
		trace_put_small(data, pairing->closed);
	else
		trace_put_literal(data, operation->unmatched);
	if (begun)
		put_closed(data, placed, &begun->placed);
	else
		trace_put_small(data, 0);
	trace_put_bytes(data, operation->packed);
	return end_record(pairing, pairing->log);
}

/* Closes a span and removes it from its stack. */
static int close_begun(struct trace_pairing *pairing, struct trace_pair_stack *stack, struct trace_pair_begun *begun,
		       const struct placed *placed)
{
	struct trace_paired_span span = span_of(&begun->placed.operation);
	int64_t end_ns = placed->operation.ts_ns, dur_ns;
	int status;

	take_off(pairing, stack, begun);
	status = pairing->stage == TRACE_PAIRING_ADD ? log_operation(pairing, placed, begun)
						     : hand_out_closed(pairing, &span, end_ns);
	pairing->closed = has_duration(span.ts_ns, end_ns, &dur_ns) ? span.number : 0;
	free(begun);
	return status;
}

static int do_end(struct trace_pairing *pairing, struct trace_pair_stack *stack, const struct placed *placed)
{
	const struct trace_pair_operation *operation = &placed->operation;
	struct trace_pair_begun *begun = find_begun(pairing, stack, operation->track, operation->packed);

	if (begun)
		return close_begun(pairing, stack, begun, placed);
	pairing->closed = 0;
	return pairing->stage == TRACE_PAIRING_ADD ? log_operation(pairing, placed, NULL) : leave_out_end(pairing, operation);
}

/* A state ends the state before it, unless both are the same. */
static int do_state(struct trace_pairing *pairing, struct trace_pair_stack *stack, const struct placed *placed)
{
	int status = push(pairing, stack, placed);
	struct trace_pair_begun *begun = stack->top, *before;
	bool is_end;

	if (status < 0)
		return status;
	before = begun->below;
	is_end = begun->name.n_bytes == 0;
	if (is_end || (before && fits(begun->name, before->name))) {
		take_off(pairing, stack, begun);
		free(begun);
		return before && is_end ? close_begun(pairing, stack, before, placed) : TRACE_OK;
	}
	return before ? close_begun(pairing, stack, before, placed) : TRACE_OK;
}

static int do_operation(struct trace_pairing *pairing, struct trace_pair_stack *stack, const struct placed *placed)
{
	const struct trace_pair_operation *operation = &placed->operation;

	switch (operation->kind) {
	case TRACE_PAIR_BEGIN:
		return push(pairing, stack, placed);
	case TRACE_PAIR_END:
		return do_end(pairing, stack, placed);
	case TRACE_PAIR_STATE:
		return do_state(pairing, stack, placed);
	case TRACE_PAIR_POINT:
		break;
	}
	return pairing->stage == TRACE_PAIRING_ADD
		       ? log_operation(pairing, placed, NULL)
		       : pairing->on_point(pairing->context, operation->packed, operation->track, pairing->closed);
}

/* ---- Adding ---- */

static int sort_operation(struct trace_pairing *pairing, const struct placed *placed)
{
	const struct trace_pair_operation *operation = &placed->operation;

	begin_record(pairing);
	trace_put_u32(&pairing->key, operation->track);
	if (!pairing->in_file_order)
		trace_put_i64(&pairing->key, operation->ts_ns);
	trace_put_u64(&pairing->key, placed->order);
	if (pairing->in_file_order)
		trace_put_i64(&pairing->data, operation->ts_ns);
	trace_put_u8(&pairing->data, (uint8_t)operation->kind);
	if (operation->kind == TRACE_PAIR_END)
		trace_put_literal(&pairing->data, operation->unmatched);
	else
		trace_put_u64(&pairing->data, operation->number);
	trace_put_bytes(&pairing->data, operation->packed);
	return end_record(pairing, pairing->sorter);
}

/* From now on, the operations of the track wait in the sorter until all were added. Its open begins are the first. */
static int sort_stack(struct trace_pairing *pairing, struct trace_pair_stack *stack)
{
	int status = TRACE_OK;

	stack->is_sorted = true;
	while (stack->top && status == TRACE_OK) {
		struct trace_pair_begun *begun = stack->top;

		status = sort_operation(pairing, &begun->placed);
		take_off(pairing, stack, begun);
		free(begun);
	}
	return status;
}

/* States always wait: they are few, and so need not be undone. */
static bool must_wait(const struct trace_pairing *pairing, const struct trace_pair_stack *stack,
		      const struct trace_pair_operation *operation)
{
	return operation->kind == TRACE_PAIR_STATE || (operation->ts_ns < stack->last_ts_ns && !pairing->in_file_order) ||
	       (operation->kind == TRACE_PAIR_BEGIN && pairing->n_begun_bytes + operation->packed.n_bytes > OPEN_BYTES);
}

int trace_pairing_add(struct trace_pairing *pairing, const struct trace_pair_operation *operation)
{
	struct placed placed = { .operation = *operation, .order = ++pairing->n_added };
	int status = operation->track > pairing->n_stacks ? make_stacks(pairing, operation->track) : TRACE_OK;
	struct trace_pair_stack *stack;

	if (status < 0)
		return status;
	stack = stack_of(pairing, operation->track);
	if (!stack->is_sorted && must_wait(pairing, stack, operation))
		status = sort_stack(pairing, stack);
	if (status < 0)
		return status;
	if (!stack->is_sorted) {
		stack->last_ts_ns = operation->ts_ns;
		return do_operation(pairing, stack, &placed);
	}
	if (operation->ts_ns < stack->late_ts_ns && !pairing->in_file_order)
		stack->late_ts_ns = operation->ts_ns;
	return sort_operation(pairing, &placed);
}

/* ---- After all were added ---- */

/* Reports the spans of a track that were never closed, in order of their begins. */
static int end_stack(struct trace_pairing *pairing, struct trace_pair_stack *stack)
{
	struct trace_pair_begun *begun = stack->top;
	int status = TRACE_OK;

	while (begun && begun->below)
		begun = begun->below;
	for (; begun && status == TRACE_OK; begun = begun->above) {
		struct trace_paired_span span = span_of(&begun->placed.operation);

		status = pairing->on_span(pairing->context, &span);
	}
	while (stack->top) {
		begun = stack->top;
		take_off(pairing, stack, begun);
		free(begun);
	}
	return status;
}

/* Takes the begin of a span from the log; false if the end has closed nothing. */
static bool take_closed(struct trace_unpacking *unpacking, const struct placed *end, struct placed *begin)
{
	uint64_t n_since = trace_take_small(unpacking);
	struct trace_pair_operation *operation = &begin->operation;

	if (n_since == 0)
		return false;
	begin->order = end->order - n_since;
	operation->kind = TRACE_PAIR_BEGIN;
	operation->track = end->operation.track;
	operation->ts_ns = (int64_t)((uint64_t)end->operation.ts_ns - trace_take_small(unpacking));
	operation->number = trace_take_small(unpacking);
	operation->packed.n_bytes = (size_t)trace_take_small(unpacking);
	operation->packed = trace_take_bytes(unpacking, operation->packed.n_bytes);
	return true;
}

/* Moves a logged operation to the sorter, to be done again, because an operation of an earlier time was added after it. */
static int undo(struct trace_pairing *pairing, const struct placed *placed, const struct placed *begin)
{
	int status = begin ? sort_operation(pairing, begin) : TRACE_OK;

	return status < 0 ? status : sort_operation(pairing, placed);
}

static int take_logged(struct trace_pairing *pairing, const struct trace_sorted_record *record)
{
	struct trace_unpacking key = { record->key.data }, data = { record->data.data };
	struct placed placed = { .order = trace_take_u64(&key) }, begin;
	struct trace_pair_operation *operation = &placed.operation;
	struct trace_paired_span span;
	uint64_t closed = 0;
	bool has_closed;

	operation->kind = (enum trace_pair_kind)trace_take_u8(&data);
	operation->track = (uint32_t)trace_take_small(&data);
	operation->ts_ns = trace_take_i64(&data);
	if (operation->kind == TRACE_PAIR_POINT)
		closed = trace_take_small(&data);
	else
		operation->unmatched = trace_take_literal(&data);
	has_closed = take_closed(&data, &placed, &begin);
	operation->packed = rest_of(record->data, &data);
	if (operation->ts_ns > stack_of(pairing, operation->track)->late_ts_ns)
		return undo(pairing, &placed, has_closed ? &begin : NULL);
	if (operation->kind == TRACE_PAIR_POINT)
		return pairing->on_point(pairing->context, operation->packed, operation->track, closed);
	if (!has_closed)
		return leave_out_end(pairing, operation);
	span = span_of(&begin.operation);
	return hand_out_closed(pairing, &span, operation->ts_ns);
}

static int take_sorted(struct trace_pairing *pairing, const struct trace_sorted_record *record)
{
	struct trace_unpacking key = { record->key.data }, data = { record->data.data };
	struct placed placed = { .operation = { .track = trace_take_u32(&key) } };
	struct trace_pair_operation *operation = &placed.operation;
	int status = TRACE_OK;

	if (!pairing->in_file_order)
		operation->ts_ns = trace_take_i64(&key);
	placed.order = trace_take_u64(&key);
	if (pairing->in_file_order)
		operation->ts_ns = trace_take_i64(&data);
	operation->kind = (enum trace_pair_kind)trace_take_u8(&data);
	if (operation->kind == TRACE_PAIR_END)
		operation->unmatched = trace_take_literal(&data);
	else
		operation->number = trace_take_u64(&data);
	operation->packed = rest_of(record->data, &data);
	if (operation->track != pairing->track && pairing->track > 0)
		status = end_stack(pairing, stack_of(pairing, pairing->track));
	pairing->track = operation->track;
	return status < 0 ? status : do_operation(pairing, stack_of(pairing, operation->track), &placed);
}

/* Takes some records from a sorter. Returns TRACE_ROW if there are more. */
static int sweep(struct trace_pairing *pairing, struct trace_sorter *sorter,
		 int (*take)(struct trace_pairing *pairing, const struct trace_sorted_record *record))
{
	for (int i = 0; i < RECORDS_A_STEP; i++) {
		struct trace_sorted_record record;
		int status = checked_sorter(pairing, sorter, trace_sorter_next(sorter, &record));

		if (status == TRACE_ROW)
			status = take(pairing, &record);
		else if (status == TRACE_OK)
			return TRACE_OK;
		if (status < 0)
			return status;
	}
	return TRACE_ROW;
}

/* Reports the open spans of some tracks whose operations were in order. Returns TRACE_ROW if there are more tracks. */
static int end_stacks(struct trace_pairing *pairing)
{
	for (int i = 0; i < RECORDS_A_STEP; i++) {
		int status;

		if (pairing->n_ended == pairing->n_stacks)
			return TRACE_OK;
		status = end_stack(pairing, &pairing->stacks[pairing->n_ended++]);
		if (status < 0)
			return status;
	}
	return TRACE_ROW;
}

static int do_stage(struct trace_pairing *pairing)
{
	switch (pairing->stage) {
	case TRACE_PAIRING_REPLAY:
		return sweep(pairing, pairing->log, take_logged);
	case TRACE_PAIRING_OPEN:
		return end_stacks(pairing);
	case TRACE_PAIRING_SORTED:
		return sweep(pairing, pairing->sorter, take_sorted);
	default:
		return TRACE_OK;
	}
}

static int next_stage(struct trace_pairing *pairing)
{
	int status;

	switch (pairing->stage++) {
	case TRACE_PAIRING_ADD:
		return checked_sorter(pairing, pairing->log, trace_sorter_sort(pairing->log));
	case TRACE_PAIRING_REPLAY:
		drop_sorter(&pairing->log);
		return TRACE_OK;
	case TRACE_PAIRING_OPEN:
		return checked_sorter(pairing, pairing->sorter, trace_sorter_sort(pairing->sorter));
	default:
		status = pairing->track > 0 ? end_stack(pairing, stack_of(pairing, pairing->track)) : TRACE_OK;
		drop_sorter(&pairing->sorter);
		return status;
	}
}

int trace_pairing_step(struct trace_pairing *pairing)
{
	int status = do_stage(pairing);

	if (status != TRACE_OK || pairing->stage == TRACE_PAIRING_DONE)
		return status;
	status = next_stage(pairing);
	return status < 0 ? status : TRACE_ROW;
}
