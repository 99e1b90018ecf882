#include "sqlite_ext/maintain/column_types.h"

#include <stdlib.h>

#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/storage/engine.h"

/* ---- Times: integers, reals or texts ---- */

bool ifs_is_for_fractions(const char *type)
{
	static const char *const names[] = { "%dec%", "%num%", "%money%", "%currency%" };
	const char *affinity = ifs_affinity_of(type, false), *digits;

	for (size_t n = 0; strcmp(affinity, "NUMERIC") == 0 && n < sizeof names / sizeof *names; n++)
		if (sqlite3_strlike(names[n], type, 0) == 0) {
			digits = strchr(type, '(');
			return !digits || ((digits = strchr(digits, ',')) && strtol(digits + 1, NULL, 10) > 0);
		}
	return strcmp(affinity, "REAL") == 0;
}

/* Returns the condition of the rows, or one that is true. */
static const char *condition_of(const struct ifs_definition *definition)
{
	const char *condition = ifs_definition_condition(definition);

	return condition ? condition : "1";
}

/* Sets *type to the declared type of a column, NULL if there is none. */
static int type_of_column(const struct ifs_index *index, const struct ifs_base_table *base_table, const char *column,
			  const char **type, struct ifs_error *error)
{
	int rc =
		sqlite3_table_column_metadata(index->db, index->schema, base_table->name, column, type, NULL, NULL, NULL, NULL);

	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Sets *is_exact if every integer of a column is one that a real is sure to hold. */
static int look_for_large(const struct ifs_index *index, const struct ifs_definition *definition,
			  const struct ifs_base_table *base_table, const char *column, bool *is_exact, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT 1 FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'integer' AND \"%w\" NOT BETWEEN "
			     "-9007199254740992 AND 9007199254740992 AND %s LIMIT 1",
			     index->schema, base_table->name, column, column, condition_of(definition));

	if (rc)
		return rc;
	*is_exact = sqlite3_step(statement) != SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Tells the kind of times of an empty column by its declared type. A type named after dates or times has affinity NUMERIC, but
 * mostly means texts. */
static enum ifs_time_kind kind_of_type(const char *type)
{
	const char *affinity = ifs_affinity_of(type, false);

	if (ifs_is_for_fractions(type))
		return IFS_TIMES_REAL;
	return strcmp(affinity, "TEXT") == 0 ||
			       (type && strcmp(affinity, "NUMERIC") == 0 &&
				(sqlite3_strlike("%date%", type, 0) == 0 || sqlite3_strlike("%time%", type, 0) == 0))
		       ? IFS_TIMES_TEXT
		       : IFS_TIMES_INTEGER;
}

/* Of a column without a type, unit=... mostly means texts. */
static enum ifs_time_kind kind_of_empty(const struct ifs_definition *definition, const char *type)
{
	bool is_any = !type || strcmp(ifs_affinity_of(type, false), "BLOB") == 0;

	return is_any && definition->per_second ? IFS_TIMES_TEXT : kind_of_type(type);
}

/* True if an index over reals can keep what is asked for. */
static bool suits_reals(const struct ifs_definition *definition)
{
	uint8_t duration = definition->duration_value;

	return !ifs_kind_of_integers(definition, IFOREST_TIME_COLUMN) &&
	       (duration == IFOREST_NO_VALUE || !ifs_kind_of_integers(definition, duration)) &&
	       ifs_n_fields(definition, IFS_TIMES_REAL) <= IFOREST_MAX_VALUES;
}

/* Makes times that are integers so far reals, if their column is declared for fractions, which may come. */
static int expect_fractions(const struct ifs_index *index, const struct ifs_definition *definition,
			    const struct ifs_base_table *base_table, const char *type, enum ifs_time_kind *kind,
			    struct ifs_error *error)
{
	bool is_exact = false;
	int rc = SQLITE_OK;

	if (ifs_is_for_fractions(type) && suits_reals(definition))
		rc = look_for_large(index, definition, base_table, definition->time, &is_exact, error);
	if (is_exact)
		*kind = IFS_TIMES_REAL;
	return rc;
}

/* Tells the kind of times by the column's first one and its declared type. Reals among integers are found later:
 * widen_kind(). */
static int look_at_kind(const struct ifs_index *index, const struct ifs_definition *definition,
			const struct ifs_base_table *base_table, enum ifs_time_kind *kind, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	const char *type;
	bool is_empty;
	int rc = type_of_column(index, base_table, definition->time, &type, error);

	if (!rc)
		rc = ifs_prepare(error, index->db, &statement,
				 "SELECT \"%w\" FROM \"%w\".\"%w\" WHERE \"%w\" IS NOT NULL AND %s LIMIT 1", definition->time,
				 index->schema, base_table->name, definition->time, condition_of(definition));
	if (rc)
		return rc;
	is_empty = sqlite3_step(statement) != SQLITE_ROW;
	*kind = sqlite3_column_type(statement, 0) == SQLITE_TEXT ? IFS_TIMES_TEXT : IFS_TIMES_INTEGER;
	rc = sqlite3_finalize(statement);
	if (rc)
		return ifs_error_from_db(error, index->db, rc);
	if (is_empty)
		*kind = kind_of_empty(definition, type);
	return *kind == IFS_TIMES_INTEGER ? expect_fractions(index, definition, base_table, type, kind, error) : SQLITE_OK;
}

/* Appends the condition that a column holds a real that is not a 64-bit integer. */
static void append_fraction(sqlite3_str *sql, const char *column)
{
	sqlite3_str_appendf(sql,
			    "(typeof(\"%w\") = 'real' AND (CAST(\"%w\" AS INTEGER) <> \"%w\" OR abs(\"%w\") >= "
			    "9223372036854775808.0))",
			    column, column, column, column);
}

/* After a real was found among integers: decides whether times become reals. They do if some row has a time that is stored as a
 * real, and this time is not a 64-bit integer, the duration is stored as a real, or the end is not a 64-bit integer. */
static int widen_kind(const struct ifs_index *index, const struct ifs_definition *definition,
		      const struct ifs_base_table *base_table, enum ifs_time_kind *kind, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	sqlite3_str *sql;
	int rc;

	if (*kind != IFS_TIMES_INTEGER)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql, "SELECT 1 FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'real' AND (", index->schema,
			    base_table->name, definition->time);
	append_fraction(sql, definition->time);
	if (definition->duration)
		sqlite3_str_appendf(sql, " OR typeof(\"%w\") = 'real'", definition->duration);
	if (definition->end.source) {
		sqlite3_str_appendall(sql, " OR ");
		append_fraction(sql, definition->end.source);
	}
	sqlite3_str_appendall(sql, ")");
	ifs_definition_append_where(definition, "AND", sql);
	sqlite3_str_appendall(sql, " LIMIT 1");
	rc = ifs_prepare_text(error, index->db, &statement, sql);
	if (!rc && sqlite3_step(statement) == SQLITE_ROW)
		*kind = IFS_TIMES_REAL;
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(error, index->db, rc);
	return rc;
}

/* Refuses accumulators over durations or times that are reals. */
static int refuse_accumulators(const struct ifs_definition *definition, const struct iforest_kind *kind, bool are_of_time,
			       struct ifs_error *error)
{
	const char *source = are_of_time ? definition->time : definition->duration;
	char *reals = source ? sqlite3_mprintf("\"%w\"", source)
			     : sqlite3_mprintf("(\"%w\" - \"%w\")", definition->end.source, definition->time);

	source = source ? source : definition->end.name;
	ifs_error_set(error, reals ? SQLITE_ERROR : SQLITE_NOMEM,
		      "iforest: times of \"%s\" are reals, and so are the durations, but %s are kept of integers alone; add a "
		      "column of integers: ALTER TABLE \"%w\" ADD COLUMN \"%w_integer\" INTEGER AS (CAST(round(%s * 1000000) "
		      "AS INTEGER)), and name that in value=(...) and %s=...",
		      definition->content, kind->results, definition->content, source, reals, kind->option);
	sqlite3_free(reals);
	return error->rc;
}

/* Refuses what an index over reals cannot keep. */
static int check_reals(const struct ifs_definition *definition, struct ifs_error *error)
{
	const struct iforest_kind *of_duration = definition->duration_value == IFOREST_NO_VALUE
							 ? NULL
							 : ifs_kind_of_integers(definition, definition->duration_value);
	const struct iforest_kind *of_time = ifs_kind_of_integers(definition, IFOREST_TIME_COLUMN);

	if (of_time || of_duration)
		return refuse_accumulators(definition, of_time ? of_time : of_duration, of_time != NULL, error);
	if (ifs_n_fields(definition, IFS_TIMES_REAL) > IFOREST_MAX_VALUES)
		return ifs_error_set(
			error, SQLITE_ERROR,
			"iforest: at most %d value columns next to durations of reals, these among them; make a second "
			"index",
			IFOREST_MAX_VALUES - 1);
	return SQLITE_OK;
}

/* Refuses a collation under which different times may be equal: by it, the triggers decide whether a row changed. */
static int check_collation(const struct ifs_index *index, const struct ifs_base_table *base_table, const char *column,
			   struct ifs_error *error)
{
	static const char *const known[] = { "BINARY", "NOCASE", "RTRIM" };
	const char *collation;
	int rc = sqlite3_table_column_metadata(index->db, index->schema, base_table->name, column, NULL, &collation, NULL, NULL,
					       NULL);

	if (rc)
		return ifs_error_from_db(error, index->db, rc);
	for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
		if (!collation || sqlite3_stricmp(collation, known[k]) == 0)
			return SQLITE_OK;
	return ifs_error_set(
		error, SQLITE_ERROR,
		"iforest: column \"%s\" has collation %s, under which different times may be equal; add one without: "
		"ALTER TABLE \"%w\" ADD COLUMN \"%w_binary\" TEXT AS (\"%w\"), and name that",
		column, collation, base_table->name, column, column);
}

static int check_texts(const struct ifs_index *index, const struct ifs_definition *definition,
		       const struct ifs_base_table *base_table, struct ifs_error *error)
{
	int rc = check_collation(index, base_table, definition->time, error);

	if (!rc && definition->end.source)
		rc = check_collation(index, base_table, definition->end.source, error);
	if (!rc && definition->duration && !definition->per_second && !definition->durations_per_second)
		rc = ifs_error_set(
			error, SQLITE_ERROR,
			"iforest: times of \"%s\" are texts, which do not tell the unit of column \"%s\"; say in what "
			"durations are counted: unit=s, unit=ms, unit=us or unit=ns",
			definition->content, definition->duration);
	return rc;
}

/* Refuses a unit of durations that the times of the index cannot count in. */
static int check_duration_unit(const struct ifs_definition *definition, enum ifs_time_kind kind, struct ifs_error *error)
{
	const struct ifs_times times = ifs_times_of(definition, kind);
	const char *unit = ifs_time_unit_word(times.per_second), *of_durations = ifs_time_unit_word(times.durations_per_second);

	if (kind != IFS_TIMES_TEXT && !times.is_unit_known)
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: duration_unit=%s needs unit=..., too: what the numbers of column \"%s\" count",
				     of_durations, definition->time);
	if (kind == IFS_TIMES_REAL || times.durations_per_second <= times.per_second)
		return SQLITE_OK;
	if (kind == IFS_TIMES_TEXT)
		return ifs_error_set(
			error, SQLITE_ERROR,
			"iforest: duration_unit=%s is finer than unit=%s, in which the index counts; write unit=%s",
			of_durations, unit, of_durations);
	return ifs_error_set(error, SQLITE_ERROR,
			     "iforest: duration_unit=%s is finer than unit=%s of the time column; add finer times: ALTER TABLE "
			     "\"%w\" ADD COLUMN \"%w_%s\" INTEGER AS (\"%w\" * %lld), and name that in time=..., with unit=%s",
			     of_durations, unit, definition->content, definition->time, of_durations, definition->time,
			     times.durations_per_second / times.per_second, of_durations);
}

/* Refuses arguments that do not fit the kind of times. */
static int check_kind(const struct ifs_index *index, const struct ifs_definition *definition,
		      const struct ifs_base_table *base_table, enum ifs_time_kind kind, struct ifs_error *error)
{
	int rc = definition->durations_per_second ? check_duration_unit(definition, kind, error) : SQLITE_OK;

	if (rc)
		return rc;
	if (kind == IFS_TIMES_TEXT)
		return check_texts(index, definition, base_table, error);
	return kind == IFS_TIMES_REAL ? check_reals(definition, error) : SQLITE_OK;
}

/* ---- Value types: integers or reals ---- */

static int finish(struct iforest_node_schema *fields, struct ifs_error *error)
{
	enum iforest_status status = iforest_node_schema_finish(fields);

	return ifs_error_from_status(error, status, "iforest", &(struct iforest_fault){ .what = NULL }, 0);
}

/* Tells whether a column has reals by its first value, or else by its declared type, unless reals could not hold its
 * integers. */
static int look_at_column(const struct ifs_index *index, const struct ifs_definition *definition,
			  const struct ifs_base_table *base_table, const char *column, bool *is_real, struct ifs_error *error)
{
	const char *type;
	sqlite3_stmt *statement;
	int rc = type_of_column(index, base_table, column, &type, error);

	if (!rc)
		rc = ifs_prepare(error, index->db, &statement,
				 "SELECT typeof(\"%w\") = 'real' FROM \"%w\".\"%w\" WHERE \"%w\" IS NOT NULL AND %s LIMIT 1",
				 column, index->schema, base_table->name, column, condition_of(definition));
	if (rc)
		return rc;
	*is_real = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	if (rc)
		return ifs_error_from_db(error, index->db, rc);
	if (*is_real || !ifs_is_for_fractions(type))
		return SQLITE_OK;
	return look_for_large(index, definition, base_table, column, is_real, error);
}

/* Fills in the fields of an index to be built. A column has integers until a real is found in it, or its declared type tells of
 * fractions. */
static int value_types_choose(const struct ifs_index *index, const struct ifs_definition *definition,
			      const struct ifs_base_table *base_table, enum ifs_time_kind kind,
			      struct iforest_node_schema *fields, struct ifs_error *error)
{
	int rc = SQLITE_OK;

	*fields = (struct iforest_node_schema){ .n_values = ifs_n_fields(definition, kind),
						.accumulators = definition->accumulators,
						.duration_value = ifs_duration_field(definition, kind),
						.end_rule = ifs_end_rule(definition, kind) };
	for (unsigned v = definition->n_values; v < fields->n_values; v++)
		fields->value_types[v] = IFOREST_INT64;
	for (unsigned v = 0; v < definition->n_values && !rc; v++) {
		bool is_real = kind == IFS_TIMES_REAL && v == definition->duration_value;

		if (v != definition->duration_value && !ifs_kind_of_integers(definition, v))
			rc = look_at_column(index, definition, base_table, definition->values[v].source, &is_real, error);
		fields->value_types[v] = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;
	}
	return rc ? rc : finish(fields, error);
}

/* After a real was found among integers: every column that holds a real becomes one of reals. */
static int value_types_widen(const struct ifs_index *index, const struct ifs_definition *definition,
			     const struct ifs_base_table *base_table, struct iforest_node_schema *fields,
			     struct ifs_error *error)
{
	int rc = SQLITE_OK;

	for (unsigned v = 0; v < definition->n_values && !rc; v++) {
		sqlite3_stmt *statement;

		if (v == definition->duration_value) /* has the kind of the times, even if an end is the real 5.0 */
			continue;
		rc = ifs_prepare(error, index->db, &statement,
				 "SELECT 1 FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'real' AND %s LIMIT 1", index->schema,
				 base_table->name, definition->values[v].source, condition_of(definition));
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			fields->value_types[v] = IFOREST_FLOAT64;
		if (!rc && (rc = sqlite3_finalize(statement)))
			ifs_error_from_db(error, index->db, rc);
	}
	return rc ? rc : finish(fields, error);
}

/* ---- the whole ---- */

int ifs_column_types_choose(const struct ifs_index *index, const struct ifs_definition *definition,
			    const struct ifs_base_table *base_table, struct ifs_times *times,
			    struct iforest_node_schema *fields, struct ifs_error *error)
{
	enum ifs_time_kind kind = IFS_TIMES_INTEGER;
	int rc = look_at_kind(index, definition, base_table, &kind, error);

	/* which reals can take, but integers cannot */
	if (!rc && definition->durations_per_second > definition->per_second && definition->per_second)
		rc = widen_kind(index, definition, base_table, &kind, error);
	if (!rc)
		rc = check_kind(index, definition, base_table, kind, error);
	*times = ifs_times_of(definition, kind);
	return rc ? rc : value_types_choose(index, definition, base_table, kind, fields, error);
}

int ifs_column_types_widen(const struct ifs_index *index, const struct ifs_definition *definition,
			   const struct ifs_base_table *base_table, struct ifs_times *times, struct iforest_node_schema *fields,
			   struct ifs_error *error)
{
	enum ifs_time_kind kind = times->kind;
	int rc = widen_kind(index, definition, base_table, &kind, error);

	if (!rc)
		rc = check_kind(index, definition, base_table, kind, error);
	times->kind = kind;
	if (!rc)
		rc = value_types_choose(index, definition, base_table, kind, fields, error);
	return rc ? rc : value_types_widen(index, definition, base_table, fields, error);
}

int ifs_column_types_check_new(const struct ifs_index *index, const struct ifs_definition *definition,
			       const struct ifs_base_table *base_table, enum ifs_time_kind kind, struct ifs_error *error)
{
	bool has_integer_durations = kind != IFS_TIMES_REAL && !definition->durations_per_second;
	int rc = SQLITE_OK;

	for (unsigned v = 0; v < definition->n_values && !rc; v++) {
		const struct iforest_kind *of_integers = ifs_kind_of_integers(definition, v);
		bool is_duration = v == definition->duration_value;
		const char *column = definition->values[v].source, *type;

		if (is_duration ? !has_integer_durations || definition->end.source : !of_integers)
			continue;
		rc = type_of_column(index, base_table, column, &type, error);
		if (rc || !ifs_is_for_fractions(type))
			continue;
		rc = is_duration
			     ? ifs_error_set(
				       error, SQLITE_ERROR,
				       "iforest: duration column \"%s\" is declared %s, for fractions, and times are %s; say "
				       "what both columns count, such as unit=us, duration_unit=s",
				       column, type, kind == IFS_TIMES_TEXT ? "texts" : "integers")
			     : ifs_error_set(
				       error, SQLITE_ERROR,
				       "iforest: value column \"%s\" is declared %s, for fractions, and %s are kept of "
				       "integers alone; add a column of integers: ALTER TABLE \"%w\" ADD COLUMN "
				       "\"%w_integer\" INTEGER AS (CAST(round(\"%w\" * 1000000) AS INTEGER)), and name that "
				       "in value=(...) and %s=...",
				       column, type, of_integers->results, base_table->name, column, column,
				       of_integers->option);
	}
	return rc;
}
