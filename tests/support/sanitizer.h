/* tests/support/sanitizer.h -- The address sanitizer, where it is compiled in, and what tests leave out under it.
 *
 * UNDER_ADDRESS_SANITIZER: 1 where it is compiled in, and else not defined.
 */
#ifndef TESTS_SANITIZER_H
#define TESTS_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER 1
#endif
#endif

#include <stdbool.h>
#include <stdlib.h>

/* Whether a test does less than it could: the plain build runs all of it, and the sanitizer, which takes several times as long, is there
 * for errors of memory alone. With IFOREST_LONG in the environment it does all. */
static inline bool sanitizer_shortens(void)
{
#ifdef UNDER_ADDRESS_SANITIZER
	return !getenv("IFOREST_LONG");
#else
	return false;
#endif
}

#endif
