/* bench/memory/cycle.c -- Random cycle through cache lines, in which each load has to wait for the one before.
 *
 * The line visited at step s is shuffled(s). So each line's successor can be computed where the line is: gigabytes are
 * written in order, and where a walk must end is known.
 */
#include "memory.h"

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)
#define SECOND_MULTIPLIER UINT64_C(0xbf58476d1ce4e5b9)

struct walk {
	const struct cycle *cycle;
	int width;
	uint64_t n_steps, n_steps_before;      /* of each walker: in one run, and in all until now */
	struct line *at[MOST_THREADS][MOST_WIDTH];
};

/* ---- the permutation ---- */

/* Its own inverse: it moves at least half of the bits. */
static uint64_t fold(unsigned n_bits, uint64_t i)
{
	return i ^ i >> (n_bits + 1) / 2;
}

static uint64_t mask(unsigned n_bits)
{
	return (UINT64_C(1) << n_bits) - 1;
}

uint64_t shuffled(unsigned n_bits, uint64_t i)
{
	i = fold(n_bits, i & mask(n_bits)) * MULTIPLIER & mask(n_bits);
	i = fold(n_bits, i) * SECOND_MULTIPLIER & mask(n_bits);
	return fold(n_bits, i);
}

/* Modulo 2^64; each step doubles the bits that are right, beginning with three. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int bits = 3; bits < 64; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

uint64_t unshuffled(unsigned n_bits, uint64_t i)
{
	i = fold(n_bits, i & mask(n_bits)) * inverse(SECOND_MULTIPLIER) & mask(n_bits);
	i = fold(n_bits, i) * inverse(MULTIPLIER) & mask(n_bits);
	return fold(n_bits, i);
}

/* ---- the cycle ---- */

static struct line *line_at_step(const struct cycle *cycle, uint64_t step)
{
	return cycle->lines + shuffled(cycle->n_bits, step);
}

/* A round in as many parts as there are walkers, so that it does not take the latency of all its loads. */
static void check_round(const struct cycle *cycle)
{
	uint64_t n_steps = cycle->n_lines / MOST_WIDTH, n_visited_again = 0;
	struct line *at[MOST_WIDTH];

	for (uint64_t w = 0; w < MOST_WIDTH; w++)
		at[w] = line_at_step(cycle, w * n_steps);
	for (uint64_t s = 0; s < n_steps; s++)
		for (int w = 0; w < MOST_WIDTH; w++) {
			n_visited_again += at[w]->n_visits++;
			at[w] = at[w]->next;
		}
	for (uint64_t w = 0; w < MOST_WIDTH; w++)
		check(at[w] == line_at_step(cycle, (w + 1) * n_steps), "a part of the cycle ends where the next one starts");
	check(n_visited_again == 0, "the cycle visits each line once");
}

struct cycle cycle_make(const struct memory *memory, size_t n_bytes)
{
	struct cycle cycle = { .lines = (struct line *)(void *)memory->bytes, .n_lines = n_bytes / LINE_BYTES };

	while (UINT64_C(1) << cycle.n_bits < cycle.n_lines)
		cycle.n_bits++;
	check(n_bytes <= memory->n_bytes && cycle.n_lines == UINT64_C(1) << cycle.n_bits && cycle.n_lines >= 2 * MOST_WIDTH,
	      "a cycle's bytes are a power of two");
	for (uint64_t i = 0; i < cycle.n_lines; i++)
		cycle.lines[i] = (struct line){ .next = line_at_step(&cycle, unshuffled(cycle.n_bits, i) + 1) };
	check_round(&cycle);
	return cycle;
}

/* ---- walks ---- */

static struct line *walk_alone(struct line *at, uint64_t n_steps)
{
	for (uint64_t s = 0; s < n_steps; s++)
		at = at->next;
	return at;
}

static void walk_together(struct line **walkers, int width, uint64_t n_steps)
{
	struct line *at[MOST_WIDTH];

	for (int w = 0; w < width; w++)
		at[w] = walkers[w];
	for (uint64_t s = 0; s < n_steps; s++)
		for (int w = 0; w < width; w++)
			at[w] = at[w]->next;
	for (int w = 0; w < width; w++)
		walkers[w] = at[w];
}

static void run(void *context, int thread)
{
	struct walk *walk = context;

	if (walk->width == 1)
		walk->at[thread][0] = walk_alone(walk->at[thread][0], walk->n_steps);
	else
		walk_together(walk->at[thread], walk->width, walk->n_steps);
}

static void prepare(void *context)
{
	struct walk *walk = context;

	walk->n_steps_before += walk->n_steps;
}

static uint64_t first_step(const struct walk *walk, int thread, int walker, int n_threads)
{
	return walk->cycle->n_lines / (uint64_t)(n_threads * walk->width) * (uint64_t)(thread * walk->width + walker);
}

struct figures cycle_measure(const struct cycle *cycle, int width, int n_threads)
{
	struct walk walk = { .cycle = cycle, .width = width, .n_steps = settings.n_loads / (uint64_t)width };
	struct job job = { .run = run, .prepare = prepare, .context = &walk, .n_threads = n_threads };
	struct figures figures;

	job.n_operations = (double)walk.n_steps * width * n_threads;
	for (int t = 0; t < n_threads; t++)
		for (int w = 0; w < width; w++)
			walk.at[t][w] = line_at_step(cycle, first_step(&walk, t, w, n_threads));
	figures = measure(&job);
	for (int t = 0; t < n_threads; t++)
		for (int w = 0; w < width; w++)
			check(walk.at[t][w] == line_at_step(cycle, first_step(&walk, t, w, n_threads) + walk.n_steps_before),
			      "a walk ends where it must");
	return figures;
}
