#include "bench/side_by_side/clients.h"
#include "bench/side_by_side/driver.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXTS = 16, MOST_CLIENTS = 32, MOST_REFRESHES = 1 << 20 };
enum { ROWS_A_TRANSACTION = 1000, TRACKS = 32, LONGEST_ROW = 100 };

struct texts {
	char *sql[MOST_TEXTS];
	int n;
};

static const char *server;
static struct texts connecting, panels, upkeep;
static int64_t upkeep_rows; /* between two upkeeps */
static int64_t next_id, gap_ns, range_ns;
static _Atomic int64_t next_ts;

void clients_come_to(const char *where)
{
	server = where;
}

static void add_text(struct texts *texts, const char *sql)
{
	if (texts->n == MOST_TEXTS)
		driver_fail(sql, "is one too many of its kind");
	texts->sql[texts->n++] = strdup(sql);
}

static void run_texts(const struct texts *texts)
{
	for (int i = 0; i < texts->n; i++)
		engine_run(texts->sql[i]);
}

/* ---- questions ---- */

static char *expand(const char *question, int64_t to)
{
	static const char *const names[] = { "$from", "$to" };
	const int64_t values[] = { to - range_ns, to };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (*question) {
		int which = 0;

		while (which < 2 && strncmp(question, names[which], strlen(names[which])) != 0)
			which++;
		if (which == 2)
			fputc(*question++, out);
		else
			fprintf(out, "%" PRId64, values[which]);
		question += which == 2 ? 0 : strlen(names[which]);
	}
	fclose(out);
	return text;
}

char *clients_expand(const char *question)
{
	return expand(question, next_ts);
}

static int64_t number_of(const char *sql)
{
	struct answer answer = { .n_rows = 0 };

	engine_ask(sql, &answer);
	return (int64_t)answer.number;
}

/* ---- pages ---- */

struct counting {
	const char *sql;
	double pages;
};

static void *count_pages(void *context)
{
	struct counting *counting = context;

	engine_open(server);
	run_texts(&connecting);
	counting->pages = engine_pages(counting->sql);
	engine_close();
	return NULL;
}

double clients_pages(const char *sql)
{
	struct counting counting = { .sql = sql };
	pthread_t thread;

	if (pthread_create(&thread, NULL, count_pages, &counting) || pthread_join(thread, NULL))
		driver_fail(sql, "there is no thread to ask it");
	return counting.pages;
}

/* ---- clients ---- */

/* What all threads of one `clients` share. */
static struct {
	pthread_barrier_t gate; /* passed when all are ready, and again when `until` is set */
	double until;           /* seconds */
	atomic_int n_refreshing, n_refreshes;
	double *times;          /* of refreshes, seconds */
	int64_t n_appended;
	double appending;       /* seconds that it took */
} common;

static void wait_for_the_start(void)
{
	pthread_barrier_wait(&common.gate);
	pthread_barrier_wait(&common.gate);
}

static void refresh(void)
{
	int64_t to = next_ts;

	for (int i = 0; i < panels.n; i++) {
		char *sql = expand(panels.sql[i], to);

		engine_ask(sql, NULL);
		free(sql);
	}
}

static void *refresh_again_and_again(void *unused)
{
	engine_open(server);
	run_texts(&connecting);
	refresh();
	wait_for_the_start();
	for (;;) {
		double start = now_seconds();

		if (start >= common.until || common.n_refreshes >= MOST_REFRESHES - MOST_CLIENTS)
			break;
		refresh();
		common.times[common.n_refreshes++] = now_seconds() - start;
	}
	common.n_refreshing--;
	engine_close();
	return unused;
}

/* As many rows as a transaction has, from the next one on. */
static void append_rows(char *buffer, size_t size)
{
	int64_t ts = next_ts;
	size_t length = 0;
	FILE *rows;

	for (int i = 0; i < ROWS_A_TRANSACTION; i++, next_id++, ts += gap_ns)
		length += (size_t)snprintf(buffer + length, size - length, "%" PRId64 ",%" PRId64 ",%d,track %d\n", next_id, ts,
					   (int)(next_id * 7919 % 1000), (int)(next_id % TRACKS));
	rows = fmemopen(buffer, length, "r");
	engine_load(rows);
	fclose(rows);
	next_ts = ts;
}

static void *append_all_the_time(void *unused)
{
	static char buffer[ROWS_A_TRANSACTION * LONGEST_ROW];
	double start;

	engine_open(server);
	run_texts(&connecting);
	wait_for_the_start();
	start = now_seconds();
	for (common.n_appended = 0; now_seconds() < common.until || common.n_refreshing > 0;) {
		append_rows(buffer, sizeof buffer);
		common.n_appended += ROWS_A_TRANSACTION;
		if (upkeep.n > 0 && common.n_appended % upkeep_rows == 0)
			run_texts(&upkeep);
	}
	common.appending = now_seconds() - start;
	engine_close();
	return unused;
}

static void tell(const char *work, const char *what, double number, double seconds, int n_times)
{
	char name[200];

	snprintf(name, sizeof name, "%s: %s", work, what);
	driver_tell(name, &(struct answer){ .n_rows = 0 }, number, seconds, n_times);
}

static void tell_refreshes(const char *work, double seconds)
{
	int n = common.n_refreshes;

	tell(work, "refreshes a second", n / seconds, 0, n);
	tell(work, "refresh", 0, driver_quantile(common.times, n, 0.5), n);
	tell(work, "refresh p95", 0, driver_quantile(common.times, n, 0.95), n);
}

static void start_thread(pthread_t *thread, void *(*body)(void *))
{
	if (pthread_create(thread, NULL, body, NULL))
		driver_fail("clients", "no thread can be started");
}

static void run_clients(const char *work, int n_clients, double seconds, bool appends)
{
	pthread_t threads[MOST_CLIENTS], writer;
	double start, refreshing;

	pthread_barrier_init(&common.gate, NULL, (unsigned)(n_clients + appends + 1));
	common.times = malloc(MOST_REFRESHES * sizeof *common.times);
	common.n_refreshes = 0;
	common.n_refreshing = n_clients;
	for (int i = 0; i < n_clients; i++)
		start_thread(&threads[i], refresh_again_and_again);
	if (appends)
		start_thread(&writer, append_all_the_time);
	pthread_barrier_wait(&common.gate);
	start = now_seconds();
	common.until = start + seconds;
	pthread_barrier_wait(&common.gate);
	for (int i = 0; i < n_clients; i++)
		pthread_join(threads[i], NULL);
	refreshing = now_seconds() - start;
	if (appends)
		pthread_join(writer, NULL);
	if (n_clients > 0)
		tell_refreshes(work, refreshing);
	if (appends)
		tell(work, "rows a second", (double)common.n_appended / common.appending, 0,
		     (int)(common.n_appended / ROWS_A_TRANSACTION));
	free(common.times);
	pthread_barrier_destroy(&common.gate);
}

/* ---- commands ---- */

static void obey_next(const char *what, const char *argument)
{
	if (strcmp(what, "id") == 0)
		next_id = number_of(argument);
	else if (strcmp(what, "ts") == 0)
		next_ts = number_of(argument);
	else if (strcmp(what, "gap") == 0)
		gap_ns = strtoll(argument, NULL, 10);
	else if (strcmp(what, "range") == 0)
		range_ns = strtoll(argument, NULL, 10);
	else
		driver_fail(what, "is not id, ts, gap or range");
}

bool clients_obey(const char *command, const char *work, const char *argument)
{
	int n_clients, appends;
	double seconds;

	if (strcmp(command, "connect") == 0) {
		add_text(&connecting, argument);
	} else if (strcmp(command, "panel") == 0) {
		add_text(&panels, argument);
	} else if (strcmp(command, "upkeep") == 0) {
		upkeep_rows = strtoll(work, NULL, 10);
		add_text(&upkeep, argument);
	} else if (strcmp(command, "next") == 0) {
		obey_next(work, argument);
	} else if (strcmp(command, "clients") == 0) {
		if (sscanf(argument, "%d %lf %d", &n_clients, &seconds, &appends) != 3 || n_clients < 0 ||
		    n_clients > MOST_CLIENTS)
			driver_fail(argument, "is not a number of clients, seconds, and 0 or 1");
		run_clients(work, n_clients, seconds, appends);
	} else {
		return false;
	}
	return true;
}
