#include "core/page/node.h"

#include <string.h>

#include "tests/support/harness.h"

static struct iforest_node_schema made(unsigned n_values, uint8_t duration, bool has_blocks)
{
	struct iforest_node_schema fields = { .n_values = (uint8_t)n_values, .duration_value = duration, .has_blocks = has_blocks };

	for (unsigned v = 0; v < n_values && v < IFOREST_MAX_VALUES; v++)
		fields.value_types[v] = v % 2 ? IFOREST_FLOAT64 : IFOREST_INT64;
	return fields;
}

static void keep_squares(struct iforest_node_schema *fields, unsigned values)
{
	for (unsigned v = 0; v < IFOREST_MAX_VALUES; v++)
		if (values >> v & 1)
			assert_ok(iforest_accumulators_add(&fields->accumulators, IFOREST_KIND_SQUARES, v, IFOREST_NO_VALUE, NULL,
							   0));
}

static void offsets_follow_each_other(void **state)
{
	struct iforest_node_schema fields = made(3, 2, true);

	(void)state;
	assert_ok(iforest_node_schema_finish(&fields));
	assert_int_equal(fields.value_offset[0], 36 + 16);
	assert_int_equal(fields.value_offset[1], 52 + 72);
	assert_int_equal(fields.value_offset[2], 124 + 88);
	assert_int_equal(fields.latest_end_offset, 212 + 72);
	assert_int_equal(fields.blocks_offset, 292);
	assert_int_equal(fields.node_bytes, 300);
	assert_int_equal(iforest_fanout(&fields, 1024), (1024 - 32) / 300);
	keep_squares(&fields, 5);
	assert_ok(iforest_node_schema_finish(&fields));
	assert_int_equal(fields.accumulator_offset[0], 52 + 72);
	assert_int_equal(fields.value_offset[1], 52 + 72 + 24);
	assert_int_equal(fields.accumulator_offset[1], 52 + 72 + 24 + 88 + 72);
	assert_int_equal(fields.node_bytes, 300 + 48);
	fields = made(0, IFOREST_NO_VALUE, false);
	assert_ok(iforest_node_schema_finish(&fields));
	assert_true(fields.node_bytes == 52 && fields.latest_end_offset == 0 && fields.blocks_offset == 0);
}

static void contradictions_are_refused(void **state)
{
	struct iforest_node_schema fields = made(9, IFOREST_NO_VALUE, false);

	(void)state;
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
	fields = made(2, 1, false); /* a float duration */
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
	fields = made(2, 2, false);
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
	fields = made(2, 0, false);
	fields.end_rule = IFOREST_END_RULES;
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
	fields = made(2, 0, false);
	keep_squares(&fields, 2); /* of floats */
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
	fields = made(2, 0, false);
	keep_squares(&fields, 4); /* of no column */
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
	fields = made(2, 0, false);
	fields.value_types[1] = 3;
	assert_status(iforest_node_schema_finish(&fields), IFOREST_ARGUMENT);
}

static void every_list_survives_its_bytes(void **state)
{
	(void)state;
	for (unsigned n = 0; n <= IFOREST_MAX_VALUES; n++)
		for (unsigned way = 0; way < 4 * IFOREST_END_RULES; way++) {
			static const uint8_t squares[] = { 0, 1, 0x55, 0x10 };
			static const int64_t bounds[] = { INT64_MIN, -5, 0, 1, 2, 3, 4, 5, 6, 7, 1000, INT64_MAX };
			struct iforest_node_schema fields = made(n, way & 1 && n ? (uint8_t)(n - 1) / 2 * 2 : IFOREST_NO_VALUE,
							    way & 2),
					      read;
			uint8_t bytes[IFOREST_MAX_SCHEMA_BYTES + 1];
			uint32_t n_read = 0;
			unsigned n_bytes;

			keep_squares(&fields, squares[way % 4] & ((1u << n) - 1));
			for (unsigned v = 0; way & 4 && v < n; v += 2)
				assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_HISTOGRAM, v, IFOREST_NO_VALUE,
								   bounds, v == 2 ? 2 : 12));
			fields.end_rule = fields.duration_value == IFOREST_NO_VALUE ? 0 : (uint8_t)(way / 4);
			assert_ok(iforest_node_schema_finish(&fields));
			n_bytes = iforest_node_schema_write(&fields, bytes);
			assert_true(n_bytes <= IFOREST_MAX_SCHEMA_BYTES);
			assert_ok(iforest_node_schema_parse(&read, bytes, n_bytes + 1, &n_read));
			assert_int_equal(n_read, n_bytes);
			assert_memory_equal(&read.value_types, &fields.value_types, n);
			assert_true(read.n_values == n && read.duration_value == fields.duration_value &&
				    read.end_rule == fields.end_rule && read.has_blocks == fields.has_blocks &&
				    iforest_accumulators_equal(&read.accumulators, &fields.accumulators) &&
				    read.node_bytes == fields.node_bytes);
			for (unsigned cut = 0; cut < n_bytes; cut++)
				assert_status(iforest_node_schema_parse(&read, bytes, cut, &n_read), IFOREST_CORRUPT);
		}
}

static void assert_parses_as(const uint8_t *bytes, uint32_t n_bytes, enum iforest_status expected)
{
	struct iforest_node_schema fields = { .n_values = 77 };
	uint32_t n_read = 88;

	assert_status(iforest_node_schema_parse(&fields, bytes, n_bytes, &n_read), expected);
	assert_true(expected == IFOREST_OK || (fields.n_values == 77 && n_read == 88));
}

#define BYTES(number) number, 0, 0, 0, 0, 0, 0, 0
#define PARSES_AS(expected, ...) \
	assert_parses_as((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), expected)

static void foreign_lists_are_checked(void **state)
{
	(void)state;
	PARSES_AS(IFOREST_OK, 2, 1, 255, 2, 255);
	PARSES_AS(IFOREST_OK, 5, 1, 255, 2, 255, 3, 0, 5, 0, 6, 255);
	PARSES_AS(IFOREST_OK, 4, 1, 255, 2, 255, 3, 0, 10, 0);
	PARSES_AS(IFOREST_OK, 5, 1, 255, 2, 255, 3, 0, 11, 0, 3, 1);
	PARSES_AS(IFOREST_FORMAT, 3, 1, 255, 2, 255, 99, 0);
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 11, 0, 3, 0);      /* the squares before their value */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 4, 0, 11, 0);      /* squares of floats */
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 3, 1, 11, 0); /* not at once after the value */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 11, 9);
	PARSES_AS(IFOREST_OK, 4, 1, 255, 2, 255, 3, 0, 12, 0, 2, BYTES(1), BYTES(2));
	PARSES_AS(IFOREST_OK, 6, 1, 255, 2, 255, 3, 0, 11, 0, 12, 0, 1, BYTES(1), 5, 0);
	PARSES_AS(IFOREST_OK, 5, 1, 255, 2, 255, 3, 0, 13, 0, 0, 13, 0, 254);
	PARSES_AS(IFOREST_OK, 5, 1, 255, 2, 255, 3, 0, 13, 0, 1, 3, 1);
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 13, 0, 1, 4, 1);     /* with reals */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 13, 0, 1);           /* with no column */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 13, 0, 255);
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 13, 0);
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 13, 0, 254, 13, 0, 0); /* order */
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 12, 0, 1, BYTES(1), 11, 0);          /* order */
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 12, 0, 1, BYTES(1), 12, 0, 1, BYTES(2)); /* two of a column */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 12, 0, 0);                           /* no bounds */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 12, 0, 2, BYTES(2), BYTES(2));       /* not ascending */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 12, 0, 2, BYTES(1));                 /* cut off */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 12, 0);
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 3, 0, 12, 0, 33, BYTES(1));
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 4, 0, 12, 0, 1, BYTES(1));                 /* of reals */
	PARSES_AS(IFOREST_FORMAT, 2, 1, 255, 0, 255);
	PARSES_AS(IFOREST_CORRUPT, 2, 2, 255, 1, 255);                   /* order */
	PARSES_AS(IFOREST_CORRUPT, 2, 1, 255, 1, 255);                   /* twice */
	PARSES_AS(IFOREST_CORRUPT, 1, 1, 255);                           /* no count */
	PARSES_AS(IFOREST_CORRUPT, 2, 1, 0, 2, 255);                     /* a column where there is none */
	PARSES_AS(IFOREST_CORRUPT, 3, 1, 255, 2, 255, 3, 1);             /* columns begin with 0 */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 4, 0, 5, 0);       /* a float duration */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 5, 0, 3, 0);       /* the end before its value */
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 5, 0, 7, 0);    /* two ends */
	PARSES_AS(IFOREST_CORRUPT, 5, 1, 255, 2, 255, 3, 0, 6, 255, 8, 0);  /* the blocks come last */
	PARSES_AS(IFOREST_CORRUPT, 4, 1, 255, 2, 255, 6, 255, 6, 255);
	PARSES_AS(IFOREST_CORRUPT, 3, 1, 255, 2, 255, 5, 255);
	PARSES_AS(IFOREST_CORRUPT, 13, 1, 255, 2, 255, 3, 0, 3, 1, 3, 2, 3, 3, 3, 4, 3, 5, 3, 6, 3, 7, 5, 0, 6, 255, 6, 255);
	PARSES_AS(IFOREST_CORRUPT, 11, 1, 255, 2, 255, 3, 0, 3, 1, 3, 2, 3, 3, 3, 4, 3, 5, 3, 6, 3, 7, 3, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_follow_each_other),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(every_list_survives_its_bytes),
		cmocka_unit_test(foreign_lists_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
