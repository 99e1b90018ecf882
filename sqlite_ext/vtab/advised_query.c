#include "sqlite_ext/vtab/advised_query.h"

#include <stdlib.h>

#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/maintain/column_types.h"
#include "sqlite_ext/vtab/select_text.h"

enum { NO_COLUMN = -1 };

struct translation {
	sqlite3 *db;
	const struct ifs_advised_table *table;
	struct ifs_error *error;
	const char *index;
	char *why;
	struct ifs_select_text select;
	struct ifs_token alias; /* of the table, n = 0 if none */
	struct ifs_column_classes classes[IFS_ADVISED_COLUMNS];
	struct ifs_time_window window;
	uint64_t by, values, grouped, is_read; /* columns, as bits; is_read: their classes */
	int end;			       /* the column whose difference to the time is aggregated, or NO_COLUMN */
	int step;			       /* the token of K in GROUP BY time / K; 0 if none */
	bool is_direct, has_aggregate;
};

/* Sets the reason, unless there is one. Returns false. */
static bool refuse(struct translation *t, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (!t->why && !(t->why = sqlite3_vmprintf(format, arguments)))
		ifs_error_set(t->error, SQLITE_NOMEM, "");
	va_end(arguments);
	return false;
}

static const struct ifs_token *token_at(const struct translation *t, int token)
{
	return &t->select.tokens[token];
}

static bool is(const struct translation *t, int token, const char *word)
{
	return ifs_select_text_is(&t->select, token, word);
}

static bool refuse_token(struct translation *t, int token)
{
	return refuse(t, "\"%.*s\" is not understood", token_at(t, token)->n, token_at(t, token)->at);
}

static bool is_name(const struct translation *t, int token)
{
	return token_at(t, token)->kind == IFS_TOKEN_NAME || token_at(t, token)->kind == IFS_TOKEN_QUOTED;
}

static const char *affinity_of(const struct translation *t, int column)
{
	return ifs_affinity_of(t->table->types[column], false);
}

static bool is_of_texts(const struct translation *t, int column)
{
	return strcmp(affinity_of(t, column), "TEXT") == 0;
}

/* ---- columns ---- */

static bool names(const struct translation *t, int token, const char *name)
{
	return is_name(t, token) && ifs_token_names(token_at(t, token)->at, token_at(t, token)->n, name);
}

static bool names_table(const struct translation *t, int token)
{
	if (t->alias.n == 0)
		return names(t, token, t->table->name);
	return is_name(t, token) && token_at(t, token)->n == t->alias.n &&
	       sqlite3_strnicmp(token_at(t, token)->at, t->alias.at, t->alias.n) == 0;
}

/* Returns the column that stands at a token, perhaps behind the table's name, and how many tokens it takes; NO_COLUMN if it is
 * none. */
static int column_at(const struct translation *t, int token, int to, int *n_tokens)
{
	*n_tokens = 1;
	if (token + 2 < to && is(t, token + 1, ".") && names_table(t, token)) {
		*n_tokens = 3;
		token += 2;
	}
	for (int c = 0; token < to && c < t->table->n_columns; c++)
		if (names(t, token, t->table->columns[c]))
			return c;
	return NO_COLUMN;
}

/* Returns the column that the whole range is, or NO_COLUMN. */
static int column_of(const struct translation *t, struct ifs_token_range range)
{
	int n_tokens, column = column_at(t, range.from, range.to, &n_tokens);

	return range.from + n_tokens == range.to ? column : NO_COLUMN;
}

/* Copies a token; an anonymous parameter gets its number, since the order changes. */
static void copy_token(const struct translation *t, int token, sqlite3_str *out)
{
	const struct ifs_token *at = token_at(t, token);
	int n = sqlite3_str_length(out);
	char last = n > 0 ? sqlite3_str_value(out)[n - 1] : '(';

	if (!strchr("( ", last) && !strchr("),", *at->at))
		sqlite3_str_appendall(out, " ");
	if (at->parameter)
		sqlite3_str_appendf(out, "?%d", at->parameter);
	else
		sqlite3_str_append(out, at->at, at->n);
}

static void add_space(sqlite3_str *out)
{
	int n = sqlite3_str_length(out);

	if (n > 0 && !strchr("( ", sqlite3_str_value(out)[n - 1]))
		sqlite3_str_appendall(out, " ");
}

/* Reads which classes of values a column has, once. */
static const struct ifs_column_classes *classes_of(struct translation *t, int column)
{
	if (!(t->is_read >> column & 1))
		(void)ifs_column_classes_read(t->db, t->table, column, &t->classes[column], t->error);
	t->is_read |= UINT64_C(1) << column;
	return &t->classes[column];
}

/* True if numbers of the column have the class in the table that they have in an index: integers, or reals. */
static bool is_of_one_class(struct translation *t, int column)
{
	const struct ifs_column_classes *classes = classes_of(t, column);

	if (column == t->table->time && t->window.kind == IFS_WINDOW_OF_INTEGERS)
		return classes->n_reals == 0;
	return classes->n_integers == 0 || (classes->n_reals == 0 && !ifs_is_for_fractions(t->table->types[column]));
}

/* True if the column can be a by column. */
static bool can_be_by(struct translation *t, int column)
{
	if (column == t->table->time)
		return refuse(t, "the time \"%s\" is used other than in conditions such as \"%s\" >= 5 and in min() and max()",
			      t->table->columns[column], t->table->columns[column]);
	if (column == t->table->key)
		return refuse(t, "\"%s\" is the rowid", t->table->columns[column]);
	t->by |= UINT64_C(1) << column;
	return true;
}

static bool can_be_value(struct translation *t, int column)
{
	const struct ifs_column_classes *classes = classes_of(t, column);

	if (column == t->table->key)
		return refuse(t, "\"%s\" is the rowid", t->table->columns[column]);
	if (classes->n_texts || classes->n_blobs || classes->n_infinities || (classes->n_large && classes->n_reals))
		return refuse(t, "\"%s\" has values that an index cannot sum", t->table->columns[column]);
	t->values |= UINT64_C(1) << column;
	return true;
}

/* ---- conditions ---- */

/* True if all tokens of a condition on by columns have the same meaning over the index, where 1.0 reads as 1. Notes the columns,
 * and writes it. */
static bool copy_condition(struct translation *t, struct ifs_token_range range, sqlite3_str *out)
{
	static const char *const exact[] = { "(",   ")",  ",",	"=",	"==",	  "<>",	     "!=", "AND", "OR",
					     "NOT", "IS", "IN", "NULL", "ISNULL", "NOTNULL", "-",  "+",	  NULL },
				 *const of_texts[] = { "<", "<=", ">", ">=", "BETWEEN", "LIKE", "GLOB", NULL };
	bool has_order = false, has_or = ifs_select_text_has(&t->select, range, "OR");

	sqlite3_str_appendall(out, has_or ? "(" : "");
	for (int k = range.from, n_tokens = 1; k < range.to; k += n_tokens) {
		int column = column_at(t, k, range.to, &n_tokens);
		bool is_known = token_at(t, k)->kind >= IFS_TOKEN_STRING && token_at(t, k)->kind != IFS_TOKEN_OPERATOR;

		if (column != NO_COLUMN) {
			if (!can_be_by(t, column))
				return false;
			add_space(out);
			sqlite3_str_appendf(out, "\"%w\"", t->table->columns[column]);
			continue;
		}
		n_tokens = 1;
		for (size_t i = 0; exact[i] && !is_known; i++)
			is_known = is(t, k, exact[i]);
		for (size_t i = 0; of_texts[i] && !is_known; i++)
			has_order |= is_known = is(t, k, of_texts[i]);
		if (!is_known)
			return refuse_token(t, k);
		copy_token(t, k, out);
	}
	sqlite3_str_appendall(out, has_or ? ")" : "");
	for (int k = range.from, n_tokens; k < range.to; k++) {
		int column = column_at(t, k, range.to, &n_tokens);

		if (has_order && column != NO_COLUMN && !is_of_texts(t, column))
			return refuse(t,
				      "a range of \"%s\", which is neither the time nor a column of texts; where=, if it is "
				      "always the same",
				      t->table->columns[column]);
	}
	return true;
}

static bool mentions(const struct translation *t, struct ifs_token_range range, int column)
{
	for (int k = range.from, n_tokens; k < range.to; k++)
		if (column_at(t, k, range.to, &n_tokens) == column)
			return true;
	return false;
}

/* Takes a comparison of the time as a bound of the window. */
static bool take_bound(struct translation *t, char op, struct ifs_token_range operand)
{
	sqlite3_str *text = sqlite3_str_new(t->db);
	bool is_constant = true;
	char *why = NULL, *sql;

	for (int k = operand.from; k < operand.to; k++) {
		const struct ifs_token *at = token_at(t, k);

		if (at->kind == IFS_TOKEN_PARAMETER)
			is_constant = false;
		else if (!strchr("()+-", *at->at) && at->kind != IFS_TOKEN_NUMBER && at->kind != IFS_TOKEN_STRING &&
			 at->kind != IFS_TOKEN_BLOB && !is(t, k, "*") && !is(t, k, "/") && !is(t, k, "NULL") &&
			 !is(t, k, "%") && !is(t, k, "||"))
			(void)refuse(t, "the time is compared with \"%.*s\", which is not understood", at->n, at->at);
		copy_token(t, k, text);
	}
	sql = sqlite3_str_finish(text);
	if (!sql)
		return ifs_error_set(t->error, SQLITE_NOMEM, "") == SQLITE_OK;
	if (!t->why)
		(void)ifs_time_window_narrow(&t->window, t->db, op, sql, is_constant, &why, t->error);
	if (why)
		(void)refuse(t, "%s", why);
	sqlite3_free(why);
	sqlite3_free(sql);
	return !t->why && !t->error->rc;
}

/* Takes `time op expression`, or the other way round. */
static bool take_comparison(struct translation *t, struct ifs_token_range range, bool *is_taken)
{
	static const struct {
		const char *sql;
		char op, reversed;
	} operators[] = { { "=", '=', '=' },  { "==", '=', '=' }, { "<", '<', '>' },
			  { "<=", 'l', 'g' }, { ">", '>', '<' },  { ">=", 'g', 'l' } };

	*is_taken = false;
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		struct ifs_token_range right = range, left;

		if (!ifs_select_text_part(&t->select, &right, operators[i].sql, &left) || left.to == range.to ||
		    right.from == right.to)
			continue;
		if (column_of(t, left) == t->table->time) {
			*is_taken = true;
			return take_bound(t, operators[i].op, right);
		}
		if (column_of(t, right) == t->table->time) {
			*is_taken = true;
			return take_bound(t, operators[i].reversed, left);
		}
	}
	return true;
}

/* Takes `time BETWEEN a AND b`, and `time IS NOT NULL`. */
static bool take_other(struct translation *t, struct ifs_token_range range, bool *is_taken)
{
	struct ifs_token_range right = range, left, low, high;
	int n_tokens, column = column_at(t, range.from, range.to, &n_tokens), after = range.from + n_tokens;

	*is_taken = column == t->table->time &&
		    ((after + 1 == range.to && is(t, after, "NOTNULL")) ||
		     (after + 3 == range.to && is(t, after, "IS") && is(t, after + 1, "NOT") && is(t, after + 2, "NULL")));
	if (*is_taken) {
		t->window.is_bounded = true;
		return true;
	}
	if (!ifs_select_text_part(&t->select, &right, "BETWEEN", &left) || right.from == right.to ||
	    column_of(t, left) != t->table->time)
		return true;
	high = right;
	*is_taken = true;
	if (!ifs_select_text_part(&t->select, &high, "AND", &low) || high.from == high.to)
		return refuse_token(t, right.from);
	return take_bound(t, 'g', low) && take_bound(t, 'l', high);
}

/* Divides WHERE into the window and conditions on by columns, which are written with AND between them. */
static bool take_where(struct translation *t, sqlite3_str *out)
{
	struct ifs_token_range rest = t->select.clauses[IFS_CLAUSE_WHERE], part;
	bool is_taken = false;

	if (ifs_select_text_has(&t->select, rest, "OR")) {
		if (mentions(t, rest, t->table->time))
			return refuse(t, "OR in a condition on the time");
		return copy_condition(t, rest, out);
	}
	while (ifs_select_text_part(&t->select, &rest, "AND", &part)) {
		if (mentions(t, part, t->table->time)) {
			if (!take_comparison(t, part, &is_taken) || (!is_taken && !take_other(t, part, &is_taken)))
				return false;
			if (!is_taken)
				return refuse(t, "a condition on the time \"%s\" is not a comparison with a constant",
					      t->table->columns[t->table->time]);
			continue;
		}
		sqlite3_str_appendall(out, sqlite3_str_length(out) ? " AND " : "");
		if (!copy_condition(t, part, out))
			return false;
	}
	return true;
}

/* ---- groups ---- */

/* Cuts the alias off a result: `AS name`, or a name behind what ends an expression. */
static void cut_alias(const struct translation *t, struct ifs_token_range *result)
{
	int last = result->to - 1;

	if (last <= result->from || !is_name(t, last) || is(t, last, "END") ||
	    token_at(t, last - 1)->depth != token_at(t, last)->depth)
		return;
	if (is(t, last - 1, "AS"))
		result->to = last - 1;
	else if (is(t, last - 1, ")") || is(t, last - 1, "END") || token_at(t, last - 1)->kind != IFS_TOKEN_OPERATOR)
		result->to = last;
}

/* Returns the result of that number, from 1 on, without its alias. */
static bool result_of(const struct translation *t, int number, struct ifs_token_range *result)
{
	struct ifs_token_range rest = t->select.clauses[IFS_CLAUSE_RESULTS];

	for (; number > 0; number--)
		if (!ifs_select_text_part(&t->select, &rest, ",", result))
			return false;
	cut_alias(t, result);
	return true;
}

/* Returns the result that has the name as its alias, or false. */
static bool result_named(const struct translation *t, int name, struct ifs_token_range *result)
{
	struct ifs_token_range whole, rest = t->select.clauses[IFS_CLAUSE_RESULTS];

	for (int number = 1; ifs_select_text_part(&t->select, &rest, ",", &whole); number++) {
		const struct ifs_token *alias = token_at(t, whole.to - 1), *sought = token_at(t, name);

		if (result_of(t, number, result) && result->to < whole.to && alias->n == sought->n &&
		    sqlite3_strnicmp(alias->at, sought->at, alias->n) == 0)
			return true;
	}
	return false;
}

/* True if the token is an integer from 1 on, of at most 17 digits. */
static bool is_whole(const struct translation *t, int token)
{
	const struct ifs_token *at = token_at(t, token);

	return at->kind == IFS_TOKEN_NUMBER && (int)strspn(at->at, "0123456789") == at->n && at->n < 18 && *at->at != '0';
}

/* True if the range is `time / K`. */
static bool is_step(const struct translation *t, struct ifs_token_range range)
{
	int n_tokens, column = column_at(t, range.from, range.to, &n_tokens), slash = range.from + n_tokens;

	return column == t->table->time && slash + 2 == range.to && is(t, slash, "/") && is_whole(t, slash + 1);
}

/* Cuts off what makes another number of each bucket: `time / 60 * 60`. */
static struct ifs_token_range without_factor(const struct translation *t, struct ifs_token_range range)
{
	if (range.to > range.from + 2 && is(t, range.to - 2, "*") && is_whole(t, range.to - 1))
		range.to -= 2;
	return range;
}

static bool take_step(struct translation *t, int step)
{
	const struct ifs_column_classes *classes = classes_of(t, t->table->time);

	if (t->step && (token_at(t, t->step)->n != token_at(t, step)->n ||
			strncmp(token_at(t, t->step)->at, token_at(t, step)->at, (size_t)token_at(t, step)->n) != 0))
		return refuse(t, "groups by two steps of the time");
	if (t->window.kind != IFS_WINDOW_OF_INTEGERS || classes->n_reals || classes->has_negative)
		return refuse(t, "a division of times that are not all integers, or negative, is no bucket");
	if (classes->n_nulls && !t->window.is_bounded)
		return refuse(t, "rows without a time are in no bucket: add a condition on the time");
	t->step = step;
	return true;
}

static bool take_group(struct translation *t)
{
	struct ifs_token_range rest = t->select.clauses[IFS_CLAUSE_GROUP], part;

	while (ifs_select_text_part(&t->select, &rest, ",", &part)) {
		const struct ifs_token *first = token_at(t, part.from);
		int column;

		if (part.to == part.from + 1 && first->kind == IFS_TOKEN_NUMBER && !result_of(t, atoi(first->at), &part))
			return refuse_token(t, part.from);
		if (part.to == part.from + 1 && is_name(t, part.from) && column_of(t, part) == NO_COLUMN &&
		    !result_named(t, part.from, &part))
			return refuse_token(t, part.from);
		column = column_of(t, part);
		if (column == NO_COLUMN)
			part = without_factor(t, part);
		if (column == NO_COLUMN && !is_step(t, part))
			return refuse(t, "groups are neither columns nor \"%s\" / 60, but by expressions",
				      t->table->columns[t->table->time]);
		if (column == NO_COLUMN ? !take_step(t, part.to - 1) : !can_be_by(t, column))
			return false;
		t->grouped |= column == NO_COLUMN ? 0 : UINT64_C(1) << column;
	}
	return true;
}

/* ---- aggregates ---- */

enum aggregate { COUNT, SUM, TOTAL, MIN, MAX, AVG, N_AGGREGATES };

static const char *const aggregate_names[N_AGGREGATES] = { "count", "sum", "total", "min", "max", "avg" };

/* Writes an aggregate of a column of the index whose names end with `of`: its name as an identifier. */
static void write_aggregate(const struct translation *t, enum aggregate aggregate, const char *of, bool is_bare,
			    sqlite3_str *out)
{
	/* without the affinity of a column */
	const char *plus = is_bare ? "" : "+";

	switch (t->is_direct ? (int)aggregate : N_AGGREGATES + (int)aggregate) {
	case TOTAL:
		sqlite3_str_appendf(out, "coalesce(CAST(\"sum_%w\" AS REAL), 0.0)", of);
		break;
	case N_AGGREGATES + COUNT:
		sqlite3_str_appendf(out, "coalesce(sum(\"count_%w\"), 0)", of);
		break;
	case N_AGGREGATES + SUM:
	case N_AGGREGATES + TOTAL:
		sqlite3_str_appendf(out, "%s(\"sum_%w\")", aggregate_names[aggregate], of);
		break;
	case N_AGGREGATES + AVG:
		sqlite3_str_appendf(out, "(sum(\"sum_%w\") * 1.0 / sum(\"count_%w\"))", of, of);
		break;
	case N_AGGREGATES + MIN:
	case N_AGGREGATES + MAX:
		sqlite3_str_appendf(out, "%s(\"%s_%w\")", aggregate_names[aggregate], aggregate_names[aggregate], of);
		break;
	default:
		sqlite3_str_appendf(out, "%s\"%s_%w\"", plus, aggregate_names[aggregate], of);
	}
}

static void write_count(const struct translation *t, bool is_bare, sqlite3_str *out)
{
	sqlite3_str_appendall(out, !t->is_direct ? "coalesce(sum(count), 0)" : is_bare ? "count" : "+count");
}

/* The name of durations: not that of a column that may be a value beside them. */
static const char *name_of_durations(const struct translation *t)
{
	for (int c = 0; c < t->table->n_columns; c++)
		if (sqlite3_stricmp(t->table->columns[c], "dur") == 0)
			return "span_length";
	return "dur";
}

/* Writes an aggregate of the time itself. */
static bool write_of_time(struct translation *t, enum aggregate aggregate, bool is_bare, sqlite3_str *out)
{
	const struct ifs_column_classes *classes = classes_of(t, t->table->time);
	const char *column = aggregate == MIN ? "first_ts" : "last_ts";

	if (aggregate == COUNT && (t->window.is_bounded || !classes->n_nulls)) {
		write_count(t, is_bare, out);
		return true;
	}
	if (aggregate != MIN && aggregate != MAX)
		return refuse(t, "%s() of the time", aggregate_names[aggregate]);
	if (!is_bare && !is_of_one_class(t, t->table->time))
		return refuse(t, "computing with times that are integers and reals, or may be");
	if (t->is_direct)
		sqlite3_str_appendf(out, "%s%s", is_bare ? "" : "+", column);
	else
		sqlite3_str_appendf(out, "%s(%s)", aggregate_names[aggregate], column);
	return true;
}

/* Writes an aggregate of `end - time`, the durations of an index with end=. */
static bool write_of_difference(struct translation *t, enum aggregate aggregate, int end, bool is_bare, sqlite3_str *out)
{
	const struct ifs_column_classes *ends = classes_of(t, end), *times = classes_of(t, t->table->time);
	bool is_ordered = false;

	if (t->end != NO_COLUMN && t->end != end)
		return refuse(t, "an index has one end=");
	if (end == t->table->key || ifs_is_for_fractions(t->table->types[end]) || ends->n_reals || ends->n_texts ||
	    ends->n_blobs || times->n_reals || t->window.kind != IFS_WINDOW_OF_INTEGERS)
		return refuse(t, "\"%s\" and the time are not integers", t->table->columns[end]);
	if (ifs_ends_are_in_order(t->db, t->table, end, &is_ordered, t->error))
		return false;
	if (!is_ordered)
		return refuse(t, "\"%s\" is less than the time in some rows: these are no spans", t->table->columns[end]);
	t->end = end;
	write_aggregate(t, aggregate, name_of_durations(t), is_bare, out);
	return true;
}

/* Writes an aggregate of a by column; count(DISTINCT x) if is_distinct. */
static bool write_of_by(struct translation *t, enum aggregate aggregate, int column, bool is_distinct, sqlite3_str *out)
{
	const char *name = t->table->columns[column];

	if (!can_be_by(t, column))
		return false;
	if (is_distinct && aggregate == COUNT && !t->is_direct)
		sqlite3_str_appendf(out, "count(DISTINCT \"%w\")", name);
	else if (is_distinct)
		return refuse(t, "DISTINCT in %s()", aggregate_names[aggregate]);
	else if (aggregate == COUNT && t->is_direct)
		sqlite3_str_appendf(out, "iif(\"%w\" IS NULL, 0, count)", name);
	else if (aggregate == COUNT)
		sqlite3_str_appendf(out, "coalesce(sum(iif(\"%w\" IS NULL, 0, count)), 0)", name);
	else if ((aggregate == MIN || aggregate == MAX) && t->is_direct)
		sqlite3_str_appendf(out, "\"%w\"", name);
	else if (aggregate == MIN || aggregate == MAX)
		sqlite3_str_appendf(out, "%s(\"%w\")", aggregate_names[aggregate], name);
	else
		return refuse(t, "%s() of \"%s\", which is no value", aggregate_names[aggregate], name);
	return true;
}

/* Writes an aggregate of a column. */
static bool write_of_column(struct translation *t, enum aggregate aggregate, int column, bool is_distinct, bool is_bare,
			    sqlite3_str *out)
{
	if (column != t->table->time && (is_distinct || is_of_texts(t, column) || t->by >> column & 1))
		return write_of_by(t, aggregate, column, is_distinct, out);
	if (is_distinct)
		return refuse(t, "DISTINCT in %s()", aggregate_names[aggregate]);
	if (column == t->table->time)
		return write_of_time(t, aggregate, is_bare, out);
	if (!can_be_value(t, column))
		return false;
	if (!is_bare && !is_of_one_class(t, column))
		return refuse(t, "computing with \"%s\", which has integers and reals, or may have", t->table->columns[column]);
	write_aggregate(t, aggregate, t->table->columns[column], is_bare, out);
	return true;
}

/* Writes the aggregate at `name (`, whose argument is the range. */
static bool write_call(struct translation *t, enum aggregate aggregate, struct ifs_token_range range, bool is_bare,
		       sqlite3_str *out)
{
	bool is_distinct = is(t, range.from, "DISTINCT");
	struct ifs_token_range right = range, left;
	int column;

	t->has_aggregate = true;
	if (aggregate == COUNT && range.to <= range.from + 1 &&
	    (range.to == range.from || is(t, range.from, "*") || token_at(t, range.from)->kind == IFS_TOKEN_NUMBER)) {
		write_count(t, is_bare, out);
		return true;
	}
	right.from += is_distinct;
	column = column_of(t, right);
	if (column != NO_COLUMN)
		return write_of_column(t, aggregate, column, is_distinct, is_bare, out);
	if (!is_distinct && ifs_select_text_part(&t->select, &right, "-", &left) && left.to < range.to &&
	    column_of(t, right) == t->table->time && column_of(t, left) != NO_COLUMN)
		return write_of_difference(t, aggregate, column_of(t, left), is_bare, out);
	return refuse(t, "%s() of an expression, which no index has", aggregate_names[aggregate]);
}

/* ---- expressions ---- */

/* Returns the token behind the closing parenthesis of the one at `open`. */
static int after_parentheses(const struct translation *t, int open, int to)
{
	int k = open + 1;

	while (k < to && token_at(t, k)->depth > token_at(t, open)->depth)
		k++;
	return k + 1;
}

static enum aggregate aggregate_at(const struct translation *t, int token, int to)
{
	int aggregate = 0;

	while (aggregate < N_AGGREGATES &&
	       !(token + 1 < to && is(t, token, aggregate_names[aggregate]) && is(t, token + 1, "(")))
		aggregate++;
	/* with two arguments, min() and max() are functions of one row */
	if (aggregate == MIN || aggregate == MAX) {
		struct ifs_token_range inside = { token + 2, after_parentheses(t, token + 1, to) - 1 }, first;

		if (ifs_select_text_part(&t->select, &inside, ",", &first) && inside.from < inside.to)
			return N_AGGREGATES;
	}
	return (enum aggregate)aggregate;
}

/* Writes a column outside of aggregates: of the groups, or the time in `time / K`. */
static bool write_group(struct translation *t, struct ifs_token_range range, int column, int *n_tokens, bool is_bare,
			sqlite3_str *out, int first)
{
	struct ifs_token_range step = { range.from, range.from + *n_tokens + 2 };
	const char *affinity = affinity_of(t, column);

	if (t->step && step.to <= range.to && is_step(t, step)) {
		if ((range.from > first && !is(t, range.from - 1, "(") && !is(t, range.from - 1, ",") &&
		     !is(t, range.from - 1, "+")) ||
		    (step.to < range.to && (is(t, step.to, "||") || is(t, step.to, "COLLATE") || is(t, step.to, "->"))))
			return refuse(t, "buckets of the time in an expression that is not understood");
		if (!take_step(t, step.to - 1))
			return false;
		sqlite3_str_appendall(out, is_bare || step.to == range.to ? "bucket" : "+bucket");
		*n_tokens = step.to - step.from;
		return true;
	}
	if (!(t->grouped >> column & 1))
		return refuse(t, "\"%s\" is neither grouped by nor aggregated", t->table->columns[column]);
	if (!is_bare && strcmp(affinity, "TEXT") != 0 && strcmp(affinity, "INTEGER") != 0)
		return refuse(t, "an expression of \"%s\", which may have reals that are integers", t->table->columns[column]);
	sqlite3_str_appendf(out, "\"%w\"", t->table->columns[column]);
	return true;
}

/* True for the name of a function of one row, and its parenthesis. */
static bool is_function(const struct translation *t, int token, int to)
{
	static const char *const functions[] = { "abs", "round", "coalesce", "ifnull", "nullif", "iif", "min", "max" };

	for (size_t i = 0; i < sizeof functions / sizeof *functions && token + 1 < to && is(t, token + 1, "("); i++)
		if (is(t, token, functions[i]))
			return true;
	return false;
}

/* True for a token that means over results of the index what it means over the table. */
static bool is_plain(const struct translation *t, int token)
{
	static const char *const words[] = { "AND",	"OR",	"NOT",	"IS",	"NULL", "ISNULL", "NOTNULL", "IN",
					     "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END",	  "TRUE",    "FALSE" };
	const struct ifs_token *at = token_at(t, token);

	if (at->kind == IFS_TOKEN_OPERATOR)
		return strchr("+-*/%(),<>=!|&~", *at->at) != NULL;
	if (at->kind != IFS_TOKEN_NAME)
		return at->kind != IFS_TOKEN_QUOTED;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is(t, token, words[i]))
			return true;
	return false;
}

/* Writes an expression of aggregates and groups. */
static bool write_expression(struct translation *t, struct ifs_token_range range, bool may_be_bare, sqlite3_str *out)
{
	int n_tokens;

	for (int k = range.from; k < range.to; k += n_tokens) {
		enum aggregate aggregate = aggregate_at(t, k, range.to);
		int column = column_at(t, k, range.to, &n_tokens), after;
		bool is_bare;

		if (aggregate < N_AGGREGATES) {
			after = after_parentheses(t, k + 1, range.to);
			is_bare = may_be_bare && k == range.from && after == range.to;
			add_space(out);
			if (!write_call(t, aggregate, (struct ifs_token_range){ k + 2, after - 1 }, is_bare, out))
				return false;
			n_tokens = after - k;
			if (after < range.to && is(t, after, "FILTER"))
				return refuse_token(t, after);
		} else if (column != NO_COLUMN) {
			is_bare = may_be_bare && k == range.from && k + n_tokens == range.to;
			add_space(out);
			if (!write_group(t, (struct ifs_token_range){ k, range.to }, column, &n_tokens, is_bare, out,
					 range.from))
				return false;
		} else if (is_function(t, k, range.to)) {
			n_tokens = 2;
			copy_token(t, k, out);
			sqlite3_str_appendall(out, "(");
		} else if (is_plain(t, k)) {
			n_tokens = 1;
			copy_token(t, k, out);
		} else {
			return refuse_token(t, k);
		}
	}
	return true;
}

static bool write_results(struct translation *t, sqlite3_str *out)
{
	struct ifs_token_range rest = t->select.clauses[IFS_CLAUSE_RESULTS], whole, part;

	for (int number = 1; ifs_select_text_part(&t->select, &rest, ",", &whole); number++) {
		if (!result_of(t, number, &part))
			return false;
		sqlite3_str_appendall(out, number > 1 ? ", " : "");
		if (!write_expression(t, part, true, out))
			return false;
		for (int k = part.to; k < whole.to; k++)
			copy_token(t, k, out);
	}
	return true;
}

/* Writes the terms of ORDER BY. *is_total: among them are all groups, so that LIMIT is certain. */
static bool write_order(struct translation *t, sqlite3_str *out, bool *is_total)
{
	struct ifs_token_range rest = t->select.clauses[IFS_CLAUSE_ORDER], part, result;
	uint64_t ordered = 0;
	bool has_step = false;

	while (ifs_select_text_part(&t->select, &rest, ",", &part)) {
		struct ifs_token_range term = part;

		if (part.to > part.from + 1 && (is(t, part.to - 1, "DESC") || is(t, part.to - 1, "ASC")))
			term.to--;
		sqlite3_str_appendall(out, sqlite3_str_length(out) ? ", " : "");
		if (term.to == term.from + 1 && token_at(t, term.from)->kind == IFS_TOKEN_NUMBER) {
			if (!result_of(t, atoi(token_at(t, term.from)->at), &result))
				return refuse_token(t, term.from);
			copy_token(t, term.from, out);
			term = result;
		} else if (term.to == term.from + 1 && is_name(t, term.from) && result_named(t, term.from, &result)) {
			copy_token(t, term.from, out);
			term = result;
		} else if (!write_expression(t, term, false, out)) {
			return false;
		}
		has_step |= is_step(t, without_factor(t, term));
		ordered |= column_of(t, term) == NO_COLUMN ? 0 : UINT64_C(1) << column_of(t, term);
		if (is(t, part.to - 1, "DESC"))
			sqlite3_str_appendall(out, " DESC");
	}
	*is_total = !(t->grouped & ~ordered) && (has_step || !t->step);
	return true;
}

/* ---- the query ---- */

/* Reads FROM: the table, perhaps with an alias. */
static bool take_from(struct translation *t)
{
	struct ifs_token_range from = t->select.clauses[IFS_CLAUSE_FROM];

	if (from.to > from.from + 2 && is(t, from.from + 1, ".") && names(t, from.from, t->table->schema))
		from.from += 2;
	if (from.from == from.to || !names(t, from.from, t->table->name))
		return refuse(t, "FROM is not understood");
	from.from += 1 + (from.from + 2 < from.to && is(t, from.from + 1, "AS"));
	if (from.from == from.to)
		return true;
	if (from.from + 1 != from.to || !is_name(t, from.from))
		return refuse_token(t, from.from);
	t->alias = *token_at(t, from.from);
	return true;
}

static void write_columns(const struct translation *t, const char *before, uint64_t columns, sqlite3_str *out)
{
	int n = 0;

	for (int c = 0; c < t->table->n_columns; c++)
		if (columns >> c & 1)
			sqlite3_str_appendf(out, "%s\"%w\"", n++ ? ", " : before, t->table->columns[c]);
	sqlite3_str_appendall(out, n ? ")" : "");
}

static char *write_arguments(const struct translation *t)
{
	sqlite3_str *out = sqlite3_str_new(t->db);
	char *arguments;

	if (t->end != NO_COLUMN)
		sqlite3_str_appendf(out, ", end=\"%w\" AS \"%w\"", t->table->columns[t->end], name_of_durations(t));
	write_columns(t, ", value=(", t->values, out);
	write_columns(t, ", by=(", t->by, out);
	if (sqlite3_str_errcode(out))
		ifs_error_set(t->error, SQLITE_NOMEM, "");
	arguments = sqlite3_str_finish(out);
	return arguments ? arguments : sqlite3_mprintf("%s", "");
}

/* The clauses of the query, being written. */
struct query_parts {
	sqlite3_str *results, *where, *having, *order, *window;
};

static bool write_parts(struct translation *t, const struct query_parts *parts)
{
	struct ifs_token_range having = t->select.clauses[IFS_CLAUSE_HAVING], limit = t->select.clauses[IFS_CLAUSE_LIMIT];
	bool is_total = false;

	if (!take_from(t) || !take_where(t, parts->where) || !take_group(t) || !write_results(t, parts->results))
		return false;
	if (having.from < having.to && !write_expression(t, having, false, parts->having))
		return false;
	if (!write_order(t, parts->order, &is_total))
		return false;
	if (limit.from < limit.to && !is_total)
		return refuse(t, "LIMIT, where ORDER BY has not all groups");
	for (int k = limit.from; k < limit.to; k++)
		if (token_at(t, k)->kind != IFS_TOKEN_NUMBER && token_at(t, k)->kind != IFS_TOKEN_PARAMETER &&
		    !is(t, k, "OFFSET"))
			return refuse_token(t, k);
	if (!t->has_aggregate)
		return refuse(t, "nothing is aggregated");
	if (t->by & t->values)
		return refuse(t, "a column is both a condition or a group and a value");
	return true;
}

static void append(sqlite3_str *out, const char *word, const char *text)
{
	if (text && *text)
		sqlite3_str_appendf(out, " %s %s", word, text);
}

/* Puts the clauses together. */
static char *join_parts(struct translation *t, const struct query_parts *parts)
{
	sqlite3_str *out = sqlite3_str_new(t->db), *where = sqlite3_str_new(t->db), *limit = sqlite3_str_new(t->db),
		    *groups = sqlite3_str_new(t->db);
	char *texts[3];
	const char *conditions[] = { sqlite3_str_value(parts->where), sqlite3_str_value(parts->window),
				     t->is_direct ? sqlite3_str_value(parts->having) : NULL };

	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
		if (conditions[i] && *conditions[i])
			sqlite3_str_appendf(where, i == 2 ? "%s(%s)" : "%s%s", sqlite3_str_length(where) ? " AND " : "",
					    conditions[i]);
	for (int c = 0; c < t->table->n_columns && !t->is_direct; c++)
		if (t->grouped >> c & 1)
			sqlite3_str_appendf(groups, "%s\"%w\"", sqlite3_str_length(groups) ? ", " : "", t->table->columns[c]);
	if (t->step && !t->is_direct)
		sqlite3_str_appendf(groups, "%sbucket", sqlite3_str_length(groups) ? ", " : "");
	for (int k = t->select.clauses[IFS_CLAUSE_LIMIT].from; k < t->select.clauses[IFS_CLAUSE_LIMIT].to; k++)
		copy_token(t, k, limit);
	if (sqlite3_str_errcode(where) || sqlite3_str_errcode(groups) || sqlite3_str_errcode(limit))
		ifs_error_set(t->error, SQLITE_NOMEM, "");
	texts[0] = sqlite3_str_finish(where);
	texts[1] = sqlite3_str_finish(groups);
	texts[2] = sqlite3_str_finish(limit);
	sqlite3_str_appendf(out, "SELECT %s%s FROM \"%w\".\"%w\"", t->select.is_distinct ? "DISTINCT " : "",
			    sqlite3_str_value(parts->results), t->table->schema, t->index);
	append(out, "WHERE", texts[0]);
	append(out, "GROUP BY", texts[1]);
	append(out, "HAVING", t->is_direct ? NULL : sqlite3_str_value(parts->having));
	append(out, "ORDER BY", sqlite3_str_value(parts->order));
	append(out, "LIMIT", texts[2]);
	for (int i = 0; i < 3; i++)
		sqlite3_free(texts[i]);
	return sqlite3_str_finish(out);
}

/* Translates once. Which columns are by columns is known only at the end, so the first time is a trial. */
static bool translate(struct translation *t, char **query)
{
	struct query_parts parts = { sqlite3_str_new(t->db), sqlite3_str_new(t->db), sqlite3_str_new(t->db),
				     sqlite3_str_new(t->db), sqlite3_str_new(t->db) };
	sqlite3_str *all[] = { parts.results, parts.where, parts.having, parts.order, parts.window };
	bool is_translated = write_parts(t, &parts);

	if (is_translated) {
		ifs_time_window_write(&t->window, parts.window);
		if (t->step)
			sqlite3_str_appendf(parts.window, "%sstep = %.*s", sqlite3_str_length(parts.window) ? " AND " : "",
					    token_at(t, t->step)->n, token_at(t, t->step)->at);
		*query = join_parts(t, &parts);
		if (!*query)
			ifs_error_set(t->error, SQLITE_NOMEM, "");
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (sqlite3_str_errcode(all[i]))
			ifs_error_set(t->error, SQLITE_NOMEM, "");
		sqlite3_free(sqlite3_str_finish(all[i]));
	}
	return is_translated && *query && !t->error->rc;
}

static bool translate_twice(struct translation *t, struct ifs_advised_query *advised)
{
	char *trial = NULL;
	bool is_translated = translate(t, &trial);

	sqlite3_free(trial);
	if (!is_translated)
		return false;
	t->is_direct = !(t->by & ~t->grouped) && (t->grouped || t->step);
	ifs_time_window_reopen(&t->window);
	if (!translate(t, &advised->query))
		return false;
	advised->arguments = write_arguments(t);
	return advised->arguments || ifs_error_set(t->error, SQLITE_NOMEM, "") == SQLITE_OK;
}

int ifs_advised_query_make(sqlite3 *db, const struct ifs_advised_table *table, const char *index, const char *sql,
			   struct ifs_advised_query *advised, struct ifs_error *error)
{
	struct translation t = { .db = db, .table = table, .index = index, .error = error, .end = NO_COLUMN };
	bool is_divided;

	*advised = (struct ifs_advised_query){ .query = NULL };
	if (ifs_select_text_read(&t.select, sql, &is_divided))
		ifs_error_set(error, SQLITE_NOMEM, "");
	else if (!is_divided)
		(void)refuse(&t, "it is more than SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY and LIMIT, or has parameters "
				 "with and without names");
	else if (!ifs_time_window_open(&t.window, db, table, classes_of(&t, table->time), error))
		(void)(!t.window.why && translate_twice(&t, advised));
	if (t.window.why)
		(void)refuse(&t, "%s", t.window.why);
	if (t.why && !error->rc && !(advised->reason = sqlite3_mprintf("the query is left to you: %s", t.why)))
		ifs_error_set(error, SQLITE_NOMEM, "");
	sqlite3_free(t.why);
	ifs_time_window_release(&t.window);
	ifs_select_text_release(&t.select);
	return error->rc;
}

void ifs_advised_query_release(struct ifs_advised_query *advised)
{
	sqlite3_free(advised->arguments);
	sqlite3_free(advised->query);
	sqlite3_free(advised->reason);
	*advised = (struct ifs_advised_query){ .query = NULL };
}
