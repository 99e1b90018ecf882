/* test_sketch.c -- sketches are the same bytes as those of SQLite, and move there and back. What else they are to be is in
 * regress/sql/sketch.sql. */
#include "tests/pg/client.h"
#include "tests/support/sketch_vectors.h"

/* tests/sqlite/test_sketch.c asks the same of SQLite */
static void both_engines_give_the_same_bytes(void **state)
{
	PGconn *pg = *state;

	for (size_t i = 0; i < COUNT_OF(sketch_vectors); i++) {
		const struct sketch_vector *vector = &sketch_vectors[i];
		PGresult *result = client_rows(pg, "%s", vector->sql);
		const char *shown = PQgetvalue(result, 0, 0);

		client_note("%s", vector->sql);
		assert_memory_equal(shown, "\\x", 2);
		assert_int_equal(strlen(shown), 2 + 2 * vector->n_bytes);
		assert_memory_equal(shown + 2, vector->start, 22);
		PQclear(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_engines_give_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, client_set_up, client_tear_down);
}
