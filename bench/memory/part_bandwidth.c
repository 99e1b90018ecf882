/* bench/memory/part_bandwidth.c -- Bytes a second in order: summed, written, and written for the first time, when pages have
 * yet to be found and cleared. */
#include "memory.h"

#include <stdio.h>

enum { READ, WRITE, FIRST_WRITE, N_WAYS };

static const char *const ways[N_WAYS] = { "read", "write", "first write of new pages" };

struct transfer {
	const struct memory *memory;
	int n_threads;
	uint64_t n_words;              /* of each thread */
	uint64_t sums[MOST_THREADS];
};

static uint64_t *words_of(const struct transfer *transfer, int thread)
{
	return (uint64_t *)(void *)transfer->memory->bytes + (uint64_t)thread * transfer->n_words;
}

/* Several sums, so that none waits for an addition. */
static void read_words(void *context, int thread)
{
	struct transfer *transfer = context;
	const uint64_t *words = words_of(transfer, thread);
	uint64_t sums[4] = { 0 };

	for (uint64_t i = 0; i < transfer->n_words; i += 8) {
		sums[0] += words[i] + words[i + 4];
		sums[1] += words[i + 1] + words[i + 5];
		sums[2] += words[i + 2] + words[i + 6];
		sums[3] += words[i + 3] + words[i + 7];
	}
	transfer->sums[thread] = sums[0] + sums[1] + sums[2] + sums[3];
}

/* Different words: equal ones would become a call of memset, which may go past the caches. */
static void write_words(void *context, int thread)
{
	struct transfer *transfer = context;
	uint64_t *words = words_of(transfer, thread), first = (uint64_t)thread * transfer->n_words;

	for (uint64_t i = 0; i < transfer->n_words; i += 4) {
		words[i] = first + i;
		words[i + 1] = first + i + 1;
		words[i + 2] = first + i + 2;
		words[i + 3] = first + i + 3;
	}
}

static void drop(void *context)
{
	memory_drop(((struct transfer *)context)->memory);
}

static void check_sums(struct transfer *transfer)
{
	uint64_t n = transfer->n_words * (uint64_t)transfer->n_threads, sum = 0;

	for (int t = 0; t < transfer->n_threads; t++) {
		read_words(transfer, t);
		sum += transfer->sums[t];
	}
	check(sum == n / 2 * (n - 1), "the sum of the words is right");
}

static double gigabytes_a_second(const struct memory *memory, int way, int n_threads)
{
	struct transfer transfer = { .memory = memory, .n_threads = n_threads };
	struct job job = { .run = way == READ ? read_words : write_words, .prepare = way == FIRST_WRITE ? drop : NULL,
			   .context = &transfer, .n_threads = n_threads, .n_operations = (double)memory->n_bytes };
	struct figures figures, rate;
	double huge_share;

	transfer.n_words = memory->n_bytes / 8 / (uint64_t)n_threads;
	if (way == READ)
		for (int t = 0; t < n_threads; t++)
			write_words(&transfer, t);
	figures = measure(&job);
	check_sums(&transfer);
	rate = (struct figures){ .median = 1 / figures.median, .least = 1 / figures.most, .most = 1 / figures.least };
	huge_share = (double)memory_huge_bytes(memory) / (double)memory->n_bytes;
	csv_row("bandwidth", ways[way], memory->n_bytes, memory->pages, huge_share, n_threads, &rate, "GB/s");
	return rate.median;
}

void part_bandwidth(void)
{
	double rates[N_WAYS][N_PAGES][MOST_THREADS];
	size_t n_bytes = settings.out_of_cache_bytes / 4;
	char text[16];

	for (enum pages p = SMALL_PAGES; p < N_PAGES; p++) {
		struct memory memory = memory_map(n_bytes, p);

		for (int way = 0; way < N_WAYS; way++)
			for (int t = 0; t < settings.n_threads; t++)
				rates[way][p][t] = gigabytes_a_second(&memory, way, t + 1);
		memory_unmap(&memory);
	}
	printf("\nbandwidth: GB/s (10^9 bytes) in order, 64-bit words, of %s\n", bytes_text(n_bytes, text));
	printf("%-26s %24s %24s\n", "", "one thread: 4 KiB, huge", settings.n_threads > 1 ? "two threads: 4 KiB, huge" : "");
	for (int way = 0; way < N_WAYS; way++) {
		printf("%-26s", ways[way]);
		for (int t = 0; t < settings.n_threads; t++)
			printf(" %15.1f %8.1f", rates[way][SMALL_PAGES][t], rates[way][HUGE_PAGES][t]);
		printf("\n");
	}
}
