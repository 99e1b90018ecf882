#include "core/base/status.h"

#include <string.h>

#include "tests/support/harness.h"

static void every_status_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (int a = 0; a < IFOREST_STATUS_END; a++) {
		assert_string_not_equal(iforest_status_text((enum iforest_status)a), "unknown status");
		for (int b = 0; b < a; b++)
			assert_string_not_equal(iforest_status_text((enum iforest_status)a),
						iforest_status_text((enum iforest_status)b));
	}
	assert_string_equal(iforest_status_text(IFOREST_STATUS_END), "unknown status");
	assert_string_equal(iforest_status_text((enum iforest_status)999), "unknown status");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_status_has_a_text_of_its_own) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
