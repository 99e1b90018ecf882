#include "pg_ext/sql/function_pieces.h"
#include "pg_ext/sql/sql_sqlgen_own.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

/* ---- names ---- */

static bool is_taken(const struct iforest_names *names, const char *name)
{
	ListCell *cell;

	foreach(cell, names->taken)
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	return false;
}

void iforest_take_name(struct iforest_names *names, const char *name)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the functions of index \"%s\" would have a name that is too long",
			       names->functions->index_name),
			errdetail("\"%s\"", name), errhint("Give the index or the column a shorter name."));
	if (is_taken(names, name))
		ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN),
			errmsg("the functions of index \"%s\" would have two columns named \"%s\"",
			       names->functions->index_name, name),
			errhint("Rename one of the columns of the table."));
	names->taken = lappend(names->taken, pstrdup(name));
}

void iforest_take_names(struct iforest_names *names, const char *const *list)
{
	for (; *list; list++)
		iforest_take_name(names, *list);
}

const char *iforest_take_column(struct iforest_names *names, const char *prefix, const char *name)
{
	const char *chosen = is_taken(names, name) ? psprintf("%s%s", prefix, name) : name;

	iforest_take_name(names, chosen);
	return quote_identifier(chosen);
}

/* ---- pieces ---- */

void iforest_add_text(StringInfo text, const char *piece)
{
	appendStringInfoString(text, piece);
}

void iforest_add_call(StringInfo text, const struct iforest_functions *functions, const char *name)
{
	appendStringInfo(text, "%s.iforest_%s(", functions->extension, name);
}

void iforest_add_bucket_of(StringInfo text, const struct iforest_functions *functions, const char *time)
{
	iforest_add_call(text, functions, "bucket_of");
	iforest_add_text(text, time);
	iforest_add_text(text, ", $1, $2, $3, $4, $5)");
}

void iforest_add_bounds(StringInfo text, const struct iforest_functions *functions, const char *bucket)
{
	iforest_add_call(text, functions, "bucket_start");
	iforest_add_text(text, bucket);
	iforest_add_text(text, ", $1, $2, $3, $4, $5), ");
	iforest_add_call(text, functions, "bucket_end");
	iforest_add_text(text, bucket);
	iforest_add_text(text, ", $1, $2, $3, $4, $5)");
}

void iforest_add_gate(StringInfo text, const struct iforest_functions *functions, const char *fill, bool is_open,
		      bool is_filled)
{
	iforest_add_call(text, functions, "window_asks");
	appendStringInfo(text, "$1, $2, $3, $4, $5, %s, %s, %s)", fill, is_open ? "true" : "false",
			 is_filled ? "true" : "false");
}

void iforest_add_gates(StringInfo text, const struct iforest_functions *functions, const char *fill, bool is_filled)
{
	iforest_add_text(text, "(");
	iforest_add_gate(text, functions, fill, false, is_filled);
	iforest_add_text(text, " OR ");
	iforest_add_gate(text, functions, fill, true, is_filled);
	iforest_add_text(text, ")");
}

void iforest_add_last(StringInfo text, const struct iforest_functions *functions)
{
	iforest_add_call(text, functions, "window_last");
	iforest_add_text(text, "$2)");
}

void iforest_add_predicate(StringInfo text, const struct iforest_functions *functions, const char *word)
{
	if (functions->predicate)
		appendStringInfo(text, " %s (%s)", word, functions->predicate);
}

/* Columns of functions have the collation of their type. */
static void add_collated(StringInfo text, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(columns, i);

		appendStringInfo(text, "%sc%d", i == 0 ? "" : ", ", i + 1);
		if (OidIsValid(column->attcollation) && column->attcollation != get_typcollation(column->atttypid))
			appendStringInfo(text, " COLLATE %s", generate_collation_name(column->attcollation));
	}
}

void iforest_add_part(StringInfo text, const struct iforest_functions *functions, const char *suffix, const char *fills,
		      TupleDesc columns)
{
	iforest_add_text(text, " UNION ALL SELECT ");
	add_collated(text, columns);
	appendStringInfo(text, " FROM %s.%s($1, $2, $3, $4, $5, ", functions->schema,
			 quote_identifier(psprintf("%s%s", functions->index_name, suffix)));
	/* a function is not put in the place of a call that has a subselect among its arguments */
	appendStringInfo(text, "CASE WHEN $6 IN (%s) THEN $6 ELSE (SELECT $6) END) AS part(", fills);
	for (int i = 1; i <= columns->natts; i++)
		appendStringInfo(text, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfo(text, ") WHERE $6 IN (%s)", fills);
}
