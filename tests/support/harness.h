/* tests/support/harness.h -- Common includes of the tests of core: cmocka, and the headers that it needs before it. */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/status.h"

/* Fails with the text of the status, so that a log can be read without the enum. */
#define assert_status(actual, expected)                                                                      \
	do {                                                                                                 \
		enum iforest_status actual_status = (actual), expected_status = (expected);                  \
		if (actual_status != expected_status)                                                        \
			fail_msg("%s: got \"%s\", expected \"%s\"", #actual, iforest_status_text(actual_status), \
				 iforest_status_text(expected_status));                                      \
	} while (0)
#define assert_ok(actual) assert_status(actual, IFOREST_OK)

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#endif
