/* tests/support/limited.h -- Function that runs a body in a process with a limit on a resource. */
#ifndef TESTS_LIMITED_H
#define TESTS_LIMITED_H

#include <stdbool.h>
#include <stdint.h>

/* The address and thread sanitizers do not work under a limit of memory. */
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

/* True if a limited process is possible here. If not, prints why, and the caller skips the test. */
bool limited_or_says_why_not(void);

/* resource is RLIMIT_AS or the like. The body must not use cmocka: it returns 0, or the line that failed. Returns what the body
 * returns, or -1 if the process ended in another way. */
int limited_run(int resource, uint64_t n_bytes, int (*body)(void));

/* The check that bodies use. */
#define LIMITED_EXPECT(condition)        \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

#endif
