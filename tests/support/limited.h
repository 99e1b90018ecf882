/* tests/support/limited.h -- Process with a limit on a resource, in which a body runs. */
#ifndef TESTS_LIMITED_H
#define TESTS_LIMITED_H

#include <stdbool.h>
#include <stdint.h>

/* Sanitizers of addresses and threads cannot live with limits of memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITED_IS_POSSIBLE false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMITED_IS_POSSIBLE false
#endif
#endif
#ifndef LIMITED_IS_POSSIBLE
#define LIMITED_IS_POSSIBLE true
#endif

/* Is a limited process possible here, or does the test say why not? Then it is to be skipped. */
bool limited_or_says_why_not(void);

/* resource: RLIMIT_AS and the like. The body must not use cmocka: it returns 0, or the line that failed. So does this, or -1 if
 * the process ended in another way. */
int limited_run(int resource, uint64_t n_bytes, int (*body)(void));

/* For bodies. */
#define LIMITED_EXPECT(condition)        \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

#endif
