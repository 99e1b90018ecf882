#include "sqlite_ext/storage/definition.h"

#include <ctype.h>

#include "sqlite_ext/storage/accumulator_columns.h"
#include "sqlite_ext/storage/engine.h"
#include "sqlite_ext/storage/pure_condition.h"

const char *const ifs_argument_names[IFS_N_ARGUMENTS] = { "t0", "t1", "n", "step", "origin", "fill" };
const char *const ifs_sync_names[IFS_N_SYNCS] = { "log", "append", "manual" };

unsigned ifs_first_sketch(const struct ifs_definition *definition)
{
	return ifs_first_of_accumulators(definition) + ifs_n_accumulator_columns(&definition->accumulators);
}

unsigned ifs_first_of_ends(const struct ifs_definition *definition)
{
	return ifs_first_sketch(definition) + definition->n_sketches;
}

unsigned ifs_first_distinct(const struct ifs_definition *definition)
{
	return ifs_first_of_ends(definition) + IFS_N_OF_ENDS * definition->n_values;
}

const struct iforest_kind *ifs_kind_of_integers(const struct ifs_definition *definition, unsigned value)
{
	for (unsigned a = 0; a < definition->accumulators.n; a++) {
		const struct iforest_accumulator *accumulator = &definition->accumulators.list[a];

		if (accumulator->value == value || accumulator->second == value)
			return iforest_kind_find(accumulator->code);
	}
	return NULL;
}

/* ---- reading names ---- */

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* Reads a quoted name, in which the closing quote is doubled. Moves *at past it, and returns NULL if memory runs out. */
static char *read_quoted(const char **at)
{
	char close = **at == '[' ? ']' : **at;
	char *name = sqlite3_malloc64(strlen(*at) + 1), *out = name;
	const char *in = *at + 1;

	for (; *in; in++) {
		if (*in == close && (in[1] != close || close == ']'))
			break;
		in += *in == close;
		if (name)
			*out++ = *in;
	}
	if (name)
		*out = 0;
	*at = *in ? in + 1 : in;
	return name;
}

/* Reads a name at *at, and moves past it and the space after it. NULL if there is none, or without memory: then the error
 * is set, which no later message replaces. */
static char *read_name(const char **at, struct ifs_error *error)
{
	const char *start = *at;
	char *name = NULL;

	if (*start && strchr("\"'`[", *start)) {
		name = read_quoted(at);
	} else {
		while (ifs_is_name_byte(**at))
			++*at;
		if (*at != start)
			name = sqlite3_mprintf("%.*s", (int)(*at - start), start);
	}
	if (!name && *at != start)
		ifs_error_set(error, SQLITE_NOMEM, "");
	*at = skip_space(*at);
	return name;
}

/* Reads `column` or `column AS name`. usual is the name without AS; NULL: the column's own. */
static bool read_column_as(const char **at, struct ifs_column_name *column, const char *usual, struct ifs_error *error)
{
	column->source = read_name(at, error);
	if (!column->source)
		return false;
	if (sqlite3_strnicmp(*at, "as", 2) == 0 && !ifs_is_name_byte((*at)[2])) {
		*at = skip_space(*at + 2);
		column->name = read_name(at, error);
	} else {
		column->name = sqlite3_mprintf("%s", usual ? usual : column->source);
		if (!column->name)
			ifs_error_set(error, SQLITE_NOMEM, "");
	}
	return column->name != NULL;
}

static bool read_column(const char **at, struct ifs_column_name *column, struct ifs_error *error)
{
	return read_column_as(at, column, NULL, error);
}

/* Reads one column, or several in parentheses. Returns false for any other text. */
static bool read_columns(const char *at, struct ifs_column_name *columns, unsigned n_most, unsigned *n, bool *too_many,
			 struct ifs_error *error)
{
	bool in_parentheses = *at == '(';

	if (in_parentheses)
		at = skip_space(at + 1);
	for (;;) {
		struct ifs_column_name column = { NULL, NULL };
		bool is_read = read_column(&at, &column, error);

		*too_many = *n == n_most;
		if (!is_read || *too_many) {
			sqlite3_free(column.source);
			sqlite3_free(column.name);
			return false;
		}
		columns[(*n)++] = column;
		if (!in_parentheses || *at != ',')
			break;
		at = skip_space(at + 1);
	}
	if (in_parentheses) {
		if (*at != ')')
			return false;
		at = skip_space(at + 1);
	}
	return *at == 0;
}

/* ---- arguments ---- */

#define OF_EXPRESSIONS "make a column of an expression: ALTER TABLE ... ADD COLUMN ... AS (...)"

static int read_one_name(const char *text, const char *key, char **name, struct ifs_error *error)
{
	const char *at = text;

	if (*name)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"%s\" is given twice", key);
	*name = read_name(&at, error);
	if (*name && *at == '.' && strcmp(key, "content") == 0)
		return ifs_error_set(
			error, SQLITE_ERROR,
			"iforest: cannot read argument \"content=%s\": it takes a name without a schema, and the index "
			"lives in that of its table: CREATE VIRTUAL TABLE \"%w\".name USING iforest(content=...)",
			text, *name);
	if (!*name || *at)
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: cannot read argument \"%s=%s\": it takes one name; " OF_EXPRESSIONS "%s", key,
				     text,
				     strcmp(key, "duration") == 0 ? ", and where the table has an end write end=..." : "");
	return SQLITE_OK;
}

static int read_end(const char *text, struct ifs_column_name *end, struct ifs_error *error)
{
	const char *at = text;

	if (end->source)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"end\" is given twice");
	if (!read_column_as(&at, end, "dur", error) || *at)
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: cannot read argument \"end=%s\": it takes a name, or name AS other", text);
	return SQLITE_OK;
}

/* Keeps a condition, which is all of the text in one pair of parentheses. */
static int read_where(const char *text, struct ifs_definition *definition, struct ifs_error *error)
{
	const char *at = text, *token, *end = NULL;
	struct ifs_pure_condition pure;
	int n, rc, depth = 0;
	bool is_whole = *text == '(';

	if (definition->where)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"where\" is given twice");
	if (strlen(text) > IFS_MOST_CONDITION_BYTES)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: where=... has more than %d bytes; make a column of it",
				     IFS_MOST_CONDITION_BYTES);
	while ((token = ifs_token_next(&at, &n))) {
		is_whole = is_whole && (depth > 0 || token == text);
		depth += ifs_token_is(token, n, "(") - ifs_token_is(token, n, ")");
		end = at;
	}
	/* nothing, not even a comment, may follow the last parenthesis */
	if (!is_whole || depth != 0 || *end)
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: cannot read argument \"where=%s\": it takes a condition in parentheses", text);
	rc = ifs_pure_condition_write(text, &pure, error);
	definition->where = pure.sql;
	definition->where_has_like = pure.has_like;
	return rc;
}

static int read_list(const char *text, const char *key, struct ifs_column_name *columns, unsigned n_most, unsigned *n,
		     struct ifs_error *error)
{
	bool too_many = false;

	if (*n > 0)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"%s\" is given twice", key);
	if (read_columns(text, columns, n_most, n, &too_many, error))
		return SQLITE_OK;
	if (too_many)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: at most %u %s columns; make a second index", n_most, key);
	return ifs_error_set(
		error, SQLITE_ERROR,
		"iforest: cannot read argument \"%s=%s\": it takes a name, or (name, name AS other); " OF_EXPRESSIONS, key,
		text);
}

static int read_sync(const char *text, bool is_given, enum ifs_sync *sync, struct ifs_error *error)
{
	if (is_given)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"sync\" is given twice");
	for (int s = 0; s < IFS_N_SYNCS; s++)
		if (sqlite3_stricmp(text, ifs_sync_names[s]) == 0) {
			*sync = (enum ifs_sync)s;
			return SQLITE_OK;
		}
	return ifs_error_set(error, SQLITE_ERROR, "iforest: cannot read argument \"sync=%s\": it is log, append or manual",
			     text);
}

/* key is unit, or duration_unit. */
static int read_unit(const char *text, const char *key, int64_t *per_second, struct ifs_error *error)
{
	if (*per_second)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"%s\" is given twice", key);
	*per_second = ifs_time_unit(text);
	return *per_second ? SQLITE_OK
			   : ifs_error_set(error, SQLITE_ERROR,
					   "iforest: cannot read argument \"%s=%s\": it is ns, us, ms or s", key, text);
}

/* Keeps the text of the argument that lists accumulators, to be read once all values are known. Sets *is_one for one that
 * does. */
static int keep_kind_text(struct ifs_definition *definition, const char *key, const char *text, bool *is_one,
			  struct ifs_error *error)
{
	unsigned k = 0;

	while (k < IFOREST_N_KINDS && sqlite3_stricmp(key, iforest_kinds[k].option) != 0)
		k++;
	*is_one = k < IFOREST_N_KINDS;
	if (!*is_one)
		return SQLITE_OK;
	if (definition->kind_texts[k])
		return ifs_error_set(error, SQLITE_ERROR, "iforest: argument \"%s\" is given twice", iforest_kinds[k].option);
	definition->kind_texts[k] = sqlite3_mprintf("%s", text);
	return definition->kind_texts[k] ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

static int read_argument(struct ifs_definition *definition, const char *argument, bool *has_sync, struct ifs_error *error)
{
	const char *at = skip_space(argument);
	char *key = read_name(&at, error);
	int rc = SQLITE_OK;
	bool is_kind = false;

	if (!key || *at != '=') {
		rc = ifs_error_set(error, SQLITE_ERROR,
				   "iforest: cannot read argument \"%s\": write key=value, as in content=spans, time=ts",
				   argument);
	} else {
		at = skip_space(at + 1);
		rc = keep_kind_text(definition, key, at, &is_kind, error);
		if (is_kind)
			; /* it is kept */
		else if (sqlite3_stricmp(key, "content") == 0)
			rc = read_one_name(at, "content", &definition->content, error);
		else if (sqlite3_stricmp(key, "time") == 0)
			rc = read_one_name(at, "time", &definition->time, error);
		else if (sqlite3_stricmp(key, "duration") == 0)
			rc = read_one_name(at, "duration", &definition->duration, error);
		else if (sqlite3_stricmp(key, "end") == 0)
			rc = read_end(at, &definition->end, error);
		else if (sqlite3_stricmp(key, "where") == 0)
			rc = read_where(at, definition, error);
		else if (sqlite3_stricmp(key, "value") == 0)
			rc = read_list(at, "value", definition->values, IFOREST_MAX_VALUES, &definition->n_values, error);
		else if (sqlite3_stricmp(key, "by") == 0)
			rc = read_list(at, "by", definition->by, IFS_MAX_BY, &definition->n_by, error);
		else if (sqlite3_stricmp(key, "sketch") == 0)
			rc = read_list(at, "sketch", definition->sketches, IFOREST_MAX_VALUES, &definition->n_sketches, error);
		else if (sqlite3_stricmp(key, "distinct") == 0)
			rc = read_list(at, "distinct", definition->distincts, IFOREST_MAX_VALUES, &definition->n_distincts,
				       error);
		else if (sqlite3_stricmp(key, "counter") == 0)
			rc = read_list(at, "counter", definition->counters, IFOREST_MAX_VALUES, &definition->n_counters, error);
		else if (sqlite3_stricmp(key, "sync") == 0)
			rc = read_sync(at, *has_sync, &definition->sync, error);
		else if (sqlite3_stricmp(key, "unit") == 0)
			rc = read_unit(at, "unit", &definition->per_second, error);
		else if (sqlite3_stricmp(key, "duration_unit") == 0)
			rc = read_unit(at, "duration_unit", &definition->durations_per_second, error);
		else
			rc = ifs_error_set(
				error, SQLITE_ERROR,
				"iforest: unknown argument \"%s\"; there are content, time, duration, end, "
				"value, variance, histogram, products, by, where, sketch, distinct, counter, sync, unit "
				"and duration_unit",
				key);
		*has_sync = *has_sync || sqlite3_stricmp(key, "sync") == 0;
	}
	sqlite3_free(key);
	return rc;
}

/* Makes the duration one of the values, if it is not: spans that reach into a window are found by it. */
static int add_duration(struct ifs_definition *definition, struct ifs_error *error)
{
	const struct ifs_column_name *end = &definition->end;
	struct ifs_column_name *column;

	definition->duration_value = IFOREST_NO_VALUE;
	if (definition->durations_per_second && !definition->duration)
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: duration_unit=... goes with duration=... alone; leave it out");
	if (!definition->duration && !end->source)
		return SQLITE_OK;
	if (definition->duration && end->source)
		return ifs_error_set(error, SQLITE_ERROR, "iforest: duration and end exclude each other; give one of them");
	for (unsigned v = 0; v < definition->n_values && !end->source; v++)
		if (sqlite3_stricmp(definition->values[v].source, definition->duration) == 0) {
			definition->duration_value = (uint8_t)v;
			return SQLITE_OK;
		}
	if (definition->n_values == IFOREST_MAX_VALUES)
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: at most %d value columns, the duration among them; make a second index",
				     IFOREST_MAX_VALUES);
	definition->duration_value = (uint8_t)definition->n_values;
	column = &definition->values[definition->n_values++];
	column->source = sqlite3_mprintf("%s", end->source ? end->source : definition->duration);
	column->name = sqlite3_mprintf("%s", end->source ? end->name : definition->duration);
	return column->source && column->name ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

static void release_column(struct ifs_column_name *column)
{
	sqlite3_free(column->source);
	sqlite3_free(column->name);
	*column = (struct ifs_column_name){ .source = NULL };
}

/* The names of columns in a list of accumulators: those of the index, without AS. */
struct name_reader {
	const struct ifs_definition *definition;
	struct ifs_column_name last; /* the one read last */
	struct ifs_error *error;
};

static int read_value_name(void *context, const char **at)
{
	struct name_reader *reader = context;
	const struct ifs_definition *definition = reader->definition;

	release_column(&reader->last);
	if (!read_column(at, &reader->last, reader->error))
		return IFOREST_NAME_MISSING;
	if (sqlite3_stricmp(reader->last.source, reader->last.name) != 0)
		return IFOREST_NAME_UNKNOWN;
	for (unsigned v = 0; v < definition->n_values; v++)
		if (sqlite3_stricmp(definition->values[v].name, reader->last.name) == 0)
			return (int)v;
	return sqlite3_stricmp(definition->time, reader->last.name) == 0 ? IFOREST_TIME_COLUMN : IFOREST_NAME_UNKNOWN;
}

static int refuse_list(const struct iforest_kind *kind, const char *text, enum iforest_text_error why, const char *name,
		       struct ifs_error *error)
{
	switch (why) {
	case IFOREST_TEXT_OK:
		return SQLITE_OK;
	case IFOREST_TEXT_UNKNOWN:
		return ifs_error_set(error, SQLITE_ERROR,
				     "iforest: %s=... takes names of value columns of the index, and \"%s\" is none",
				     kind->option, name);
	case IFOREST_TEXT_TWICE:
		return ifs_error_set(error, SQLITE_ERROR, "iforest: %s=... names \"%s\" twice", kind->option, name);
	case IFOREST_TEXT_TOO_MANY:
		return ifs_error_set(error, SQLITE_ERROR, "iforest: %s=... is too much for one index; make a second index",
				     kind->option);
	case IFOREST_TEXT_NOT_ASCENDING:
		return ifs_error_set(error, SQLITE_ERROR, "iforest: %s=... takes numbers in ascending order", kind->option);
	case IFOREST_TEXT_WRONG:
		break;
	}
	return ifs_error_set(error, SQLITE_ERROR,
			     "iforest: cannot read argument \"%s=%s\": it takes a list of %s, in parentheses if "
			     "there are several",
			     kind->option, text, kind->list);
}

/* Reads the accumulators of a kind, whose columns are named as in the index. */
static int read_accumulators(struct ifs_definition *definition, const struct iforest_kind *kind, const char *text,
			     struct ifs_error *error)
{
	struct name_reader reader = { .definition = definition, .error = error };
	bool in_parentheses = *text == '(';
	unsigned n = definition->accumulators.n;
	const char *at = text + in_parentheses;
	enum iforest_text_error why =
		iforest_accumulators_parse(&definition->accumulators, kind, &at, read_value_name, &reader);
	int rc;

	if (!why && (definition->accumulators.n == n || (in_parentheses ? *at != ')' || *skip_space(at + 1) : *at)))
		why = IFOREST_TEXT_WRONG;
	rc = refuse_list(kind, text, why, reader.last.name, error);
	release_column(&reader.last);
	return rc;
}

/* Reads the accumulators of all kinds. Their columns have integers alone. */
static int find_accumulators(struct ifs_definition *definition, struct ifs_error *error)
{
	uint8_t types[IFOREST_MAX_VALUES];
	int rc = SQLITE_OK;

	for (unsigned k = 0; k < IFOREST_N_KINDS && !rc; k++) {
		if (definition->kind_texts[k])
			rc = read_accumulators(definition, &iforest_kinds[k], definition->kind_texts[k], error);
		memset(types, IFOREST_INT64, sizeof types);
		if (!rc && iforest_accumulators_finish(&definition->accumulators, types, definition->n_values,
						       definition->n_values * IFOREST_VALUE_WORDS))
			rc = refuse_list(&iforest_kinds[k], "", IFOREST_TEXT_TOO_MANY, "", error);
	}
	return rc;
}

/* Finds the value columns that an argument names, each once, by its name in the index. */
static int find_values(const struct ifs_definition *definition, const char *argument, const struct ifs_column_name *columns,
		       unsigned n_columns, uint8_t *values, struct ifs_error *error)
{
	for (unsigned c = 0; c < n_columns; c++) {
		const char *name = columns[c].source;
		unsigned v = 0;

		while (v < definition->n_values && sqlite3_stricmp(definition->values[v].name, name) != 0)
			v++;
		if (v == definition->n_values)
			return ifs_error_set(error, SQLITE_ERROR,
					     "iforest: %s=(%s): no value column has that name; list it in value=(...)",
					     argument, name);
		for (unsigned k = 0; k < c; k++)
			if (values[k] == v)
				return ifs_error_set(error, SQLITE_ERROR, "iforest: %s=(...) names \"%s\" twice", argument,
						     name);
		values[c] = (uint8_t)v;
	}
	return SQLITE_OK;
}

/* Finds the columns whose different values are counted: value columns by their names in the index, others in the table. */
static int find_distincts(struct ifs_definition *definition, struct ifs_error *error)
{
	for (unsigned d = 0; d < definition->n_distincts; d++) {
		const struct ifs_column_name *column = &definition->distincts[d];
		unsigned v = 0;

		while (v < definition->n_values && (sqlite3_stricmp(definition->values[v].name, column->source) != 0 ||
						    sqlite3_stricmp(column->source, column->name) != 0))
			v++;
		if (v == definition->n_values) {
			v += definition->n_hashed;
			if (v == IFOREST_MAX_VALUES)
				return ifs_error_set(error, SQLITE_ERROR,
						     "iforest: at most %d value columns, those of distinct=(...) among them; "
						     "make a second index",
						     IFOREST_MAX_VALUES);
			definition->hashed[definition->n_hashed++] = column->source;
		}
		for (unsigned k = 0; k < d; k++)
			if (sqlite3_stricmp(definition->distincts[k].name, column->name) == 0)
				return ifs_error_set(error, SQLITE_ERROR, "iforest: distinct=(...) names \"%s\" twice",
						     column->name);
		definition->distinct_fields[d] = (uint8_t)v;
	}
	return SQLITE_OK;
}

int ifs_definition_parse_name(const char *text, char **name, struct ifs_error *error)
{
	const char *at = skip_space(text);

	*name = read_name(&at, error);
	if (*name && !*at)
		return SQLITE_OK;
	sqlite3_free(*name);
	*name = NULL;
	return ifs_error_set(error, SQLITE_ERROR, "iforest: cannot read the name %s", text);
}

int ifs_definition_parse_column(const char *text, struct ifs_column_name *column, struct ifs_error *error)
{
	const char *at = skip_space(text);

	*column = (struct ifs_column_name){ .source = NULL };
	if (read_column(&at, column, error) && !*at)
		return SQLITE_OK;
	return ifs_error_set(error, SQLITE_ERROR, "iforest: cannot read \"%s\": write column AS name", text);
}

int ifs_definition_parse(struct ifs_definition *definition, int n_arguments, const char *const *arguments,
			 struct ifs_error *error)
{
	bool has_sync = false;
	int rc = SQLITE_OK;

	*definition = (struct ifs_definition){ .duration_value = IFOREST_NO_VALUE };
	for (int i = 0; i < n_arguments && !rc; i++) {
		rc = read_argument(definition, arguments[i], &has_sync, error);
		/* each argument is accepted once, so there are no more texts than arguments */
		if (!rc && !(definition->texts[definition->n_texts++] = sqlite3_mprintf("%s", arguments[i])))
			rc = ifs_error_set(error, SQLITE_NOMEM, "");
	}
	if (!rc && !definition->content)
		rc = ifs_error_set(error, SQLITE_ERROR, "iforest: content=... is missing: the table to index");
	if (!rc && !definition->time)
		rc = ifs_error_set(error, SQLITE_ERROR, "iforest: time=... is missing: the time column");
	if (!rc)
		rc = add_duration(definition, error);
	if (!rc)
		rc = find_accumulators(definition, error);
	if (!rc)
		rc = find_values(definition, "sketch", definition->sketches, definition->n_sketches, definition->sketch_values,
				 error);
	if (!rc)
		rc = find_distincts(definition, error);
	return rc ? rc
		  : find_values(definition, "counter", definition->counters, definition->n_counters, definition->counter_values,
				error);
}

void ifs_definition_release(struct ifs_definition *definition)
{
	sqlite3_free(definition->content);
	sqlite3_free(definition->time);
	sqlite3_free(definition->duration);
	sqlite3_free(definition->where);
	release_column(&definition->end);
	for (unsigned v = 0; v < definition->n_values; v++)
		release_column(&definition->values[v]);
	for (unsigned k = 0; k < IFOREST_N_KINDS; k++)
		sqlite3_free(definition->kind_texts[k]);
	for (unsigned b = 0; b < definition->n_by; b++)
		release_column(&definition->by[b]);
	for (unsigned s = 0; s < definition->n_sketches; s++)
		release_column(&definition->sketches[s]);
	for (unsigned d = 0; d < definition->n_distincts; d++)
		release_column(&definition->distincts[d]);
	for (unsigned c = 0; c < definition->n_counters; c++)
		release_column(&definition->counters[c]);
	for (unsigned t = 0; t < definition->n_texts; t++)
		sqlite3_free(definition->texts[t]);
	*definition = (struct ifs_definition){ .content = NULL };
}

int ifs_definition_keep_by(struct ifs_definition *definition, const char *module, int n_names, const char *const *names,
			   unsigned *kept, struct ifs_error *error)
{
	struct ifs_column_name by[IFS_MAX_BY];
	const char *types[IFS_MAX_BY];
	bool is_kept[IFS_MAX_BY] = { false };
	unsigned n_kept = 0;

	for (int i = 0; i < n_names; i++) {
		const char *at = skip_space(names[i]);
		char *name = read_name(&at, error);
		unsigned b = 0;

		while (name && b < definition->n_by && sqlite3_stricmp(definition->by[b].name, name) != 0)
			b++;
		sqlite3_free(name);
		if (!name || *at || b == definition->n_by)
			return ifs_error_set(error, SQLITE_ERROR, "%s: \"%s\" is no by column of the index", module, names[i]);
		if (is_kept[b])
			return ifs_error_set(error, SQLITE_ERROR, "%s: by column \"%s\" is named twice", module, names[i]);
		is_kept[b] = true;
		kept[n_kept++] = b;
	}
	for (unsigned i = 0; i < n_kept; i++) {
		by[i] = definition->by[kept[i]];
		types[i] = definition->by_types[kept[i]];
	}
	for (unsigned b = 0; b < definition->n_by; b++)
		if (!is_kept[b])
			release_column(&definition->by[b]);
	memcpy(definition->by, by, n_kept * sizeof *by);
	memcpy(definition->by_types, types, n_kept * sizeof *types);
	definition->n_by = n_kept;
	return SQLITE_OK;
}

const char *ifs_definition_condition(const struct ifs_definition *definition)
{
	return definition->where && !definition->where_is_judged ? "(the_condition_is_not_judged)" : definition->where;
}

void ifs_definition_append_where(const struct ifs_definition *definition, const char *word, sqlite3_str *sql)
{
	const char *condition = ifs_definition_condition(definition);

	if (condition)
		sqlite3_str_appendf(sql, " %s %s", word, condition);
}

void ifs_base_table_release(struct ifs_base_table *base_table)
{
	sqlite3_free(base_table->name);
	sqlite3_free(base_table->rowid_column);
	*base_table = (struct ifs_base_table){ .name = NULL };
}

/* ---- Columns of the virtual table ---- */

static const char *const fixed_names[IFS_N_FIXED] = { "bucket", "bucket_start", "bucket_end", "count", "first_ts", "last_ts" };

static const char *const value_formats[IFS_END_OF_VALUE] = { "count_%s",   "sum_%s",	  "min_%s",    "max_%s",
							     "avg_%s",	   "first_%s",	  "last_%s",   "min_%s_id",
							     "max_%s_id",  "min_%s_ts",	  "max_%s_ts", "first_%s_id",
							     "last_%s_id", "first_%s_ts", "last_%s_ts" };

static const char *const overlap_formats[] = {
	"clipped_%s", "longest_%s", "longest_%s_id", "longest_%s_ts", "peak", "peak_ts"
};

static const char *const counter_formats[IFS_N_OF_COUNTER] = { "count_%s",    "start_%s", "end_%s",   "twa_%s",
							       "increase_%s", "rate_%s",  "resets_%s" };

enum {
	MAX_COLUMNS = IFS_MAX_BY + IFS_N_FIXED + (IFS_END_OF_VALUE + 2) * IFOREST_MAX_VALUES + IFOREST_MAX_ACCUMULATOR_WORDS +
		      IFS_N_ARGUMENTS + 1
};

/* Lists the columns of an index or a fold, after its by columns. */
static unsigned list_aggregates(const struct ifs_definition *definition, char **names)
{
	const char *values[IFOREST_MAX_VALUES + 1] = { [IFOREST_MAX_VALUES] = definition->time };
	unsigned n = 0;

	for (unsigned f = 0; f < IFS_N_FIXED; f++)
		names[n++] = sqlite3_mprintf("%s", fixed_names[f]);
	for (unsigned v = 0; v < definition->n_values; v++) {
		values[v] = definition->values[v].name;
		for (unsigned c = 0; c < IFS_N_OF_VALUE; c++)
			names[n++] = sqlite3_mprintf(value_formats[c], values[v]);
	}
	for (unsigned c = 0; c < ifs_n_accumulator_columns(&definition->accumulators); c++)
		names[n++] = ifs_accumulator_column_name(&definition->accumulators, values, c);
	for (unsigned s = 0; s < definition->n_sketches; s++)
		names[n++] = sqlite3_mprintf("sketch_%s", definition->sketches[s].name);
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned c = IFS_N_OF_VALUE; c < IFS_END_OF_VALUE; c++)
			names[n++] = sqlite3_mprintf(value_formats[c], values[v]);
	for (unsigned d = 0; d < definition->n_distincts; d++)
		names[n++] = sqlite3_mprintf("distinct_%s", definition->distincts[d].name);
	return n;
}

static unsigned list_overlaps(const struct ifs_definition *definition, char **names)
{
	unsigned n = 0;

	for (unsigned f = 0; f < IFS_OVERLAPS; f++)
		names[n++] = sqlite3_mprintf("%s", fixed_names[f]);
	names[n++] = sqlite3_mprintf("overlaps");
	for (unsigned c = 0; c < sizeof overlap_formats / sizeof *overlap_formats; c++)
		names[n++] = sqlite3_mprintf(overlap_formats[c], definition->values[definition->duration_value].name);
	return n;
}

static unsigned list_counters(const struct ifs_definition *definition, char **names)
{
	unsigned n = 0;

	for (unsigned f = 0; f < IFS_N_FIXED; f++)
		names[n++] = sqlite3_mprintf("%s", fixed_names[f]);
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned c = 0; c < IFS_N_OF_COUNTER; c++)
			names[n++] = sqlite3_mprintf(counter_formats[c], definition->values[v].name);
	return n;
}

/* Lists every column name of the virtual table, the hidden ones last; each from sqlite3_mprintf(). */
static unsigned list_names(struct ifs_definition *definition, const char *command, char **names)
{
	unsigned n = 0, n_shown;

	for (unsigned b = 0; b < definition->n_by; b++)
		names[n++] = sqlite3_mprintf("%s", definition->by[b].name);
	n += definition->is_overlap   ? list_overlaps(definition, names + n)
	     : definition->is_counter ? list_counters(definition, names + n)
				      : list_aggregates(definition, names + n);
	n_shown = n;
	for (int a = 0; a < ifs_n_arguments(definition); a++)
		names[n++] = sqlite3_mprintf("%s", ifs_argument_names[a]);
	if (command)
		names[n++] = sqlite3_mprintf("%s", command);
	definition->n_hidden = n - n_shown;
	return n;
}

/* The last name is that of the command column, if there is one. */
static int check_names(const struct ifs_definition *definition, char **names, unsigned n, bool has_command,
		       struct ifs_error *error)
{
	for (unsigned i = 0; i < n; i++) {
		if (!names[i])
			return ifs_error_set(error, SQLITE_NOMEM, "");
		for (unsigned k = 0; k < i; k++) {
			if (sqlite3_stricmp(names[i], names[k]) != 0)
				continue;
			if (has_command && i == n - 1)
				return ifs_error_set(error, SQLITE_ERROR,
						     "iforest: two columns named \"%s\", for the index has one of its own "
						     "name; give the index another name",
						     names[k]);
			if (k < definition->n_by)
				return ifs_error_set(error, SQLITE_ERROR,
						     "iforest: two columns named \"%s\"; give the by column another name: "
						     "by=(\"%w\" AS \"%w_\")",
						     names[i], definition->by[k].source, definition->by[k].name);
			return ifs_error_set(error, SQLITE_ERROR,
					     "iforest: two columns named \"%s\"; give a value column another name: "
					     "value=(\"column\" AS \"other\")",
					     names[i]);
		}
	}
	return SQLITE_OK;
}

static const char *type_of(const struct ifs_definition *definition, unsigned column)
{
	return column < definition->n_by && definition->by_types[column] ? definition->by_types[column] : "";
}

char *ifs_definition_declare(struct ifs_definition *definition, const char *command, struct ifs_error *error)
{
	char *names[MAX_COLUMNS];
	unsigned n = list_names(definition, command, names), n_shown = n - definition->n_hidden;
	sqlite3_str *sql = sqlite3_str_new(NULL);
	char *text;

	sqlite3_str_appendall(sql, "CREATE TABLE x(");
	check_names(definition, names, n, command != NULL, error);
	for (unsigned i = n_shown; i < n && !error->rc; i++)
		sqlite3_str_appendf(sql, "\"%w\" HIDDEN, ", names[i]);
	for (unsigned i = 0; i < n_shown && !error->rc; i++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s", i ? ", " : "", names[i], type_of(definition, i));
	sqlite3_str_appendall(sql, ")");
	for (unsigned i = 0; i < n; i++)
		sqlite3_free(names[i]);
	text = sqlite3_str_finish(sql);
	if (!text)
		ifs_error_set(error, SQLITE_NOMEM, "");
	if (error->rc) {
		sqlite3_free(text);
		text = NULL;
	}
	return text;
}
