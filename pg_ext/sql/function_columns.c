#include "pg_ext/sql/function_window.h"
#include "pg_ext/sql/sql_sqlgen_own.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

static const struct iforest_shown all_shown[] = {
	{ .name = "count_%s", .aggregate = "count", .is_zero = true },
	{ .name = "sum_%s", .aggregate = "sum", .is_summed = true, .is_zero = true },
	{ .name = "min_%s", .aggregate = "min" },
	{ .name = "max_%s", .aggregate = "max" },
	{ .name = "avg_%s", .aggregate = "avg", .is_summed = true },
	{ .name = "first_%s", .aggregate = "first", .is_own = true },
	{ .name = "last_%s", .aggregate = "last", .is_own = true },
	{ .name = "min_%s_ctid", .aggregate = "min_row", .is_own = true, .is_ctid = true },
	{ .name = "max_%s_ctid", .aggregate = "max_row", .is_own = true, .is_ctid = true },
	{ .name = "min_%s_ts", .aggregate = "min_time", .is_own = true },
	{ .name = "max_%s_ts", .aggregate = "max_time", .is_own = true },
	{ .name = "var_%s", .aggregate = "var_samp", .is_variance = true },
	{ .name = "stddev_%s", .aggregate = "stddev_samp", .is_variance = true },
	{ .aggregate = "first_time", .is_own = true, .is_hidden = true },
	{ .aggregate = "last_time", .is_own = true, .is_hidden = true },
	{ .aggregate = "last_row", .is_own = true, .is_ctid = true, .is_hidden = true },
};

static bool has_sum(Oid type)
{
	return type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID;
}

static bool has_squares(const struct iforest_functions *functions, int v)
{
	return functions->squares >> v & 1;
}

static bool is_shown(const struct iforest_functions *functions, int v, const struct iforest_shown *shown)
{
	return (!shown->is_summed || has_sum(functions->values[v].type)) &&
	       (!shown->is_variance || has_squares(functions, v)) && (!shown->is_ctid || !functions->is_partitioned);
}

static void add_kind(List **columns, const struct iforest_functions *functions, bool is_variance, bool is_hidden)
{
	for (int v = 0; v < functions->n_values; v++)
		for (size_t s = 0; s < lengthof(all_shown); s++) {
			struct iforest_value_column *column;

			if (all_shown[s].is_variance != is_variance || all_shown[s].is_hidden != is_hidden ||
			    !is_shown(functions, v, &all_shown[s]))
				continue;
			column = palloc(sizeof *column);
			*column = (struct iforest_value_column){ &functions->values[v], &all_shown[s] };
			*columns = lappend(*columns, column);
		}
}

List *iforest_value_columns(const struct iforest_functions *functions, enum iforest_window_fill fill)
{
	List *columns = NIL;

	add_kind(&columns, functions, false, false);
	add_kind(&columns, functions, true, false);
	if (fill == IFOREST_WINDOW_CARRIED)
		add_kind(&columns, functions, false, true);
	return columns;
}

/* %s of the pattern is the name. */
static char *shown_name(const struct iforest_value_column *column)
{
	const char *pattern = column->shown->name, *at = strstr(pattern, "%s");

	return psprintf("%.*s%s%s", (int)(at - pattern), pattern, column->value->name, at + 2);
}

/* By columns come first, and give way. */
List *iforest_window_names(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "n", "step", "origin", "fill", "bucket", "bucket_start", "bucket_end",
					     "count", "first_ts", "last_ts", NULL };
	const int n_arguments = 6;
	struct iforest_names names = { functions, NIL };
	List *by = NIL, *result = NIL;
	ListCell *cell;

	iforest_take_names(&names, fixed);
	for (int i = n_arguments; fixed[i]; i++)
		result = lappend(result, (char *)fixed[i]);
	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_PLAIN)) {
		char *name = shown_name(lfirst(cell));

		iforest_take_name(&names, name);
		result = lappend(result, (char *)quote_identifier(name));
	}
	for (int i = 0; i < functions->n_by; i++)
		by = lappend(by, (char *)iforest_take_column(&names, "by_", functions->by[i].name));
	return list_concat(by, result);
}

void iforest_add_value(StringInfo text, const struct iforest_functions *functions, const struct iforest_value_column *column)
{
	const struct iforest_shown *shown = column->shown;

	iforest_add_text(text, ", ");
	if (shown->is_own)
		iforest_add_call(text, functions, shown->aggregate);
	else
		appendStringInfo(text, "%s(", shown->aggregate);
	iforest_add_text(text, column->value->expression);
	if (shown->is_own) {
		iforest_add_text(text, ", ");
		iforest_add_text(text, functions->time.expression);
		iforest_add_text(text, ", ctid");
	}
	iforest_add_text(text, ")");
}

int iforest_n_columns(const struct iforest_functions *functions, enum iforest_window_fill fill)
{
	return functions->n_by + 6 + list_length(iforest_value_columns(functions, fill));
}

void iforest_add_numbers(StringInfo text, int from, int to)
{
	for (int i = from; i <= to; i++)
		appendStringInfo(text, "%sc%d", i == from ? "" : ", ", i);
}

void iforest_add_columns(StringInfo text, int from, int to)
{
	iforest_add_text(text, "(");
	iforest_add_numbers(text, from, to);
	iforest_add_text(text, ")");
}
