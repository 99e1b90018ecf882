/* bench/memory/measure.c -- Times of threads that start at once, and the file of figures.
 *
 * A repeat is disturbed when another program had a processor that one of its threads wanted. It is made again where that
 * helps: otherwise figures of a machine that does other work as well would be of that work.
 */
#include "memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_REPEATS = 31, ATTEMPTS_A_REPEAT = 3 };
#define LEAST_RUNNING 0.98

struct runner {
	const struct job *job;
	pthread_barrier_t *barrier;
	int thread;
	double start_ns, end_ns, running_ns;
};

static FILE *csv;
static int n_used, n_disturbed_used;      /* repeats that figures are made of */

static double now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *run(void *argument)
{
	struct runner *runner = argument;
	double running_ns;

	pthread_barrier_wait(runner->barrier);
	running_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	runner->start_ns = now_ns(CLOCK_MONOTONIC);
	runner->job->run(runner->job->context, runner->thread);
	runner->end_ns = now_ns(CLOCK_MONOTONIC);
	runner->running_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - running_ns;
	return NULL;
}

/* ns from the first start to the last end. */
static double run_once(const struct job *job, bool *is_disturbed)
{
	struct runner runners[MOST_THREADS];
	pthread_t ids[MOST_THREADS];
	pthread_barrier_t barrier;
	double start_ns, end_ns;

	check(pthread_barrier_init(&barrier, NULL, (unsigned)job->n_threads) == 0, "pthread_barrier_init");
	for (int t = 0; t < job->n_threads; t++) {
		runners[t] = (struct runner){ .job = job, .barrier = &barrier, .thread = t };
		if (t > 0)
			check(pthread_create(&ids[t], NULL, run, &runners[t]) == 0, "pthread_create");
	}
	run(&runners[0]);
	start_ns = runners[0].start_ns;
	end_ns = runners[0].end_ns;
	for (int t = 0; t < job->n_threads; t++) {
		if (t > 0)
			pthread_join(ids[t], NULL);
		*is_disturbed |= runners[t].running_ns < LEAST_RUNNING * (runners[t].end_ns - runners[t].start_ns);
		start_ns = runners[t].start_ns < start_ns ? runners[t].start_ns : start_ns;
		end_ns = runners[t].end_ns > end_ns ? runners[t].end_ns : end_ns;
	}
	pthread_barrier_destroy(&barrier);
	return end_ns - start_ns;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct figures measure(const struct job *job)
{
	double times_ns[MOST_REPEATS], disturbed_ns[MOST_REPEATS * ATTEMPTS_A_REPEAT];
	int n = settings.n_repeats, n_kept = 0, n_disturbed = 0;

	check(n >= 1 && n <= MOST_REPEATS && job->n_threads <= MOST_THREADS, "repeats and threads within their limits");
	for (int attempt = -1; attempt < n * ATTEMPTS_A_REPEAT && n_kept < n; attempt++) {
		bool is_disturbed = false;
		double time_ns;

		if (job->prepare)
			job->prepare(job->context);
		time_ns = run_once(job, &is_disturbed) / job->n_operations;
		if (attempt >= 0 && is_disturbed)
			disturbed_ns[n_disturbed++] = time_ns;
		else if (attempt >= 0)
			times_ns[n_kept++] = time_ns;
	}
	n_used += n;
	n_disturbed_used += n - n_kept;
	while (n_kept < n)
		times_ns[n_kept++] = disturbed_ns[--n_disturbed];
	qsort(times_ns, (size_t)n, sizeof *times_ns, compare_doubles);
	return (struct figures){ .median = times_ns[n / 2], .least = times_ns[0], .most = times_ns[n - 1] };
}

double disturbed_share(void)
{
	return n_used ? (double)n_disturbed_used / n_used : 0;
}

void csv_open(const char *path)
{
	csv = fopen(path, "w");
	if (!csv)
		fail(path);
	fprintf(csv, "part,what,bytes,pages,huge_share,threads,unit,median,least,most\n");
}

void csv_row(const char *part, const char *what, size_t n_bytes, enum pages pages, double huge_share, int n_threads,
	     const struct figures *figures, const char *unit)
{
	fprintf(csv, "%s,%s,%zu,%s,%.3f,%d,%s,%.3f,%.3f,%.3f\n", part, what, n_bytes, page_names[pages], huge_share, n_threads,
		unit, figures->median, figures->least, figures->most);
}

void csv_close(void)
{
	check(fclose(csv) == 0, "writing the figures");
}

const char *bytes_text(size_t n_bytes, char text[16])
{
	if (n_bytes < MIB)
		snprintf(text, 16, "%zu KiB", n_bytes / KIB);
	else if (n_bytes < KIB * MIB)
		snprintf(text, 16, "%zu MiB", n_bytes / MIB);
	else
		snprintf(text, 16, "%zu GiB", n_bytes / MIB / KIB);
	return text;
}
