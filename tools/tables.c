#include "tools/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Each format has one %s for the name of its table. */
static const struct {
	enum loaded_table table;
	const char *format;
} indexes[] = {
	{ TABLE_SPANS, "CREATE INDEX ON %s USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur')" },
	{ TABLE_SPANS, "CREATE INDEX ON %s USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')" },
	{ TABLE_COUNTERS, "CREATE INDEX ON %s USING iforest (pid, name, counter_id, key, ts) INCLUDE (value)" },
};

enum { N_INDEXES = sizeof indexes / sizeof *indexes, WINDOW_BYTES = 100 };

/* The size of a list over the columns of a table. */
enum { LIST_BYTES = 3000 };

static const char *type_name(enum loaded_type type)
{
	static const char *const names[] = { "bigint", "double precision", "text", "json" };

	return names[type];
}

static const char *column_definitions(enum loaded_table table, char list[LIST_BYTES])
{
	const struct loaded_definition *definition = &loaded_definitions[table];
	size_t n = 0;

	for (int i = 0; i < definition->n_columns; i++) {
		const struct loaded_column *column = &definition->columns[i];

		n += (size_t)snprintf(list + n, LIST_BYTES - n, "%s%s %s%s", i ? ", " : "", column->name,
				      type_name(column->type),
				      i == 0		    ? " PRIMARY KEY"
				      : column->is_required ? " NOT NULL"
							    : "");
	}
	return list;
}

static const char *column_names(enum loaded_table table, char list[LIST_BYTES])
{
	const struct loaded_definition *definition = &loaded_definitions[table];
	size_t n = 0;

	for (int i = 0; i < definition->n_columns; i++)
		n += (size_t)snprintf(list + n, LIST_BYTES - n, "%s%s", i ? ", " : "", definition->columns[i].name);
	return list;
}

/* The sums follow the order of row_sums_text(). Names of functions are qualified: in a schema of the search path others may have
 * functions that fit better, which would run with the rights of who loads. */
static const char *column_sums(enum loaded_table table, char list[LIST_BYTES])
{
	static const char *const formats[] = {
		[LOADED_INTEGER] = ", coalesce(pg_catalog.sum(%s), 0)",
		[LOADED_REAL] = ", pg_catalog.count(%s)",
		[LOADED_TEXT] = ", coalesce(pg_catalog.sum(pg_catalog.octet_length(pg_catalog.convert_to(%s, 'UTF8'))), 0)",
		[LOADED_JSON] = ", pg_catalog.count(%s)",
	};
	const struct loaded_definition *definition = &loaded_definitions[table];
	size_t n = 0;

	for (int i = 0; i < definition->n_columns; i++)
		n += (size_t)snprintf(list + n, LIST_BYTES - n, formats[definition->columns[i].type],
				      definition->columns[i].name);
	return list;
}

bool tables_create(struct connection *connection, char *const names[N_TABLES], bool replace)
{
	char list[LIST_BYTES];

	for (int i = 0; i < N_TABLES; i++) {
		if (replace && !connection_run(connection, "DROP TABLE IF EXISTS %s", names[i]))
			return false;
		if (!connection_run(connection, "CREATE TABLE %s (%s)", names[i], column_definitions(i, list)))
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

		if (!ask_number(connection, &exists, names[i],
				"SELECT (pg_catalog.to_regclass($1) IS NOT NULL)::pg_catalog.int4"))
			return false;
		*n_tables += exists;
	}
	return true;
}

bool tables_sums(struct connection *connection, enum loaded_table table, const char *name, char **sums)
{
	char list[LIST_BYTES];

	return connection_ask(connection, sums, NULL, "SELECT pg_catalog.concat_ws(' ', pg_catalog.count(*)%s) FROM %s",
			      column_sums(table, list), name);
}

bool tables_copy_start(struct connection *connection, enum loaded_table table, const char *name)
{
	char list[LIST_BYTES];

	return connection_copy_start(connection, "COPY %s (%s) FROM STDIN (FORMAT binary)", name, column_names(table, list));
}

/* True if CREATE EXTENSION found no control file or no library. Versions of the server differ in the code. */
static bool lacks_extension(const struct connection *connection)
{
	return strcmp(connection->sqlstate, "0A000") == 0 || strcmp(connection->sqlstate, "58P01") == 0;
}

static bool create_indexes(struct connection *connection, char *const names[N_TABLES])
{
	for (int i = 0; i < N_INDEXES; i++) {
		if (!connection_run(connection, indexes[i].format, names[indexes[i].table]))
			return false;
	}
	return connection_run(connection, "COMMIT");
}

enum tables_indexed tables_index(struct connection *connection, char *const names[N_TABLES])
{
	for (int i = 0; i < N_TABLES; i++) {
		int n_before;

		if (!ask_number(
			    connection, &n_before, names[i],
			    "SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid "
			    "JOIN pg_catalog.pg_am a ON a.oid = c.relam "
			    "WHERE a.amname = 'iforest' AND i.indrelid = pg_catalog.to_regclass($1)"))
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
		fprintf(file, indexes[i].format, names[indexes[i].table]);
		fprintf(file, ";\n");
	}
}

bool tables_vacuum(struct connection *connection, const char *name)
{
	return connection_run(connection, "VACUUM (ANALYZE) %s", name);
}

static void print_window(char window[WINDOW_BYTES], struct time_sample *times)
{
	int64_t a, b;

	time_sample_window(times, &a, &b);
	snprintf(window, WINDOW_BYTES, "ts >= %" PRId64 " AND ts < %" PRId64, a, b);
}

void tables_print_questions(FILE *file, char *const names[N_TABLES], const uint64_t n_rows[N_TABLES],
			    struct tables_times *times)
{
	const char *spans = names[TABLE_SPANS], *counters = names[TABLE_COUNTERS];
	uint64_t bucket = ((uint64_t)times->last_ns - (uint64_t)times->first_ns) / 40 + 1;
	char window[WINDOW_BYTES];

	if (n_rows[TABLE_SPANS] > 0) {
		print_window(window, &times->spans);
		fprintf(file, "  SELECT count(*), sum(dur), max(dur) FROM %s WHERE %s;\n", spans, window);
		fprintf(file, "  SELECT track, count(*), sum(dur), max(dur) FROM %s WHERE %s ", spans, window);
		fprintf(file, "GROUP BY track ORDER BY 3 DESC;\n");
		fprintf(file, "  SELECT ts / %" PRIu64 " * %" PRIu64 " AS bucket_start, ", bucket, bucket);
		fprintf(file, "count(*), sum(dur), max(dur) FROM %s GROUP BY 1 ORDER BY 1;\n", spans);
	}
	if (n_rows[TABLE_COUNTERS] > 0) {
		print_window(window, &times->counters);
		fprintf(file, "  SELECT name, count(*), min(value), avg(value), max(value) FROM %s ", counters);
		fprintf(file, "WHERE %s GROUP BY name;\n", window);
	}
}
