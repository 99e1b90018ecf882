#include "core/forest/slots.h"
#include "core/run/layout.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"

/* The drawing in slots.h. */
static void slots_are_as_drawn(void **state)
{
	(void)state;
	assert_int_equal(iforest_slot(0, 7), 14);
	assert_int_equal(iforest_slot(1, 0), 1);
	assert_int_equal(iforest_slot(2, 1), 11);
	assert_int_equal(iforest_slot(3, 0), 7);
	assert_int_equal(iforest_slot(4, 0), 15);
}

/* A node lies between the slots of its leaves, no two nodes share a slot, and none is left over. */
static void slots_are_a_bijection(void **state)
{
	enum { N_LEVELS = 11, N_SLOTS = 1 << N_LEVELS };
	char is_taken[N_SLOTS] = { 0 };

	(void)state;
	for (unsigned level = 0; level < N_LEVELS; level++)
		for (uint64_t group = 0; group < (UINT64_C(1) << (N_LEVELS - 1 - level)); group++) {
			uint64_t slot = iforest_slot(level, group);

			assert_true(slot < N_SLOTS && !is_taken[slot]);
			is_taken[slot] = 1;
			assert_true(slot >= 2 * (group << level) && slot <= 2 * (((group + 1) << level) - 1) + (level == 0));
		}
	for (unsigned slot = 0; slot < N_SLOTS - 1; slot++)
		assert_true(is_taken[slot]);
}

static void appending_a_leaf_completes_the_nodes_that_end_with_it(void **state)
{
	(void)state;
	for (uint64_t leaf = 0; leaf < 3000; leaf++) {
		unsigned n = 0;

		while ((leaf + 1) % (UINT64_C(2) << n) == 0)
			n++;
		assert_int_equal(iforest_levels_completed(leaf), n);
	}
}

static void covers_are_the_largest_that_fit(void **state)
{
	(void)state;
	for (uint64_t from = 0; from < 130; from++)
		for (uint64_t to = from + 1; to <= 130; to++) {
			unsigned level = iforest_cover_level(from, to);
			uint64_t n = UINT64_C(1) << level;

			assert_true(from % n == 0 && from + n <= to);
			assert_true(from % (2 * n) != 0 || from + 2 * n > to);
		}
	assert_int_equal(iforest_cover_level(0, UINT64_MAX), 63);
}

/* What a streaming builder writes, simulated: where each page of each level ends up. */
struct writer {
	uint64_t fanout, n_written, n_leaves;
	uint64_t n_nodes[64], n_pages[64];
};

static void check_page(struct writer *writer, unsigned level, uint64_t n_leaf_pages)
{
	assert_int_equal(iforest_page_index(n_leaf_pages, level, writer->n_pages[level], writer->fanout), writer->n_written);
	writer->n_written++;
	writer->n_pages[level]++;
	writer->n_nodes[level] = 0;
}

static void write_run(uint64_t n_leaf_pages, uint64_t fanout)
{
	struct writer writer = { .fanout = fanout };
	unsigned top = iforest_node_levels(n_leaf_pages, fanout);

	for (uint64_t leaf = 0; leaf < n_leaf_pages; leaf++) {
		check_page(&writer, 0, n_leaf_pages);
		for (unsigned level = 1; level <= top && ++writer.n_nodes[level] == fanout; level++)
			check_page(&writer, level, n_leaf_pages);
	}
	for (unsigned level = 1; level <= top; level++) {
		if (writer.n_nodes[level] == 0)
			continue;
		check_page(&writer, level, n_leaf_pages);
		for (unsigned above = level + 1; above <= top && ++writer.n_nodes[above] == fanout; above++)
			check_page(&writer, above, n_leaf_pages);
	}
	assert_int_equal(writer.n_written, iforest_pages_total(n_leaf_pages, fanout));
	for (unsigned level = 0; level <= top; level++)
		assert_int_equal(writer.n_pages[level], iforest_pages_at(n_leaf_pages, level, fanout));
	assert_int_equal(writer.n_pages[top], n_leaf_pages > 0);
}

static void pages_are_where_the_builder_writes_them(void **state)
{
	static const uint64_t fanouts[] = { 2, 3, 4, 5, 7, 30, 111 };

	(void)state;
	for (unsigned f = 0; f < COUNT_OF(fanouts); f++)
		for (uint64_t n = 0; n <= (f < 3 ? 300 : 200); n++)
			write_run(n, fanouts[f]);
	write_run(30 * 30 * 30 + 1, 30);
	write_run(30 * 30 * 30, 30);
	write_run(30 * 30 * 30 - 1, 30);
	write_run(12345, 2);
}

static void the_drawn_run(void **state)
{
	(void)state;
	assert_int_equal(iforest_node_levels(7, 3), 2);
	assert_int_equal(iforest_pages_total(7, 3), 11);
	assert_int_equal(iforest_page_index(7, 1, 0, 3), 3);
	assert_int_equal(iforest_page_index(7, 0, 3, 3), 4);
	assert_int_equal(iforest_page_index(7, 1, 1, 3), 7);
	assert_int_equal(iforest_page_index(7, 0, 6, 3), 8);
	assert_int_equal(iforest_page_index(7, 1, 2, 3), 9);
	assert_int_equal(iforest_page_index(7, 2, 0, 3), 10);
	assert_int_equal(iforest_node_levels(0, 3), 0);
	assert_int_equal(iforest_pages_total(0, 3), 0);
	assert_int_equal(iforest_node_levels(1, 3), 1);
}

/* The largest run the format allows: indexes stay distinct and below the total. */
static void the_largest_runs(void **state)
{
	static const uint64_t fanouts[] = { 2, 3, 111, 400 };
	uint64_t n = UINT32_MAX;

	(void)state;
	for (unsigned f = 0; f < COUNT_OF(fanouts); f++) {
		uint64_t total = iforest_pages_total(n, fanouts[f]);
		unsigned top = iforest_node_levels(n, fanouts[f]);

		assert_in_range(top, 1, 32);
		assert_int_equal(iforest_page_index(n, top, 0, fanouts[f]), total - 1);
		for (unsigned level = 0; level < top; level++) {
			uint64_t n_pages = iforest_pages_at(n, level, fanouts[f]);

			assert_true(iforest_page_index(n, level, n_pages - 1, fanouts[f]) < total - 1);
			assert_true(iforest_page_index(n, level, n_pages - 1, fanouts[f]) >
				    iforest_page_index(n, level, n_pages - 2, fanouts[f]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_as_drawn),
		cmocka_unit_test(slots_are_a_bijection),
		cmocka_unit_test(appending_a_leaf_completes_the_nodes_that_end_with_it),
		cmocka_unit_test(covers_are_the_largest_that_fit),
		cmocka_unit_test(pages_are_where_the_builder_writes_them),
		cmocka_unit_test(the_drawn_run),
		cmocka_unit_test(the_largest_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
