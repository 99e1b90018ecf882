/* Pairing of begins with ends against a stack that is searched by hand over all operations in order: on tracks that keep the order
 * of time, that leave it late, seldom or at once, with more that is open than is kept, in memory and through temporary files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"
#include "trace/model.h"
#include "trace/pairing.h"

enum { MOST_OPERATIONS = 3000, N_TRACKS = 6, N_NAMES = 5, MOST_FILLING_BYTES = 20000 };

struct made {
	enum trace_pair_kind kind;
	uint32_t track;
	int64_t ts_ns;
	uint64_t order, number;
	int name, category; /* -1: none */
	size_t n_filling;   /* bytes that its packed texts have behind them */
};

/* What comes out: spans, and points with what they are bound to. */
struct outcome {
	bool is_point;
	uint64_t number, closed;
	uint32_t track;
	int64_t ts_ns, dur_ns;
};

struct outcomes {
	struct outcome list[MOST_OPERATIONS];
	size_t n;
	uint64_t n_unmatched;
};

static bool in_file_order; /* and not in that of time */
static struct made operations[MOST_OPERATIONS];
static struct outcomes expected, found;
static char filling[MOST_FILLING_BYTES];

/* ---- By hand ---- */

static int compare_made(const void *left, const void *right)
{
	const struct made *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (!in_file_order && a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void add_span(struct outcomes *outcomes, const struct made *begin, int64_t dur_ns)
{
	outcomes->list[outcomes->n++] = (struct outcome){
		.number = begin->number, .track = begin->track, .ts_ns = begin->ts_ns, .dur_ns = dur_ns
	};
}

static void take_out(const struct made *open[], size_t *n_open, size_t i)
{
	memmove(&open[i], &open[i + 1], (*n_open - i - 1) * sizeof *open);
	--*n_open;
}

static uint64_t close_innermost(const struct made *end, const struct made *open[], size_t *n_open)
{
	for (size_t i = *n_open; i-- > 0;) {
		const struct made *begin = open[i];

		if ((end->name < 0 || begin->name == 0 || end->name == begin->name) && (end->category < 0 || end->category == begin->category)) {
			add_span(&expected, begin, end->ts_ns < begin->ts_ns ? TRACE_NEVER_CLOSED : end->ts_ns - begin->ts_ns);
			take_out(open, n_open, i);
			return begin->number;
		}
	}
	expected.n_unmatched++;
	return 0;
}

/* Name 0 is the empty one, that of a span without a name. */
static uint64_t turn_state(const struct made *state, const struct made *open[], size_t *n_open, uint64_t closed)
{
	const struct made *before = *n_open > 0 ? open[*n_open - 1] : NULL;

	if (before && (state->name == 0 || state->name != before->name)) {
		add_span(&expected, before, state->ts_ns - before->ts_ns);
		closed = before->number;
		--*n_open;
	}
	if (state->name != 0 && !(before && state->name == before->name))
		open[(*n_open)++] = state;
	return closed;
}

static void pair_by_hand(size_t n)
{
	static struct made sorted[MOST_OPERATIONS];
	static const struct made *open[MOST_OPERATIONS];
	size_t n_open = 0;
	uint64_t closed = 0;

	memcpy(sorted, operations, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, compare_made);
	expected.n = expected.n_unmatched = 0;
	for (size_t i = 0; i < n; i++) {
		const struct made *at = &sorted[i];

		if (at->kind == TRACE_PAIR_BEGIN)
			open[n_open++] = at;
		else if (at->kind == TRACE_PAIR_END)
			closed = close_innermost(at, open, &n_open);
		else if (at->kind == TRACE_PAIR_STATE)
			closed = turn_state(at, open, &n_open, closed);
		else
			expected.list[expected.n++] = (struct outcome){
				.is_point = true, .number = at->number, .track = at->track, .closed = closed
			};
		if (i + 1 == n || sorted[i + 1].track != at->track) {
			for (size_t k = 0; k < n_open; k++)
				add_span(&expected, open[k], TRACE_NEVER_CLOSED);
			n_open = 0;
		}
	}
}

/* ---- By the module ---- */

static int on_span(void *context, const struct trace_paired_span *span)
{
	(void)context;
	found.list[found.n++] = (struct outcome){
		.number = span->number, .track = span->track, .ts_ns = span->ts_ns, .dur_ns = span->dur_ns
	};
	return TRACE_OK;
}

static int on_point(void *context, struct trace_text packed, uint32_t track, uint64_t span)
{
	struct trace_unpacking unpacking = { packed.data };

	(void)context;
	assert_int_equal(packed.n_bytes, 8);
	found.list[found.n++] =
		(struct outcome){ .is_point = true, .number = trace_take_u64(&unpacking), .track = track, .closed = span };
	return TRACE_OK;
}

static struct trace_text word_of(int word)
{
	static const char words[N_NAMES][3] = { "", "a", "b", "cc", "dd" };

	return word < 0 ? (struct trace_text){ NULL, 0 } : (struct trace_text){ words[word], strlen(words[word]) };
}

static void add(struct trace_pairing *pairing, const struct made *made)
{
	struct trace_record packed = { 0 };
	struct trace_pair_operation operation = {
		.kind = made->kind, .track = made->track, .ts_ns = made->ts_ns, .number = made->number, .unmatched = "unmatched"
	};

	if (made->kind == TRACE_PAIR_POINT) {
		trace_put_u64(&packed, made->number);
	} else {
		trace_put_text(&packed, word_of(made->name));
		trace_put_text(&packed, word_of(made->category));
		trace_put_bytes(&packed, (struct trace_text){ filling, made->n_filling });
	}
	operation.packed = (struct trace_text){ packed.bytes.data, packed.bytes.n_bytes };
	assert_int_equal(trace_pairing_add(pairing, &operation), TRACE_OK);
	trace_record_release(&packed);
}

static void pair_by_module(size_t n, size_t memory_bytes)
{
	struct trace_report report = { 0 };
	struct trace_pairing pairing = {
		.report = &report, .in_file_order = in_file_order, .on_span = on_span, .on_point = on_point
	};
	const struct trace_report_line *line;
	int status;

	found.n = 0;
	assert_int_equal(trace_pairing_begin(&pairing, memory_bytes), TRACE_OK);
	for (size_t i = 0; i < n; i++)
		add(&pairing, &operations[i]);
	while ((status = trace_pairing_step(&pairing)) == TRACE_ROW)
		continue;
	assert_int_equal(status, TRACE_OK);
	found.n_unmatched = 0;
	for (size_t i = 0; (line = trace_report_line(&report, i)); i++)
		found.n_unmatched += strncmp(line->what, "unmatched", 9) == 0 ? line->n : 0;
	trace_pairing_release(&pairing);
}

static int compare_outcomes(const void *left, const void *right)
{
	const struct outcome *a = left, *b = right;

	if (a->is_point != b->is_point)
		return a->is_point ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

static void compare(size_t n, size_t memory_bytes)
{
	pair_by_hand(n);
	pair_by_module(n, memory_bytes);
	qsort(expected.list, expected.n, sizeof *expected.list, compare_outcomes);
	qsort(found.list, found.n, sizeof *found.list, compare_outcomes);
	assert_int_equal(found.n, expected.n);
	assert_int_equal(found.n_unmatched, expected.n_unmatched);
	for (size_t i = 0; i < n && i < found.n; i++) {
		assert_int_equal(found.list[i].number, expected.list[i].number);
		assert_int_equal(found.list[i].track, expected.list[i].track);
		assert_int_equal(found.list[i].ts_ns, expected.list[i].ts_ns);
		assert_int_equal(found.list[i].dur_ns, expected.list[i].dur_ns);
		assert_int_equal(found.list[i].closed, expected.list[i].closed);
	}
}

/* ---- Operations ---- */

struct manner {
	unsigned late_percent, state_percent, point_percent, begin_percent;
	size_t most_filling;
};

/* Each track is as late as its number says. A point follows its end. */
static void make_operations(struct random *dice, size_t n, const struct manner *manner)
{
	int64_t now[N_TRACKS + 1] = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct made *made = &operations[i];
		uint32_t track = 1 + (uint32_t)random_below(dice, N_TRACKS);
		bool is_late = random_chance(dice, manner->late_percent * (track - 1) / N_TRACKS);

		now[track] += random_between(dice, 0, 3);
		*made = (struct made){ .kind = random_chance(dice, manner->begin_percent) ? TRACE_PAIR_BEGIN : TRACE_PAIR_END,
				       .track = track,
				       .ts_ns = is_late ? now[track] - random_between(dice, 0, 20) : now[track],
				       .order = i,
				       .number = i + 1,
				       .name = (int)random_below(dice, N_NAMES),
				       .category = (int)random_below(dice, 3) - 1,
				       .n_filling = manner->most_filling ? random_below(dice, manner->most_filling) : 0 };
		if (random_chance(dice, manner->state_percent))
			made->kind = TRACE_PAIR_STATE;
		if (made->kind == TRACE_PAIR_END && random_chance(dice, 60))
			made->name = made->category = -1;
		if (i > 0 && operations[i - 1].kind == TRACE_PAIR_END && random_chance(dice, manner->point_percent)) {
			made->kind = TRACE_PAIR_POINT;
			made->track = operations[i - 1].track;
			made->ts_ns = operations[i - 1].ts_ns;
		}
	}
}

static void compare_rounds(const struct manner *manner, size_t memory_bytes)
{
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		size_t n = 1 + random_below(&dice, MOST_OPERATIONS);

		make_operations(&dice, n, manner);
		compare(n, memory_bytes);
	}
}

static void tracks_in_order_are_paired(void **state)
{
	(void)state;
	compare_rounds(&(struct manner){ .begin_percent = 50, .point_percent = 20 }, 1 << 20);
}

static void what_was_paired_too_early_is_paired_again(void **state)
{
	(void)state;
	compare_rounds(&(struct manner){ .begin_percent = 50, .point_percent = 20, .late_percent = 1 }, 1 << 20);
	compare_rounds(&(struct manner){ .begin_percent = 55, .point_percent = 20, .late_percent = 60 }, 1 << 20);
}

static void deep_stacks_are_searched_by_name(void **state)
{
	(void)state;
	compare_rounds(&(struct manner){ .begin_percent = 75, .point_percent = 5, .late_percent = 2 }, 1 << 20);
}

static void states_last_until_the_next(void **state)
{
	(void)state;
	compare_rounds(&(struct manner){ .begin_percent = 50, .state_percent = 3, .late_percent = 5 }, 1 << 20);
}

static void temporary_files_give_the_same(void **state)
{
	(void)state;
	compare_rounds(&(struct manner){ .begin_percent = 50, .point_percent = 20, .late_percent = 5 }, 2000);
}

/* 3000 begins of 10 000 bytes are more than is kept open. */
static void open_spans_beyond_what_is_kept_wait_in_the_sorter(void **state)
{
	struct manner manner = { .begin_percent = 70, .point_percent = 10, .most_filling = MOST_FILLING_BYTES };

	(void)state;
	for (unsigned round = 0; round < random_rounds(4); round++) {
		struct random dice = random_from(random_seed() + round);

		manner.late_percent = round % 2;
		make_operations(&dice, MOST_OPERATIONS, &manner);
		compare(MOST_OPERATIONS, 1 << 20);
	}
}

/* Clocks that step back change nothing but durations, in memory, through temporary files, and beyond what is kept open. */
static void the_order_of_the_file_is_kept_on_demand(void **state)
{
	(void)state;
	in_file_order = true;
	compare_rounds(&(struct manner){ .begin_percent = 50, .point_percent = 20, .late_percent = 30 }, 2000);
	for (unsigned round = 0; round < random_rounds(4); round++) {
		struct manner manner = { .begin_percent = 70, .late_percent = 20, .most_filling = MOST_FILLING_BYTES };
		struct random dice = random_from(random_seed() + round);

		make_operations(&dice, MOST_OPERATIONS, &manner);
		compare(MOST_OPERATIONS, 1 << 20);
	}
	in_file_order = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracks_in_order_are_paired),
		cmocka_unit_test(what_was_paired_too_early_is_paired_again),
		cmocka_unit_test(deep_stacks_are_searched_by_name),
		cmocka_unit_test(states_last_until_the_next),
		cmocka_unit_test(temporary_files_give_the_same),
		cmocka_unit_test(open_spans_beyond_what_is_kept_wait_in_the_sorter),
		cmocka_unit_test(the_order_of_the_file_is_kept_on_demand),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
