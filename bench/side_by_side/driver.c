#include "bench/side_by_side/driver.h"
#include "bench/side_by_side/clients.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A work is asked in ROUNDS, in fewer if they take ENOUGH_SECONDS, and in more until they have taken FEWEST_SECONDS: a virtual
 * machine may wake a server slowly for tenths of a second, and sometimes for seconds. */
enum { MOST_QUESTIONS = 320, ROUNDS = 31, MOST_ROUNDS = 2001, FEWEST_TIMES = 3, LONGEST_NUMBER = 40 };
static const double FEWEST_SECONDS = 0.5, ENOUGH_SECONDS = 1, SLOW_SECONDS = 2;

static const uint32_t BASES[2] = { 2166136261u, 3735928559u };
static const uint32_t PRIME = 16777619;
static const double NO_HALF = 1.23456e-4; /* is added before rounding, as halves are rounded in more than one way */

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

/* The text of a number with a fraction, in `plain`; any other text is itself. */
static const char *canonical(const char *text, char plain[LONGEST_NUMBER])
{
	size_t length = strlen(text);
	char *end;
	double number;

	if (length >= LONGEST_NUMBER || !strpbrk(text, ".e") || strspn(text, "0123456789.e+-") != length)
		return text;
	number = strtod(text, &end);
	if (*end != '\0' || number > 1e15 || number < -1e15)
		return text;
	length = (size_t)snprintf(plain, LONGEST_NUMBER, "%.3f", number + NO_HALF);
	if (strcmp(plain + length - 4, ".000") == 0)
		plain[length - 4] = '\0';
	return plain;
}

void answer_cell(struct answer *answer, const char *text)
{
	char plain[LONGEST_NUMBER];

	answer->number = text ? atof(text) : 0;
	text = text ? canonical(text, plain) : NULL;
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

double now_seconds(void)
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

double driver_quantile(double *times, int n, double q)
{
	qsort(times, (size_t)n, sizeof *times, compare_doubles);
	return n > 0 ? times[(int)(q * (n - 1) + 0.5)] : 0;
}

void driver_tell(const char *work, const struct answer *answer, double number, double seconds, int n_times)
{
	if (strcmp(work, "-") == 0)
		return;
	printf("%s,%ld,%.3f,%.6f,%d,", work, answer->n_rows, number, seconds * 1e3, n_times);
	if (answer->n_rows > 0)
		printf("%08x%08x", answer->sums[0], answer->sums[1]);
	printf("\n");
	fflush(stdout);
}

/* The questions of one work. */
static struct {
	char *work, *sql[MOST_QUESTIONS];
	int n;
	bool once;
} asked;

static double ask_timed(const char *sql, struct answer *answer)
{
	double start = now_seconds();

	engine_ask(sql, answer);
	return now_seconds() - start;
}

static void ask_all(void)
{
	struct answer answer = { .n_rows = 0 };
	static double times[MOST_QUESTIONS * MOST_ROUNDS];
	double began = now_seconds(), answered;
	char name[200];
	bool is_done;
	int n = 0;

	if (asked.n == 0)
		return;
	for (int i = 0; i < asked.n; i++)
		times[i] = ask_timed(asked.sql[i], &answer);
	answered = now_seconds();
	is_done = answered - began > SLOW_SECONDS * (asked.once ? asked.n : 1);
	if (is_done)
		n = asked.n;
	for (int round = 1; !is_done; round++) {
		for (int i = 0; i < asked.n; i++)
			if (asked.once || n < FEWEST_TIMES || now_seconds() - answered < ENOUGH_SECONDS)
				times[n++] = ask_timed(asked.sql[i], NULL);
		is_done = asked.once || round == MOST_ROUNDS || (n >= FEWEST_TIMES && now_seconds() - answered >= ENOUGH_SECONDS) ||
			  (round >= ROUNDS && now_seconds() - answered >= FEWEST_SECONDS);
	}
	driver_tell(asked.work, &answer, 0, driver_quantile(times, n, 0.5), n);
	if (asked.once) {
		snprintf(name, sizeof name, "%s p95", asked.work);
		driver_tell(name, &(struct answer){ .n_rows = 0 }, 0, driver_quantile(times, n, 0.95), n);
	}
	while (asked.n > 0)
		free(asked.sql[--asked.n]);
	free(asked.work);
	asked.work = NULL;
}

/* Takes a question of a work, after those of another have been asked. */
static void take_question(const char *work, const char *sql, bool once)
{
	if (asked.n == MOST_QUESTIONS || (asked.work && strcmp(work, asked.work) != 0))
		ask_all();
	if (!asked.work)
		asked.work = strdup(work);
	asked.once = once;
	asked.sql[asked.n++] = clients_expand(sql);
}

/* The answer of the first of two questions that have the same. */
static struct answer first_answer;

static void compare_with_first(const char *question)
{
	struct answer answer = { .n_rows = 0 };
	char *sql = clients_expand(question);

	engine_ask(sql, &answer);
	if (answer.n_rows != first_answer.n_rows || memcmp(answer.sums, first_answer.sums, sizeof answer.sums) != 0)
		driver_fail(sql, "the answer is not that of the question before");
	free(sql);
}

static void load(const char *path)
{
	FILE *rows = fopen(path, "r");

	if (!rows)
		driver_fail(path, "cannot be read");
	engine_load(rows);
	fclose(rows);
}

static void obey(const char *command, const char *work, const char *argument)
{
	struct answer answer = { .n_rows = 0 };
	bool once = strcmp(command, "frame") == 0;
	double start;

	if (once || strcmp(command, "ask") == 0) {
		take_question(work, argument, once);
		return;
	}
	ask_all();
	start = now_seconds();
	if (strcmp(command, "size") == 0) {
		engine_ask(argument, &answer);
		driver_tell(work, &(struct answer){ .n_rows = 0 }, answer.number, 0, 1);
	} else if (strcmp(command, "pages") == 0) {
		driver_tell(work, &answer, clients_pages(argument), 0, 1);
	} else if (strcmp(command, "load") == 0) {
		load(argument);
		driver_tell(work, &answer, 0, now_seconds() - start, 1);
	} else if (strcmp(command, "do") == 0) {
		engine_run(argument);
		driver_tell(work, &answer, 0, now_seconds() - start, 1);
	} else if (strcmp(command, "first") == 0) {
		char *sql = clients_expand(argument);

		first_answer = answer;
		engine_ask(sql, &first_answer);
		free(sql);
	} else if (strcmp(command, "same") == 0) {
		compare_with_first(argument);
	} else if (!clients_obey(command, work, argument)) {
		driver_fail(command, "no such command");
	}
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "";
	char *line = NULL;
	size_t size = 0;

	engine_open(where);
	clients_come_to(where);
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
