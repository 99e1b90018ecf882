#include "sqlite_ext/query/plan.h"

#include <stddef.h>

#include "sqlite_ext/storage/accumulator_columns.h"

static int read_fill(const char *name, sqlite3_value *value, enum ifs_fill_mode *fill, struct ifs_error *error)
{
	static const char *const words[IFS_N_FILLS] = { "none", "null", "zero", "last", "linear" };
	const char *text = (const char *)sqlite3_value_text(value);

	for (int f = IFS_FILL_NONE; text && f < IFS_N_FILLS; f++)
		if (sqlite3_stricmp(text, words[f]) == 0) {
			*fill = (enum ifs_fill_mode)f;
			return SQLITE_OK;
		}
	return ifs_error_set(error, SQLITE_ERROR, "%s: fill is one of 'none', 'null', 'zero', 'last', 'linear'", name);
}

static const char *find_conflict(const struct ifs_arguments *arguments)
{
	const bool *given = arguments->is_given;
	bool is_bounded = given[IFS_ARGUMENT_T0] && given[IFS_ARGUMENT_T1];

	if (given[IFS_ARGUMENT_N] && given[IFS_ARGUMENT_STEP])
		return "n and step exclude each other";
	if (given[IFS_ARGUMENT_N] && arguments->values[IFS_ARGUMENT_N] <= 0)
		return "n must be greater than 0";
	if (given[IFS_ARGUMENT_STEP] && arguments->values[IFS_ARGUMENT_STEP] <= 0)
		return "step must be greater than 0";
	if (given[IFS_ARGUMENT_ORIGIN] && !given[IFS_ARGUMENT_STEP])
		return "origin needs step";
	if (given[IFS_ARGUMENT_N] && arguments->values[IFS_ARGUMENT_N] > 1 && !is_bounded)
		return "n needs both t0 and t1";
	if (arguments->fill != IFS_FILL_NONE && given[IFS_ARGUMENT_STEP] && !is_bounded)
		return "fill with step needs both t0 and t1";
	return NULL;
}

static int read_argument(const char *name, enum ifs_argument argument, sqlite3_value *value, struct ifs_arguments *arguments,
			 struct ifs_error *error)
{
	const char *argument_name = ifs_argument_names[argument];
	int64_t *read = &arguments->values[argument];

	switch (argument) {
	case IFS_ARGUMENT_FILL:
		return read_fill(name, value, &arguments->fill, error);
	case IFS_ARGUMENT_N:
		return ifs_value_to_integer(name, argument_name, value, read, error);
	case IFS_ARGUMENT_STEP:
		return ifs_length_argument(&arguments->times, name, argument_name, value, read, error);
	default:
		return ifs_time_argument(&arguments->times, name, argument_name, value, read, error);
	}
}

int ifs_arguments_read(const struct ifs_times *times, const char *name, unsigned given, sqlite3_value **argv,
		       struct ifs_arguments *arguments, struct ifs_error *error)
{
	const char *wrong;
	int rc = SQLITE_OK;

	*arguments = (struct ifs_arguments){ .times = *times, .fill = IFS_FILL_NONE };
	for (unsigned a = 0; a < IFS_N_ARGUMENTS && !rc; a++) {
		sqlite3_value *value = given >> a & 1 ? *argv++ : NULL;

		if (!value)
			continue;
		arguments->is_given[a] = true;
		if (sqlite3_value_type(value) == SQLITE_NULL)
			arguments->has_null = true;
		else
			rc = read_argument(name, (enum ifs_argument)a, value, arguments, error);
	}
	if (rc || arguments->has_null)
		return rc;
	wrong = find_conflict(arguments);
	return wrong ? ifs_error_set(error, SQLITE_ERROR, "%s: %s", name, wrong) : SQLITE_OK;
}

struct iforest_bucketing ifs_arguments_bucketing(const struct ifs_arguments *arguments)
{
	const bool *given = arguments->is_given;
	const int64_t *values = arguments->values;
	struct iforest_bucketing bucketing = {
		.mode = given[IFS_ARGUMENT_STEP]			      ? IFOREST_STEP
			: given[IFS_ARGUMENT_N] && values[IFS_ARGUMENT_N] > 1 ? IFOREST_COUNT
									      : IFOREST_WHOLE,
		.edges = ifs_time_edges(arguments->times.kind),
		.window = { .has_t0 = given[IFS_ARGUMENT_T0],
			    .has_t1 = given[IFS_ARGUMENT_T1],
			    .t0 = values[IFS_ARGUMENT_T0],
			    .t1 = values[IFS_ARGUMENT_T1] },
		.n = values[IFS_ARGUMENT_N],
		.step = values[IFS_ARGUMENT_STEP],
		.origin = values[IFS_ARGUMENT_ORIGIN],
	};

	return bucketing;
}

/* ---- Plans ---- */

/* Returns the columns, among those with a bit of their own, that need only extremes and whether there is a row: names of
 * the row, extremes, arguments. */
static sqlite3_uint64 extremes(const struct ifs_definition *definition)
{
	unsigned first_by = definition->n_hidden, first_fixed = first_by + definition->n_by, first = first_fixed + IFS_N_FIXED;
	unsigned after = first + IFS_N_OF_VALUE * definition->n_values;
	sqlite3_uint64 columns = (UINT64_C(1) << first_fixed) - 1;

	for (unsigned f = 0; f < IFS_N_FIXED; f++)
		if (f == IFS_COLUMN_BUCKET || f == IFS_COLUMN_BUCKET_START || f == IFS_COLUMN_BUCKET_END)
			columns |= UINT64_C(1) << (first_fixed + f);
	for (unsigned column = first; column < after && column < 63; column++) {
		unsigned c = (column - first) % IFS_N_OF_VALUE;

		if (c == IFS_OF_MIN || c == IFS_OF_MIN_ID || c == IFS_OF_MIN_TS || c == IFS_OF_MAX || c == IFS_OF_MAX_ID ||
		    c == IFS_OF_MAX_TS)
			columns |= UINT64_C(1) << column;
	}
	return columns;
}

/* Bit 63 of colUsed means all columns from 63 on. */
static bool is_used(sqlite3_uint64 used, unsigned column)
{
	return used >> (column < 63 ? column : 63) & 1;
}

static bool wants_peak(const struct ifs_definition *definition, sqlite3_uint64 used)
{
	unsigned first_fixed = definition->n_hidden + definition->n_by;

	return definition->is_overlap &&
	       (is_used(used, first_fixed + IFS_OF_PEAK) || is_used(used, first_fixed + IFS_OF_PEAK_TS));
}

static bool is_of_first(unsigned column)
{
	return column == IFS_OF_FIRST_ID || column == IFS_OF_FIRST_TS;
}

/* Returns the aggregates that the used columns need. */
static struct iforest_request request_of(const struct ifs_definition *definition, sqlite3_uint64 used)
{
	struct iforest_request request = { .no_mins = UINT32_MAX, .no_maxs = UINT32_MAX, .no_rows = UINT32_MAX };
	unsigned first_fixed = definition->n_hidden + definition->n_by, first = first_fixed + IFS_N_FIXED;

	if (definition->is_overlap) {
		if (is_used(used, first_fixed + IFS_OF_CLIPPED))
			request.values = 1u << definition->duration_value;
		for (unsigned c = IFS_OF_LONGEST; c <= IFS_OF_LONGEST_TS; c++)
			if (is_used(used, first_fixed + c))
				request.no_maxs = ~(1u << definition->duration_value);
		request.extremes_alone =
			request.no_maxs != UINT32_MAX && !request.values && !is_used(used, first_fixed + IFS_OVERLAPS);
		return request;
	}
	if (definition->is_counter) {
		for (unsigned c = 0; c < definition->n_values * IFS_N_OF_COUNTER; c++)
			if (is_used(used, first + c))
				request.values |= 1u << c / IFS_N_OF_COUNTER;
		return request;
	}
	request.extremes_alone = !(used & ~extremes(definition));
	for (unsigned f = 0; f < IFS_N_FIXED; f++)
		if ((f == IFS_COLUMN_FIRST_TS || f == IFS_COLUMN_LAST_TS) && is_used(used, first_fixed + f))
			request.times = true;
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned c = 0; c < IFS_N_OF_VALUE; c++) {
			unsigned column = first + v * IFS_N_OF_VALUE + c;

			if (!is_used(used, column))
				continue;
			if (c == IFS_OF_FIRST)
				request.firsts |= 1u << v;
			else if (c == IFS_OF_LAST)
				request.lasts |= 1u << v;
			else
				request.values |= 1u << v;
			if (c == IFS_OF_MIN || c == IFS_OF_MIN_ID || c == IFS_OF_MIN_TS)
				request.no_mins &= ~(1u << v);
			if (c == IFS_OF_MAX || c == IFS_OF_MAX_ID || c == IFS_OF_MAX_TS)
				request.no_maxs &= ~(1u << v);
			if (c >= IFS_OF_MIN_ID)
				request.no_rows &= ~(1u << v);
		}
	for (unsigned c = 0; c < ifs_n_accumulator_columns(&definition->accumulators); c++)
		if (is_used(used, definition->n_hidden + ifs_first_of_accumulators(definition) + c))
			ifs_accumulator_column_request(&definition->accumulators, c, &request);
	for (unsigned c = 0; c < IFS_N_OF_ENDS * definition->n_values; c++)
		if (is_used(used, definition->n_hidden + ifs_first_of_ends(definition) + c))
			*(is_of_first(IFS_N_OF_VALUE + c % IFS_N_OF_ENDS) ? &request.firsts : &request.lasts) |=
				1u << c / IFS_N_OF_ENDS;
	return request;
}

/* Notes the first argument that is used, but for which SQLite offers no condition. That happens to the table on the right
 * of a RIGHT or FULL JOIN: SQLite checks ON t0 = ... only after other conditions, on rows of another query. */
static void note_unusable(sqlite3_index_info *info, int first_column, int n_arguments, const int *constraint_of)
{
	for (int a = 0; a < n_arguments; a++)
		if (constraint_of[a] < 0 && is_used(info->colUsed, (unsigned)(first_column + a))) {
			info->idxNum |= (a + 1) << IFS_UNUSABLE_SHIFT;
			return;
		}
}

/* True if the condition is an IN. One on an argument is unusable when SQLite looks for a plan without IN. It cannot be
 * refused: SQLite takes that for a plan, and does not ask for one with IN that needs no other table. */
static bool plan_is_in(sqlite3_index_info *info, int i)
{
	return sqlite3_vtab_in(info, i, -1);
}

void ifs_plan_set_cost(sqlite3_index_info *info, double n_rows, double cost)
{
	info->estimatedRows = (sqlite3_int64)n_rows;
	info->estimatedCost = info->idxNum >> IFS_UNUSABLE_SHIFT ? IFS_COST_OF_UNUSABLE : cost;
}

/* Finds the condition that gives each argument: the first usable one. *waits: an argument has only conditions that need
 * tables which come later in this join order. SQLite itself checks the other conditions on an argument, such as x.t0 =
 * y.t0 beside x.t0 = 5. */
static int find_arguments(const char *name, const char *const *names, sqlite3_index_info *info, int first_column,
			  int n_arguments, int *constraint_of, bool *waits, struct ifs_error *error)
{
	unsigned late = 0;

	*waits = false;
	for (int a = 0; a < n_arguments; a++)
		constraint_of[a] = -1;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		int argument = constraint->iColumn - first_column;

		if (argument < 0 || argument >= n_arguments || constraint->op == SQLITE_INDEX_CONSTRAINT_LIMIT ||
		    constraint->op == SQLITE_INDEX_CONSTRAINT_OFFSET)
			continue;
		if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
			return ifs_error_set(error, SQLITE_ERROR,
					     "%s: argument %s takes = only: %s(t0, t1), or %s = ... in WHERE", name,
					     names[argument], name, names[argument]);
		if (!constraint->usable && !plan_is_in(info, i))
			late |= 1u << argument;
		if (constraint->usable && constraint_of[argument] < 0)
			constraint_of[argument] = i;
	}
	for (int a = 0; a < n_arguments; a++)
		*waits = *waits || (late >> a & 1 && constraint_of[a] < 0);
	return SQLITE_OK;
}

int ifs_plan_take_arguments(const char *name, const char *const *names, sqlite3_index_info *info, int first_column,
			    int n_arguments, int *constraint_of, int *n_argv, struct ifs_error *error)
{
	bool waits;
	int rc = find_arguments(name, names, info, first_column, n_arguments, constraint_of, &waits, error);

	if (rc || waits)
		return rc ? rc : SQLITE_CONSTRAINT;
	for (int a = 0; a < n_arguments; a++)
		if (constraint_of[a] >= 0) {
			info->aConstraintUsage[constraint_of[a]].argvIndex = ++*n_argv;
			info->aConstraintUsage[constraint_of[a]].omit = 1;
			info->idxNum |= 1 << a;
		}
	note_unusable(info, first_column, n_arguments, constraint_of);
	return SQLITE_OK;
}

static double estimate(unsigned arguments, unsigned n_conditions)
{
	double n_rows = arguments & (1u << IFS_ARGUMENT_N | 1u << IFS_ARGUMENT_STEP) ? 100000 : 100;

	return n_conditions ? n_rows / 10 : n_rows;
}

/* True if rows come in the requested order: without by columns there is one series, whose rows come in the order of
 * buckets. A condition on a by column does not promise a single series: by the affinity of its other side, c = CAST(3 AS
 * REAL) holds for the series 3, '3' and '3.0'. */
static bool is_ordered(const struct ifs_definition *definition, const sqlite3_index_info *info)
{
	int column =
		info->nOrderBy == 1 && !info->aOrderBy[0].desc ? info->aOrderBy[0].iColumn - (int)definition->n_hidden : -1;

	return definition->n_by == 0 && (column == IFS_COLUMN_BUCKET || column == IFS_COLUMN_BUCKET_START);
}

/* Returns the by column of a condition, if it is at least 0 and less than n_by. */
static int by_of(const struct ifs_definition *definition, const sqlite3_index_info *info, int i)
{
	return info->aConstraint[i].iColumn - (int)definition->n_hidden;
}

bool ifs_plan_may_choose(sqlite3_index_info *info, int i)
{
	return i < 32 && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

bool ifs_plan_is_doubtful(sqlite3_index_info *info, int i, unsigned by, uint32_t number_texts)
{
	sqlite3_value *value;

	return info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ && number_texts >> by & 1 &&
	       !sqlite3_vtab_in(info, i, -1) && sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK;
}

char ifs_plan_equality(sqlite3_index_info *info, int i, unsigned by, uint32_t number_texts)
{
	/* one by one, SQLite would check the values of an IN without the affinity of their column */
	if (sqlite3_vtab_in(info, i, 1))
		return 'm';
	return number_texts >> by & 1 ? '~' : '=';
}

void ifs_plan_set_doubtful_cost(sqlite3_index_info *info, double n_rows, double cost, bool has_left)
{
	/* SQLite rounds costs to steps of 7 % */
	ifs_plan_set_cost(info, n_rows, has_left ? 0.7 * cost : cost);
}

/* True if the condition can narrow the series. SQLite checks it again, with affinities. Other collations are left to it. */
static bool narrows(const struct ifs_definition *definition, sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
	int by = by_of(definition, info, i);

	return by >= 0 && by < (int)definition->n_by &&
	       (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ || constraint->op == SQLITE_INDEX_CONSTRAINT_IS) &&
	       ifs_plan_may_choose(info, i);
}

#define NUMBERS_AMONG_TEXTS " = text or number"

static const char *word_of(sqlite3_index_info *info, int i, unsigned by, uint32_t number_texts)
{
	if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_IS)
		return " IS";
	switch (ifs_plan_equality(info, i, by, number_texts)) {
	case 'm':
		return " IN";
	case '~':
		return NUMBERS_AMONG_TEXTS;
	default:
		return " =";
	}
}

unsigned ifs_plan_take_conditions(const struct ifs_definition *definition, uint32_t number_texts, sqlite3_index_info *info,
				  int *n_argv, sqlite3_str *text, bool *has_left)
{
	unsigned n_conditions = 0;

	*has_left = false;
	for (int i = 0; i < info->nConstraint && n_conditions < IFS_MAX_CONDITIONS; i++) {
		unsigned by = (unsigned)by_of(definition, info, i);

		if (!narrows(definition, info, i))
			continue;
		if (info->aConstraint[i].usable) {
			info->aConstraintUsage[i].argvIndex = ++*n_argv;
			sqlite3_str_appendf(text, "; by \"%w\"%s", definition->by[by].name, word_of(info, i, by, number_texts));
			n_conditions++;
		} else if (ifs_plan_is_doubtful(info, i, by, number_texts)) {
			*has_left = true;
			n_conditions++;
		}
	}
	return n_conditions;
}

/* ---- words ---- */

/* The requested parts of a value column: bits of struct iforest_request. is_not: the bits say what is not requested. */
static const struct {
	const char *word;
	size_t field;
	bool is_not;
} words[] = {
	{ " sum", offsetof(struct iforest_request, values), false },
	{ " min", offsetof(struct iforest_request, no_mins), true },
	{ " max", offsetof(struct iforest_request, no_maxs), true },
	{ " id", offsetof(struct iforest_request, no_rows), true },
	{ " first", offsetof(struct iforest_request, firsts), false },
	{ " last", offsetof(struct iforest_request, lasts), false },
};

enum { N_WORDS = sizeof words / sizeof *words };

static uint32_t *bits_of(struct iforest_request *request, unsigned word)
{
	return (uint32_t *)((char *)request + words[word].field);
}

static void write_window(sqlite3_str *text, unsigned arguments)
{
	static const char *const windows[] = { "all time", "from t0", "until t1", "window [t0, t1)" };

	sqlite3_str_appendall(text, windows[arguments & 3]);
	if (arguments & 1u << IFS_ARGUMENT_N)
		sqlite3_str_appendall(text, ", n buckets");
	if (arguments & 1u << IFS_ARGUMENT_STEP)
		sqlite3_str_appendall(text, ", buckets of step");
	if (arguments & 1u << IFS_ARGUMENT_ORIGIN)
		sqlite3_str_appendall(text, " from origin");
	if (arguments & 1u << IFS_ARGUMENT_FILL)
		sqlite3_str_appendall(text, ", fill");
}

/* Writes the word of an accumulator. */
static void write_accumulator(sqlite3_str *text, const struct ifs_definition *definition, unsigned a)
{
	const struct iforest_accumulator *accumulator = &definition->accumulators.list[a];

	sqlite3_str_appendf(text, " %s", iforest_kind_find(accumulator->code)->name);
	if (accumulator->second == IFOREST_TIME_COLUMN)
		sqlite3_str_appendall(text, " with time");
	else if (accumulator->second != IFOREST_NO_VALUE)
		sqlite3_str_appendf(text, " with %u", accumulator->second);
}

static void write_request(sqlite3_str *text, const struct ifs_definition *definition, struct iforest_request *request)
{
	for (unsigned v = 0; v < definition->n_values; v++) {
		bool is_named = false;

		for (unsigned w = 0; w < N_WORDS; w++) {
			if ((*bits_of(request, w) >> v & 1) == words[w].is_not)
				continue;
			if (!is_named)
				sqlite3_str_appendf(text, "; of \"%w\":", definition->values[v].name);
			sqlite3_str_appendall(text, words[w].word);
			is_named = true;
		}
		for (unsigned a = 0; a < definition->accumulators.n; a++) {
			if (definition->accumulators.list[a].value != v || !(request->accumulators >> a & 1))
				continue;
			if (!is_named)
				sqlite3_str_appendf(text, "; of \"%w\":", definition->values[v].name);
			write_accumulator(text, definition, a);
			is_named = true;
		}
	}
	if (request->times)
		sqlite3_str_appendall(text, "; times");
	if (request->extremes_alone)
		sqlite3_str_appendall(text, "; extremes alone");
}

static bool skip(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) != 0)
		return false;
	*at += n;
	return true;
}

/* Skips the name in double quotes, in which double quotes are doubled. */
static bool skip_name(const char **at, const char *name)
{
	const char *in = *at;

	if (*in++ != '"')
		return false;
	for (; *name; name++, in++) {
		if (*in != *name || (*name == '"' && *++in != '"'))
			return false;
	}
	if (*in != '"' || in[1] == '"')
		return false;
	*at = in + 1;
	return true;
}

bool ifs_plan_read_conditions(struct ifs_plan *plan, const struct ifs_definition *definition, const char **at)
{
	while (plan->n_conditions < IFS_MAX_CONDITIONS && skip(at, "; by ")) {
		struct ifs_by_condition *condition = &plan->conditions[plan->n_conditions++];

		while (condition->by < (int)definition->n_by && !skip_name(at, definition->by[condition->by].name))
			condition->by++;
		condition->op = skip(at, " IS") ? 'i' : skip(at, " IN") ? 'm' : skip(at, NUMBERS_AMONG_TEXTS) ? '~' : '=';
		if (condition->by == (int)definition->n_by || (condition->op == '=' && !skip(at, " =")))
			return false;
	}
	return true;
}

static bool skip_accumulator(const char **at, const struct ifs_definition *definition, unsigned a)
{
	const struct iforest_accumulator *accumulator = &definition->accumulators.list[a];
	const char *in = *at;

	if (!skip(&in, " ") || !skip(&in, iforest_kind_find(accumulator->code)->name))
		return false;
	if (accumulator->second == IFOREST_TIME_COLUMN && !skip(&in, " with time"))
		return false;
	if (accumulator->second < IFOREST_MAX_VALUES && !(skip(&in, " with ") && *in++ == '0' + accumulator->second))
		return false;
	*at = in;
	return true;
}

static bool read_request(struct iforest_request *request, const struct ifs_definition *definition, const char **at)
{
	*request = (struct iforest_request){ .no_mins = UINT32_MAX, .no_maxs = UINT32_MAX, .no_rows = UINT32_MAX };
	for (unsigned v = 0; v < definition->n_values && skip(at, "; of "); v++) {
		while (v < definition->n_values && !skip_name(at, definition->values[v].name))
			v++;
		if (v == definition->n_values || !skip(at, ":"))
			return false;
		for (unsigned w = 0; w < N_WORDS; w++)
			if (skip(at, words[w].word))
				*bits_of(request, w) ^= 1u << v;
		for (unsigned a = 0; a < definition->accumulators.n; a++)
			if (definition->accumulators.list[a].value == v && skip_accumulator(at, definition, a))
				request->accumulators |= 1u << a;
	}
	request->times = skip(at, "; times");
	request->extremes_alone = skip(at, "; extremes alone");
	return true;
}

/* ---- the plan of an index ---- */

/* Refuses a seventh argument, which SQLite takes for a condition on the command column. */
static int check_command(const struct ifs_definition *definition, const char *name, const sqlite3_index_info *info,
			 struct ifs_error *error)
{
	int column = ifs_n_arguments(definition);

	for (int i = 0; i < info->nConstraint && (int)definition->n_hidden > column; i++)
		if (info->aConstraint[i].iColumn == column && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			return ifs_error_set(error, SQLITE_ERROR,
					     "%s: too many arguments; there are t0, t1, n, step, origin and fill", name);
	return SQLITE_OK;
}

int ifs_plan_make(const struct ifs_definition *definition, uint32_t number_texts, const char *name, sqlite3_index_info *info,
		  struct ifs_error *error)
{
	int constraint_of[IFS_N_ARGUMENTS], n_arguments = ifs_n_arguments(definition), n_argv = 0;
	struct iforest_request request = request_of(definition, info->colUsed);
	sqlite3_str *text;
	unsigned n_conditions;
	bool has_left;
	double n_rows;
	int rc = check_command(definition, name, info, error);

	if (!rc)
		rc = ifs_plan_take_arguments(name, ifs_argument_names, info, 0, n_arguments, constraint_of, &n_argv, error);
	if (rc)
		return rc;
	/* an UPDATE, which is refused later */
	if ((int)definition->n_hidden > n_arguments && is_used(info->colUsed, (unsigned)n_arguments))
		info->idxNum &= (1 << IFS_UNUSABLE_SHIFT) - 1;
	text = sqlite3_str_new(NULL);
	write_window(text, (unsigned)info->idxNum);
	n_conditions = ifs_plan_take_conditions(definition, number_texts, info, &n_argv, text, &has_left);
	write_request(text, definition, &request);
	if (wants_peak(definition, info->colUsed))
		sqlite3_str_appendall(text, "; peak");
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = is_ordered(definition, info);
	n_rows = estimate((unsigned)info->idxNum, n_conditions);
	ifs_plan_set_doubtful_cost(info, n_rows, 100 + n_rows, has_left);
	return info->idxStr ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

bool ifs_plan_read(struct ifs_plan *plan, const struct ifs_definition *definition, const char *name, int index_number,
		   const char *index_text)
{
	const char *at = strchr(index_text, ';');

	*plan = (struct ifs_plan){ .name = name, .arguments = (unsigned)index_number & ((1u << IFS_N_ARGUMENTS) - 1) };
	if (!at)
		at = "";
	if (!ifs_plan_read_conditions(plan, definition, &at) || !read_request(&plan->request, definition, &at))
		return false;
	plan->wants_peak = skip(&at, "; peak");
	return !*at;
}
