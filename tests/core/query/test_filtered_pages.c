/* What is kept of pages: found under its own name alone, forgotten where it is too much, and not while it is held. */
#include "core/query/filtered_nodes.h"

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"

enum { N_PAGES = 500, N_ITEMS = 10 };

static const struct iforest_place place = { .run_id = 77, .generation = 5 };

static struct iforest_node_schema some_fields(void)
{
	struct iforest_node_schema fields = { .n_values = 1, .value_types = { IFOREST_INT64 }, .duration_value = IFOREST_NO_VALUE };

	assert_ok(iforest_node_schema_finish(&fields));
	return fields;
}

static struct iforest_filtered_page *make(struct iforest_filtered_nodes *filtered_nodes, unsigned level, uint64_t number)
{
	struct iforest_node_schema fields = some_fields();

	return iforest_filtered_nodes_make(filtered_nodes, &place, level, number, N_ITEMS, &fields);
}

static void a_page_is_found_under_its_own_name(void **state)
{
	struct iforest_place other_run = { .run_id = 78, .generation = 5 }, other_state = { .run_id = 77, .generation = 6 };
	struct alloc_fault alloc;
	struct iforest_filtered_nodes filtered_nodes;

	(void)state;
	alloc_fault_init(&alloc);
	iforest_filtered_nodes_init(&filtered_nodes, &alloc.alloc);
	assert_null(iforest_filtered_nodes_find(&filtered_nodes, &place, 1, 0));
	for (uint64_t i = 0; i < N_PAGES; i++) {
		struct iforest_filtered_page *made = make(&filtered_nodes, (unsigned)(i % 3), i / 3);

		assert_non_null(made);
		for (unsigned k = 0; k < N_ITEMS && made->level > 0; k++)
			assert_true(made->n_excluded[k] == IFOREST_NOT_KNOWN);
		assert_true(made->n_keys == IFOREST_NOT_KNOWN);
		made->n_keys = i;
	}
	for (uint64_t i = 0; i < N_PAGES; i++) {
		const struct iforest_filtered_page *found = iforest_filtered_nodes_find(&filtered_nodes, &place, (unsigned)(i % 3), i / 3);

		assert_non_null(found);
		assert_true(found->n_keys == i && found->n_items == N_ITEMS);
		assert_null(iforest_filtered_nodes_find(&filtered_nodes, &other_run, (unsigned)(i % 3), i / 3));
		assert_null(iforest_filtered_nodes_find(&filtered_nodes, &other_state, (unsigned)(i % 3), i / 3));
		assert_null(iforest_filtered_nodes_find(&filtered_nodes, &place, 3, i));
	}
	assert_int_equal(filtered_nodes.n_pages, N_PAGES);
	iforest_filtered_nodes_release(&filtered_nodes);
	assert_int_equal(alloc.n_live, 0);
}

static void what_is_too_much_is_forgotten_unless_it_is_held(void **state)
{
	struct alloc_fault alloc;
	struct iforest_filtered_nodes filtered_nodes;
	struct iforest_filtered_page *held;

	(void)state;
	alloc_fault_init(&alloc);
	iforest_filtered_nodes_init(&filtered_nodes, &alloc.alloc);
	filtered_nodes.most_bytes = 20000;
	held = make(&filtered_nodes, 0, 1000);
	held->n_pins = 1;
	for (uint64_t i = 0; i < N_PAGES; i++) {
		assert_non_null(make(&filtered_nodes, 1, i));
		assert_in_range(filtered_nodes.n_bytes, 1, filtered_nodes.most_bytes);
		assert_in_range(alloc.n_live_bytes, 1, filtered_nodes.most_bytes + 4096);
		assert_non_null(iforest_filtered_nodes_find(&filtered_nodes, &place, 1, i));
		assert_ptr_equal(iforest_filtered_nodes_find(&filtered_nodes, &place, 0, 1000), held);
	}
	assert_null(iforest_filtered_nodes_find(&filtered_nodes, &place, 1, 0));
	held->n_pins = 0;
	iforest_filtered_nodes_release(&filtered_nodes);
	assert_int_equal(alloc.n_live, 0);
}

static void without_memory_none_is_made(void **state)
{
	struct alloc_fault alloc;
	struct iforest_filtered_nodes filtered_nodes;

	(void)state;
	alloc_fault_init(&alloc);
	iforest_filtered_nodes_init(&filtered_nodes, &alloc.alloc);
	for (uint64_t i = 0; i < N_PAGES; i++) {
		alloc.fail_at = alloc.n_calls + 1;
		assert_null(make(&filtered_nodes, 1, i));
		assert_null(iforest_filtered_nodes_find(&filtered_nodes, &place, 1, i));
		assert_non_null(make(&filtered_nodes, 1, i));
	}
	assert_int_equal(filtered_nodes.n_pages, N_PAGES);
	iforest_filtered_nodes_release(&filtered_nodes);
	assert_int_equal(alloc.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_found_under_its_own_name),
		cmocka_unit_test(what_is_too_much_is_forgotten_unless_it_is_held),
		cmocka_unit_test(without_memory_none_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
