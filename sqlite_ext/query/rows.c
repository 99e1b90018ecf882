#include "sqlite_ext/query/rows.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/bits.h"
#include "core/model/key.h"
#include "sqlite_ext/follow/row_decoder.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/numeric_bound.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/storage/engine.h"

/* ---- Key of a row, by its rowid ---- */

enum { TIME, FIRST_BY };

/* SELECT r."ts", r."track" FROM "main"."spans" AS r WHERE r."id" = ?1 */
static int prepare(struct ifs_index *index, struct ifs_error *error)
{
	const struct ifs_base_table *base_table = &index->base_table;
	const struct ifs_definition *definition = &index->definition;
	sqlite3_str *sql;

	if (index->find_row)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql, "SELECT r.\"%w\"", definition->time);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, ", r.\"%w\"", definition->by[b].source);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS r WHERE r.\"%w\" = ?1", index->schema, base_table->name,
			    base_table->rowid_column);
	return ifs_prepare_text(error, index->db, &index->find_row, sql);
}

static bool read_time(const struct ifs_times *times, sqlite3_stmt *statement, struct iforest_key *key)
{
	sqlite3_value *value = sqlite3_column_value(statement, TIME);

	key->time_is_null = sqlite3_value_type(value) == SQLITE_NULL;
	return key->time_is_null || !ifs_time_of(times, value, &key->time);
}

/* Finds the key under which the index has a row, but for the series, which is NULL if the table has no such row, or the
 * snapshot not its series.
 * Requires  an index that follows its table (not sync=manual), the snapshot just opened, and !ifs_index_is_changing()
 * Cost      two searches, in the table and in the dictionary */
static int key_of_row(struct ifs_index *index, struct ifs_snapshot *snapshot, sqlite3_int64 id, struct iforest_key *key,
		      const struct ifs_series **series, struct ifs_error *error)
{
	struct iforest_series_key bytes = { .alloc = &ifs_alloc };
	sqlite3_value *by[IFS_MAX_BY];
	int failed, rc = prepare(index, error);

	*series = NULL;
	*key = (struct iforest_key){ .ref = id };
	if (rc)
		return rc;
	sqlite3_bind_int64(index->find_row, 1, id);
	if (sqlite3_step(index->find_row) == SQLITE_ROW && read_time(&snapshot->times, index->find_row, key)) {
		ifs_statement_columns(index->find_row, FIRST_BY, index->definition.n_by, by);
		rc = ifs_row_series_key(&index->definition, by, &bytes, error);
		if (!rc && ifs_dictionary_find(&snapshot->dictionary, bytes.bytes, bytes.n_bytes, series))
			rc = ifs_error_from_status(error, IFOREST_NO_MEMORY, index->name, NULL, 0);
		iforest_series_key_release(&bytes);
	}
	failed = sqlite3_reset(index->find_row);
	if (!rc && failed)
		rc = ifs_error_from_db(error, index->db, failed);
	return rc;
}

/* ---- Plans ---- */

enum { ORDER_SHIFT = 4, VALUE_SHIFT = 8, TIES_SHIFT = 12, VALUES_SHIFT = 16 };

/* A plan being made. */
struct planning {
	const struct ifs_definition *definition;
	sqlite3_index_info *info;
	int n_argv;
	unsigned n_conditions;
	sqlite3_str *tokens, *words;
	bool has_time; /* rows without a time are excluded */
	double share;  /* the estimated share of rows */
	uint32_t number_texts;
	bool has_left; /* a doubtful condition is not usable: query/plan.h */
};

/* ---- t0 and t1 ---- */

static int take_arguments(struct planning *planning, const char *name, struct ifs_error *error)
{
	int first = ifs_rows_first_argument(planning->definition), constraint_of[2];
	int rc = ifs_plan_take_arguments(name, ifs_argument_names, planning->info, first, 2, constraint_of, &planning->n_argv,
					 error);

	for (int a = 0; a < 2 && !rc; a++)
		if (constraint_of[a] >= 0) {
			planning->has_time = true;
			planning->share /= 4;
			sqlite3_str_appendf(planning->words, "%s%s", a && constraint_of[0] >= 0 ? ", " : "",
					    ifs_argument_names[a]);
		}
	return rc;
}

/* ---- conditions ---- */

/* Returns the name of a column in the index, "id" or "end". */
static const char *name_of(const struct ifs_definition *definition, int column)
{
	int value = column - ifs_rows_first_value(definition);

	if (column == IFS_ROWS_ID)
		return "id";
	if (column < ifs_rows_time(definition))
		return definition->by[column - IFS_ROWS_FIRST_BY].name;
	if (column == ifs_rows_time(definition))
		return definition->time;
	return value < (int)definition->n_values ? definition->values[value].name : "end";
}

/* True if the condition gives the rowid, by either of its names. If the index does not follow its table, the row may have
 * another key in the index. */
static bool is_id(const struct planning *planning, int i)
{
	const struct sqlite3_index_constraint *constraint = &planning->info->aConstraint[i];

	return constraint->iColumn <= IFS_ROWS_ID && planning->definition->sync != IFS_SYNC_MANUAL &&
	       (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ || constraint->op == SQLITE_INDEX_CONSTRAINT_IS);
}

/* True if the condition can narrow what is read. Collations other than that of the series are left to SQLite. */
static bool can_narrow(struct planning *planning, int i)
{
	const struct sqlite3_index_constraint *constraint = &planning->info->aConstraint[i];

	if (constraint->usable && is_id(planning, i))
		return true;
	if (constraint->iColumn < IFS_ROWS_FIRST_BY || constraint->iColumn >= ifs_rows_first_argument(planning->definition) ||
	    !ifs_condition_operator(constraint->op))
		return false;
	return constraint->iColumn >= ifs_rows_time(planning->definition) || ifs_plan_may_choose(planning->info, i);
}

/* Returns the condition that looks a row up by its id; -1 if there is none. */
static int find_id(struct planning *planning)
{
	for (int i = 0; i < planning->info->nConstraint; i++)
		if (planning->info->aConstraint[i].usable && is_id(planning, i))
			return i;
	return -1;
}

/* True if another condition looks up the row or the same column already. SQLite passes the values of several IN in all
 * combinations, so rows would be repeated; it checks this condition itself. */
static bool would_repeat(const struct planning *planning, int i, int id)
{
	const struct sqlite3_index_constraint *constraints = planning->info->aConstraint;

	if (id >= 0)
		return i != id;
	for (int before = 0; before < i; before++)
		if (constraints[i].op == SQLITE_INDEX_CONSTRAINT_EQ && constraints[before].op == SQLITE_INDEX_CONSTRAINT_EQ &&
		    constraints[before].iColumn == constraints[i].iColumn && planning->info->aConstraintUsage[before].argvIndex)
			return true;
	return false;
}

static double share_of(char op, double of_one)
{
	switch (op) {
	case '=':
	case '~':
	case 'i':
	case 'n':
		return of_one;
	case 'm':
		return 3 * of_one < 1 ? 3 * of_one : 1;
	default:
		return 0.25;
	}
}

static void take_conditions(struct planning *planning, const struct ifs_rows_size *size)
{
	const struct ifs_definition *definition = planning->definition;
	sqlite3_index_info *info = planning->info;
	int time = ifs_rows_time(definition), end = ifs_rows_end(definition);
	double of_a_by_value = definition->n_by ? pow(size->n_series, -1.0 / definition->n_by) : 1;
	int id = find_id(planning);

	for (int i = 0; i < info->nConstraint && planning->n_conditions < IFS_MAX_ROWS_CONDITIONS; i++) {
		int column = info->aConstraint[i].iColumn < 0 ? IFS_ROWS_ID : info->aConstraint[i].iColumn;
		int by = column - IFS_ROWS_FIRST_BY;
		bool is_by = by >= 0 && column < time;
		char op = ifs_condition_operator(info->aConstraint[i].op);

		if (!can_narrow(planning, i) || would_repeat(planning, i, id))
			continue;
		if (!info->aConstraint[i].usable) {
			if (is_by && ifs_plan_is_doubtful(info, i, (unsigned)by, planning->number_texts)) {
				planning->has_left = true;
				planning->share *= of_a_by_value;
			}
			continue;
		}
		/* series can be chosen by all values of an IN at once; times and values are looked up one by one, which
		 * SQLite does */
		if (op == '=' && is_by)
			op = ifs_plan_equality(info, i, (unsigned)by, planning->number_texts);
		info->aConstraintUsage[i].argvIndex = ++planning->n_argv;
		sqlite3_str_appendf(planning->tokens, "%c%d ", op, column);
		sqlite3_str_appendf(planning->words, "%s%s%s", sqlite3_str_length(planning->words) ? ", " : "",
				    name_of(definition, column), ifs_condition_word(op));
		if (column == IFS_ROWS_ID)
			info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
		planning->share *= share_of(op, is_by			? of_a_by_value
						: column == IFS_ROWS_ID ? 1 / size->n_rows
						: column == time	? 1e-6
									: 0.05);
		planning->has_time = planning->has_time || ((column == time || column == end) && op != 'n' && op != 'i');
		planning->n_conditions++;
	}
}

/* ---- order ---- */

static bool is_next(const sqlite3_index_info *info, int term, int column, bool descends)
{
	return term < info->nOrderBy && info->aOrderBy[term].iColumn == column && (bool)info->aOrderBy[term].desc == descends;
}

/* True if the next ORDER BY term is the id, by either of its names. */
static bool is_id_next(const sqlite3_index_info *info, int term, bool descends)
{
	return is_next(info, term, IFS_ROWS_ID, descends) || is_next(info, term, -1, descends);
}

static void take_order(struct planning *planning)
{
	const struct ifs_definition *definition = planning->definition;
	sqlite3_index_info *info = planning->info;
	enum ifs_rows_order order = IFS_ROWS_IN_ANY_ORDER;
	int time = ifs_rows_time(definition), column, value, n = 1;
	bool descends, ties_in_order = false;

	if (info->nOrderBy == 0)
		return;
	column = info->aOrderBy[0].iColumn;
	descends = info->aOrderBy[0].desc;
	value = column - ifs_rows_first_value(definition);
	if (column == time) {
		order = descends ? IFS_ROWS_BY_TIME_DESCENDING : IFS_ROWS_BY_TIME;
		n += is_id_next(info, n, descends);
	} else if (value >= 0 && value < (int)definition->n_values) {
		order = descends ? IFS_ROWS_BY_VALUE_DESCENDING : IFS_ROWS_BY_VALUE;
		/* SQLite puts rows without a time first, and the index last */
		ties_in_order = planning->has_time && is_next(info, n, time, false);
		n += ties_in_order;
		n += ties_in_order && is_id_next(info, n, false);
		info->idxNum |= value << VALUE_SHIFT | ties_in_order << TIES_SHIFT;
	}
	if (order == IFS_ROWS_IN_ANY_ORDER || n < info->nOrderBy)
		return;
	info->idxNum |= (int)order << ORDER_SHIFT;
	info->orderByConsumed = 1;
	sqlite3_str_appendf(planning->words, "%sin order of %s%s", sqlite3_str_length(planning->words) ? ", " : "",
			    name_of(definition, column), descends ? " descending" : "");
}

/* ---- the plan ---- */

/* Bit 63 of colUsed would mean all columns from 63 on, but there are fewer. The end needs its duration. */
static void take_columns(struct planning *planning)
{
	const struct ifs_definition *definition = planning->definition;
	sqlite3_uint64 used = planning->info->colUsed;
	unsigned values = (unsigned)(used >> ifs_rows_first_value(definition)) & ((1u << definition->n_values) - 1);

	if (ifs_rows_has_end(definition) && used >> ifs_rows_end(definition) & 1)
		values |= 1u << ifs_duration_field(definition, definition->time_kind);
	planning->info->idxNum |= (int)(values << VALUES_SHIFT);
}

/* Returns the LIMIT of the query, if it is a number in its text. */
static double limit_of(sqlite3_index_info *info)
{
	double limit = INFINITY;

	for (int i = 0; i < info->nConstraint; i++) {
		sqlite3_value *value;

		if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT &&
		    sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && sqlite3_value_type(value) == SQLITE_INTEGER &&
		    sqlite3_value_int64(value) >= 0)
			limit = (double)sqlite3_value_int64(value);
	}
	return limit;
}

static void estimate(const struct planning *planning, const struct ifs_rows_size *size)
{
	sqlite3_index_info *info = planning->info;
	double n_rows = size->n_rows * planning->share,
	       limit = info->nOrderBy == 0 || info->orderByConsumed ? limit_of(info) : INFINITY;

	n_rows = n_rows < 1 ? 1 : n_rows;
	if (n_rows > limit)
		n_rows = limit < 1 ? 1 : limit;
	ifs_plan_set_doubtful_cost(info, n_rows, 50 + n_rows * (info->orderByConsumed ? 2 : 1), planning->has_left);
}

int ifs_rows_plan_make(const struct ifs_definition *definition, uint32_t number_texts, const char *name,
		       const struct ifs_rows_size *size, sqlite3_index_info *info, struct ifs_error *error)
{
	struct planning planning = { .definition = definition,
				     .info = info,
				     .number_texts = number_texts,
				     .share = 1,
				     .tokens = sqlite3_str_new(NULL),
				     .words = sqlite3_str_new(NULL) };
	int rc = take_arguments(&planning, name, error);
	char *words, *text;

	if (!rc) {
		take_conditions(&planning, size);
		take_order(&planning);
		take_columns(&planning);
		estimate(&planning, size);
	}
	words = sqlite3_str_finish(planning.words);
	sqlite3_str_appendf(planning.tokens, ": %s", words ? words : "all rows");
	sqlite3_free(words);
	text = sqlite3_str_finish(planning.tokens);
	if (rc) {
		sqlite3_free(text); /* SQLite would not free it */
		return rc;
	}
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	return text ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

void ifs_rows_plan_read(struct ifs_rows_plan *plan, const char *name, int index_number, const char *index_text)
{
	unsigned bits = (unsigned)index_number;
	const char *at = index_text ? index_text : "";

	*plan = (struct ifs_rows_plan){ .name = name,
					.has_t0 = bits & 1,
					.has_t1 = bits >> 1 & 1,
					.order = (enum ifs_rows_order)(bits >> ORDER_SHIFT & 7),
					.value = bits >> VALUE_SHIFT & 7,
					.ties_in_order = bits >> TIES_SHIFT & 1,
					.values = bits >> VALUES_SHIFT & ((1u << IFOREST_MAX_VALUES) - 1) };
	while (*at && at[1] >= '0' && at[1] <= '9' && plan->n_conditions < IFS_MAX_ROWS_CONDITIONS) {
		char *end;

		plan->conditions[plan->n_conditions].op = *at;
		plan->conditions[plan->n_conditions++].column = (int)strtol(at + 1, &end, 10);
		at = *end ? end + 1 : end;
	}
}

/* ---- Values of conditions to series, ranges and bounds ---- */

/* What the conditions leave. */
struct value_limits {
	bool is_empty;
	bool needs_time, lacks_time; /* only rows with a time, only rows without */
	int64_t first_time, last_time;
	int64_t first_end, last_end;
	int64_t first_id, last_id;
};

static int choose_series(struct ifs_row_query *rows, sqlite3_value **argv, struct ifs_error *error)
{
	struct ifs_by_condition conditions[IFS_MAX_ROWS_CONDITIONS];
	int time = ifs_rows_time(&rows->index->definition);

	for (unsigned c = 0; c < rows->plan.n_conditions; c++) {
		conditions[c].op = rows->plan.conditions[c].op;
		conditions[c].by =
			rows->plan.conditions[c].column < time ? rows->plan.conditions[c].column - IFS_ROWS_FIRST_BY : -1;
	}
	return ifs_series_filter_apply(&rows->filter, &rows->snapshot->dictionary, conditions, rows->plan.n_conditions, argv,
				       error);
}

/* ---- times, ends and values ---- */

static int limit_time(const struct ifs_row_query *rows, struct value_limits *limits, int column, char op, sqlite3_value *value,
		      int64_t *low, int64_t *high, struct ifs_error *error)
{
	const struct ifs_times *times = &rows->snapshot->times;
	bool may = true;

	if (op == 'n' || (op == 'i' && sqlite3_value_type(value) == SQLITE_NULL)) {
		limits->lacks_time = true;
		return SQLITE_OK;
	}
	limits->needs_time = true;
	op = op == 'i' ? '=' : op;
	if (times->kind == IFS_TIMES_INTEGER)
		may = ifs_bound_integers(op, value, low, high);
	else if (times->kind == IFS_TIMES_REAL)
		may = ifs_bound_real_times(op, value, low, high);
	else if (sqlite3_value_type(value) == SQLITE_NULL)
		may = false;
	else
		ifs_time_bound_text(times, rows->plan.name, name_of(&rows->index->definition, column), op, value, low, high,
				    error);
	limits->is_empty = limits->is_empty || !may;
	return error->rc;
}

static void limit_id(struct value_limits *limits, sqlite3_value *value)
{
	if (!ifs_bound_integers('=', value, &limits->first_id, &limits->last_id))
		limits->is_empty = true;
}

static void limit_value(struct ifs_row_query *rows, struct value_limits *limits, unsigned v, char op, sqlite3_value *value)
{
	enum iforest_value_type value_type = (enum iforest_value_type)rows->snapshot->manifest.fields.value_types[v];
	union iforest_number low = { .integer = INT64_MIN }, high = { .integer = INT64_MAX };
	bool may = true;

	if (op == 'n' || (op == 'i' && sqlite3_value_type(value) == SQLITE_NULL)) {
		rows->predicate.nulls |= 1u << v;
		return;
	}
	if (value_type == IFOREST_FLOAT64) {
		low.real = -INFINITY;
		high.real = INFINITY;
	}
	op = op == 'i' ? '=' : op;
	if (value_type == IFOREST_INT64)
		may = ifs_bound_integers(op, value, &low.integer, &high.integer);
	else
		may = ifs_bound_reals(op, value, &low.real, &high.real);
	limits->is_empty = limits->is_empty || !may || iforest_number_compare(low, high, value_type) > 0;
	iforest_value_predicate_at_least(&rows->predicate, v, low, value_type);
	iforest_value_predicate_at_most(&rows->predicate, v, high, value_type);
}

static int read_conditions(struct ifs_row_query *rows, struct value_limits *limits, sqlite3_value **argv,
			   struct ifs_error *error)
{
	const struct ifs_definition *definition = &rows->index->definition;
	int time = ifs_rows_time(definition), end = ifs_rows_end(definition), first_value = ifs_rows_first_value(definition);

	for (unsigned c = 0; c < rows->plan.n_conditions && !error->rc; c++) {
		int column = rows->plan.conditions[c].column;
		char op = rows->plan.conditions[c].op;

		if (column == IFS_ROWS_ID)
			limit_id(limits, argv[c]);
		else if (column == time)
			limit_time(rows, limits, column, op, argv[c], &limits->first_time, &limits->last_time, error);
		else if (column == end)
			limit_time(rows, limits, column, op, argv[c], &limits->first_end, &limits->last_end, error);
		else if (column >= first_value)
			limit_value(rows, limits, (unsigned)(column - first_value), op, argv[c]);
	}
	return error->rc;
}

/* Requires spans to reach a time. Of several times, the latest counts. */
static void reach(struct ifs_row_query *rows, int64_t at)
{
	if (!rows->predicate.has_reach || at > rows->predicate.reach)
		rows->predicate.reach = at;
	rows->predicate.has_reach = true;
}

static void read_window(struct ifs_row_query *rows, struct value_limits *limits, const struct ifs_arguments *arguments)
{
	const int64_t *values = arguments->values;

	if (arguments->is_given[IFS_ARGUMENT_T0] || arguments->is_given[IFS_ARGUMENT_T1])
		limits->needs_time = true;
	if (arguments->is_given[IFS_ARGUMENT_T1] && values[IFS_ARGUMENT_T1] == INT64_MIN)
		limits->is_empty = true;
	else if (arguments->is_given[IFS_ARGUMENT_T1] && values[IFS_ARGUMENT_T1] - 1 < limits->last_time)
		limits->last_time = values[IFS_ARGUMENT_T1] - 1;
	if (!arguments->is_given[IFS_ARGUMENT_T0])
		return;
	if (arguments->is_given[IFS_ARGUMENT_T1] && values[IFS_ARGUMENT_T0] >= values[IFS_ARGUMENT_T1])
		limits->is_empty = true;
	if (rows->snapshot->manifest.fields.latest_end_offset)
		reach(rows, values[IFS_ARGUMENT_T0]);
	else if (values[IFS_ARGUMENT_T0] > limits->first_time)
		limits->first_time = values[IFS_ARGUMENT_T0];
}

/* ---- parts ---- */

static void add_part(struct ifs_row_query *rows, const struct value_limits *limits, bool with_time, bool without,
		     struct ifs_row_query_part part)
{
	if ((with_time && limits->first_time > limits->last_time) || (!with_time && !without))
		return;
	part.from = with_time ? iforest_key_at(0, limits->first_time) : iforest_key_nulls(0);
	part.to = limits->last_time == INT64_MAX ? iforest_key_nulls(0) : iforest_key_at(0, limits->last_time + 1);
	if (without)
		part.to = iforest_key_at(1, INT64_MIN);
	rows->parts[rows->n_parts++] = part;
}

static void divide(struct ifs_row_query *rows, const struct value_limits *limits)
{
	bool timed = !limits->lacks_time, timeless = !limits->needs_time,
	     is_null = rows->predicate.nulls >> rows->plan.value & 1, is_there = rows->predicate.values >> rows->plan.value & 1;
	struct ifs_row_query_part by_time = { .is_ordered = true, .order = IFOREST_EARLIEST_FIRST };
	struct ifs_row_query_part by_value = { .is_ordered = true, .order = IFOREST_SMALLEST_FIRST };
	struct ifs_row_query_part any = { .is_ordered = false }, lacking = { .lacks_value = true };

	switch (rows->plan.order) {
	case IFS_ROWS_IN_ANY_ORDER:
		add_part(rows, limits, timed, timeless, any);
		break;
	case IFS_ROWS_BY_TIME:
		add_part(rows, limits, false, timeless, by_time);
		add_part(rows, limits, timed, false, by_time);
		break;
	case IFS_ROWS_BY_TIME_DESCENDING:
		by_time.order = IFOREST_LATEST_FIRST;
		by_time.descends = true;
		add_part(rows, limits, timed, false, by_time);
		add_part(rows, limits, false, timeless, by_time);
		break;
	case IFS_ROWS_BY_VALUE:
	case IFS_ROWS_BY_VALUE_DESCENDING:
		if (rows->plan.ties_in_order) {
			lacking = by_time;
			lacking.lacks_value = true;
		}
		if (rows->plan.order == IFS_ROWS_BY_VALUE && !is_there)
			add_part(rows, limits, timed, timeless, lacking);
		if (rows->plan.order == IFS_ROWS_BY_VALUE_DESCENDING)
			by_value.order = IFOREST_LARGEST_FIRST;
		if (!is_null)
			add_part(rows, limits, timed, timeless, by_value);
		if (rows->plan.order == IFS_ROWS_BY_VALUE_DESCENDING && !is_there)
			add_part(rows, limits, timed, timeless, lacking);
		break;
	}
}

/* Looks up the single row of an id in the table. SQLite checks the conditions, but not the window. */
static int find_row(struct ifs_row_query *rows, const struct value_limits *limits, struct ifs_error *error)
{
	struct iforest_key key;
	const struct ifs_series *series;
	int rc = key_of_row(rows->index, rows->snapshot, limits->first_id, &key, &series, error);
	struct ifs_row_query_part part = { .is_ordered = false };

	if (rc || !series ||
	    (key.time_is_null ? limits->needs_time
			      : limits->lacks_time || key.time < limits->first_time || key.time > limits->last_time))
		return rc;
	part.from = part.to = key;
	if (key.ref < INT64_MAX)
		part.to.ref++;
	else if (key.time_is_null)
		part.to = iforest_key_at(1, INT64_MIN);
	else
		part.to = key.time == INT64_MAX ? iforest_key_nulls(0) : iforest_key_at(0, key.time + 1);
	rows->parts[rows->n_parts++] = part;
	return ifs_series_filter_set(&rows->filter, series, error);
}

/* Sets the chosen series, the predicate and the parts from rows->plan, over the present snapshot. Without parts there are
 * no rows. */
static int resolve_plan(struct ifs_row_query *rows, sqlite3_value **argv, struct ifs_error *error)
{
	struct value_limits limits = { .first_time = INT64_MIN,
				       .last_time = INT64_MAX,
				       .first_end = INT64_MIN,
				       .last_end = INT64_MAX,
				       .first_id = INT64_MIN,
				       .last_id = INT64_MAX };
	struct ifs_arguments arguments;
	unsigned given = (unsigned)rows->plan.has_t0 << IFS_ARGUMENT_T0 | (unsigned)rows->plan.has_t1 << IFS_ARGUMENT_T1;
	int rc = ifs_arguments_read(&rows->snapshot->times, rows->plan.name, given, argv, &arguments, error);

	if (rc || arguments.has_null)
		return rc;
	argv += iforest_popcount(given);
	rows->predicate = (struct iforest_value_predicate){ .values = 0 };
	read_window(rows, &limits, &arguments);
	rc = read_conditions(rows, &limits, argv, error);
	if (rc)
		return rc;
	if (limits.first_end > INT64_MIN)
		reach(rows, limits.first_end - 1);
	if (limits.last_end < limits.last_time)
		limits.last_time = limits.last_end;
	if (limits.is_empty || limits.first_end > limits.last_end || limits.first_id > limits.last_id ||
	    (limits.needs_time && limits.lacks_time) || (rows->predicate.nulls & rows->predicate.values))
		return SQLITE_OK;
	if (limits.first_id == limits.last_id && !ifs_index_is_changing(rows->index))
		return find_row(rows, &limits, error);
	rc = choose_series(rows, argv, error);
	if (!rc && rows->filter.n > 0)
		divide(rows, &limits);
	return rc;
}

/* ---- Row queries ---- */

static void drop_readers(struct ifs_row_query *rows)
{
	if (rows->has_iterator)
		iforest_iterator_release(&rows->iterator);
	if (rows->has_top_k)
		iforest_top_k_release(&rows->top_k);
	rows->has_iterator = rows->has_top_k = false;
}

void ifs_row_query_release(struct ifs_row_query *rows)
{
	drop_readers(rows);
	ifs_snapshot_release(rows->snapshot);
	ifs_series_filter_release(&rows->filter);
	*rows = (struct ifs_row_query){ .n_parts = 0 };
}

/* Opens the state to read now: that of the last query, if nothing has changed. */
static int open_snapshot(struct ifs_row_query *rows, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot;
	int rc = ifs_snapshot_open(rows->index, &snapshot, error);

	if (rc)
		return rc;
	if (snapshot == rows->snapshot) {
		ifs_snapshot_release(snapshot);
		return SQLITE_OK;
	}
	drop_readers(rows);
	ifs_snapshot_release(rows->snapshot);
	ifs_series_filter_release(&rows->filter);
	rows->snapshot = snapshot;
	return SQLITE_OK;
}

/* Opens the iterator over the stored runs and those of the delta. */
static enum iforest_status open_iterator(struct ifs_row_query *rows)
{
	struct ifs_snapshot *snapshot = rows->snapshot;
	enum iforest_status status = IFOREST_OK;

	if (!rows->has_iterator) {
		status = iforest_iterator_init(&rows->iterator, &rows->index->store, &snapshot->manifest);
		rows->has_iterator = !status;
		if (!status)
			status = iforest_iterator_join(&rows->iterator, &snapshot->delta.memtable.store,
						       &snapshot->delta.memtable.manifest);
	}
	return status;
}

static enum iforest_status open_top_k(struct ifs_row_query *rows)
{
	struct ifs_snapshot *snapshot = rows->snapshot;
	enum iforest_status status = IFOREST_OK;

	if (!rows->has_top_k) {
		status = iforest_top_k_init(&rows->top_k, &rows->index->store, &snapshot->manifest);
		rows->has_top_k = !status;
		if (!status)
			status = iforest_top_k_join(&rows->top_k, &snapshot->delta.memtable.store,
						    &snapshot->delta.memtable.manifest);
	}
	return status;
}

int ifs_row_query_start(struct ifs_row_query *rows, struct ifs_index *index, const struct ifs_rows_plan *plan,
			sqlite3_value **argv, struct ifs_error *error)
{
	int rc;

	rows->index = index;
	rows->n_changes = index->connection->n_changes;
	rows->plan = *plan;
	rows->n_parts = rows->part = 0;
	rows->part_is_open = false;
	rc = open_snapshot(rows, error);
	return rc ? rc : resolve_plan(rows, argv, error);
}

/* ---- rows ---- */

static struct iforest_value_predicate predicate_of(const struct ifs_row_query *rows, const struct ifs_row_query_part *part)
{
	struct iforest_value_predicate predicate = rows->predicate;

	if (part->lacks_value)
		predicate.nulls |= 1u << rows->plan.value;
	return predicate;
}

static void start_iterator(struct ifs_row_query *rows, const struct ifs_row_query_part *part, uint64_t from, uint64_t to)
{
	struct iforest_iterator_question question = { .from = part->from,
						      .to = part->to,
						      .descends = part->descends,
						      .match = predicate_of(rows, part),
						      .filter = ifs_delta_filter(&rows->snapshot->delta),
						      .values = rows->plan.values };

	question.from.series += from;
	question.to.series += to;
	iforest_iterator_start(&rows->iterator, &question);
}

static enum iforest_status start_top_k(struct ifs_row_query *rows, const struct ifs_row_query_part *part)
{
	struct iforest_top_k_question question = { .order = part->order,
						   .value = rows->plan.value,
						   .from = part->from,
						   .to = part->to,
						   .series = rows->filter.n < rows->snapshot->dictionary.n_series
								     ? rows->filter.ids
								     : NULL,
						   .n_series = rows->filter.n,
						   .match = predicate_of(rows, part),
						   .filter = ifs_delta_filter(&rows->snapshot->delta),
						   .values = rows->plan.values };

	return iforest_top_k_start(&rows->top_k, &question);
}

/* True if an iterator reads the part: there is a single series, or no order. */
static bool uses_iterator(const struct ifs_row_query *rows, const struct ifs_row_query_part *part)
{
	return !part->is_ordered ||
	       (rows->filter.n == 1 && (part->order == IFOREST_EARLIEST_FIRST || part->order == IFOREST_LATEST_FIRST));
}

static enum iforest_status open_part(struct ifs_row_query *rows, const struct ifs_row_query_part *part)
{
	bool is_whole = rows->filter.n == rows->snapshot->dictionary.n_series && part->to.series == 1 &&
			!part->from.time_is_null && part->from.time == INT64_MIN;
	enum iforest_status status = uses_iterator(rows, part) ? open_iterator(rows) : open_top_k(rows);

	rows->part_is_open = true;
	rows->at_series = 0;
	if (status)
		return status;
	if (!uses_iterator(rows, part))
		return start_top_k(rows, part);
	if (is_whole && rows->filter.n > 0) { /* one pass instead of one a series */
		start_iterator(rows, part, rows->filter.ids[0], rows->filter.ids[rows->filter.n - 1]);
		rows->at_series = rows->filter.n;
	} else if (rows->filter.n > 0) {
		start_iterator(rows, part, rows->filter.ids[0], rows->filter.ids[0]);
		rows->at_series = 1;
	}
	return IFOREST_OK;
}

static enum iforest_status next_of_part(struct ifs_row_query *rows, const struct ifs_row_query_part *part, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	if (!uses_iterator(rows, part))
		return iforest_top_k_next(&rows->top_k, &rows->entry, found);
	while (rows->filter.n > 0) {
		uint32_t id;

		status = iforest_iterator_next(&rows->iterator, &rows->entry, found);
		if (status || *found || rows->at_series == rows->filter.n)
			break;
		id = rows->filter.ids[rows->at_series++];
		start_iterator(rows, part, id, id);
	}
	return status;
}

int ifs_row_query_next(struct ifs_row_query *rows, bool *at_end, struct ifs_error *error)
{
	enum iforest_status status = IFOREST_OK;
	bool found = false;

	if (ifs_snapshot_check_since(rows->index, rows->snapshot, &rows->n_changes, error))
		return error->rc;
	while (!status && !found && rows->part < rows->n_parts) {
		const struct ifs_row_query_part *part = &rows->parts[rows->part];

		if (!rows->part_is_open)
			status = open_part(rows, part);
		if (!status)
			status = next_of_part(rows, part, &found);
		if (!status && !found) {
			rows->part++;
			rows->part_is_open = false;
		}
	}
	if (!status && found && !ifs_row_query_series(rows)) {
		rows->index->store.fault = (struct iforest_fault){ .what = "an entry is of a series that there is not" };
		status = IFOREST_CORRUPT;
	}
	*at_end = status || !found;
	return ifs_snapshot_error(rows->index, rows->snapshot, status, error);
}

const struct ifs_series *ifs_row_query_series(const struct ifs_row_query *rows)
{
	return ifs_series_filter_find(&rows->filter, rows->entry.key.series);
}

bool ifs_row_query_end_of(const struct ifs_row_query *rows, int64_t *end)
{
	const struct iforest_node_schema *fields = &rows->snapshot->manifest.fields;
	const struct iforest_entry *entry = &rows->entry;
	unsigned v = fields->duration_value;

	*end = iforest_span_end(entry->key.time, entry->values[v].integer, entry->present >> v & 1,
				(enum iforest_end_rule)fields->end_rule);
	return !entry->key.time_is_null;
}
