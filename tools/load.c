#include "tools/load.h"

#include <string.h>

#include "tools/connection.h"
#include "tools/interrupt.h"

enum { PIECE_BYTES = 64 * 1024, GATHERED_BYTES = 4 * 1024 * 1024, ROWS_A_PROGRESS_STEP = 256 };

uint64_t load_n_rows(const struct load *load)
{
	uint64_t n_rows = 0;

	for (int i = 0; i < N_TABLES; i++)
		n_rows += load->sums[i].n_rows;
	return n_rows;
}

static uint64_t n_rows_committed(const struct load *load)
{
	uint64_t n_rows = 0;

	for (int i = 0; i < N_TABLES; i++)
		n_rows += load->n_committed[i];
	return n_rows;
}

static bool send_rows(struct load *load, enum loaded_table table)
{
	struct trace_bytes *bytes = &load->rows[table].bytes;
	bool succeeded = connection_copy_data(load->connection, bytes->data, bytes->n_bytes);

	trace_bytes_clear(bytes);
	return succeeded;
}

static bool end_copy(struct load *load, enum loaded_table table)
{
	copy_binary_end(&load->rows[table]);
	return send_rows(load, table) && connection_copy_end(load->connection);
}

/* Sends the rows that were gathered for the tables other than spans. */
static bool copy_gathered(struct load *load)
{
	for (int i = 0; i < N_TABLES; i++) {
		if (load->rows[i].bytes.n_bytes > 0 &&
		    !(tables_copy_start(load->connection, i, load->options->tables[i]) && end_copy(load, i)))
			return false;
	}
	return true;
}

/* Begins a transaction. The first one creates the tables. */
static bool begin(struct load *load)
{
	if (!connection_run(load->connection, "BEGIN"))
		return false;
	load->in_transaction = true;
	return load->has_tables || tables_create(load->connection, load->options->tables, load->options->replace);
}

static enum load_status commit(struct load *load)
{
	if (load->in_copy && !end_copy(load, TABLE_SPANS))
		return LOAD_SERVER;
	load->in_copy = false;
	if (!copy_gathered(load))
		return LOAD_SERVER;
	if (load->encoder.out_of_memory)
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

/* Prepares for a row of that table. */
static bool prepare(struct load *load, enum loaded_table table)
{
	if (!load->in_transaction && !begin(load))
		return false;
	if (table == TABLE_SPANS && !load->in_copy) {
		if (!tables_copy_start(load->connection, TABLE_SPANS, load->options->tables[TABLE_SPANS]))
			return false;
		load->in_copy = true;
		copy_binary_start(&load->rows[TABLE_SPANS]);
	} else if (table != TABLE_SPANS && load->rows[table].bytes.n_bytes == 0) {
		copy_binary_start(&load->rows[table]);
	}
	return true;
}

static enum load_status send_row(struct load *load, const struct loaded_row *row)
{
	struct trace_bytes *bytes = &load->rows[row->table].bytes;

	if (!prepare(load, row->table))
		return LOAD_SERVER;
	row_encode(&load->encoder, row, &load->rows[row->table], &load->sums[row->table]);
	if (load->encoder.out_of_memory)
		return LOAD_MEMORY;
	if (row->table == TABLE_SPANS && bytes->n_bytes >= PIECE_BYTES && !send_rows(load, TABLE_SPANS))
		return LOAD_SERVER;
	if (load_n_rows(load) - n_rows_committed(load) >= load->options->batch_rows ||
	    (row->table != TABLE_SPANS && bytes->n_bytes >= GATHERED_BYTES))
		return commit(load);
	return LOAD_OK;
}

/* True if the rows that were read again have the same sums as the tables. */
static bool has_same_sums(const struct load *load)
{
	for (int i = 0; i < N_TABLES; i++) {
		char text[ROW_SUMS_TEXT_BYTES];

		row_sums_text(&load->sums[i], i, text);
		if (strcmp(text, load->committed_sums[i]) != 0)
			return false;
	}
	return true;
}

/* Skips a row that is committed already. */
static enum load_status skip_row(struct load *load, const struct loaded_row *row)
{
	if (load->sums[row->table].n_rows == load->n_committed[row->table])
		return LOAD_OTHER_ROWS;
	row_encode(&load->encoder, row, &load->rows[row->table], &load->sums[row->table]);
	trace_bytes_clear(&load->rows[row->table].bytes);
	return load->encoder.out_of_memory ? LOAD_MEMORY : LOAD_OK;
}

static void take_time(struct tables_times *times, const struct loaded_row *row)
{
	int64_t ts_ns = row->values[1].integer;

	if (row->table == TABLE_COUNTERS)
		time_sample_add(&times->counters, ts_ns);
	if (row->table != TABLE_SPANS)
		return;
	if (times->spans.n == 0 || ts_ns < times->first_ns)
		times->first_ns = ts_ns;
	if (times->spans.n == 0 || ts_ns > times->last_ns)
		times->last_ns = ts_ns;
	time_sample_add(&times->spans, ts_ns);
}

static enum load_status take_row(struct load *load, const struct loaded_row *row)
{
	if (interrupt_signal())
		return LOAD_INTERRUPTED;
	if (!row)
		return LOAD_MEMORY;
	if (load->options->max_rows > 0 && load_n_rows(load) == load->options->max_rows)
		return LOAD_TOO_MANY_ROWS;
	take_time(&load->times, row);
	if (load_n_rows(load) % ROWS_A_PROGRESS_STEP == 0)
		progress_step(&load->progress, trace_position(load->trace), load_n_rows(load));
	if (load->committed_sums && load_n_rows(load) < n_rows_committed(load))
		return skip_row(load, row);
	if (load->committed_sums && !has_same_sums(load))
		return LOAD_OTHER_ROWS;
	load->committed_sums = NULL;
	return send_row(load, row);
}

/* Sets the load's status. Returns the status for the sink, where any negative one stops the reading. */
static int stop_unless(struct load *load, enum load_status status)
{
	load->status = status;
	return status == LOAD_OK ? TRACE_OK : TRACE_ERROR_READ;
}

static int on_span(void *context, const struct trace_span *span)
{
	struct load *load = context;

	return stop_unless(load, take_row(load, row_of_span(&load->maker, span)));
}

static int on_sample(void *context, const struct trace_sample *sample)
{
	struct load *load = context;

	return stop_unless(load, take_row(load, row_of_sample(&load->maker, sample)));
}

static int on_instant(void *context, const struct trace_instant *instant)
{
	struct load *load = context;

	return stop_unless(load, take_row(load, row_of_instant(&load->maker, instant)));
}

static int on_flow(void *context, const struct trace_flow *flow)
{
	struct load *load = context;

	return stop_unless(load, take_row(load, row_of_flow(&load->maker, flow)));
}

static int on_track(void *context, const struct trace_track *track)
{
	struct load *load = context;

	return stop_unless(load, take_row(load, row_of_track(&load->maker, track)));
}

/* Loads the report at the end, because only then is it known what was left out. */
static enum load_status load_report(struct load *load)
{
	const struct trace_report_line *line;
	enum load_status status = LOAD_OK;

	for (size_t i = 0; status == LOAD_OK && (line = trace_report(load->trace, i)); i++)
		status = take_row(load, row_of_report_line(&load->maker, line));
	return status;
}

static enum load_status load_rows(struct load *load)
{
	int status;

	while ((status = trace_step(load->trace)) == TRACE_ROW) {
		if (interrupt_signal())
			return LOAD_INTERRUPTED;
		progress_step(&load->progress, trace_position(load->trace), load_n_rows(load));
	}
	if (interrupt_signal())
		return LOAD_INTERRUPTED;
	if (load->status != LOAD_OK)
		return load->status;
	if (status < 0)
		return status == TRACE_ERROR_MEMORY ? LOAD_MEMORY : LOAD_BAD_TRACE;
	return load_report(load);
}

static enum load_status load_trace(struct load *load)
{
	enum load_status status = load_rows(load);

	if (status != LOAD_OK && status != LOAD_BAD_TRACE && status != LOAD_TOO_MANY_ROWS)
		return status;
	/* all rows of the file were skipped: the tables may have more */
	if (status == LOAD_OK && load->committed_sums && !has_same_sums(load))
		return LOAD_OTHER_ROWS;
	if (status == LOAD_OK && !load->has_tables && !load->in_transaction && !begin(load))
		return LOAD_SERVER; /* the tables are created even for a trace without rows */
	if (load->in_transaction) {
		enum load_status committed = commit(load);

		return committed == LOAD_OK ? status : committed;
	}
	return status;
}

enum load_status load_open(struct load *load)
{
	struct trace_options options = {
		.args = load->options->args, .complete = true, .needs_rows = true, .max_bytes = load->options->max_bytes
	};
	struct trace_sink sink = {
		.context = load,
		.on_span = on_span,
		.on_sample = on_sample,
		.on_instant = on_instant,
		.on_flow = on_flow,
		.on_track = on_track,
	};

	if (trace_open(load->options->path, &options, &sink, &load->trace) < 0)
		return load->trace ? LOAD_BAD_TRACE : LOAD_MEMORY;
	progress_start(&load->progress, "trace2pg", load->options->path);
	return LOAD_OK;
}

enum load_status load_run(struct load *load, char *const sums[N_TABLES])
{
	enum load_status status;

	load->committed_sums = load->has_tables ? sums : NULL;
	status = load_trace(load);
	progress_end(&load->progress);
	/* a failure after a signal is reported as the interruption that caused it */
	return status != LOAD_OK && interrupt_signal() ? LOAD_INTERRUPTED : status;
}

void load_release(struct load *load)
{
	trace_close(load->trace);
	row_maker_release(&load->maker);
	row_encoder_release(&load->encoder);
	for (int i = 0; i < N_TABLES; i++)
		trace_bytes_release(&load->rows[i].bytes);
}
