#include "tools/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Columns in the order in which rows.c writes them. */
static const struct {
	const char *columns; /* of CREATE TABLE */
	const char *copied;  /* of COPY */
	const char *sums;    /* of a query, in the order of row_sums_text() */
} definitions[N_TABLES] = {
	[TRACE_SPAN] = {
		"id bigint PRIMARY KEY, ts bigint NOT NULL, dur bigint NOT NULL, pid text NOT NULL, tid text NOT NULL, "
		"track text NOT NULL, name text NOT NULL, category text, args json",
		"id, ts, dur, pid, tid, track, name, category, args",
		"coalesce(sum(ts), 0), coalesce(sum(dur), 0), "
		"coalesce(sum(octet_length(convert_to(track || name, 'UTF8'))), 0), count(args)",
	},
	[TRACE_COUNTER] = {
		"id bigint PRIMARY KEY, ts bigint NOT NULL, pid text NOT NULL, name text NOT NULL, counter_id text, "
		"key text NOT NULL, value double precision NOT NULL",
		"id, ts, pid, name, counter_id, key, value",
		"coalesce(sum(ts), 0), 0, "
		"coalesce(sum(octet_length(convert_to(pid || name || key, 'UTF8'))), 0), count(counter_id)",
	},
};

/* Each has one %s for its table. */
static const struct {
	enum trace_kind kind;
	const char *format;
} indexes[] = {
	{ TRACE_SPAN, "CREATE INDEX ON %s USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur')" },
	{ TRACE_SPAN, "CREATE INDEX ON %s USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')" },
	{ TRACE_COUNTER, "CREATE INDEX ON %s USING iforest (pid, name, counter_id, key, ts) INCLUDE (value)" },
};

enum { N_INDEXES = sizeof indexes / sizeof *indexes };

bool tables_create(struct connection *connection, char *const names[N_TABLES], bool replace)
{
	for (int i = 0; i < N_TABLES; i++) {
		if (replace && !connection_run(connection, "DROP TABLE IF EXISTS %s", names[i]))
			return false;
		if (!connection_run(connection, "CREATE TABLE %s (%s)", names[i], definitions[i].columns))
			return false;
	}
	return true;
}

bool tables_exist_already(const struct connection *connection)
{
	return strcmp(connection->sqlstate, "42P07") == 0;
}

static bool ask_number(struct connection *connection, int *number, const char *parameter, const char *sql)
{
	char *value;

	if (!connection_ask(connection, &value, parameter, "%s", sql))
		return false;
	*number = atoi(value);
	free(value);
	return true;
}

bool tables_count(struct connection *connection, char *const names[N_TABLES], int *n_tables)
{
	*n_tables = 0;
	for (int i = 0; i < N_TABLES; i++) {
		int exists;

		if (!ask_number(connection, &exists, names[i], "SELECT (to_regclass($1) IS NOT NULL)::int"))
			return false;
		*n_tables += exists;
	}
	return true;
}

bool tables_sums(struct connection *connection, enum trace_kind kind, const char *name, char **sums)
{
	return connection_ask(connection, sums, NULL, "SELECT concat_ws(' ', count(*), coalesce(max(id), 0), %s) FROM %s",
			      definitions[kind].sums, name);
}

bool tables_copy_start(struct connection *connection, enum trace_kind kind, const char *name)
{
	return connection_copy_start(connection, "COPY %s (%s) FROM STDIN (FORMAT binary)", name, definitions[kind].copied);
}

/* CREATE EXTENSION has no control file or no library to read: two codes, as the server's version has it. */
static bool lacks_extension(const struct connection *connection)
{
	return strcmp(connection->sqlstate, "0A000") == 0 || strcmp(connection->sqlstate, "58P01") == 0;
}

static bool create_indexes(struct connection *connection, char *const names[N_TABLES])
{
	for (int i = 0; i < N_INDEXES; i++) {
		if (!connection_run(connection, indexes[i].format, names[indexes[i].kind]))
			return false;
	}
	return connection_run(connection, "COMMIT");
}

enum tables_indexed tables_index(struct connection *connection, char *const names[N_TABLES])
{
	for (int i = 0; i < N_TABLES; i++) {
		int n_before;

		if (!ask_number(connection, &n_before, names[i],
				"SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
				"JOIN pg_am a ON a.oid = c.relam "
				"WHERE a.amname = 'iforest' AND i.indrelid = to_regclass($1)"))
			return TABLES_INDEX_FAILED;
		if (n_before > 0)
			return TABLES_INDEXED_BEFORE;
	}
	if (!connection_run(connection, "BEGIN; CREATE EXTENSION IF NOT EXISTS iforest")) {
		if (!lacks_extension(connection) || !connection_run(connection, "ROLLBACK"))
			return TABLES_INDEX_FAILED;
		return TABLES_NO_EXTENSION;
	}
	return create_indexes(connection, names) ? TABLES_INDEXED : TABLES_INDEX_FAILED;
}

void tables_print_indexes(FILE *file, char *const names[N_TABLES])
{
	fprintf(file, "  CREATE EXTENSION IF NOT EXISTS iforest;\n");
	for (int i = 0; i < N_INDEXES; i++) {
		fprintf(file, "  ");
		fprintf(file, indexes[i].format, names[indexes[i].kind]);
		fprintf(file, ";\n");
	}
}

bool tables_vacuum(struct connection *connection, const char *name)
{
	return connection_run(connection, "VACUUM (ANALYZE) %s", name);
}

void tables_print_questions(FILE *file, char *const names[N_TABLES], const uint64_t n_rows[N_TABLES], struct tables_range range)
{
	const char *spans = names[TRACE_SPAN], *counters = names[TRACE_COUNTER];
	uint64_t first = (uint64_t)range.first_ns, width = (uint64_t)range.last_ns - first, bucket = width / 40 + 1;
	char window[100];

	snprintf(window, sizeof window, "ts >= %" PRId64 " AND ts < %" PRId64, (int64_t)(first + width / 4),
		 (int64_t)(first + width / 2 + 1));
	if (n_rows[TRACE_SPAN] > 0) {
		fprintf(file, "  SELECT count(*), sum(dur), max(dur) FROM %s WHERE %s;\n", spans, window);
		fprintf(file, "  SELECT track, count(*), sum(dur), max(dur) FROM %s WHERE %s ", spans, window);
		fprintf(file, "GROUP BY track ORDER BY 3 DESC;\n");
		fprintf(file, "  SELECT ts / %" PRIu64 " * %" PRIu64 " AS bucket_start, ", bucket, bucket);
		fprintf(file, "count(*), sum(dur), max(dur) FROM %s GROUP BY 1 ORDER BY 1;\n", spans);
	}
	if (n_rows[TRACE_COUNTER] > 0) {
		fprintf(file, "  SELECT name, count(*), min(value), avg(value), max(value) FROM %s ", counters);
		fprintf(file, "WHERE %s GROUP BY name;\n", window);
	}
}
