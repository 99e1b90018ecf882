/* tests/support/sanitizer.h -- UNDER_ADDRESS_SANITIZER: 1 where the address sanitizer is compiled in, and else not defined. */
#ifndef TESTS_SANITIZER_H
#define TESTS_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER 1
#endif
#endif

#endif
