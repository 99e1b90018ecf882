#include "tools/load.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/connection.h"

enum { PIECE_BYTES = 64 * 1024, COUNTER_BYTES = 4 * 1024 * 1024, ROWS_A_PROGRESS_STEP = 256, BAR_WIDTH = 40 };

/* ---- Progress ---- */

static const double BETWEEN_SHOWS_S = 0.2;

double progress_now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_start(struct progress *progress, const char *path)
{
	struct stat file;

	*progress = (struct progress){ .is_on = isatty(STDERR_FILENO), .start_s = progress_now_s() };
	if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
		progress->n_file_bytes = (uint64_t)file.st_size;
}

void progress_step(struct progress *progress, uint64_t n_bytes, uint64_t n_rows)
{
	double now_s, share;

	if (!progress->is_on)
		return;
	now_s = progress_now_s();
	if (now_s - progress->shown_s < BETWEEN_SHOWS_S)
		return;
	progress->shown_s = now_s;
	if (progress->n_file_bytes == 0) {
		fprintf(stderr, "\rtrace2pg: %llu rows", (unsigned long long)n_rows);
	} else {
		share = (double)n_bytes / (double)progress->n_file_bytes;
		share = share > 1 ? 1 : share;
		fprintf(stderr, "\rtrace2pg: [%-*.*s] %3.0f %%  %llu rows  %.1f MB/s\033[K", BAR_WIDTH,
			(int)(share * BAR_WIDTH), "########################################", 100 * share,
			(unsigned long long)n_rows, (double)n_bytes / 1e6 / (now_s - progress->start_s));
	}
	fflush(stderr);
}

void progress_stage(struct progress *progress, const char *format, ...)
{
	va_list arguments;

	if (!progress->is_on)
		return;
	progress_end(progress);
	fprintf(stderr, "trace2pg: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, " ...");
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->is_on)
		fprintf(stderr, "\r\033[K");
}

/* ---- The load ---- */

uint64_t load_n_rows(const struct load *load)
{
	return load->sums[TRACE_SPAN].n_rows + load->sums[TRACE_COUNTER].n_rows;
}

static uint64_t n_rows_committed(const struct load *load)
{
	return load->n_committed[TRACE_SPAN] + load->n_committed[TRACE_COUNTER];
}

static bool send_rows(struct load *load, enum trace_kind kind)
{
	struct trace_bytes *bytes = &load->rows[kind].bytes;
	bool succeeded = connection_copy_data(load->connection, bytes->data, bytes->n_bytes);

	trace_bytes_clear(bytes);
	return succeeded;
}

static bool end_copy(struct load *load, enum trace_kind kind)
{
	copy_binary_end(&load->rows[kind]);
	return send_rows(load, kind) && connection_copy_end(load->connection);
}

static bool copy_counters(struct load *load)
{
	return tables_copy_start(load->connection, TRACE_COUNTER, load->options->tables[TRACE_COUNTER]) &&
	       end_copy(load, TRACE_COUNTER);
}

/* Begins a transaction, the first one with new tables. */
static bool begin(struct load *load)
{
	if (!connection_run(load->connection, "BEGIN"))
		return false;
	load->in_transaction = true;
	return load->has_tables || tables_create(load->connection, load->options->tables, load->options->replace);
}

static enum load_status commit(struct load *load)
{
	if (load->in_copy && !end_copy(load, TRACE_SPAN))
		return LOAD_SERVER;
	load->in_copy = false;
	if (load->rows[TRACE_COUNTER].bytes.n_bytes > 0 && !copy_counters(load))
		return LOAD_SERVER;
	if (load->rows[TRACE_SPAN].out_of_memory || load->rows[TRACE_COUNTER].out_of_memory)
		return LOAD_MEMORY;
	if (!connection_run(load->connection, "COMMIT")) {
		load->is_commit_uncertain = !connection_is_alive(load->connection);
		return LOAD_SERVER;
	}
	load->in_transaction = false;
	load->has_tables = true;
	for (int i = 0; i < N_TABLES; i++)
		load->n_committed[i] = load->sums[i].n_rows;
	return LOAD_OK;
}

/* Makes ready for a row of that kind. */
static bool prepare(struct load *load, enum trace_kind kind)
{
	if (!load->in_transaction && !begin(load))
		return false;
	if (kind == TRACE_SPAN && !load->in_copy) {
		if (!tables_copy_start(load->connection, TRACE_SPAN, load->options->tables[TRACE_SPAN]))
			return false;
		load->in_copy = true;
		copy_binary_start(&load->rows[TRACE_SPAN]);
	} else if (kind == TRACE_COUNTER && load->rows[TRACE_COUNTER].bytes.n_bytes == 0) {
		copy_binary_start(&load->rows[TRACE_COUNTER]);
	}
	return true;
}

static void widen_range(struct load *load, const struct trace_event *event)
{
	if (load_n_rows(load) == 0)
		load->range = (struct tables_range){ event->ts_ns, event->ts_ns };
	if (event->ts_ns < load->range.first_ns)
		load->range.first_ns = event->ts_ns;
	if (event->ts_ns > load->range.last_ns)
		load->range.last_ns = event->ts_ns;
}

static enum load_status load_event(struct load *load, const struct trace_event *event)
{
	if (!prepare(load, event->kind))
		return LOAD_SERVER;
	row_encode(&load->encoder, event, &load->rows[event->kind], &load->sums[event->kind]);
	if (load->encoder.out_of_memory)
		return LOAD_MEMORY;
	if (load->rows[TRACE_SPAN].bytes.n_bytes >= PIECE_BYTES && !send_rows(load, TRACE_SPAN))
		return LOAD_SERVER;
	if (load_n_rows(load) - n_rows_committed(load) >= load->options->batch_rows ||
	    load->rows[TRACE_COUNTER].bytes.n_bytes >= COUNTER_BYTES)
		return commit(load);
	return LOAD_OK;
}

/* The next event of the file: LOAD_OK, with *at_end set at its end. */
static enum load_status next(struct load *load, struct trace_event *event, bool *at_end)
{
	int status = trace_reader_next(load->reader, event);

	if (interrupt_signal())
		return LOAD_INTERRUPTED;
	if (status < 0)
		return status == TRACE_ERROR_MEMORY ? LOAD_MEMORY : LOAD_BAD_TRACE;
	*at_end = status == TRACE_OK;
	if (!*at_end)
		widen_range(load, event);
	if (load_n_rows(load) % ROWS_A_PROGRESS_STEP == 0)
		progress_step(&load->progress, trace_reader_position(load->reader), load_n_rows(load));
	return LOAD_OK;
}

/* Reads the rows that are committed already: they must be as many of each table, and give the same sums. */
static enum load_status skip_committed(struct load *load, char *const sums[N_TABLES])
{
	struct trace_event event;
	bool at_end = false;

	while (load_n_rows(load) < n_rows_committed(load)) {
		enum load_status status = next(load, &event, &at_end);

		if (status != LOAD_OK)
			return status;
		if (at_end)
			return LOAD_OTHER_ROWS;
		row_encode(&load->encoder, &event, &load->rows[event.kind], &load->sums[event.kind]);
		trace_bytes_clear(&load->rows[event.kind].bytes);
		if (load->encoder.out_of_memory)
			return LOAD_MEMORY;
	}
	for (int i = 0; i < N_TABLES; i++) {
		char text[ROW_SUMS_TEXT_BYTES];

		row_sums_text(&load->sums[i], text);
		if (strcmp(text, sums[i]) != 0)
			return LOAD_OTHER_ROWS;
	}
	return LOAD_OK;
}

static enum load_status load_events(struct load *load)
{
	enum load_status status;
	struct trace_event event;
	bool at_end = false;

	while ((status = next(load, &event, &at_end)) == LOAD_OK && !at_end) {
		status = load_event(load, &event);
		if (status != LOAD_OK)
			return status;
	}
	if (status != LOAD_OK && status != LOAD_BAD_TRACE)
		return status;
	if (status == LOAD_OK && !load->has_tables && !load->in_transaction && !begin(load))
		return LOAD_SERVER; /* a trace without rows has its tables too */
	if (load->in_transaction) {
		enum load_status committed = commit(load);

		return committed == LOAD_OK ? status : committed;
	}
	return status;
}

enum load_status load_open(struct load *load)
{
	struct trace_options options = { .spans = true, .counters = true, .args = load->options->args };

	if (trace_reader_open(load->options->path, &options, &load->reader) < 0)
		return load->reader ? LOAD_BAD_TRACE : LOAD_MEMORY;
	progress_start(&load->progress, load->options->path);
	return LOAD_OK;
}

enum load_status load_run(struct load *load, char *const sums[N_TABLES])
{
	enum load_status status = load->has_tables ? skip_committed(load, sums) : LOAD_OK;

	if (status == LOAD_OK)
		status = load_events(load);
	progress_end(&load->progress);
	/* Whatever failed because of a signal, the signal is the reason. */
	return status != LOAD_OK && interrupt_signal() ? LOAD_INTERRUPTED : status;
}

void load_release(struct load *load)
{
	trace_reader_close(load->reader);
	row_encoder_release(&load->encoder);
	for (int i = 0; i < N_TABLES; i++)
		trace_bytes_release(&load->rows[i].bytes);
}
