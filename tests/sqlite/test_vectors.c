/* tests/sqlite/test_vectors.c -- Tests of tests/vectors/vectors.txt in SQLite: with indexes that are created after their tables
 * were filled, with pending rows, and with some of each. tests/pg/test_vectors.c does the same in PostgreSQL. */
#include "harness.h"

#include "tests/support/vectors.h"

static struct vectors vectors;

/* ---- tables ---- */

static const char *literal(const struct vector_table *table, unsigned column, const char *cell)
{
	bool is_text = strcmp(table->types[column], "text") == 0 && strcmp(cell, "NULL") != 0;
	static char text[200];

	sqlite3_snprintf(sizeof text, text, is_text ? "%Q" : "%s", cell);
	return text;
}

static void insert_row(sqlite3 *db, const struct vector_table *table, const char *row)
{
	struct vector_list cells = vector_split(row, "|");
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;

	sqlite3_str_appendf(sql, "INSERT INTO %s VALUES(", table->name);
	for (unsigned i = 0; i < cells.n; i++)
		sqlite3_str_appendf(sql, "%s%s", i > 0 ? ", " : "", literal(table, i, cells.at[i]));
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	run(db, "%s", text);
	sqlite3_free(text);
	free(cells.text);
}

static void insert_rows(sqlite3 *db, const struct vector_table *table, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		insert_row(db, table, table->rows[i]);
}

static void make_table(sqlite3 *db, const struct vector_table *table)
{
	run(db, "CREATE TABLE %s(id INTEGER PRIMARY KEY)", table->name);
	for (unsigned i = 1; i < table->n_columns; i++)
		run(db, "ALTER TABLE %s ADD COLUMN %s %s", table->name, table->columns[i], table->types[i]);
}

/* Makes folds to none and to one of the by columns: spans_fold, pairs_fold_service, ... */
static void make_folds(sqlite3 *db, const struct vector_table *table)
{
	run(db, "CREATE VIRTUAL TABLE %s_fold USING iforest_fold(%s_if)", table->name, table->name);
	for (unsigned i = 1; i <= table->n_by; i++)
		run(db, "CREATE VIRTUAL TABLE %s_fold_%s USING iforest_fold(%s_if, %s)", table->name, table->columns[i],
		    table->name, table->columns[i]);
}

static void make_index(sqlite3 *db, const struct vector_table *table)
{
	const char *name = table->name;
	char by[200] = "";

	for (unsigned i = 1; i <= table->n_by; i++)
		sqlite3_snprintf((int)(sizeof by - strlen(by)), by + strlen(by), "%s%s", i == 1 ? ", by=(" : ", ",
				 table->columns[i]);
	if (table->end)
		run(db, "CREATE VIRTUAL TABLE %s_if USING iforest(content=%s, time=ts, end=%s AS %s, value=size%s%s)", name, name, table->end, table->end, by, table->n_by > 0 ? ")" : "");
	else
		run(db, "CREATE VIRTUAL TABLE %s_if USING iforest(content=%s, time=ts, duration=dur, value=(dur, size),"
			" variance=(dur, size), histogram=(dur(-9223372036854775808, -1, 0, 500, 9223372036854775807)), products=(dur*ts)%s%s%s%s%s)",
		    name, name, by, table->n_by > 0 ? ")" : "", table->where ? ", where=(" : "", table->where ? table->where : "", table->where ? ")" : "");
	run(db, "CREATE VIRTUAL TABLE %s_if_rows USING iforest_rows(%s_if)", name, name);
	run(db, "CREATE VIRTUAL TABLE %s_if_overlap USING iforest_overlap(%s_if)", name, name);
	run(db, "CREATE VIRTUAL TABLE %s_if_gaps USING iforest_gaps(%s_if)", name, name);
	run(db, "CREATE VIRTUAL TABLE %s_if_counter USING iforest_counter(%s_if)", name, name);
	make_folds(db, table);
	if (!table->end && !table->where)
		run(db, "CREATE VIRTUAL TABLE %s_digests USING iforest(content=%s, time=ts, value=(dur, size), sketch=dur, distinct=(dur, size)%s%s)", name, name, by, table->n_by > 0 ? ")" : "");
}

static void flush(sqlite3 *db, const struct vector_table *table)
{
	run(db, "INSERT INTO %s_if(%s_if) VALUES('flush')", table->name, table->name);
	if (!table->end && !table->where)
		run(db, "INSERT INTO %s_digests(%s_digests) VALUES('flush')", table->name, table->name);
}

/* Makes the tables. The index is created after `indexed` eighths of the rows; `flushed` more are flushed. */
static sqlite3 *make_database(unsigned indexed, unsigned flushed)
{
	sqlite3 *db = open_database(":memory:", 0);

	for (unsigned i = 0; i < vectors.n_tables; i++) {
		const struct vector_table *table = &vectors.tables[i];
		unsigned n_indexed = table->n_rows * indexed / 8, n_flushed = table->n_rows * (indexed + flushed) / 8;

		make_table(db, table);
		insert_rows(db, table, 0, n_indexed);
		make_index(db, table);
		insert_rows(db, table, n_indexed, n_flushed);
		flush(db, table);
		insert_rows(db, table, n_flushed, table->n_rows);
	}
	return db;
}

/* ---- questions ---- */

static const char *source_of(const struct vector_question *question)
{
	static const char *const endings[][2] = { { "window", "_if" }, { "overlap", "_if_overlap" }, { "peak", "_if_overlap" }, { "counter", "_if_counter" }, { "rows", "_if_rows" },
						  { "top", "_if_rows" }, { "gaps", "_if_gaps" }, { "fold", "_fold" }, { "sketch", "_digests" },
						  { "heatmap", "_digests" }, { "values", "_if_rows" } };
	static char name[200];
	const char *columns_of = vector_asks_columns(question);

	for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++)
		if (strcmp(columns_of ? columns_of : question->kind, endings[i][0]) == 0)
			sqlite3_snprintf(sizeof name, name, "%s%s%s%s", question->table->name, endings[i][1],
					 question->keep.n > 0 ? "_" : "", question->keep.n > 0 ? question->keep.at[0] : "");
	return name;
}

static bool is_kind(const struct vector_question *question, const char *kind)
{
	return strcmp(question->kind, kind) == 0;
}

/* Adds the arguments: the first ones in parentheses, those after a missing one in WHERE. For `top` and `values`, t0 and t1
 * become conditions on ts. */
static void add_arguments(sqlite3_str *sql, const struct vector_question *question)
{
	bool is_top = is_kind(question, "top"), is_of_times = is_top || is_kind(question, "values");
	const char *word = " WHERE ";
	unsigned n = 0;

	while (!is_of_times && n < VECTOR_ARGUMENTS && question->arguments[n])
		n++;
	for (unsigned i = 0; i < n; i++)
		sqlite3_str_appendf(sql, "%s%s", i == 0 ? "(" : ", ", question->arguments[i]);
	sqlite3_str_appendall(sql, n > 0 ? ")" : "");
	if (is_kind(question, "heatmap")) {
		sqlite3_str_appendall(sql, ", iforest_histogram(sketch_dur, '[-1, 0, 10, 50]') h WHERE h.lower >= -1");
		word = " AND ";
	}
	for (unsigned i = n; i < VECTOR_ARGUMENTS; i++)
		if (question->arguments[i]) {
			sqlite3_str_appendf(sql, "%s%s %s", word, is_of_times ? "ts" : vector_argument_names[i],
					    !is_of_times ? "=" : i == VECTOR_T0 ? ">=" : "<");
			sqlite3_str_appendf(sql, " %s", question->arguments[i]);
			word = " AND ";
		}
	if (is_top) {
		/* without the rows that have no value */
		sqlite3_str_appendf(sql, "%s%s IS NOT NULL", word, question->columns.at[question->columns.n - 1]);
		word = " AND ";
	}
	if (question->where)
		sqlite3_str_appendf(sql, "%s%s", word, question->where);
	for (unsigned i = 1; is_kind(question, "values") && i <= question->table->n_by; i++)
		sqlite3_str_appendf(sql, "%s%u", i > 1 ? ", " : " GROUP BY ", i);
	if (question->order_by)
		sqlite3_str_appendf(sql, " ORDER BY %s", question->order_by);
}

static void give_row(sqlite3_stmt *statement, struct vector_given *given)
{
	sqlite3_str *row = sqlite3_str_new(NULL);
	char *text;

	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *cell = (const char *)sqlite3_column_text(statement, i);

		sqlite3_str_appendf(row, "%s%s", i > 0 ? "|" : "", cell ? cell : "NULL");
	}
	text = sqlite3_str_finish(row);
	vector_give(given, text ? text : "");
	sqlite3_free(text);
}

static void ask(void *context, const struct vector_question *question, struct vector_given *given, char *sql, size_t n_sql)
{
	sqlite3_str *query = sqlite3_str_new(context);
	sqlite3_stmt *statement = NULL;
	char *text;
	int code;

	if (vector_asks_columns(question)) {
		sqlite3_str_appendf(query, "SELECT name FROM pragma_table_info('%s')", source_of(question));
	} else {
		bool is_sql = is_kind(question, "sketch") || is_kind(question, "heatmap") || is_kind(question, "values");

		for (unsigned i = 0; i < question->columns.n; i++)
			sqlite3_str_appendf(query, is_sql ? "%s%s" : "%s\"%s\"", i > 0 ? ", " : "SELECT ", question->columns.at[i]);
		sqlite3_str_appendf(query, " FROM %s", source_of(question));
		add_arguments(query, question);
	}
	text = sqlite3_str_finish(query);
	snprintf(sql, n_sql, "%s", text);
	sqlite3_free(text);
	code = sqlite3_prepare_v2(context, sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW)
			give_row(statement, given);
	}
	if (code != SQLITE_DONE)
		snprintf(given->error, sizeof given->error, "%s", sqlite3_errmsg(context));
	sqlite3_finalize(statement);
}

/* ---- tests ---- */

static void hold_with(unsigned indexed, unsigned flushed, const char *place)
{
	sqlite3 *db = make_database(indexed, flushed);

	vectors_hold(&vectors, VECTORS_SQLITE, place, ask, db);
	close_database(db);
}

static void they_hold_of_an_index_of_all_rows(void **state)
{
	(void)state;
	hold_with(8, 0, "index made last");
}

static void they_hold_of_pending_rows(void **state)
{
	(void)state;
	hold_with(0, 0, "all rows pending");
}

static void they_hold_of_several_runs_and_pending_rows(void **state)
{
	(void)state;
	hold_with(2, 4, "two runs, and rows pending");
}

static int set_up(void **state)
{
	(void)state;
	vectors_read(&vectors);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vectors_free(&vectors);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_hold_of_an_index_of_all_rows),
		cmocka_unit_test(they_hold_of_pending_rows),
		cmocka_unit_test(they_hold_of_several_runs_and_pending_rows),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
