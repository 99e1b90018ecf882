/* tests/support/sanitizer.h -- Whether the address sanitizer is compiled in, and whether tests run less under it.
 *
 * UNDER_ADDRESS_SANITIZER is 1 if it is compiled in, and otherwise not defined.
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

/* True if tests run only a part of what they could. The plain build runs all of it; the sanitizer, which takes several times as
 * long, only has to find errors of memory. With IFOREST_LONG in the environment, it runs all, too. */
static inline bool sanitizer_shortens(void)
{
#ifdef UNDER_ADDRESS_SANITIZER
	return !getenv("IFOREST_LONG");
#else
	return false;
#endif
}

#endif
