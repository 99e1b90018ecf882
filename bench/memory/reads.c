/* bench/memory/reads.c -- Random reads of states whose places are known beforehand, with and without prefetching.
 *
 * Word w of state s holds s + w. Reads that do not wait overlap as far as the processor looks ahead; those that wait have the
 * place of the next one depend on what was read, as after a branch that was guessed wrong. What was prefetched is then all
 * that overlaps.
 */
#include "memory.h"

#include <stdlib.h>

enum { MOST_DISTANCE = 32 };

struct reading {
	const uint8_t *bytes;
	const struct reads *reads;
	uint32_t *order;               /* settings.n_loads + MOST_DISTANCE states */
	uint64_t first, n_bits;        /* the order is shuffled(first), shuffled(first + 1), ... */
	uint64_t sum, expected_sum;
};

void reads_fill(const struct memory *memory, const struct reads *reads)
{
	check(reads->n_states * reads->stride_bytes <= memory->n_bytes, "the states fit into their memory");
	for (uint64_t s = 0; s < reads->n_states; s++) {
		uint64_t *state = (uint64_t *)(void *)(memory->bytes + s * reads->stride_bytes);

		for (unsigned w = 0; w < reads->state_bytes / 8; w++)
			state[w] = s + w;
	}
}

static inline void prefetch_state(const struct reading *reading, uint64_t i)
{
	const struct reads *reads = reading->reads;
	const uint8_t *state = reading->bytes + (uint64_t)reading->order[i] * reads->stride_bytes;

	__builtin_prefetch(state);
	if (LINE_BYTES % reads->stride_bytes)
		__builtin_prefetch(state + reads->state_bytes - 1);
}

/* n_words and waits are constants where this is called: the loop over words is no loop, and what does not wait has no way
 * to. */
static inline __attribute__((always_inline)) uint64_t sum_states(const struct reading *reading, unsigned n_words, bool waits)
{
	const unsigned stride_bytes = reading->reads->stride_bytes, distance = reading->reads->distance;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < settings.n_loads;) {
		const uint64_t *state =
			(const uint64_t *)(const void *)(reading->bytes + (uint64_t)reading->order[i] * stride_bytes);
		uint64_t of_state = 0;

		if (distance)
			prefetch_state(reading, i + distance);
		for (unsigned w = 0; w < n_words; w++)
			of_state += state[w];
		sum += of_state;
		/* No sum is so large that the second adds more than 1; but the compiler does not know. */
		i += waits ? 1 + (of_state >> 63) : 1;
	}
	return sum;
}

static void run(void *context, int thread)
{
	struct reading *reading = context;
	bool waits = reading->reads->waits;

	(void)thread;
	switch (reading->reads->state_bytes / 8) {
	case 1: reading->sum += waits ? sum_states(reading, 1, true) : sum_states(reading, 1, false); break;
	case 2: reading->sum += waits ? sum_states(reading, 2, true) : sum_states(reading, 2, false); break;
	case 3: reading->sum += waits ? sum_states(reading, 3, true) : sum_states(reading, 3, false); break;
	case 4: reading->sum += waits ? sum_states(reading, 4, true) : sum_states(reading, 4, false); break;
	case 6: reading->sum += waits ? sum_states(reading, 6, true) : sum_states(reading, 6, false); break;
	default: fail("states of this size are not measured");
	}
}

/* Each run reads other states than the one before. */
static void prepare(void *context)
{
	struct reading *reading = context;
	uint64_t n_words = reading->reads->state_bytes / 8;

	reading->first += settings.n_loads;
	for (uint64_t i = 0; i < settings.n_loads + MOST_DISTANCE; i++) {
		reading->order[i] = (uint32_t)shuffled((unsigned)reading->n_bits, reading->first + i);
		if (i < settings.n_loads)
			reading->expected_sum += n_words * reading->order[i] + n_words * (n_words - 1) / 2;
	}
}

struct figures reads_measure(const struct memory *memory, const struct reads *reads)
{
	struct reading reading = { .bytes = memory->bytes, .reads = reads };
	struct job job = { .run = run, .prepare = prepare, .context = &reading, .n_threads = 1 };
	struct figures figures;

	job.n_operations = (double)settings.n_loads;
	while (UINT64_C(1) << reading.n_bits < reads->n_states)
		reading.n_bits++;
	check(reads->n_states == UINT64_C(1) << reading.n_bits && reading.n_bits <= 32 && reads->distance <= MOST_DISTANCE,
	      "the number of states is a power of two");
	reading.order = malloc((settings.n_loads + MOST_DISTANCE) * sizeof *reading.order);
	check(reading.order != NULL, "memory for the order of reads");
	figures = measure(&job);
	free(reading.order);
	check(reading.sum == reading.expected_sum, "the sum of the states read is right");
	return figures;
}
