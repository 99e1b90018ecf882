#include "bench/side_by_side/driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_QUESTIONS = 64, MOST_TIMES = 2000, FEWEST_TIMES = 3, ROUNDS = 31 };
static const double ENOUGH_SECONDS = 1;

static const uint32_t BASES[2] = { 2166136261u, 3735928559u };
static const uint32_t PRIME = 16777619;

void driver_fail(const char *what, const char *message)
{
	fprintf(stderr, "%s\n  fails: %s\n", what, message);
	exit(1);
}

static void add_byte(struct answer *answer, unsigned char byte)
{
	for (int i = 0; i < 2; i++)
		answer->row[i] = ((answer->row[i] ? answer->row[i] : BASES[i]) ^ byte) * PRIME;
}

void answer_cell(struct answer *answer, const char *text)
{
	answer->number = text ? atof(text) : 0;
	for (; text && *text; text++)
		add_byte(answer, (unsigned char)*text);
	add_byte(answer, '|');
}

void answer_end_row(struct answer *answer)
{
	for (int i = 0; i < 2; i++) {
		answer->sums[i] += answer->row[i];
		answer->row[i] = 0;
	}
	answer->n_rows++;
}

static double now_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void tell(const char *work, const struct answer *answer, double number, double seconds, int n_times)
{
	if (strcmp(work, "-") == 0)
		return;
	printf("%s,%ld,%.0f,%.4f,%d,", work, answer->n_rows, number, seconds * 1e3, n_times);
	if (answer->n_rows > 0)
		printf("%08x%08x", answer->sums[0], answer->sums[1]);
	printf("\n");
	fflush(stdout);
}

/* The questions of one work. */
static struct {
	char *work, *sql[MOST_QUESTIONS];
	int n;
} asked;

static void ask_all(void)
{
	struct answer answer = { .n_rows = 0 };
	double times[MOST_TIMES], began = now_seconds();
	int n = 0;

	if (asked.n == 0)
		return;
	for (int i = 0; i < asked.n; i++)
		engine_ask(asked.sql[i], &answer);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < asked.n && (n < FEWEST_TIMES || now_seconds() - began < ENOUGH_SECONDS); i++) {
			double start = now_seconds();

			engine_ask(asked.sql[i], NULL);
			times[n++] = now_seconds() - start;
		}
	qsort(times, (size_t)n, sizeof *times, compare_doubles);
	tell(asked.work, &answer, 0, times[n / 2], n);
	while (asked.n > 0)
		free(asked.sql[--asked.n]);
	free(asked.work);
	asked.work = NULL;
}

static void obey(const char *command, const char *work, const char *argument)
{
	struct answer answer = { .n_rows = 0 };
	double start;

	if (!asked.work || strcmp(command, "ask") != 0 || strcmp(work, asked.work) != 0 || asked.n == MOST_QUESTIONS)
		ask_all();
	start = now_seconds();
	if (strcmp(command, "ask") == 0) {
		if (!asked.work)
			asked.work = strdup(work);
		asked.sql[asked.n++] = strdup(argument);
	} else if (strcmp(command, "size") == 0) {
		engine_ask(argument, &answer);
		tell(work, &(struct answer){ .n_rows = 0 }, answer.number, 0, 1);
	} else if (strcmp(command, "load") == 0) {
		engine_load(argument);
		tell(work, &answer, 0, now_seconds() - start, 1);
	} else if (strcmp(command, "do") == 0) {
		engine_run(argument);
		tell(work, &answer, 0, now_seconds() - start, 1);
	} else {
		driver_fail(command, "no such command");
	}
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;

	engine_open(argc > 1 ? argv[1] : "");
	while (getline(&line, &size, stdin) > 0) {
		char *rest = line, *command, *work;

		line[strcspn(line, "\n")] = '\0';
		command = strsep(&rest, "\t");
		work = strsep(&rest, "\t");
		if (!rest)
			driver_fail(line, "not a command, a work and an argument");
		obey(command, work, rest);
	}
	ask_all();
	free(line);
	engine_close();
	return 0;
}
