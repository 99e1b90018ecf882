#include "tests/pg/random_query.h"

/* What is done to a term of one type to get one of another. `is_orderly`: keeps the order more or less, so that an index on
 * time can follow. {words} are chosen at random, see term_fill(). */
struct step {
	enum term_type from, to;
	bool is_orderly;
	const char *form;
};

static const struct step steps[] = {
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_trunc({unit}, @)" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_trunc({unit}, @)" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_trunc({unit}, @, '{zone}')" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_bin('{stride}', @, {tz})" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "@ + interval '{span}'" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "@ - interval '{span}'" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "@ - {length} * interval '{span}'" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "@::date::timestamptz" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_trunc({unit}, @ AT TIME ZONE '{zone}') AT TIME ZONE '{zone}'" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true,
	"date_trunc('hour', @) + interval '5 minutes' * floor(extract(minute FROM @) / 5)" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true,
	"date_trunc('minute', @) + interval '15 seconds' * floor(extract(second FROM @) / 15)" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "to_timestamp(floor(extract(epoch FROM @) / {w}) * {w})" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "date_trunc('week', @ + interval '1 day') - interval '1 day'" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "coalesce(@, {tz})" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, true, "greatest(@, {tz})" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, false, "nullif(@, {tz})" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMPTZ, false, "CASE WHEN @ < {tz} THEN @ ELSE {tz} END" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMP, true, "@ AT TIME ZONE '{zone}'" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMP, true, "@::timestamp" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMP, true, "date_trunc({unit}, @ AT TIME ZONE '{zone}')" },
	{ OF_TIMESTAMPTZ, OF_TIMESTAMP, true,
	  "timestamp '2024-01-01' + interval '{stride}'"
	  " * floor(extract(epoch FROM (@ AT TIME ZONE '{zone}' - timestamp '2024-01-01')) / extract(epoch FROM interval '{stride}'))" },
	{ OF_TIMESTAMPTZ, OF_DATE, true, "@::date" },
	{ OF_TIMESTAMPTZ, OF_DATE, true, "date(@)" },
	{ OF_TIMESTAMPTZ, OF_DATE, true, "(@ AT TIME ZONE '{zone}')::date" },
	{ OF_TIMESTAMPTZ, OF_NUMERIC, true, "extract(epoch FROM @)" },
	{ OF_TIMESTAMPTZ, OF_NUMERIC, true, "floor(extract(epoch FROM @) / {w}) * {w}" },
	{ OF_TIMESTAMPTZ, OF_NUMERIC, true, "floor(extract(epoch FROM @) / 0.02) * 0.02" },
	{ OF_TIMESTAMPTZ, OF_NUMERIC, true, "extract({field} FROM @)" },
	{ OF_TIMESTAMPTZ, OF_FLOAT8, true, "date_part('{field}', @)" },
	{ OF_TIMESTAMPTZ, OF_NUMERIC, false, "extract(timezone FROM @)" },
	{ OF_TIMESTAMPTZ, OF_TEXT, true, "to_char(@, '{format}')" },
	{ OF_TIMESTAMPTZ, OF_TEXT, true, "to_char(date_trunc({unit}, @), '{format}')" },
	{ OF_TIMESTAMPTZ, OF_TEXT, false, "@::text" },
	{ OF_TIMESTAMPTZ, OF_BOOL, true, "@ < {tz}" },
	{ OF_TIMESTAMPTZ, OF_BOOL, true, "@ BETWEEN {tz} AND {tz}" },
	{ OF_TIMESTAMPTZ, OF_BOOL, true, "@ IS NULL" },
	{ OF_TIMESTAMPTZ, OF_BOOL, true, "isfinite(@)" },
	{ OF_TIMESTAMPTZ, OF_TEXT, true, "CASE WHEN @ < {tz} THEN 'early' WHEN @ < {tz} THEN 'late' END" },
	{ OF_TIMESTAMPTZ, OF_INTERVAL, true, "@ - {tz}" },

	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "date_trunc({unit}, @)" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "date_trunc({unit}, @)" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "date_bin('{stride}', @, {ts})" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "@ + interval '{span}'" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "@ + {length} * interval '7 hours'" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true,
	"date_trunc('hour', @) + interval '10 minutes' * floor(extract(minute FROM @) / 10)" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "least(@, {ts})" },
	{ OF_TIMESTAMP, OF_TIMESTAMP, true, "coalesce(@, {ts})" },
	{ OF_TIMESTAMP, OF_TIMESTAMPTZ, true, "@ AT TIME ZONE '{zone}'" },
	{ OF_TIMESTAMP, OF_TIMESTAMPTZ, true, "@::timestamptz" },
	{ OF_TIMESTAMP, OF_TIMESTAMPTZ, true, "date_trunc({unit}, @::timestamptz)" },
	{ OF_TIMESTAMP, OF_DATE, true, "@::date" },
	{ OF_TIMESTAMP, OF_NUMERIC, true, "extract(epoch FROM @)" },
	{ OF_TIMESTAMP, OF_NUMERIC, true, "floor(extract(epoch FROM @) / {w}) * {w}" },
	{ OF_TIMESTAMP, OF_NUMERIC, true, "extract({field} FROM @)" },
	{ OF_TIMESTAMP, OF_FLOAT8, true, "date_part('{field}', @)" },
	{ OF_TIMESTAMP, OF_FLOAT8, true, "floor(extract(epoch FROM @)::float8 / {w})" },
	{ OF_TIMESTAMP, OF_INT4, true, "extract({field} FROM @)::integer" },
	{ OF_TIMESTAMP, OF_TEXT, true, "to_char(@, '{format}')" },
	{ OF_TIMESTAMP, OF_TEXT, false, "@::text" },
	{ OF_TIMESTAMP, OF_BOOL, true, "@ >= {ts}" },
	{ OF_TIMESTAMP, OF_BOOL, true, "@ >= {tz}" },
	{ OF_TIMESTAMP, OF_INTERVAL, true, "@ - {ts}" },

	{ OF_DATE, OF_DATE, true, "@ + {small}" },
	{ OF_DATE, OF_DATE, true, "@ - {small}" },
	{ OF_DATE, OF_DATE, true, "date_trunc({unit}, @)::date" },
	{ OF_DATE, OF_DATE, true, "coalesce(@, {date})" },
	{ OF_DATE, OF_DATE, true, "@ - extract(dow FROM @)::integer" },
	{ OF_DATE, OF_TIMESTAMP, true, "@::timestamp" },
	{ OF_DATE, OF_TIMESTAMP, true, "date_trunc({unit}, @::timestamp)" },
	{ OF_DATE, OF_TIMESTAMP, true, "@ + interval '{span}'" },
	{ OF_DATE, OF_TIMESTAMPTZ, true, "date_trunc({unit}, @)" },
	{ OF_DATE, OF_TIMESTAMPTZ, true, "@::timestamptz" },
	{ OF_DATE, OF_NUMERIC, true, "extract({dfield} FROM @)" },
	{ OF_DATE, OF_FLOAT8, true, "date_part('{dfield}', @)" },
	{ OF_DATE, OF_INT4, true, "@ - {date}" },
	{ OF_DATE, OF_INT4, true, "(@ - {date}) / {w}" },
	{ OF_DATE, OF_TEXT, true, "to_char(@, '{format}')" },
	{ OF_DATE, OF_TEXT, true, "extract(year FROM @)::text || '-' || extract(quarter FROM @)" },
	{ OF_DATE, OF_BOOL, true, "@ < {date}" },
	{ OF_DATE, OF_BOOL, true, "@ IS NOT NULL" },

	{ OF_INT8, OF_INT8, true, "@ / {w}" },
	{ OF_INT8, OF_INT8, true, "@ / {w} * {w}" },
	{ OF_INT8, OF_INT8, true, "@ - @ % {w}" },
	{ OF_INT8, OF_INT8, true, "(@ / 2 + {w}) / {w}" },
	{ OF_INT8, OF_INT8, true, "@ / -{w}" },
	{ OF_INT8, OF_INT8, true, "(@ - {i8}) / {w}" },
	{ OF_INT8, OF_INT8, true, "coalesce(@, {i8})" },
	{ OF_INT8, OF_INT8, true, "greatest(@, {i8}, NULL)" },
	{ OF_INT8, OF_INT8, false, "@ % {w}" },
	{ OF_INT8, OF_INT8, false, "@ >> 3" },
	{ OF_INT8, OF_INT8, false, "@ & 7" },
	{ OF_INT8, OF_INT8, false, "@ / {i8}" },
	{ OF_INT8, OF_INT4, false, "sign(@)::integer" },
	{ OF_INT8, OF_INT4, true, "CASE WHEN @ < {i8} THEN 1 WHEN @ > {i8} THEN 2 ELSE 0 END" },
	{ OF_INT8, OF_INT4, true, "width_bucket(@::numeric, 0, 100000, 10)" },
	{ OF_INT8, OF_NUMERIC, true, "@::numeric" },
	{ OF_INT8, OF_NUMERIC, true, "floor(@::numeric / {w})" },
	{ OF_INT8, OF_NUMERIC, true, "round(@ / {w}.0, 1)" },
	{ OF_INT8, OF_NUMERIC, true, "trunc(@::numeric, -2)" },
	{ OF_INT8, OF_NUMERIC, true, "div(@::numeric, {w})" },
	{ OF_INT8, OF_NUMERIC, true, "round(@::numeric / {w})" },
	{ OF_INT8, OF_NUMERIC, true, "trunc(@ / -{w}.0)" },
	{ OF_INT8, OF_FLOAT8, true, "@::float8" },
	{ OF_INT8, OF_FLOAT8, true, "floor((@ / 1000) / {w})" },
	{ OF_INT8, OF_FLOAT8, true, "floor(@ / {w}.5::float8)" },
	{ OF_INT8, OF_TIMESTAMPTZ, true, "to_timestamp(@ / 1e9)" },
	{ OF_INT8, OF_TIMESTAMPTZ, true, "date_trunc({unit}, to_timestamp(@ / 1e9))" },
	{ OF_INT8, OF_TIMESTAMP, true, "timestamp 'epoch' + @ / 1000000000 * interval '1 second'" },
	{ OF_INT8, OF_TEXT, false, "@::text" },
	{ OF_INT8, OF_BOOL, true, "@ > {i8}" },

	{ OF_INT4, OF_INT4, true, "@ / {w}" },
	{ OF_INT4, OF_INT4, true, "@ / {w} * {w}" },
	{ OF_INT4, OF_INT4, true, "@ - @ % {w}" },
	{ OF_INT4, OF_INT4, true, "(@ / 2 + {small}) / {small1}" },
	{ OF_INT4, OF_INT4, true, "- (@ / 2)" },
	{ OF_INT4, OF_INT4, true, "coalesce(@, {i4})" },
	{ OF_INT4, OF_INT4, true, "CASE WHEN @ BETWEEN {i4} AND {i4} THEN 1 ELSE 0 END" },
	{ OF_INT4, OF_INT4, true, "width_bucket(@, -10, 10000, 7)" },
	{ OF_INT4, OF_INT4, false, "abs(@ / 2)" },
	{ OF_INT4, OF_INT4, false, "@ % {w}" },
	{ OF_INT4, OF_INT4, false, "@ | 3" },
	{ OF_INT4, OF_INT8, true, "@::bigint" },
	{ OF_INT4, OF_INT8, true, "@ * 1000::bigint" },
	{ OF_INT4, OF_INT8, true, "@ + {i8small}" },
	{ OF_INT4, OF_NUMERIC, true, "@ / {w}.0" },
	{ OF_INT4, OF_NUMERIC, true, "round(@::numeric, -2)" },
	{ OF_INT4, OF_FLOAT8, true, "floor(@ / {w})" },
	{ OF_INT4, OF_FLOAT8, true, "ceil(@ / {w}.0::float8)" },
	{ OF_INT4, OF_TIMESTAMPTZ, true, "to_timestamp(@)" },
	{ OF_INT4, OF_TIMESTAMP, true, "timestamp 'epoch' + @ * interval '1 second'" },
	{ OF_INT4, OF_TEXT, false, "@::text" },
	{ OF_INT4, OF_TEXT, false, "'n' || @" },
	{ OF_INT4, OF_BOOL, true, "@ >= {i4}" },
	{ OF_INT4, OF_BOOL, false, "@ % 2 = 0" },

	{ OF_FLOAT8, OF_FLOAT8, true, "floor(@)" },
	{ OF_FLOAT8, OF_FLOAT8, true, "ceil(@ / {w})" },
	{ OF_FLOAT8, OF_FLOAT8, true, "round(@ * 0.1)" },
	{ OF_FLOAT8, OF_FLOAT8, true, "trunc(@)" },
	{ OF_FLOAT8, OF_FLOAT8, true, "@ + 0.5" },
	{ OF_FLOAT8, OF_FLOAT8, true, "floor(@ / {w}) * {w}" },
	{ OF_FLOAT8, OF_FLOAT8, true, "@ * -1" },
	/* zeros of one sign, and below of one number of digits: an extreme of zeros that are equal and written differently is whichever
	 * of them a plan meets first */
	{ OF_FLOAT8, OF_FLOAT8, true, "@ * 0 + 0" },
	{ OF_FLOAT8, OF_FLOAT8, true, "@ + 'Infinity'::float8" },
	{ OF_FLOAT8, OF_FLOAT8, true, "@ * '-Infinity'::float8" },
	{ OF_FLOAT8, OF_FLOAT8, true, "@ / 'Infinity'::float8" },
	{ OF_FLOAT8, OF_FLOAT8, false, "abs(@)" },
	{ OF_FLOAT8, OF_INT4, true, "width_bucket(@, -5, 300, 12)" },
	{ OF_FLOAT8, OF_INT8, true, "@::bigint" },
	{ OF_FLOAT8, OF_NUMERIC, true, "@::numeric" },
	{ OF_FLOAT8, OF_NUMERIC, true, "round(@::numeric, 1)" },
	{ OF_FLOAT8, OF_TIMESTAMPTZ, true, "to_timestamp(@)" },
	{ OF_FLOAT8, OF_TEXT, false, "@::text" },
	{ OF_FLOAT8, OF_BOOL, true, "@ < {f8}" },

	{ OF_NUMERIC, OF_NUMERIC, true, "floor(@)" },
	{ OF_NUMERIC, OF_NUMERIC, true, "ceil(@ / {w})" },
	{ OF_NUMERIC, OF_NUMERIC, true, "round(@, 1)" },
	{ OF_NUMERIC, OF_NUMERIC, true, "trunc(@)" },
	{ OF_NUMERIC, OF_NUMERIC, true, "@ * 2" },
	{ OF_NUMERIC, OF_NUMERIC, true, "@ / {w}" },
	{ OF_NUMERIC, OF_NUMERIC, true, "round(@ * 0, 2)" },
	{ OF_NUMERIC, OF_NUMERIC, true, "@ * 'Infinity'::numeric" },
	{ OF_NUMERIC, OF_NUMERIC, true, "@ - 'Infinity'::numeric" },
	{ OF_NUMERIC, OF_NUMERIC, false, "mod(round(@, 2), {w})" }, /* remainders of quotients have digits of their own */
	{ OF_NUMERIC, OF_INT8, true, "floor(@)::bigint" },
	{ OF_NUMERIC, OF_INT4, true, "@::integer" },
	{ OF_NUMERIC, OF_FLOAT8, true, "@::float8" },
	{ OF_NUMERIC, OF_TIMESTAMPTZ, true, "to_timestamp(@::float8)" },
	{ OF_NUMERIC, OF_TEXT, false, "@::text" },
	{ OF_NUMERIC, OF_BOOL, true, "@ > {num}" },

	{ OF_TEXT, OF_TEXT, true, "lower(@)" },
	{ OF_TEXT, OF_TEXT, true, "upper(@)" },
	{ OF_TEXT, OF_TEXT, true, "@ || '/x'" },
	{ OF_TEXT, OF_TEXT, true, "coalesce(@, '?')" },
	{ OF_TEXT, OF_TEXT, true, "left(@, 1)" },
	{ OF_TEXT, OF_TEXT, true, "CASE WHEN @ IN ({txt}, {txt}) THEN 'some' WHEN @ IS NULL THEN 'none' ELSE @ END" },
	{ OF_TEXT, OF_TEXT, true, "nullif(@, {txt}::text)" },
	{ OF_TEXT, OF_TEXT, true, "@::varchar(2)" },
	{ OF_TEXT, OF_TEXT, true, "@::char(3)" },
	{ OF_TEXT, OF_TEXT, true, "replace(@, 'a', 'e')" },
	{ OF_TEXT, OF_TEXT, true, "concat(@, '-', @)" },
	{ OF_TEXT, OF_INT4, true, "length(@)" },
	{ OF_TEXT, OF_INT4, true, "ascii(@)" },
	{ OF_TEXT, OF_INT4, true, "CASE @ WHEN {txt} THEN 1 WHEN {txt} THEN 2 END" },
	{ OF_TEXT, OF_BOOL, true, "@ = {txt}" },
	{ OF_TEXT, OF_BOOL, true, "@ LIKE 'a%'" },
	{ OF_TEXT, OF_BOOL, true, "@ ILIKE '%B%'" },
	{ OF_TEXT, OF_BOOL, true, "@ ~ '^[a-d]'" },
	{ OF_TEXT, OF_BOOL, true, "strpos(lower(@), 'a') > 0" },
	{ OF_TEXT, OF_BOOL, true, "@ = ANY(ARRAY[{txt}, {txt}, NULL])" },

	{ OF_BOOL, OF_BOOL, true, "NOT @" },
	{ OF_BOOL, OF_BOOL, true, "coalesce(@, false)" },
	{ OF_BOOL, OF_BOOL, true, "@ IS NOT TRUE" },
	{ OF_BOOL, OF_INT4, true, "@::integer" },
	{ OF_BOOL, OF_INT4, true, "CASE WHEN @ THEN 1 ELSE 0 END" },
	{ OF_BOOL, OF_TEXT, true, "@::text" },
	{ OF_INTERVAL, OF_NUMERIC, true, "extract(epoch FROM @)" },
	{ OF_INTERVAL, OF_NUMERIC, true, "floor(extract(epoch FROM @) / {w})" },
	{ OF_INTERVAL, OF_TEXT, false, "@::text" },
	{ OF_UUID, OF_TEXT, true, "@::text" },
	{ OF_UUID, OF_TEXT, true, "left(@::text, 3)" },
	{ OF_UUID, OF_BOOL, true, "@ = {uuid}" },
	{ OF_MOOD, OF_TEXT, true, "@::text" },
	{ OF_MOOD, OF_BOOL, true, "@ > {mood}" },
};

/* ---- words ---- */

static const struct {
	const char *word;
	const char *choices[20];
} words[] = {
	{ "stride", { "15 minutes", "1 hour", "7 days", "1 day", "90 seconds", "1.5 seconds", "1 microsecond",
		      "250 milliseconds",
		      "6 hours", "5 minutes", "11 hours" } },
	{ "span", { "1 day", "1 hour", "-90 minutes", "7 days", "36:15", "0", "-1 day", "3 seconds", "1 month" } },
	{ "field", { "epoch", "year", "month", "day", "hour", "minute", "second", "dow", "isodow", "doy", "week", "isoyear",
		     "quarter",
		     "milliseconds", "decade", "century", "hour", "day", "epoch" } },
	{ "dfield", { "year", "month", "day", "dow", "isodow", "doy", "week", "quarter", "epoch", "isoyear", "decade" } },
	{ "format", { "YYYY-MM-DD", "YYYY-MM-DD HH24:MI", "HH24", "Dy", "IYYY-IW", "Mon YYYY", "Q", "SSSS", "FMHH12 AM",
		      "YYYY-MM-DD HH24:MI:SS", "J", "HH24:MI TZ", "MS" } },
	{ "w", { "1", "2", "3", "7", "10", "60", "100", "300", "1000", "3600", "86400", "1000000", "60000000" } },
	{ "small", { "0", "1", "2", "7", "30", "-5" } },
	{ "small1", { "1", "2", "7", "30", "-5" } },
	{ "i8small", { "0::bigint", "5::bigint", "-1000::bigint" } },
};

static const struct {
	const char *word, *name;
	const char *literals[7];
} types[TERM_TYPES] = {
	[OF_TIMESTAMPTZ] = { "tz", "timestamptz", { "2024-11-03 05:30 UTC", "2024-03-10 07:00 UTC", "2000-01-01 UTC",
			     "1970-01-01 UTC",
						    "2007-11-04 02:31 UTC" } },
	[OF_TIMESTAMP] = { "ts", "timestamp", { "2024-11-03 01:30", "2024-03-10 02:00", "2000-01-01", "1970-01-01" } },
	[OF_DATE] = { "date", "date", { "2024-11-03", "2024-03-10", "2000-01-01", "1970-01-01", "2021-10-31" } },
	[OF_INT4] = { "i4", "integer", { "0", "1", "-1", "100", "1000", "60000" } },
	[OF_INT8] = { "i8", "bigint", { "0", "1", "-7", "1000", "1000000", "1704067200000000000" } },
	[OF_NUMERIC] = { "num", "numeric", { "0", "1.50", "-3", "1000", "1704067200.5", "1e10", "NaN" } },
	[OF_FLOAT8] = { "f8", "double precision", { "0", "1.5", "-3", "1000", "1e10", "NaN" } },
	[OF_TEXT] = { "txt", "text", { "a", "", "api", "zz", "c", "v" } },
	[OF_BOOL] = { "bool", "boolean", { "true", "false" } },
	[OF_INTERVAL] = { "interval", "interval", { "0", "1 day", "-2 hours", "1 month", "400 days" } },
	[OF_MOOD] = { "mood", "mood", { "glad", "calm", "cross" } },
	[OF_UUID] = { "uuid", "uuid", { "ffffffff-ffff-ffff-ffff-ffffffffffff", "10000000-0000-0000-0000-000000000000" } },
};

static unsigned length(const char *const *list, unsigned most)
{
	unsigned n = 0;

	while (n < most && list[n])
		n++;
	return n;
}

void term_value_of(struct query *query, const char *value, const char *later, const char *type, struct text *sql)
{
	struct query_list *parameters = &query->parameters;

	if (query->is_prepared && parameters->n < QUERY_PIECES && random_chance(query->dice, 60)) {
		snprintf(query->parameter_types[parameters->n], sizeof query->parameter_types[0], "%s", type);
		query_piece(query->later.at[parameters->n], random_chance(query->dice, 20) ? "NULL" : "'%s'", later);
		query_piece(parameters->at[parameters->n++], "'%s'", value);
		text_add(sql, "$%u", parameters->n);
	} else {
		text_add(sql, "'%s'::%s", value, type);
	}
}

const char *term_type_of(const struct query_column *column)
{
	return column->type == column->kind->type ? column->kind->name : types[column->type].name;
}

static const struct query_column *column_of_type(struct query *query, enum term_type type)
{
	const struct query_table *table = query->table;
	unsigned n = table->n_by + table->n_values, first = (unsigned)random_below(query->dice, n);

	if (table->time.type == type && random_chance(query->dice, 80))
		return &table->time;
	for (unsigned i = first; i < first + n; i++) {
		unsigned at = i % n;
		const struct query_column *column = at < table->n_by ? &table->by[at] : &table->values[at - table->n_by];

		if (column->type == type)
			return column;
	}
	return table->time.type == type ? &table->time : NULL;
}

void term_literal(struct query *query, enum term_type type, struct text *sql)
{
	const struct query_column *column = random_chance(query->dice, 80) ? column_of_type(query, type) : NULL;
	const char *const *literals = types[type].literals;
	unsigned n = length(literals, COUNT_OF(types[type].literals));

	if (random_chance(query->dice, 3))
		text_add(sql, "NULL::%s", types[type].name);
	else if (column && column->n_samples > 0)
		term_value_of(query, column->samples[random_below(query->dice, column->n_samples)],
			      column->samples[random_below(query->dice, column->n_samples)],
			      random_chance(query->dice, 50) ? term_type_of(column) : types[type].name, sql);
	else
		term_value_of(query, literals[random_below(query->dice, n)], literals[random_below(query->dice, n)],
			      types[type].name, sql);
}

static void add_unit(struct query *query, struct text *sql)
{
	static const char *const units[] = { "microseconds", "milliseconds", "second", "minute", "hour", "day", "week",
					     "month",
					     "quarter", "year", "decade", "century", "millennium", "HOUR", "minute", "hour",
					     "day" };

	term_value_of(query, units[random_below(query->dice, COUNT_OF(units))],
		      units[random_below(query->dice, COUNT_OF(units))], "text", sql);
}

/* The length of a by column. */
static void add_length(struct query *query, struct text *sql)
{
	const struct query_column *column = term_by(query);

	text_add(sql, column ? "length(%s::text)" : "2", column ? column->operand : "");
}

static bool is_word(const char *at, size_t n, const char *word)
{
	return strlen(word) == n && strncmp(at, word, n) == 0;
}

static void add_word(struct query *query, const char *at, size_t n, uint64_t choice, struct text *sql)
{
	for (unsigned type = 0; type < TERM_TYPES; type++)
		if (is_word(at, n, types[type].word)) {
			term_literal(query, (enum term_type)type, sql);
			return;
		}
	for (unsigned i = 0; i < COUNT_OF(words); i++)
		if (is_word(at, n, words[i].word))
			text_add(sql, "%s", words[i].choices[choice % length(words[i].choices, COUNT_OF(words[i].choices))]);
}

void term_fill(struct query *query, const char *form, const char *operand, struct text *sql)
{
	struct random zone_dice = *query->dice, again;
	uint64_t choice = random_next(query->dice);

	for (const char *c = form; *c; c++) {
		const char *end = *c == '{' ? strchr(c, '}') : NULL;

		again = zone_dice;
		if (*c == '@')
			text_add(sql, strpbrk(operand, " ():'") ? "(%s)" : "%s", operand);
		else if (!end)
			text_add(sql, "%c", *c);
		else if (is_word(c + 1, (size_t)(end - c - 1), "unit"))
			add_unit(query, sql);
		else if (is_word(c + 1, (size_t)(end - c - 1), "length"))
			add_length(query, sql);
		else if (is_word(c + 1, (size_t)(end - c - 1), "zone"))
			text_add(sql, "%s", query_zone(query->table, &again)); /* each time the same */
		else
			add_word(query, c + 1, (size_t)(end - c - 1), choice, sql);
		c = end ? end : c;
	}
}

/* ---- a step ---- */

enum term_type term_step(struct query *query, enum term_type from, const char *operand, struct text *sql)
{
	bool may_be_disorderly = random_chance(query->dice, 20);
	const struct step *step;

	do
		step = &steps[random_below(query->dice, COUNT_OF(steps))];
	while (step->from != from || (!step->is_orderly && !may_be_disorderly));
	term_fill(query, step->form, operand, sql);
	return step->to;
}
