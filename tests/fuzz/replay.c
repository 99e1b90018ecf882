/* The main() of a fuzz target without libFuzzer: runs the inputs named on the command line, or else the target's corpus and a
 * fixed number of random ones. Input i comes from seed + i, so that one that breaks is run alone with IFOREST_SEED=<its seed>
 * IFOREST_ROUNDS=1. */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/support/random.h"

enum { LARGEST_INPUT = 1 << 20 };

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static uint64_t current_seed;
static const char *current_input; /* a file */

static void name_seed(void)
{
	if (current_input)
		fprintf(stderr, "the input: %s\n", current_input);
	else
		fprintf(stderr, "the input's seed: IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1\n", current_seed);
}

static void on_abort(int number)
{
	(void)number;
	name_seed();
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

/* Returns how many inputs there were, -1 if one could not be read. */
static int replay_corpus(const char *folder)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	int n = 0;

	while (directory && n >= 0 && (entry = readdir(directory))) {
		char name[600];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
		current_input = name;
		n = replay_file(name) ? -1 : n + 1;
		current_input = NULL;
	}
	if (directory)
		closedir(directory);
	return n > 0 ? n : -1;
}

int main(int argc, char **argv)
{
	unsigned n_inputs = random_rounds(fuzz_target.n_inputs);
	int n_failed = 0, n_kept = 0;

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			n_failed += replay_file(argv[i]);
		return n_failed != 0;
	}
	signal(SIGABRT, on_abort);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(name_seed);
	if (fuzz_target.corpus && (n_kept = replay_corpus(fuzz_target.corpus)) < 0)
		return 1;
	for (unsigned i = 0; i < n_inputs; i++) {
		uint8_t data[FUZZ_MOST_RANDOM];
		struct random dice = random_from(current_seed = random_seed() + i);

		LLVMFuzzerTestOneInput(data, fuzz_target.random_input(&dice, data));
	}
	printf("%d kept inputs, %u random ones\n[  PASSED  ] 1 test(s).\n", n_kept, n_inputs); /* the line that tests/run.sh counts */
	return 0;
}
