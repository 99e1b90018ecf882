/* The main() of a fuzz target without libFuzzer: runs the inputs named on the command line, or else a fixed number of random ones.
 * Input i comes from seed + i, so that one that breaks is run alone with IFOREST_SEED=<its seed> IFOREST_ROUNDS=1. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/support/random.h"

enum { USUAL_INPUTS = 8000, LARGEST_INPUT = 1 << 20 };

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static uint64_t current_seed;

static void name_seed(void)
{
	fprintf(stderr, "the input's seed: IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1\n", current_seed);
}

static void on_abort(int number)
{
	(void)number;
	name_seed();
}

/* Mostly a few damaged bytes with a right checksum, the deepest way in; header and directory are hit more often than the rest. */
static size_t random_input(struct random *dice, uint8_t *data)
{
	size_t n_damages = 1 + random_below(dice, 6), n = FUZZ_HEADER;

	data[0] = (uint8_t)random_next(dice);
	data[1] = random_chance(dice, 95) ? FUZZ_SEAL : (uint8_t)random_below(dice, 4);
	data[1] |= random_chance(dice, 15) ? FUZZ_MERGE : 0;
	for (size_t i = 0; i < n_damages; i++) {
		unsigned offset = (unsigned)random_below(dice, random_chance(dice, 60) ? 128 : 1024);

		data[n++] = (uint8_t)offset;
		data[n++] = (uint8_t)(offset >> 8);
		data[n++] = random_chance(dice, 30) ? (uint8_t)(random_chance(dice, 50) ? 0xff : 0) : (uint8_t)random_next(dice);
	}
	return n;
}

static int replay_file(const char *name)
{
	uint8_t *data = malloc(LARGEST_INPUT);
	FILE *file = fopen(name, "rb");
	size_t n;

	if (!data || !file) {
		fprintf(stderr, "cannot read %s\n", name);
		free(data);
		return 1;
	}
	n = fread(data, 1, LARGEST_INPUT, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned n_inputs = random_rounds(USUAL_INPUTS);
	int n_failed = 0;

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			n_failed += replay_file(argv[i]);
		return n_failed != 0;
	}
	signal(SIGABRT, on_abort);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(name_seed);
	for (unsigned i = 0; i < n_inputs; i++) {
		uint8_t data[64];
		struct random dice = random_from(current_seed = random_seed() + i);

		LLVMFuzzerTestOneInput(data, random_input(&dice, data));
	}
	printf("%u inputs\n[  PASSED  ] 1 test(s).\n", n_inputs); /* the line that tests/run.sh counts */
	return 0;
}
