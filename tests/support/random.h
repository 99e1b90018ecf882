/* tests/support/random.h -- Repeatable random numbers for tests.
 *
 * The seed is IFOREST_SEED, or a fixed one. A property test runs random_rounds() rounds; round r starts from random_seed() + r,
 * so that IFOREST_SEED=<its seed> IFOREST_ROUNDS=1 runs a failed round alone. There are IFOREST_ROUNDS rounds, or the usual
 * number, of which half are run where the sanitizer shortens tests (sanitizer.h).
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t seed, state;
};

uint64_t random_seed(void);
unsigned random_rounds(unsigned usual);

struct random random_from(uint64_t seed);
uint64_t random_next(struct random *dice);
uint64_t random_below(struct random *dice, uint64_t n);                       /* [0, n), n > 0 */
int64_t random_between(struct random *dice, int64_t lowest, int64_t highest); /* both ends included */
bool random_chance(struct random *dice, unsigned percent);

/* Prints the seed if a test failed, and returns its argument: `return random_report(cmocka_run_group_tests(...))`. */
int random_report(int n_failed);

#endif
