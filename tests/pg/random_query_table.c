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
	snprintf(column.operand, sizeof column.operand, "%s", column.name);
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

/* The index may have an expression in the column's place. None of these fails for any value of a column. */
static void choose_expression(struct random *dice, struct query_column *column, bool is_time)
{
	static const struct {
		enum term_type from, to;
		bool is_for_time;
		const char *form;
	} expressions[] = {
		{ OF_TEXT, OF_TEXT, false, "lower(%s)" }, { OF_TEXT, OF_TEXT, false, "left(%s, 1)" },
		{ OF_TEXT, OF_INT4, false, "length(%s)" }, { OF_INT4, OF_INT4, false, "(%s %% 3)" },
		{ OF_INT4, OF_INT4, false, "abs(%s / 2)" }, { OF_INT8, OF_INT8, false, "(%s / 2)" },
		{ OF_BOOL, OF_BOOL, false, "(NOT %s)" }, { OF_DATE, OF_DATE, false, "(%s + 1)" },
		{ OF_TIMESTAMPTZ, OF_TIMESTAMP, false, "(%s AT TIME ZONE 'UTC')" },
		{ OF_TIMESTAMPTZ, OF_TIMESTAMP, true, "(%s AT TIME ZONE 'UTC')" },
		{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_bin('15 minutes', %s, '2001-01-01 UTC'::timestamptz)" },
		{ OF_TIMESTAMP, OF_TIMESTAMP, true, "date_trunc('hour', %s)" },
		{ OF_TIMESTAMP, OF_TIMESTAMP, true, "date_bin('5 minutes', %s, '2001-01-01')" },
		{ OF_TIMESTAMP, OF_TIMESTAMPTZ, true, "(%s AT TIME ZONE 'UTC')" },
		{ OF_DATE, OF_DATE, true, "greatest(%s, '2000-01-01'::date)" }, { OF_INT8, OF_INT8, true, "(%s / 10)" },
		{ OF_INT8, OF_INT8, true, "(%s - %s %% 60)" }, { OF_INT4, OF_INT8, true, "(%s * 1000::bigint)" },
		{ OF_INT4, OF_INT4, true, "(%s / 60)" }, { OF_FLOAT8, OF_FLOAT8, true, "floor(%s)" },
	};
	unsigned first = (unsigned)random_below(dice, COUNT_OF(expressions));

	if (!random_chance(dice, is_time ? 8 : 12))
		return;
	for (unsigned i = first; i < first + COUNT_OF(expressions); i++) {
		unsigned at = i % COUNT_OF(expressions);

		if (expressions[at].from != column->type || expressions[at].is_for_time != is_time)
			continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
		snprintf(column->operand, sizeof column->operand, expressions[at].form, column->name, column->name);
#pragma GCC diagnostic pop
		column->type = expressions[at].to;
		return;
	}
}

struct query_column *query_table_column(struct query_table *table, unsigned i)
{
	return i < table->n_by ? &table->by[i] : i == table->n_by ? &table->time : &table->values[i - table->n_by - 1];
}

unsigned query_table_n_columns(const struct query_table *table)
{
	return table->n_by + 1 + table->n_values;
}

/* ---- making it ---- */

/* The columns in an order of their own, if `is_turned`: so partitions and tables that had others may have them. */
static void add_columns(struct query_table *table, bool is_turned, struct text *sql)
{
	unsigned n = query_table_n_columns(table);

	text_add(sql, "%s", is_turned ? "note text" : "id bigint");
	for (unsigned i = 0; i < n; i++) {
		const struct query_column *column = query_table_column(table, is_turned ? n - 1 - i : i);

		text_add(sql, ", %s %s%s", column->name, column->kind->name, column->is_not_null ? " NOT NULL" : "");
	}
	text_add(sql, ", %s", is_turned ? "id bigint" : "note text");
}

/* The parameter that makes an index keep squares: mostly of the columns that it can keep them of, or of some, or of none. */
static void add_variance(struct query_table *table, struct text *sql)
{
	unsigned percent = (unsigned[]){ 0, 50, 100, 100 }[random_below(table->dice, 4)], n = 0;

	for (unsigned i = 0; i < table->n_values; i++) {
		enum term_type type = table->values[i].type;
		bool is_exact = type == OF_INT4 || type == OF_INT8 || type == OF_NUMERIC;

		if (table->values[i].is_indexed && is_exact && random_chance(table->dice, percent))
			text_add(sql, "%s%s", n++ > 0 ? ", " : ", variance = '", table->values[i].name);
	}
	text_add(sql, "%s", n > 0 ? "'" : "");
}

static void add_index(struct query_table *table, const char *on, bool with_by, const char *where, struct text *sql)
{
	struct random *dice = table->dice;
	const char *separator = " INCLUDE (";

	text_add(sql, "CREATE INDEX ON %s USING iforest (", on);
	for (unsigned i = 0; i < table->n_by; i++)
		if (with_by && table->by[i].is_indexed)
			text_add(sql, "%s, ", table->by[i].operand);
	text_add(sql, "%s)", table->time.operand);
	for (unsigned i = table->n_values; i-- > 0;)
		if (table->values[i].is_indexed) {
			text_add(sql, "%s%s", separator, table->values[i].name);
			separator = ", ";
		}
	text_add(sql, "%s WITH (pending_pages = %u, background_merge = %s", *separator == ',' ? ")" : "",
		 random_chance(dice, 70) ? 1 : 1 + (unsigned)random_below(dice, 20), random_chance(dice, 10) ? "on" : "off");
	add_variance(table, sql);
	query_bounds_write(table, sql);
	text_add(sql, ")%s;\n", where);
}

static void add_partitions(struct query_table *table, struct text *sql)
{
	unsigned n = 2 + (unsigned)random_below(table->dice, 3);

	for (unsigned i = 0; i < n; i++) {
		text_add(sql, "CREATE %sTABLE t%u(", table->persistence, i);
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
	const char *middle = middles[table->time.kind->type];

	text_add(sql, "CREATE %sTABLE t0 PARTITION OF t DEFAULT;\n", table->persistence);
	text_add(sql, "CREATE %sTABLE t1(", table->persistence);
	add_columns(table, true, sql);
	text_add(sql, ");\nALTER TABLE t ATTACH PARTITION t1 FOR VALUES FROM (MINVALUE) TO ('%s');\n", middle);
	if (random_chance(table->dice, 70))
		text_add(sql, "CREATE %sTABLE t2 PARTITION OF t FOR VALUES FROM ('%s') TO (MAXVALUE);\n", table->persistence,
			 middle);
}

void query_table_make(struct query_table *table, struct random *dice, struct text *sql)
{
	unsigned layout = (unsigned)random_below(dice, 100), stays = (unsigned)random_below(dice, 100);
	bool is_partitioned = layout < 24;

	*table = (struct query_table){ .dice = dice, .n_by = (unsigned)random_below(dice, QUERY_BY + 1),
				       .n_values = 1 + (unsigned)random_below(dice, QUERY_VALUES),
				       .persistence = stays < 8 ? "TEMP " : stays < 16 ? "UNLOGGED " : "",
				       .is_temporary = stays < 8 };
	for (unsigned i = 0; i < table->n_by; i++) {
		table->by[i] = choose_column(dice, "by", i + 1, by_kinds, COUNT_OF(by_kinds));
		choose_expression(dice, &table->by[i], false);
	}
	table->time = choose_column(dice, "ts", 0, time_kinds, COUNT_OF(time_kinds));
	table->time.is_indexed = true;
	choose_times(table);
	choose_expression(dice, &table->time, true);
	for (unsigned i = 0; i < table->n_values; i++)
		table->values[i] = choose_column(dice, "v", i + 1, value_kinds, COUNT_OF(value_kinds));
	query_bounds_choose(table);
	text_add(sql, "DROP TABLE IF EXISTS t, tc CASCADE;\nCREATE %sTABLE t(",
		 is_partitioned && !table->is_temporary ? "" : table->persistence);
	add_columns(table, random_chance(dice, 20), sql);
	text_add(sql, layout < 10 ? ") PARTITION BY HASH (ts);\n" : layout < 14 ? ") PARTITION BY HASH (id);\n"
				  : is_partitioned ? ") PARTITION BY RANGE (ts);\n" : ");\n");
	if (layout < 14)
		add_partitions(table, sql);
	else if (is_partitioned)
		add_time_partitions(table, sql);
	else if (layout < 32)
		text_add(sql, "ALTER TABLE t DROP COLUMN note; ALTER TABLE t ADD note text DEFAULT 'later';\n");
	table->has_key = !is_partitioned && random_chance(dice, 50);
	if (table->has_key)
		text_add(sql, "ALTER TABLE t ADD PRIMARY KEY (id);\n");
	add_index(table, is_partitioned && random_chance(dice, 10) ? "t1" : "t", true, "", sql);
	if (random_chance(dice, 20))
		add_index(table, "t", random_chance(dice, 40), random_chance(dice, 40) ? " WHERE ts IS NOT NULL" : "", sql);
	if (layout > 95)
		text_add(sql, "CREATE %sTABLE tc(extra text) INHERITS (t);\n", table->persistence);
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
	for (unsigned i = 0; i < query_table_n_columns(table); i++) {
		struct query_column *column = query_table_column(table, i);
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
