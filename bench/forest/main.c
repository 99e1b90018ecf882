/* bench/forest/main.c -- Benchmark of the longest event of ranges, windows and pixels: the forests of the library and their
 * contenders, in one run on the same events, all answers compared.
 *
 * forest.sh builds and starts it.
 *
 *   forest N [NAME...]                    all structures, or those named
 *   forest --small-pages N [NAME...]      no huge pages in this process
 *   forest --count QUESTION N NAME        asks one question and measures nothing (for valgrind)
 *
 * A table to the terminal; lines for a CSV file to the file that FOREST_CSV names.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/forest/measure.h"

static const struct structure *const structures[] = {
	&textbook, &scan, &segment_tree, &pointer_tree, &wide_tree, &b_tree, &sparse_table, &sparse_table_of_blocks, &forest,
	&block_forest_16, &block_forest_32, &block_forest_64, &block_forest, &block_forest_256, &block_forest_unsure,
	&block_forest_moving,
};
static const struct sum_structure *const sum_structures[] = { &fenwick_tree, &prefix_sums, &sum_block_forest };
enum { N_STRUCTURES = sizeof structures / sizeof *structures, N_SUMS = sizeof sum_structures / sizeof *sum_structures };

static struct figures figures[N_STRUCTURES];
static bool is_measured[N_STRUCTURES];

void *get_memory(void *old, size_t n_bytes)
{
	void *memory = realloc(old, n_bytes);

	if (!memory) {
		fprintf(stderr, "forest: no memory\n");
		exit(1);
	}
	return memory;
}

static void *reallocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	return get_memory(memory, n_bytes);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

const struct iforest_alloc libc_alloc = { reallocate, release, NULL };

/* ---- printing; ratios are to the textbook, which is the first ---- */

static void print_figure(double value, double of_textbook)
{
	char text[32], ratio[16];

	if (isnan(value)) {
		printf(" %15s", "-");
		return;
	}
	snprintf(text, sizeof text, value < 100 ? "%.1f" : "%.0f", value);
	snprintf(ratio, sizeof ratio, of_textbook / value < 9.95 ? "(%.1fx)" : "(%.0fx)", of_textbook / value);
	printf(" %7s %7s", text, is_measured[0] ? ratio : "");
}

static void print_building(void)
{
	printf("\n%-24s %7s %15s %15s %15s %9s %7s\n", "building", "bytes", "ns, 1 thread", "ns, 2 threads", "ns, one by one",
	       "worst us", "moved");
	for (unsigned s = 0; s < N_STRUCTURES; s++) {
		const struct figures *of = &figures[s];

		if (!is_measured[s] || isnan(of->build))
			continue;
		printf("%-24s %7.2f", structures[s]->name, of->bytes);
		print_figure(of->build, figures[0].build);
		print_figure(of->build_by_two, figures[0].build);
		print_figure(of->append, figures[0].append);
		if (isnan(of->append))
			printf(" %9s %7s\n", "-", "-");
		else
			printf(" %9.0f %7.2f\n", of->worst_append / 1e3, of->moved);
	}
}

static void print_asking(const struct questions *questions)
{
	printf("\n%-24s %15s %15s %15s", "ns each, or a pixel", "random fold", "batched", "random window");
	for (unsigned z = 0; z < N_ZOOMS; z++)
		printf(" %9s, cold %9s, warm", questions->zooms[z].name, questions->zooms[z].name);
	printf("\n");
	for (unsigned s = 0; s < N_STRUCTURES; s++) {
		const struct figures *of = &figures[s];

		if (!is_measured[s])
			continue;
		printf("%-24s", structures[s]->name);
		print_figure(of->fold, figures[0].fold);
		print_figure(of->batched, figures[0].fold);
		print_figure(of->window, figures[0].window);
		for (unsigned z = 0; z < N_ZOOMS; z++) {
			print_figure(of->cold[z], figures[0].cold[z]);
			print_figure(of->warm[z], figures[0].warm[z]);
		}
		printf("\n");
	}
}

static void write_csv(uint64_t n_events)
{
	const char *name = getenv("FOREST_CSV");
	FILE *file = name ? fopen(name, "a") : NULL;

	if (!file)
		return;
	for (unsigned s = 0; s < N_STRUCTURES; s++) {
		const struct figures *of = &figures[s];

		if (!is_measured[s])
			continue;
		fprintf(file, "%" PRIu64 ",\"%s\",%g,%g,%g,%g,%g,%g,%g,%g,%g", n_events, structures[s]->name, of->bytes,
			of->build, of->build_by_two, of->append, of->worst_append, of->moved, of->fold, of->batched,
			of->window);
		for (unsigned z = 0; z < N_ZOOMS; z++)
			fprintf(file, ",%g,%g", of->cold[z], of->warm[z]);
		fprintf(file, "\n");
	}
	fclose(file);
}

/* ---- the parts ---- */

static bool is_wanted(const struct structure *structure, uint64_t n_events, char *const *names, int n_names)
{
	if (structure->most_events && n_events > structure->most_events)
		return false;
	for (int i = 0; i < n_names; i++)
		if (!strcmp(structure->name, names[i]))
			return true;
	return n_names == 0;
}

static bool compare_sums(const struct questions *questions)
{
	printf("\n%-24s %7s %15s %15s\n", "sum of durations", "bytes", "ns to build", "random fold");
	for (unsigned s = 0; s < N_SUMS; s++) {
		struct figures of;

		if (!measure_sums(questions, sum_structures[s], &of)) {
			fprintf(stderr, "%s: a sum is wrong\n", sum_structures[s]->name);
			return false;
		}
		printf("%-24s %7.2f %15.1f %15.0f\n", sum_structures[s]->name, of.bytes, of.build, of.fold);
	}
	return true;
}

static bool compare(const struct questions *questions, char *const *names, int n_names)
{
	for (unsigned s = 0; s < N_STRUCTURES; s++) {
		if (!is_wanted(structures[s], questions->n_events, names, n_names))
			continue;
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%-30s", structures[s]->name);
		if (!measure(questions, structures[s], &figures[s]))
			return false;
		is_measured[s] = true;
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-30s\r", "");
	print_building();
	print_asking(questions);
	write_csv(questions->n_events);
	return n_names > 0 || compare_sums(questions);
}

static bool count_one(const struct questions *questions, const char *name, const char *question)
{
	for (unsigned s = 0; s < N_STRUCTURES; s++)
		if (!strcmp(structures[s]->name, name))
			return count(questions, structures[s], question);
	return false;
}

int main(int n_arguments, char **arguments)
{
	static struct questions questions;
	const char *question = NULL;
	struct event *events;
	uint64_t n_events, start_ns;
	int at = 1;

	if (at < n_arguments && !strcmp(arguments[at], "--small-pages")) {
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		at++;
	}
	if (at + 1 < n_arguments && !strcmp(arguments[at], "--count")) {
		question = arguments[at + 1];
		at += 2;
	}
	n_events = at < n_arguments ? strtoull(arguments[at++], NULL, 10) : 0;
	if (n_events < N_PIXELS || (question && at >= n_arguments)) {
		fprintf(stderr, "usage: forest [--small-pages] [--count QUESTION] N [NAME...], N at least %d\n", N_PIXELS);
		return 2;
	}
	start_ns = now_ns();
	events = get_memory(NULL, n_events * sizeof *events);
	make_events(events, n_events);
	printf("\n==== %" PRIu64 " events of %d bytes, made in %.1f s ====\n", n_events, EVENT_BYTES,
	       (double)(now_ns() - start_ns) / 1e9);
	if (!make_questions(&questions, events, n_events))
		return 1;
	if (question ? !count_one(&questions, arguments[at], question)
		     : !compare(&questions, arguments + at, n_arguments - at))
		return 1;
	free(events);
	return 0;
}
