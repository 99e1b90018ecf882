/* test_vectors.c -- tests/vectors/vectors.txt in PostgreSQL: asked of the functions of an index made after its table was
 * filled, of one whose rows are pending, and of some of each; from the index, and without it. tests/sqlite/test_vectors.c asks
 * SQLite the same.
 *
 *   tests/pg/cluster.sh run build/tests/pg/test_vectors
 */
#include "tests/pg/client.h"
#include "tests/support/vectors.h"

static struct vectors vectors;

/* ---- tables ---- */

static void insert_rows(PGconn *pg, const struct vector_table *table, unsigned from, unsigned to)
{
	for (unsigned row = from; row < to; row++) {
		struct vector_list cells = vector_split(table->rows[row], "|");
		const char *values[VECTOR_COLUMNS];
		struct text sql;
		PGresult *result;

		text_set(&sql, "INSERT INTO %s VALUES(", table->name);
		for (unsigned i = 0; i < cells.n; i++) {
			values[i] = strcmp(cells.at[i], "NULL") == 0 ? NULL : cells.at[i];
			text_add(&sql, "%s$%u", i > 0 ? ", " : "", i + 1);
		}
		text_add(&sql, ")");
		result = PQexecParams(pg, sql.at, (int)cells.n, NULL, values, NULL, NULL, 0);
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			client_fail("%s in: %s", PQerrorMessage(pg), sql.at);
		PQclear(result);
		free(cells.text);
	}
}

static void make_table(PGconn *pg, const struct vector_table *table)
{
	client_run(pg, "CREATE TABLE %s()", table->name);
	for (unsigned i = 0; i < table->n_columns; i++)
		client_run(pg, "ALTER TABLE %s ADD COLUMN %s %s", table->name, table->columns[i], table->types[i]);
}

static void make_index(PGconn *pg, const struct vector_table *table)
{
	struct text by;

	text_set(&by, "%s", "");
	for (unsigned i = 1; i <= table->n_by; i++)
		text_add(&by, "%s, ", table->columns[i]);
	if (table->end)
		client_run(pg, "CREATE INDEX %s_if ON %s USING iforest (%sts) INCLUDE (%s, size) WITH (\"end\" = '%s', background_merge = off)", table->name, table->name,
			   by.at, table->end, table->end);
	else
		client_run(pg, "CREATE INDEX %s_if ON %s USING iforest (%sts) INCLUDE (dur, size)"
			       " WITH (duration = 'dur', variance = 'dur, size', products = 'dur*ts',"
			       " histogram = 'dur(-9223372036854775808, -1, 0, 500, 9223372036854775807)', background_merge = off)%s%s",
			   table->name, table->name, by.at, table->where ? " WHERE " : "", table->where ? table->where : "");
	PQclear(client_rows(pg, "SELECT iforest_create_functions('%s_if')", table->name));
	if (!table->end && !table->where)
		client_run(pg, "CREATE INDEX %s_digests ON %s USING iforest (%sts) INCLUDE (dur, size) WITH (sketch = 'dur', distinct = 'dur, size', background_merge = off)",
			   table->name, table->name, by.at);
}

/* In a schema of its own, which is then the one that is asked. The index comes after so many parts of the rows, of eight;
 * after so many more the table is vacuumed. */
static void make_tables(PGconn *pg, const char *schema, unsigned indexed, unsigned sealed)
{
	client_run(pg, "CREATE SCHEMA %s; SET search_path = %s, public", schema, schema);
	for (unsigned i = 0; i < vectors.n_tables; i++) {
		const struct vector_table *table = &vectors.tables[i];
		unsigned n_indexed = table->n_rows * indexed / 8, n_flushed = table->n_rows * (indexed + sealed) / 8;

		make_table(pg, table);
		insert_rows(pg, table, 0, n_indexed);
		make_index(pg, table);
		insert_rows(pg, table, n_indexed, n_flushed);
		client_run(pg, "VACUUM ANALYZE %s", table->name);
		insert_rows(pg, table, n_flushed, table->n_rows);
	}
}

/* ---- questions ---- */

static bool is_kind(const struct vector_question *question, const char *kind)
{
	return strcmp(question->kind, kind) == 0;
}

/* Is that an argument, and a number? */
static const char *cast_of(unsigned argument, const char *value)
{
	return argument == VECTOR_FILL || strcmp(value, "NULL") == 0 ? "" : "::bigint";
}

static void add_argument(struct text *sql, unsigned argument, const char *value)
{
	const char *cast = cast_of(argument, value);

	text_add(sql, "%s%s%s%s", *cast ? "'" : "", value, *cast ? "'" : "", cast);
}

static void add_function(struct text *sql, const struct vector_question *question)
{
	const char *kind = vector_asks_columns(question) ? vector_asks_columns(question) : question->kind, *comma = "";
	bool all_before = true, is_window = strcmp(kind, "window") == 0;

	text_add(sql, "%s_if%s%s(", question->table->name, is_window ? "" : "_", is_window ? "" : kind);
	for (unsigned i = 0; i < VECTOR_ARGUMENTS; i++) {
		all_before = all_before && question->arguments[i];
		if (!question->arguments[i])
			continue;
		text_add(sql, "%s", comma);
		if (!all_before)
			text_add(sql, "%s => ", vector_argument_names[i]);
		add_argument(sql, i, question->arguments[i]);
		comma = ", ";
	}
	text_add(sql, ")");
}

/* A row that the engine knows by its ctid, as its id. */
static void add_column(struct text *sql, const struct vector_question *question, const char *column)
{
	const struct vector_name *renamed;
	const char *name = vector_column(&vectors, VECTORS_POSTGRES, column, &renamed);

	if (renamed && renamed->is_reference)
		text_add(sql, "(SELECT s.id FROM %s s WHERE s.ctid = z.%s)", question->table->name, name);
	else
		text_add(sql, "z.\"%s\"", name);
}

/* ---- what plain SQL says over the table ---- */

static const struct {
	const char *ours, *aggregate, *arguments;
} folded[] = { { "count_", "count", "" }, { "sum_", "sum", "" }, { "avg_", "avg", "" },
	       { "first_", "iforest_first", ", ts, ctid" }, { "last_", "iforest_last", ", ts, ctid" } };

/* of extremes: the value, its row, its time */
static void add_extreme(struct text *sql, const struct vector_question *question, const char *kind, const char *value)
{
	const char *end = strchr(value, '_');
	int n = end ? (int)(end - value) : (int)strlen(value);

	if (!end)
		text_add(sql, "%s(%s)", kind, value);
	else if (strcmp(end, "_ts") == 0)
		text_add(sql, "iforest_%s_time(%.*s, ts, ctid)", kind, n, value);
	else
		text_add(sql, "(SELECT s.id FROM %s s WHERE s.ctid = iforest_%s_row(z.%.*s, z.ts, z.ctid))",
			 question->table->name, kind, n, value);
}

static void add_bucket(struct text *sql, const struct vector_question *question)
{
	const char *const *arguments = question->arguments;

	if (arguments[VECTOR_N])
		text_add(sql, "iforest_bucket(ts, %s, %s, %s)", arguments[VECTOR_T0], arguments[VECTOR_T1],
			 arguments[VECTOR_N]);
	else if (arguments[VECTOR_STEP])
		text_add(sql, "iforest_bucket_of(ts, %s, %s, NULL, %s, %s)", arguments[VECTOR_T0], arguments[VECTOR_T1],
			 arguments[VECTOR_STEP], arguments[VECTOR_ORIGIN] ? arguments[VECTOR_ORIGIN] : "0");
	else
		text_add(sql, "0");
}

static void add_folded(struct text *sql, const struct vector_question *question, const char *column)
{
	if (strcmp(column, "count") == 0) {
		text_add(sql, "count(*)");
		return;
	}
	if (strcmp(column, "bucket") == 0) {
		add_bucket(sql, question);
		return;
	}
	if (strncmp(column, "min_", 4) == 0 || strncmp(column, "max_", 4) == 0) {
		add_extreme(sql, question, column[1] == 'i' ? "min" : "max", column + 4);
		return;
	}
	for (unsigned i = 0; i < COUNT_OF(folded); i++)
		if (strncmp(column, folded[i].ours, strlen(folded[i].ours)) == 0) {
			text_add(sql, "%s(%s%s)", folded[i].aggregate, column + strlen(folded[i].ours), folded[i].arguments);
			return;
		}
	text_add(sql, "%s", column);
}

static void add_window(struct text *sql, const struct vector_question *question)
{
	const char *const *arguments = question->arguments;

	text_add(sql, " FROM %s z WHERE true", question->table->name);
	if (arguments[VECTOR_T0])
		text_add(sql, " AND ts >= %s", arguments[VECTOR_T0]);
	if (arguments[VECTOR_T1])
		text_add(sql, " AND ts < %s", arguments[VECTOR_T1]);
}

/* Sketches of each series and bucket, under the names that an index has for them in SQLite. */
static void add_sketches(struct text *sql, const struct vector_question *question)
{
	const struct vector_table *table = question->table;

	text_add(sql, " FROM (SELECT ");
	for (unsigned i = 1; i <= table->n_by; i++)
		text_add(sql, "%s, ", table->columns[i]);
	add_bucket(sql, question);
	text_add(sql, " AS bucket, iforest_sketch(dur) AS sketch_dur, iforest_distinct(dur) AS distinct_dur, iforest_distinct(size) AS distinct_size");
	add_window(sql, question);
	for (unsigned i = 1; i <= table->n_by + 1; i++)
		text_add(sql, "%s%u", i > 1 ? ", " : " GROUP BY ", i);
	text_add(sql, ") z");
}

/* Columns are SQL that both engines understand, over the table or over sketches. */
static void make_shared_query(struct text *sql, const struct vector_question *question)
{
	bool is_of_values = is_kind(question, "values");

	text_set(sql, "SELECT ");
	for (unsigned i = 0; i < question->columns.n; i++)
		text_add(sql, "%s%s", i > 0 ? ", " : "", question->columns.at[i]);
	if (is_of_values)
		add_window(sql, question);
	else
		add_sketches(sql, question);
	if (is_kind(question, "heatmap"))
		text_add(sql, ", iforest_histogram(sketch_dur, '{-1, 0, 10, 50}') h WHERE h.lower >= -1");
	else if (!is_of_values)
		text_add(sql, " WHERE true");
	if (question->where)
		text_add(sql, " AND %s", question->where);
	for (unsigned i = 1; is_of_values && i <= question->table->n_by; i++)
		text_add(sql, "%s%u", i > 1 ? ", " : " GROUP BY ", i);
	if (question->order_by || (!is_of_values && question->table->n_by == 0))
		text_add(sql, " ORDER BY %s", question->order_by ? question->order_by : "bucket");
}

/* ---- asking ---- */

static void make_query(struct text *sql, const struct vector_question *question)
{
	bool is_fold = is_kind(question, "fold"), is_top = is_kind(question, "top");
	unsigned n_groups = question->keep.n;

	if (is_kind(question, "sketch") || is_kind(question, "heatmap") || is_kind(question, "values")) {
		make_shared_query(sql, question);
		return;
	}
	text_set(sql, "SELECT %s", vector_asks_columns(question) ? "*" : "");
	for (unsigned i = 0; i < question->columns.n && !vector_asks_columns(question); i++) {
		text_add(sql, "%s", i > 0 ? ", " : "");
		if (is_fold)
			add_folded(sql, question, question->columns.at[i]);
		else
			add_column(sql, question, question->columns.at[i]);
		n_groups += is_fold && strcmp(question->columns.at[i], "bucket") == 0;
	}
	if (is_fold || is_top) {
		add_window(sql, question);
	} else {
		text_add(sql, " FROM ");
		add_function(sql, question);
		text_add(sql, " z WHERE true");
	}
	if (is_top) /* those without the value are not asked for */
		text_add(sql, " AND %s IS NOT NULL", question->columns.at[question->columns.n - 1]);
	if (question->where)
		text_add(sql, " AND %s", question->where);
	for (unsigned i = 0; is_fold && i < n_groups; i++)
		text_add(sql, "%s%u", i > 0 ? ", " : " GROUP BY ", i + 1);
	if (is_fold && question->table->n_by > 0 && n_groups > question->keep.n)
		text_add(sql, " ORDER BY %u", n_groups);
	if (question->order_by)
		text_add(sql, " ORDER BY %s", question->order_by);
}

static void ask(void *pg, const struct vector_question *question, struct vector_given *given, char *sql, size_t n_sql)
{
	struct text query, row;
	PGresult *result;

	make_query(&query, question);
	snprintf(sql, n_sql, "%s", query.at);
	result = PQexec(pg, query.at);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		snprintf(given->error, sizeof given->error, "%s", PQresultErrorMessage(result));
	for (int i = 0; vector_asks_columns(question) && i < PQnfields(result); i++)
		vector_give(given, PQfname(result, i));
	for (int i = 0; !vector_asks_columns(question) && i < PQntuples(result); i++) {
		text_set(&row, "%s", "");
		for (int column = 0; column < PQnfields(result); column++)
			text_add(&row, "%s%s", column > 0 ? "|" : "",
				 PQgetisnull(result, i, column) ? "NULL" : PQgetvalue(result, i, column));
		vector_give(given, row.at);
	}
	PQclear(result);
}

/* ---- tests ---- */

static void hold(PGconn *pg, const char *schema, const char *place)
{
	char what[200];

	client_run(pg, "SET search_path = %s, public", schema);
	for (int by_index = 1; by_index >= 0; by_index--) {
		client_run(pg, "SET iforest.enable = %d; SET enable_seqscan = %d", by_index, !by_index);
		snprintf(what, sizeof what, "%s, %s", place, by_index ? "from the index" : "without it");
		vectors_hold(&vectors, VECTORS_POSTGRES, what, ask, pg);
	}
}

static void they_hold_of_an_index_of_all_rows(void **state)
{
	make_tables(*state, "made_last", 8, 0);
	hold(*state, "made_last", "index made last");
}

static void they_hold_of_pending_rows(void **state)
{
	make_tables(*state, "pending", 0, 0);
	hold(*state, "pending", "all rows pending");
}

static void they_hold_of_several_runs_and_pending_rows(void **state)
{
	make_tables(*state, "several", 2, 4);
	hold(*state, "several", "two runs, and rows pending");
}

/* Otherwise the planner might do without the index, and nothing were shown. */
static void the_index_answers(void **state)
{
	PGresult *plan;
	bool is_custom = false;

	client_run(*state, "SET search_path = made_last, public; SET iforest.enable = on; SET enable_seqscan = off");
	plan = client_rows(*state, "EXPLAIN SELECT * FROM spans_if(0, 100, 4)");
	for (int i = 0; i < PQntuples(plan); i++)
		is_custom = is_custom || strstr(PQgetvalue(plan, i, 0), "Custom Scan (IForestAggregate)");
	assert_true(is_custom);
	PQclear(plan);
}

static int set_up(void **state)
{
	vectors_read(&vectors);
	return client_set_up(state);
}

static int tear_down(void **state)
{
	vectors_free(&vectors);
	return client_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_hold_of_an_index_of_all_rows),
		cmocka_unit_test(they_hold_of_pending_rows),
		cmocka_unit_test(they_hold_of_several_runs_and_pending_rows),
		cmocka_unit_test(the_index_answers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
