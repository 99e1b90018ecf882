/* bench/memory/memory.h -- Shared parts of bench/memory: memory in pages of a chosen kind, cycles and random reads through
 * it, times, and a place for figures.
 *
 * Any error ends the program, and so does any check that fails.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum { LINE_BYTES = 64, MOST_THREADS = 2, MOST_WIDTH = 32 };
enum { OUT_OF_CACHE_MIB = 1024 };      /* the parts that are about DRAM use so much, where there is as much */

struct settings {
	size_t largest_bytes;          /* the largest working set; a power of two */
	size_t out_of_cache_bytes;     /* a power of two, at most largest_bytes */
	uint64_t n_loads;              /* of one repeat */
	int n_repeats;
	int n_threads;
};
extern struct settings settings;

void fail(const char *what);
void check(bool holds, const char *what);

/* ---- mapping.c: memory ---- */

enum pages { SMALL_PAGES, HUGE_PAGES, N_PAGES };
extern const char *const page_names[N_PAGES];

struct memory {
	uint8_t *bytes;                /* aligned to HUGE_BYTES; nothing is behind them before their first use */
	size_t n_bytes;
	enum pages pages;              /* that were asked for */
	void *mapped;
	size_t n_mapped;
};

struct memory memory_map(size_t n_bytes, enum pages pages);
void memory_unmap(struct memory *memory);

/* The pages are given back; the next use finds new ones. */
void memory_drop(const struct memory *memory);

/* Bytes that are in huge pages, by /proc/self/smaps. */
size_t memory_huge_bytes(const struct memory *memory);

/* Bytes that can still be had without others being pushed out, as far as the system says. */
size_t memory_available(void);

/* ---- measure.c: times and figures ---- */

struct figures { double median, least, most; };

struct job {
	void (*run)(void *context, int thread);      /* what is timed, by each thread at once */
	void (*prepare)(void *context);              /* what is not, before each run; or NULL */
	void *context;
	int n_threads;
	double n_operations;                         /* of all threads together, in one run */
};

/* ns an operation, from the start of the first thread to the end of the last: the median of settings.n_repeats after one
 * that does not count. */
struct figures measure(const struct job *job);

/* Of all repeats that figures are made of, those in which another program had a processor that was wanted. */
double disturbed_share(void);

void csv_open(const char *path);
void csv_close(void);

/* A row: part, what was done, working set, pages, share of it in huge pages, threads, and ns (or whatever the unit says). */
void csv_row(const char *part, const char *what, size_t n_bytes, enum pages pages, double huge_share, int n_threads,
	     const struct figures *figures, const char *unit);

/* 1 TiB at most, as "16 KiB". */
const char *bytes_text(size_t n_bytes, char text[16]);

/* ---- cycle.c: a random cycle through cache lines ---- */

struct line {
	_Alignas(LINE_BYTES) struct line *next;
	uint64_t n_visits;
};

struct cycle {
	struct line *lines;
	uint64_t n_lines;
	unsigned n_bits;
};

/* Uses the first n_bytes of memory, a power of two from 2^12 on; checks that one round visits each line once. */
struct cycle cycle_make(const struct memory *memory, size_t n_bytes);

/* width walkers at once from each of the threads, evenly apart on the cycle; ns a load. Checks where they end. */
struct figures cycle_measure(const struct cycle *cycle, int width, int n_threads);

/* A permutation of the numbers of so many bits that no prefetcher guesses. */
uint64_t shuffled(unsigned n_bits, uint64_t i);
uint64_t unshuffled(unsigned n_bits, uint64_t i);

/* ---- reads.c: random reads of states whose places are known beforehand ---- */

struct reads {
	uint64_t n_states;             /* a power of two */
	unsigned state_bytes;          /* that are read: 8, 16, 24, 32 or 48 */
	unsigned stride_bytes;         /* from one state to the next */
	unsigned distance;             /* so many reads ahead a state is prefetched, at most 32; 0: never */
	bool waits;                    /* each read waits for the one before */
};

void reads_fill(const struct memory *memory, const struct reads *reads);

/* ns a read. Checks the sum of what was read. */
struct figures reads_measure(const struct memory *memory, const struct reads *reads);

/* ---- the parts: each prints a table and writes its rows ---- */

void part_latency(void);
void part_bandwidth(void);
void part_width(void);
void part_prefetch(void);
void part_states(void);

#endif
