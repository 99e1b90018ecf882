#include "tests/support/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sanitizer.h"

static uint64_t from_environment(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : usual;
}

uint64_t random_seed(void)
{
	return from_environment("IFOREST_SEED", 20240229);
}

unsigned random_rounds(unsigned usual)
{
	return (unsigned)from_environment("IFOREST_ROUNDS", sanitizer_shortens() ? (usual + 1) / 2 : usual);
}

struct random random_from(uint64_t seed)
{
	return (struct random){ .seed = seed, .state = seed };
}

/* splitmix64 (Sebastiano Vigna, public domain) */
uint64_t random_next(struct random *dice)
{
	uint64_t x = dice->state += 0x9E3779B97F4A7C15u;

	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

uint64_t random_below(struct random *dice, uint64_t n)
{
	return random_next(dice) % n;
}

int64_t random_between(struct random *dice, int64_t lowest, int64_t highest)
{
	uint64_t n_others = (uint64_t)highest - (uint64_t)lowest;
	uint64_t x = random_next(dice);

	return (int64_t)((uint64_t)lowest + (n_others == UINT64_MAX ? x : x % (n_others + 1)));
}

bool random_chance(struct random *dice, unsigned percent)
{
	return random_below(dice, 100) < percent;
}

int random_report(int n_failed)
{
	if (n_failed)
		fprintf(stderr, "failed with IFOREST_SEED=%" PRIu64 "\n", random_seed());
	return n_failed;
}
