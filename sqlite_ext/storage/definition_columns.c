#include "sqlite_ext/storage/definition.h"

static const char *const fixed_names[IFOREST_N_FIXED] = {
	"bucket", "bucket_start", "bucket_end", "count", "first_ts", "last_ts"
};

static const char *const value_formats[IFOREST_N_OF_VALUE] = {
	"count_%s", "sum_%s", "min_%s", "max_%s", "avg_%s", "first_%s", "last_%s", "min_%s_id", "max_%s_id", "min_%s_ts",
	"max_%s_ts"
};

static const char *const overlap_formats[] = { "clipped_%s", "longest_%s", "longest_%s_id", "longest_%s_ts" };

static const char *const counter_formats[IFOREST_N_OF_COUNTER] = {
	"count_%s", "start_%s", "end_%s", "twa_%s", "increase_%s", "rate_%s", "resets_%s"
};

static const char *const variance_formats[IFOREST_N_OF_VARIANCE] = { "var_%s", "stddev_%s" };

enum {
	MAX_COLUMNS = IFOREST_MAX_BY + IFOREST_N_FIXED + (IFOREST_N_OF_VALUE + IFOREST_N_OF_VARIANCE + 1) * IFOREST_MAX_VALUES +
		      IFOREST_N_ARGUMENTS + 1
};

/* What an index tells, or a fold of one. */
static unsigned list_aggregates(const struct iforest_definition *definition, char **names)
{
	unsigned n = 0;

	for (unsigned f = 0; f < IFOREST_N_FIXED; f++)
		names[n++] = sqlite3_mprintf("%s", fixed_names[f]);
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned c = 0; c < IFOREST_N_OF_VALUE; c++)
			names[n++] = sqlite3_mprintf(value_formats[c], definition->values[v].name);
	for (unsigned i = 0; i < definition->n_variances; i++)
		for (unsigned c = 0; c < IFOREST_N_OF_VARIANCE; c++)
			names[n++] = sqlite3_mprintf(variance_formats[c],
						     definition->values[iforest_variance_value(definition, i)].name);
	for (unsigned s = 0; s < definition->n_sketches; s++)
		names[n++] = sqlite3_mprintf("sketch_%s", definition->sketches[s].name);
	return n;
}

static unsigned list_overlaps(const struct iforest_definition *definition, char **names)
{
	unsigned n = 0;

	for (unsigned f = 0; f < IFOREST_OVERLAPS; f++)
		names[n++] = sqlite3_mprintf("%s", fixed_names[f]);
	names[n++] = sqlite3_mprintf("overlaps");
	for (unsigned c = 0; c < IFOREST_N_OVERLAP - IFOREST_OF_CLIPPED; c++)
		names[n++] = sqlite3_mprintf(overlap_formats[c], definition->values[definition->duration_value].name);
	return n;
}

static unsigned list_counters(const struct iforest_definition *definition, char **names)
{
	unsigned n = 0;

	for (unsigned f = 0; f < IFOREST_N_FIXED; f++)
		names[n++] = sqlite3_mprintf("%s", fixed_names[f]);
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned c = 0; c < IFOREST_N_OF_COUNTER; c++)
			names[n++] = sqlite3_mprintf(counter_formats[c], definition->values[v].name);
	return n;
}

/* Every name of the virtual table, the hidden ones last; each from sqlite3_mprintf(). */
static unsigned list_names(struct iforest_definition *definition, const char *command, char **names)
{
	unsigned n = 0, n_shown;

	for (unsigned b = 0; b < definition->n_by; b++)
		names[n++] = sqlite3_mprintf("%s", definition->by[b].name);
	n += definition->is_overlap ? list_overlaps(definition, names + n) :
	     definition->is_counter ? list_counters(definition, names + n) : list_aggregates(definition, names + n);
	n_shown = n;
	for (int a = 0; a < iforest_n_arguments(definition); a++)
		names[n++] = sqlite3_mprintf("%s", iforest_argument_names[a]);
	if (command)
		names[n++] = sqlite3_mprintf("%s", command);
	definition->n_hidden = n - n_shown;
	return n;
}

/* The last name is that of the command column, if there is one. */
static int check_names(const struct iforest_definition *definition, char **names, unsigned n, bool has_command,
		       struct iforest_error *error)
{
	for (unsigned i = 0; i < n; i++) {
		if (!names[i])
			return iforest_error_set(error, SQLITE_NOMEM, "");
		for (unsigned k = 0; k < i; k++) {
			if (sqlite3_stricmp(names[i], names[k]) != 0)
				continue;
			if (has_command && i == n - 1)
				return iforest_error_set(error, SQLITE_ERROR,
							 "iforest: two columns named \"%s\", for the index has one of its own "
							 "name; give the index another name",
							 names[k]);
			if (k < definition->n_by)
				return iforest_error_set(error, SQLITE_ERROR,
							 "iforest: two columns named \"%s\"; give the by column another name: "
							 "by=(\"%w\" AS \"%w_\")",
							 names[i], definition->by[k].source, definition->by[k].name);
			return iforest_error_set(error, SQLITE_ERROR,
						 "iforest: two columns named \"%s\"; give a value column another name: "
						 "value=(\"column\" AS \"other\")",
						 names[i]);
		}
	}
	return SQLITE_OK;
}

static const char *type_of(const struct iforest_definition *definition, unsigned column)
{
	return column < definition->n_by && definition->by_types[column] ? definition->by_types[column] : "";
}

char *iforest_definition_declare(struct iforest_definition *definition, const char *command, struct iforest_error *error)
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
		iforest_error_set(error, SQLITE_NOMEM, "");
	if (error->rc) {
		sqlite3_free(text);
		text = NULL;
	}
	return text;
}
