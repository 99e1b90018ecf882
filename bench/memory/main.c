/* bench/memory/main.c -- Benchmark of the floor under any structure in memory: the cost of loads on this machine, whatever
 * the program.
 *
 *   memory FIGURES.csv [short] [PART...]      parts: latency bandwidth width prefetch states; all by default
 *
 * LARGEST_MIB (default 4096, short 512) is the largest working set. It is made smaller where there is less memory.
 */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

struct settings settings;

static const struct { const char *name; void (*run)(void); } parts[] = {
	{ "latency", part_latency }, { "bandwidth", part_bandwidth }, { "width", part_width },
	{ "prefetch", part_prefetch }, { "states", part_states },
};
enum { N_PARTS = sizeof parts / sizeof *parts };

void fail(const char *what)
{
	fprintf(stderr, "memory: %s\n", what);
	exit(1);
}

void check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "memory: does not hold: %s\n", what);
		exit(1);
	}
}

/* A quarter of what is available is left to others. */
static size_t largest_that_fits(size_t wanted_bytes)
{
	size_t n_available = memory_available(), n_bytes = MIB;
	char text[16], wanted[16];

	while (n_bytes * 2 <= wanted_bytes && n_bytes * 2 <= n_available / 4 * 3)
		n_bytes *= 2;
	if (n_bytes * 2 <= wanted_bytes)
		printf("largest working set: %s instead of %s, as %zu MiB of memory are available\n", bytes_text(n_bytes, text),
		       bytes_text(wanted_bytes, wanted), n_available / MIB);
	return n_bytes;
}

static void print_line_of(const char *label, const char *path)
{
	FILE *file = fopen(path, "r");
	char text[128];

	if (file && fgets(text, sizeof text, file))
		printf("%s: %.*s\n", label, (int)strcspn(text, "\n"), text);
	else
		printf("%s: not known\n", label);
	if (file)
		fclose(file);
}

static void print_machine(void)
{
	printf("compiler: %s\n", COMPILER);
	printf("pages: %ld bytes\n", sysconf(_SC_PAGESIZE));
	print_line_of("huge pages, bytes", "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
	print_line_of("huge pages, enabled", "/sys/kernel/mm/transparent_hugepage/enabled");
	print_line_of("huge pages, defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
}

static void choose_settings(bool is_short)
{
	const char *largest_mib = getenv("LARGEST_MIB");

	settings.largest_bytes = largest_that_fits((largest_mib ? (size_t)atol(largest_mib) : is_short ? 512 : 4096) * MIB);
	settings.out_of_cache_bytes = (is_short ? OUT_OF_CACHE_MIB / 4 : OUT_OF_CACHE_MIB) * MIB;
	if (settings.out_of_cache_bytes > settings.largest_bytes)
		settings.out_of_cache_bytes = settings.largest_bytes;
	settings.n_loads = (uint64_t)1 << (is_short ? 18 : 19);
	settings.n_repeats = is_short ? 3 : 5;
	settings.n_threads = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
	if (settings.n_threads == 1)
		printf("one processor: two threads are not measured\n");
	printf("medians of %d repeats of %llu loads\n", settings.n_repeats, (unsigned long long)settings.n_loads);
}

static void run_part(const char *name)
{
	for (int p = 0; p < N_PARTS; p++)
		if (strcmp(name, parts[p].name) == 0) {
			parts[p].run();
			fflush(stdout);
			return;
		}
	fail("parts are latency, bandwidth, width, prefetch, states");
}

int main(int argc, char **argv)
{
	bool is_short = argc > 2 && strcmp(argv[2], "short") == 0;
	int first = is_short ? 3 : 2;

	if (argc < 2)
		fail("usage: memory FIGURES.csv [short] [PART...]");
	print_machine();
	choose_settings(is_short);
	csv_open(argv[1]);
	for (int a = first; a < argc; a++)
		run_part(argv[a]);
	for (int p = 0; p < N_PARTS && first >= argc; p++)
		run_part(parts[p].name);
	csv_close();
	printf("\nother programs disturbed %.0f %% of the repeats%s\n", 100 * disturbed_share(),
	       disturbed_share() > 0.1 ? ": run it again when the machine does nothing else" : "");
	return 0;
}
