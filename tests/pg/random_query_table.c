#include "tests/pg/random_query.h"

static const struct query_kind by_kinds[] = {
	{ "text", OF_TEXT, { "a", "", "A", "aa", "b ", "\xc3\xa4", "a%", "z\\" }, NULL },
	{ "text", OF_TEXT, { "api", "web", "db", "cache", "auth", "queue", "mail", "cron" }, NULL },
	{ "varchar(10)", OF_TEXT, { "v", "", "V", "vv", "v ", "x" }, NULL },
	{ "char(4)", OF_TEXT, { "c", "", "cc", "dddd", "e" }, NULL },
	{ "integer", OF_INT4, { "0", "1", "-1", "2", "7", "500", "-2147483648", "2147483647" }, NULL },
	{ "integer", OF_INT4, { "1", "2", "3", "4", "5" }, NULL },
	{ "smallint", OF_INT4, { "0", "1", "-1", "200", "404", "-32768", "32767" }, NULL },
	{ "bigint", OF_INT8, { "0", "1", "-1", "9223372036854775807", "-9223372036854775808", "77" }, NULL },
	{ "boolean", OF_BOOL, { "true", "false" }, NULL },
	{ "date", OF_DATE, { "2024-01-01", "2024-02-29", "infinity", "-infinity", "1999-12-31", "0044-03-15 BC" }, NULL },
	{ "uuid", OF_UUID, { "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
			     "80000000-0000-0000-0000-000000000001" }, NULL },
	{ "mood", OF_MOOD, { "glad", "calm", "cross" }, NULL },
	{ "timestamptz", OF_TIMESTAMPTZ, { "2024-01-01 UTC", "2024-11-03 05:30 UTC", "2024-11-03 06:30 UTC", "infinity" },
	  NULL },
};

/* spread: %s is a number that grows with the row's place in time */
static const struct query_kind time_kinds[] = {
	{ "timestamptz", OF_TIMESTAMPTZ, { "infinity", "-infinity", "0044-03-15 BC", "294276-12-31 23:59:59.999999 UTC" },
	  NULL },
	{ "timestamptz", OF_TIMESTAMPTZ, { "infinity", "-infinity", "1900-01-01", "1969-12-31 23:59:59.999999 UTC" }, NULL },
	{ "timestamptz", OF_TIMESTAMPTZ, { "2007-11-04 02:31 UTC", "2007-11-04 02:30:59.999999 UTC" }, NULL },
	{ "timestamp", OF_TIMESTAMP, { "infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999" }, NULL },
	{ "timestamp", OF_TIMESTAMP, { "2024-03-10 02:30", "2024-11-03 01:30" }, NULL },
	{ "date", OF_DATE, { "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "2024-02-29" }, NULL },
	{ "date", OF_DATE, { "2024-02-29", "infinity", "2000-01-01" }, NULL },
	{ "bigint", OF_INT8, { "0", "-1", "-9223372036854775808", "9223372036854775807", "1" }, NULL },
	{ "bigint", OF_INT8, { "0", "-1", "1704067259999999999", "1704067260000000000" }, NULL },
	{ "integer", OF_INT4, { "0", "-1", "-2147483648", "2147483647" }, NULL },
	{ "double precision", OF_FLOAT8, { "NaN", "Infinity", "-Infinity", "0", "1e300", "-1e300", "1e-300" }, NULL },
};

static const struct query_kind value_kinds[] = {
	{ "smallint", OF_INT4, { "0", "-32768", "32767" }, "(%s %% 200 - 20)::smallint" },
	{ "integer", OF_INT4, { "0", "-2147483648", "2147483647" }, "(%s %% 100000 - 300)::integer" },
	{ "integer", OF_INT4, { "0", "-1" }, "(%s %% 50)::integer" },
	{ "bigint", OF_INT8, { "0", "-9223372036854775808", "9223372036854775807" }, "%s %% 100000000 - 5000" },
	{ "bigint", OF_INT8, { "0", "-1" }, "%s %% 1000" },
	{ "numeric(10,2)", OF_NUMERIC, { "0", "-99999999.99", "99999999.99", "0.01" }, "(%s %% 200000 - 3000) / 100.0" },
	{ "numeric(18,6)", OF_NUMERIC, { "0", "-999999999999.999999", "999999999999.999999" }, "%s / 1000000.0" },
	{ "numeric(5,0)", OF_NUMERIC, { "0", "-99999", "99999" }, "(%s %% 1000)" },
	{ "double precision", OF_FLOAT8, { "NaN", "Infinity", "-Infinity", "0" }, "(%s %% 800000 - 4000) / 4.0::float8" },
	{ "double precision", OF_FLOAT8, { "0", "0.25" }, "(%s %% 4000) / 8.0::float8" },
	{ "real", OF_FLOAT8, { "NaN", "Infinity", "-Infinity", "0" }, "((%s %% 400 - 40) / 4.0)::real" },
	{ "date", OF_DATE, { "infinity", "-infinity", "2024-02-29" }, "'2024-01-01'::date + (%s %% 400)::integer" },
	{ "timestamptz", OF_TIMESTAMPTZ, { "infinity", "-infinity", "2024-11-03 05:30 UTC" },
	  "'2024-11-01 UTC'::timestamptz + (%s %% 500000) * interval '1 second'" },
};

static const char *const zones[] = { "UTC", "America/New_York", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata",
				     "Pacific/Apia", "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca" };

const char *query_zone(const struct query_table *table, struct random *dice)
{
	return random_chance(dice, 45) ? table->zone : zones[random_below(dice, COUNT_OF(zones))];
}

/* ---- columns ---- */

#define ONE_OF(dice, list) (list)[random_below(dice, COUNT_OF(list))]

/* Times from a start on, in steps: as they come or at random. */
static void choose_times(struct query_table *table)
{
	struct random *dice = table->dice;
	struct query_column *time = &table->time;
	static const struct {
		const char *zone, *at;
	} starts[] = {
		{ "America/New_York", "2024-03-10 04:00" }, { "America/New_York", "2024-11-03 03:00" },
		{ "Europe/Berlin", "2021-10-30 22:30" }, { "America/St_Johns", "2007-11-04 01:20" },
		{ "Pacific/Apia", "2011-12-29 06:00" }, { "America/Havana", "2024-11-03 03:50" }, { "Australia/Lord_Howe",
		"2024-04-06 12:00" },
		{ "Africa/Casablanca", "2024-03-10 00:00" }, { "UTC", "2000-01-01" }, { "Asia/Kolkata", "1969-12-31 20:00" },
		{ "Europe/Berlin", "1890-01-01" },
	};
	static const char *const steps[] = { "1 microsecond", "1 millisecond", "1 second", "30 seconds", "1 minute",
					     "17 minutes", "1 hour", "1 day", "31 days" };
	static const char *const integers[] = { "0", "-1000", "1704067200" };
	static const char *const large[] = { "0", "-5000", "1704067200000000000" };
	static const char *const strides[] = { "1", "7", "60", "1000" }, *const wide[] = { "1", "13", "1000", "999999937" };
	static const char *const fractions[] = { "0.25", "0.1", "1", "1e-3" };
	unsigned n_steps = (unsigned[]){ 40, 400, 5000 }[random_below(dice, 3)];
	unsigned salt = (unsigned)random_below(dice, 1000000);
	unsigned start = (unsigned)random_below(dice, COUNT_OF(starts));
	char place[60];

	table->zone = starts[start].zone;
	if (random_chance(dice, 25))
		snprintf(place, sizeof place, "id");
	else
		snprintf(place, sizeof place, "(spread(id, %u) %% %u)", salt, n_steps);
	switch (time->type) {
	case OF_TIMESTAMPTZ:
	case OF_TIMESTAMP:
		snprintf(time->spread, sizeof time->spread, "'%s UTC'::%s + %s * interval '%s'", starts[start].at,
			 time->kind->name, place, ONE_OF(dice, steps));
		break;
	case OF_DATE:
		snprintf(time->spread, sizeof time->spread, "'%s'::date + %s::integer * %d", starts[start].at, place,
			 random_chance(dice, 70) ? 1 : 30);
		break;
	case OF_INT8:
		snprintf(time->spread, sizeof time->spread, "%s + %s * %s", ONE_OF(dice, large), place, ONE_OF(dice, wide));
		break;
	case OF_INT4:
		snprintf(time->spread, sizeof time->spread, "%s + %s::integer * %s", ONE_OF(dice, integers), place,
			 ONE_OF(dice, strides));
		break;
	default:
		snprintf(time->spread, sizeof time->spread, "(%s - 20) * %s::float8", place, ONE_OF(dice, fractions));
	}
}

static struct query_column choose_column(struct random *dice, const char *name, unsigned number,
					 const struct query_kind *kinds, unsigned n_kinds)
{
	struct query_column column = { .kind = &kinds[random_below(dice, n_kinds)] };
	char number_of_row[60];

	snprintf(column.name, sizeof column.name, "%s%.0u", name, number);
	column.type = column.kind->type;
	column.is_indexed = random_chance(dice, 92);
	column.is_not_null = random_chance(dice, 25);
	if (!column.is_not_null && random_chance(dice, 50))
		column.percent_null = 1 + (unsigned)random_below(dice, 30);
	if (random_chance(dice, 35))
		column.percent_special = 1 + (unsigned)random_below(dice, 20);
	if (!column.kind->spread)
		return column;
	snprintf(number_of_row, sizeof number_of_row, "spread(id, %u)", (unsigned)random_below(dice, 1000000));
	/* the formats are those above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(column.spread, sizeof column.spread, column.kind->spread, number_of_row);
#pragma GCC diagnostic pop
	return column;
}

static struct query_column *column_at(struct query_table *table, unsigned i)
{
	return i < table->n_by ? &table->by[i] : i == table->n_by ? &table->time : &table->values[i - table->n_by - 1];
}

static unsigned n_columns(const struct query_table *table)
{
	return table->n_by + 1 + table->n_values;
}

/* ---- making it ---- */

/* The columns in an order of their own, if `is_turned`: so partitions and tables that had others may have them. */
static void add_columns(struct query_table *table, bool is_turned, struct text *sql)
{
	unsigned n = n_columns(table);

	text_add(sql, "%s", is_turned ? "note text" : "id bigint");
	for (unsigned i = 0; i < n; i++) {
		const struct query_column *column = column_at(table, is_turned ? n - 1 - i : i);

		text_add(sql, ", %s %s%s", column->name, column->kind->name, column->is_not_null ? " NOT NULL" : "");
	}
	text_add(sql, ", %s", is_turned ? "id bigint" : "note text");
}

static void add_index(struct query_table *table, const char *on, bool with_by, const char *where, struct text *sql)
{
	struct random *dice = table->dice;
	const char *separator = " INCLUDE (";

	text_add(sql, "CREATE INDEX ON %s USING iforest (", on);
	for (unsigned i = 0; i < table->n_by; i++)
		if (with_by && table->by[i].is_indexed)
			text_add(sql, "%s, ", table->by[i].name);
	text_add(sql, "ts)");
	for (unsigned i = table->n_values; i-- > 0;)
		if (table->values[i].is_indexed) {
			text_add(sql, "%s%s", separator, table->values[i].name);
			separator = ", ";
		}
	text_add(sql, "%s WITH (pending_pages = %u, background_merge = %s)%s;\n", *separator == ',' ? ")" : "",
		 random_chance(dice, 70) ? 1 : 1 + (unsigned)random_below(dice, 20), random_chance(dice, 10) ? "on" : "off",
		 where);
}

static void add_partitions(struct query_table *table, struct text *sql)
{
	unsigned n = 2 + (unsigned)random_below(table->dice, 3);

	for (unsigned i = 0; i < n; i++) {
		text_add(sql, "CREATE TABLE t%u(", i);
		add_columns(table, random_chance(table->dice, 40), sql);
		text_add(sql, ");\nALTER TABLE t ATTACH PARTITION t%u FOR VALUES WITH (MODULUS %u, REMAINDER %u);\n", i, n,
			 i);
	}
}

static void add_time_partitions(struct query_table *table, struct text *sql)
{
	static const char *const middles[TERM_TYPES] = {
		[OF_TIMESTAMPTZ] = "2024-11-03 06:00 UTC", [OF_TIMESTAMP] = "2024-03-20", [OF_DATE] = "2024-03-20",
		[OF_INT4] = "1000", [OF_INT8] = "20000", [OF_FLOAT8] = "10",
	};
	const char *middle = middles[table->time.type];

	text_add(sql, "CREATE TABLE t0 PARTITION OF t DEFAULT;\n");
	text_add(sql, "CREATE TABLE t1(");
	add_columns(table, true, sql);
	text_add(sql, ");\nALTER TABLE t ATTACH PARTITION t1 FOR VALUES FROM (MINVALUE) TO ('%s');\n", middle);
	if (random_chance(table->dice, 70))
		text_add(sql, "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ('%s') TO (MAXVALUE);\n", middle);
}

void query_table_make(struct query_table *table, struct random *dice, struct text *sql)
{
	unsigned layout = (unsigned)random_below(dice, 100);
	bool is_partitioned = layout < 24;

	*table = (struct query_table){ .dice = dice, .n_by = (unsigned)random_below(dice, QUERY_BY + 1),
				       .n_values = 1 + (unsigned)random_below(dice, QUERY_VALUES) };
	for (unsigned i = 0; i < table->n_by; i++)
		table->by[i] = choose_column(dice, "by", i + 1, by_kinds, COUNT_OF(by_kinds));
	table->time = choose_column(dice, "ts", 0, time_kinds, COUNT_OF(time_kinds));
	table->time.is_indexed = true;
	choose_times(table);
	for (unsigned i = 0; i < table->n_values; i++)
		table->values[i] = choose_column(dice, "v", i + 1, value_kinds, COUNT_OF(value_kinds));
	text_add(sql, "DROP TABLE IF EXISTS t, tc CASCADE;\nCREATE TABLE t(");
	add_columns(table, random_chance(dice, 20), sql);
	text_add(sql, layout < 10 ? ") PARTITION BY HASH (ts);\n" : layout < 14 ? ") PARTITION BY HASH (id);\n"
				  : is_partitioned ? ") PARTITION BY RANGE (ts);\n" : ");\n");
	if (layout < 14)
		add_partitions(table, sql);
	else if (is_partitioned)
		add_time_partitions(table, sql);
	else if (layout < 32)
		text_add(sql, "ALTER TABLE t DROP COLUMN note; ALTER TABLE t ADD note text DEFAULT 'later';\n");
	add_index(table, is_partitioned && random_chance(dice, 10) ? "t1" : "t", true, "", sql);
	if (random_chance(dice, 20))
		add_index(table, "t", random_chance(dice, 40), random_chance(dice, 40) ? " WHERE ts IS NOT NULL" : "", sql);
	if (layout > 95)
		text_add(sql, "CREATE TABLE tc(extra text) INHERITS (t);\n");
	text_add(sql, "CREATE VIEW v %s AS SELECT * FROM t%s;\n", random_chance(dice, 20) ? "WITH (security_barrier)" : "",
		 random_chance(dice, 30) ? " WHERE ts IS NOT NULL" : "");
	text_add(sql, "GRANT SELECT %s TO reader;\n", random_chance(dice, 90) ? "ON t, v" : "(id, ts, v1) ON t");
	if (random_chance(dice, 50))
		text_add(sql, "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (%s);\n",
			 random_chance(dice, 50) ? "ts IS NOT NULL" : table->n_by ? "by1 IS NOT NULL" : "id > 50");
}

void query_table_sample(struct query_table *table, PGconn *pg)
{
	client_run(pg, "SET TimeZone = 'UTC'");
	for (unsigned i = 0; i < n_columns(table); i++) {
		struct query_column *column = column_at(table, i);
		unsigned n = 0;
		PGresult *rows;
		struct text special;

		text_set(&special, "%s", "");
		for (unsigned k = 0; k < COUNT_OF(column->kind->special) && column->kind->special[k]; k++)
			text_add(&special, "%s('%s'::%s)", k ? ", " : "", column->kind->special[k], column->kind->name);
		rows = client_rows(pg, "SELECT c::text FROM (SELECT * FROM (SELECT %s FROM t WHERE %s IS NOT NULL"
				       " ORDER BY spread(id, 3) LIMIT 12) a UNION VALUES %s) s(c) ORDER BY s.c LIMIT %d",
				   column->name, column->name, special.at, QUERY_SAMPLES);
		for (int row = 0; row < PQntuples(rows); row++)
			snprintf(column->samples[n++], sizeof column->samples[0], "%s", PQgetvalue(rows, row, 0));
		PQclear(rows);
		column->n_samples = n;
	}
}

/* ---- changes ---- */

/* The value of a column in row `id`; another salt, another value. */
static void add_value(const struct query_column *column, unsigned salt, struct text *sql)
{
	unsigned n = 0;

	text_add(sql, "CASE");
	if (column->percent_null)
		text_add(sql, " WHEN spread(id, %u) %% 100 < %u THEN NULL", salt, column->percent_null);
	if (column->percent_special || !*column->spread) {
		if (*column->spread)
			text_add(sql, " WHEN spread(id, %u) %% 100 < %u THEN", salt + 1, column->percent_special);
		else
			text_add(sql, " WHEN true THEN");
		while (n < COUNT_OF(column->kind->special) && column->kind->special[n])
			n++;
		text_add(sql, " (ARRAY[");
		for (unsigned i = 0; i < n; i++)
			text_add(sql, "%s'%s'", i ? "," : "", column->kind->special[i]);
		text_add(sql, "]::%s[])[1 + spread(id, %u) %% %u]", column->kind->name, salt + 2, n);
	}
	if (*column->spread)
		text_add(sql, "%s %s", column->percent_null || column->percent_special ? " ELSE" : " WHEN true THEN",
			 column->spread);
	text_add(sql, " END");
}

void query_table_insert(struct query_table *table, long long n, struct text *sql)
{
	unsigned salt = (unsigned)random_below(table->dice, 1000000);

	text_add(sql, "INSERT INTO t(id");
	for (unsigned i = 0; i < n_columns(table); i++)
		text_add(sql, ", %s", column_at(table, i)->name);
	text_add(sql, ") SELECT id");
	for (unsigned i = 0; i < n_columns(table); i++) {
		text_add(sql, ", ");
		add_value(column_at(table, i), salt + 10 * i, sql);
	}
	text_add(sql, " FROM generate_series(%lld::bigint, %lld) id", table->n_given + 1, table->n_given + n);
	if (random_chance(table->dice, 40))
		text_add(sql, " ORDER BY spread(id, %u)", salt);
	text_add(sql, ";\n");
	table->n_given += n;
}

static void add_choice(struct query_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	long long first = 1 + (long long)random_below(dice, (uint64_t)table->n_given + 1);

	if (random_chance(dice, 50))
		text_add(sql, " WHERE spread(id, %u) %% 100 < %u;\n", (unsigned)random_below(dice, 1000000),
			 1 + (unsigned)random_below(dice, 30));
	else
		text_add(sql, " WHERE id BETWEEN %lld AND %lld;\n", first, first + (long long)random_below(dice, 500));
}

void query_table_change(struct query_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	const struct query_column *column = column_at(table, (unsigned)random_below(dice, n_columns(table)));

	if (random_chance(dice, 50)) {
		text_add(sql, "DELETE FROM t");
	} else if (random_chance(dice, 30)) {
		text_add(sql, "UPDATE t SET note = 'changed'");
	} else {
		text_add(sql, "UPDATE t SET %s = ", column->name);
		/* as a row with another id would have it */
		text_add(sql, "(SELECT ");
		add_value(column, (unsigned)random_below(dice, 1000000), sql);
		text_add(sql, " FROM (SELECT t.id + %u) moved(id))", (unsigned)random_below(dice, 1000));
	}
	add_choice(table, sql);
}

void query_table_maintain(struct query_table *table, struct text *sql)
{
	static const char *const often[] = {
		"VACUUM t", "VACUUM (INDEX_CLEANUP on) t", "VACUUM ANALYZE t", "ANALYZE t", "VACUUM (FREEZE) t",
	}, *const merges[] = {
		"SELECT iforest_merge(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		" JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'iforest' AND c.relkind = 'i'",
		"SELECT iforest_merge(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		" JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'iforest' AND c.relkind = 'i'",
	}, *const rare[] = { "REINDEX TABLE t", "VACUUM (FULL) t", "VACUUM (INDEX_CLEANUP off) t" };
	unsigned kind = (unsigned)random_below(table->dice, 100);

	text_add(sql, "%s;\n",
		 kind < 60   ? ONE_OF(table->dice, often)
		 : kind < 90 ? ONE_OF(table->dice, merges)
			     : ONE_OF(table->dice, rare));
}
