#include "tests/pg/random_table.h"

/* Literals to choose from, and an expression of spread numbers of [0, 2^31) named %s for as many values as one likes. */
struct column_kind {
	const char *type;
	const char *literals[9];
	const char *spread;
};

static const struct column_kind by_kinds[] = {
	{ "bool", { "true", "false" }, NULL },
	{ "\"char\"", { "a", "b", "", "~" }, NULL },
	{ "smallint", { "0", "-1", "1", "-32768", "32767", "7" }, "(%s % 300)::smallint" },
	{ "integer", { "0", "1", "-1", "-2147483648", "2147483647", "65536" }, "(%s % 500)::integer" },
	{ "bigint", { "0", "1", "-1", "-9223372036854775808", "9223372036854775807", "4294967296" },
	  "%s % 700 * 10000000000" },
	{ "oid", { "0", "1", "4294967295", "2147483648" }, NULL },
	{ "text", { "a", "", "A", "aa", "a ", "\xc3\xa4", "z", "%", "\\" }, "repeat('long ', (%s % 60)::integer)" },
	{ "text COLLATE \"und-x-icu\"", { "a", "B", "A", "b", "\xc3\xa4", "z", "Z", "" }, NULL },
	{ "varchar(20)", { "v", "", "V", "vv", "v " }, NULL },
	{ "char(4)", { "c", "", "cc", "c  ", "dddd" }, NULL },
	{ "name", { "n", "N", "nn", "" }, NULL },
	{ "bytea", { "\\x00", "\\x", "\\x0000", "\\xff", "\\x00ff" }, NULL },
	{ "uuid", { "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		    "80000000-0000-0000-0000-000000000001" }, NULL },
	{ "date", { "2000-01-01", "1999-12-31", "infinity", "-infinity", "0001-01-01 BC" }, NULL },
	{ "time", { "00:00", "24:00", "12:34:56.789" }, NULL },
	{ "timestamp", { "2000-01-01", "infinity", "-infinity", "1999-12-31 23:59:59.999999" }, NULL },
	{ "timestamptz", { "2000-01-01 UTC", "infinity", "-infinity", "1970-01-01 UTC" }, NULL },
	{ "inet", { "10.0.0.1", "10.0.0.1/8", "::1", "10.0.0.0/8", "255.255.255.255" }, NULL },
	{ "macaddr", { "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "80:00:00:00:00:01" }, NULL },
	{ "mood", { "calm", "glad", "cross" }, NULL },
};

static const struct column_kind time_kinds[] = {
	{ "smallint", { "0", "-1", "-32768", "32767", "100" }, "(%s % 2000 - 1000)::smallint" },
	{ "integer", { "0", "-1", "-2147483648", "2147483647", "5000" }, "(%s % 10000)::integer" },
	{ "bigint", { "0", "-1", "-9223372036854775808", "9223372036854775807", "500000" }, "%s % 1000000 - 500000" },
	{ "date", { "2000-01-01", "1999-12-31", "infinity", "-infinity", "2004-02-29" },
	  "'2000-01-01'::date + (%s % 3000)::integer" },
	{ "timestamp", { "2000-01-01", "infinity", "-infinity", "1999-12-31 23:59:59.999999", "2000-01-03" },
	  "'2000-01-01'::timestamp + %s % 1000000 * interval '1 second'" },
	{ "timestamptz", { "2000-01-01 UTC", "infinity", "-infinity", "1999-12-31 23:59:59.999999 UTC", "2000-01-02 UTC" },
	  "'2000-01-01 UTC'::timestamptz + %s % 1000000 * interval '1 millisecond'" },
	{ "double precision", { "0", "-0", "NaN", "Infinity", "-Infinity", "1e-308", "-5e-324", "1e308", "0.5" },
	  "(%s % 4000 - 2000) / 8.0::float8" },
};

static const struct column_kind value_kinds[] = {
	{ "bigint", { "0", "-1", "-9223372036854775808", "9223372036854775807" }, "%s % 100000 - 100" },
	{ "integer", { "0", "-2147483648", "2147483647" }, "(%s % 1000)::integer" },
	{ "smallint", { "0", "-32768", "32767" }, "(%s % 100)::smallint" },
	{ "double precision", { "0", "-0", "NaN", "Infinity", "-Infinity", "1e308" }, "%s / 7.0::float8" },
	{ "real", { "0", "-0", "NaN", "Infinity", "-Infinity" }, "(%s / 7.0)::real" },
	{ "numeric(18, 3)", { "0", "-999999999999999.999", "999999999999999.999", "0.001" },
	  "(%s / 100.0)::numeric(18, 3)" },
};

void random_table_prepare(PGconn *pg)
{
	client_run(pg, "CREATE EXTENSION iforest; CREATE TYPE mood AS ENUM ('glad', 'calm', 'cross');"
		   "CREATE FUNCTION spread(id bigint, salt bigint) RETURNS bigint LANGUAGE sql IMMUTABLE"
		   " AS 'SELECT hashint8extended($1, $2) & 2147483647';"
		   "CREATE TABLE steps(step integer PRIMARY KEY, label text, remark json);"
		   "INSERT INTO steps VALUES (0, 'a', '0'), (1, NULL, '{}'), (2, 'a', NULL); GRANT SELECT ON steps TO public");
}

/* ---- making it ---- */

static struct random_column choose_column(struct random *dice, const char *name, unsigned number,
					  const struct column_kind *kinds, unsigned n_kinds)
{
	struct random_column column = { .kind = &kinds[random_below(dice, n_kinds)], .percent_null = 0 };
	unsigned n = 0;

	snprintf(column.name, sizeof column.name, "%s%.0u", name, number);
	while (n < COUNT_OF(column.kind->literals) && column.kind->literals[n])
		n++;
	column.n_literals = 1 + (unsigned)random_below(dice, n);
	if (random_chance(dice, 60))
		column.percent_null = (unsigned)random_below(dice, 40);
	return column;
}

static void add_names(const struct random_column *columns, unsigned n, struct text *sql)
{
	for (unsigned i = 0; i < n; i++)
		text_add(sql, "%s%s", i ? ", " : "", columns[i].name);
}

static void add_index(const struct random_table *table, struct text *sql)
{
	const char *value_type = table->n_values ? table->values[0].kind->type : "", *time_type = table->time.kind->type;
	bool has_integers = strcmp(value_type, "bigint") == 0 || strcmp(value_type, "integer") == 0 ||
			    strcmp(value_type, "smallint") == 0;
	bool has_spans = strcmp(time_type, "double precision") != 0 && random_chance(table->dice, 50);

	text_add(sql, "CREATE INDEX t_if ON t USING iforest (");
	add_names(table->by, table->n_by, sql);
	text_add(sql, "%sts)", table->n_by ? ", " : "");
	if (table->n_values) {
		text_add(sql, " INCLUDE (");
		add_names(table->values, table->n_values, sql);
		text_add(sql, ")");
	}
	text_add(sql, " WITH (pending_pages = 1, background_merge = %s", random_chance(table->dice, 50) ? "on" : "off");
	if (has_integers && has_spans)
		text_add(sql, ", duration = 'value1'");
	else if (strcmp(value_type, time_type) == 0 && has_spans)
		text_add(sql, ", \"end\" = 'value1'");
	text_add(sql, ");");
}

void random_table_make(struct random_table *table, struct random *dice, PGconn *pg)
{
	bool is_built_late = random_chance(dice, 30);
	struct text sql;

	*table = (struct random_table){ .dice = dice, .n_by = (unsigned)random_below(dice, MOST_BY + 1),
					.n_values = (unsigned)random_below(dice, MOST_VALUES + 1) };
	table->is_temporary = random_chance(dice, 15);
	text_set(&sql, "DROP TABLE IF EXISTS t; CREATE %s TABLE t(id bigint",
		 table->is_temporary ? "TEMPORARY" : random_chance(dice, 15) ? "UNLOGGED" : "");
	for (unsigned i = 0; i < table->n_by; i++) {
		table->by[i] = choose_column(dice, "by", i + 1, by_kinds, COUNT_OF(by_kinds));
		text_add(&sql, ", %s %s", table->by[i].name, table->by[i].kind->type);
	}
	table->time = choose_column(dice, "ts", 0, time_kinds, COUNT_OF(time_kinds));
	text_add(&sql, ", ts %s", table->time.kind->type);
	for (unsigned i = 0; i < table->n_values; i++) {
		table->values[i] = choose_column(dice, "value", i + 1, value_kinds, COUNT_OF(value_kinds));
		text_add(&sql, ", %s %s", table->values[i].name, table->values[i].kind->type);
	}
	text_add(&sql, ", note text) WITH (autovacuum_enabled = off, fillfactor = %d, parallel_workers = %u);",
		 random_chance(dice, 50) ? 100 : 70, (unsigned)random_below(dice, 3));
	if (!is_built_late)
		add_index(table, &sql);
	for (int n = is_built_late ? 4 : 0; n > 0; n--)
		random_change(table, &sql);
	if (is_built_late)
		add_index(table, &sql);
	client_run(pg, "%s", sql.at);
}

/* ---- changes ---- */

static const char *literal(const struct random_column *column, struct random *dice)
{
	return column->kind->literals[random_below(dice, column->n_literals)];
}

/* The kind's expression of spread numbers, of a number that the id and a salt decide. */
static void add_spread(const struct column_kind *kind, unsigned salt, struct text *sql)
{
	text_add(sql, "(");
	for (const char *c = kind->spread; *c; c++)
		if (c[0] == '%' && c[1] == 's')
			text_add(sql, "spread(id, %u)", salt);
		else if (c == kind->spread || c[-1] != '%' || *c != 's')
			text_add(sql, "%c", *c);
	text_add(sql, ")");
}

/* A value for row `id`, likewise; one in twenty of the spread ones is a literal. */
static void add_value(struct random_table *table, const struct random_column *column, bool is_spread, struct text *sql)
{
	unsigned salt = (unsigned)random_below(table->dice, 1000000);

	text_add(sql, "CASE WHEN spread(id, %u) %% 100 < %u THEN NULL", salt, column->percent_null);
	if (is_spread && column->kind->spread) {
		text_add(sql, " WHEN spread(id, %u) %% 20 > 0 THEN ", salt + 1);
		add_spread(column->kind, salt + 2, sql);
	}
	for (unsigned i = 0; i < column->n_literals; i++)
		text_add(sql, " WHEN spread(id, %u) %% %u = %u THEN '%s'::%s", salt + 3, column->n_literals, i,
			 column->kind->literals[i], column->kind->type);
	text_add(sql, " END");
}

static void add_insert(struct random_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	long long n = 1 + (long long)random_below(dice, random_chance(dice, 70) ? 1200 : 20);
	bool is_time_spread = random_chance(dice, 70);

	text_add(sql, "INSERT INTO t SELECT id");
	for (unsigned i = 0; i < table->n_by; i++) {
		text_add(sql, ", ");
		add_value(table, &table->by[i], random_chance(dice, 15), sql);
	}
	text_add(sql, ", ");
	add_value(table, &table->time, is_time_spread, sql);
	for (unsigned i = 0; i < table->n_values; i++) {
		text_add(sql, ", ");
		add_value(table, &table->values[i], random_chance(dice, 80), sql);
	}
	text_add(sql, ", 'first' FROM generate_series(%lld::bigint, %lld) id;", table->n_given + 1, table->n_given + n);
	table->n_given += n;
}

/* Some rows: a share of all, or a stretch of ids. */
static void add_choice(struct random_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	long long first = 1 + (long long)random_below(dice, (uint64_t)table->n_given + 1);

	if (random_chance(dice, 50))
		text_add(sql, " WHERE spread(id, %u) %% 100 < %u;", (unsigned)random_below(dice, 1000000),
			 1 + (unsigned)random_below(dice, 40));
	else
		text_add(sql, " WHERE id BETWEEN %lld AND %lld;", first, first + (long long)random_below(dice, 1500));
}

static void add_update(struct random_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	unsigned n_columns = table->n_by + 1 + table->n_values, chosen = (unsigned)random_below(dice, n_columns);
	const struct random_column *column = chosen < table->n_by ? &table->by[chosen] : chosen == table->n_by ? &table->time
										  : &table->values[chosen - table->n_by - 1];

	text_add(sql, "UPDATE t SET ");
	if (random_chance(dice, 40)) {
		text_add(sql, "note = 'changed'");
	} else {
		text_add(sql, "%s = ", column->name);
		add_value(table, column, random_chance(dice, 50), sql);
	}
	add_choice(table, sql);
}

void random_change(struct random_table *table, struct text *sql)
{
	unsigned kind = (unsigned)random_below(table->dice, 100);

	if (kind < 50 || table->n_given == 0) {
		add_insert(table, sql);
	} else if (kind < 80) {
		add_update(table, sql);
	} else {
		text_add(sql, "DELETE FROM t");
		add_choice(table, sql);
	}
}

void random_upkeep(struct random_table *table, struct text *sql)
{
	static const char *const statements[] = {
		"VACUUM t", "VACUUM (INDEX_CLEANUP on) t", "SELECT iforest_merge('t_if')",
		"SELECT iforest_merge('t_if', true)", "ANALYZE t", "SELECT iforest_check('t_if', true)",
	};

	text_set(sql, "%s", statements[random_below(table->dice, COUNT_OF(statements))]);
}

void random_maintenance(struct random_table *table, struct text *sql)
{
	static const char *const rare[] = {
		"VACUUM (FULL) t", "REINDEX INDEX t_if", "REINDEX INDEX CONCURRENTLY t_if", "VACUUM (FREEZE) t",
		"DROP INDEX t_if",
		"ALTER INDEX t_if SET (pending_pages = 3)", "ALTER INDEX t_if SET (pending_pages = 1)", "TRUNCATE t",
		"VACUUM (INDEX_CLEANUP off) t",
	};

	if (random_chance(table->dice, 80)) {
		random_upkeep(table, sql);
		return;
	}
	text_set(sql, "%s", rare[random_below(table->dice, COUNT_OF(rare))]);
	if (strncmp(sql->at, "DROP", 4) == 0) {
		text_add(sql, "; ");
		add_index(table, sql);
	}
}

/* ---- questions ---- */

static void add_list(const struct random_table *table, const struct random_column *column, struct text *sql)
{
	unsigned n = 1 + (unsigned)random_below(table->dice, 4);

	for (unsigned i = 0; i < n; i++) {
		bool is_null = random_chance(table->dice, 10);

		text_add(sql, is_null ? "%sNULL::%.0s%s" : "%s'%s'::%s", i ? ", " : "", literal(column, table->dice),
			 column->kind->type);
	}
}

static void add_condition(const struct random_table *table, const char *alias, const struct random_column *column,
			  struct text *sql)
{
	static const char *const operators[] = { "<", "<=", "=", ">=", ">", "=", ">=", "<" };
	struct random *dice = table->dice;
	unsigned kind = (unsigned)random_below(dice, 100);

	text_add(sql, " AND %s%s ", alias, column->name);
	if (kind < 60) {
		text_add(sql, "%s '%s'::%s", operators[random_below(dice, COUNT_OF(operators))], literal(column, dice),
			 column->kind->type);
	} else if (kind < 72) {
		text_add(sql, "IN (");
		add_list(table, column, sql);
		text_add(sql, ")");
	} else if (kind < 82) {
		text_add(sql, "= ANY (ARRAY[");
		add_list(table, column, sql);
		text_add(sql, "])");
	} else {
		text_add(sql, kind < 91 ? "IS NULL" : "IS NOT NULL");
	}
}

unsigned random_conditions(struct random_table *table, const char *alias, struct text *sql)
{
	struct random *dice = table->dice;
	unsigned n = 0;

	text_add(sql, "true");
	for (unsigned i = 0; i <= table->n_by; i++)
		for (int times = 0; times < 2 && random_chance(dice, 45); times++) {
			const struct random_column *column = i < table->n_by ? &table->by[i] : &table->time;

			add_condition(table, alias, column, sql);
			/* before PostgreSQL 16 the planner makes "b" of "b = true", which only B-trees and hashes know */
			n += strcmp(column->kind->type, "bool") != 0;
		}
	return n;
}

void random_table_keys(const struct random_table *table, const char *descending, struct text *sql)
{
	for (unsigned i = 0; i < table->n_by; i++)
		text_add(sql, "%s%s, ", table->by[i].name, descending ? descending : "");
	/* -0 and 0 are the same time */
	text_add(sql, "ts%s%s", !descending && strcmp(table->time.kind->type, "double precision") == 0 ? " + 0" : "",
		 descending ? descending : "");
}
