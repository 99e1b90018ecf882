#include "sqlite_ext/vtab/advised_times.h"

#include "core/model/real_time.h"
#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/maintain/column_types.h"
#include "sqlite_ext/query/numeric_bound.h"

/* ---- what a column holds ---- */

int ifs_column_classes_read(sqlite3 *db, const struct ifs_advised_table *table, int column, struct ifs_column_classes *classes,
			    struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc;

	*classes = (struct ifs_column_classes){ .n_nulls = 0 };
	rc = ifs_prepare(
		error, db, &statement,
		"SELECT sum(k = 'null'), sum(k = 'integer'), sum(k = 'real'), sum(k = 'text'), sum(k = 'blob'),"
		" sum(k = 'real' AND v <> CAST(v AS INTEGER)), sum(k = 'real' AND v IN (9e999, -9e999)),"
		" sum(k = 'integer' AND v NOT BETWEEN -9007199254740992 AND 9007199254740992),"
		" sum(k IN ('integer', 'real') AND v < 0) FROM (SELECT typeof(\"%w\") AS k, \"%w\" AS v FROM \"%w\".\"%w\")",
		table->columns[column], table->columns[column], table->schema, table->name);
	if (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		int64_t *const counts[] = {
			&classes->n_nulls, &classes->n_integers,  &classes->n_reals,	  &classes->n_texts,
			&classes->n_blobs, &classes->n_fractions, &classes->n_infinities, &classes->n_large
		};

		for (int i = 0; i < 8; i++)
			*counts[i] = sqlite3_column_int64(statement, i);
		classes->has_negative = sqlite3_column_int64(statement, 8) > 0;
	}
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(error, db, rc);
	return error->rc;
}

/* Sets why, by a format with one text. */
static void refuse(char **why, struct ifs_error *error, const char *format, const char *text)
{
	if (!*why && !(*why = sqlite3_mprintf(format, text)))
		ifs_error_set(error, SQLITE_NOMEM, "");
}

/* Reads a number or text that a query gives. The text is from sqlite3_mprintf(), NULL for NULL. */
static int read_one(sqlite3 *db, char **text, struct ifs_error *error, sqlite3_str *sql)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare_text(error, db, &statement, sql);

	*text = NULL;
	if (!rc && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL &&
	    !(*text = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0))))
		ifs_error_set(error, SQLITE_NOMEM, "");
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(error, db, rc);
	return error->rc;
}

int ifs_texts_are_times(sqlite3 *db, const struct ifs_advised_table *table, bool *are_times, struct ifs_error *error)
{
	const char *time = table->columns[table->time];
	sqlite3_str *sql = sqlite3_str_new(db);
	char *found;

	/* '12' and '12:00' are times for julianday(), but not for an index */
	sqlite3_str_appendf(
		sql,
		"SELECT EXISTS (SELECT 1 FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'text' AND (julianday(\"%w\") IS NULL OR"
		" \"%w\" NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' OR \"%w\" NOT BETWEEN '1678-' AND '2262-'))",
		table->schema, table->name, time, time, time, time);
	(void)read_one(db, &found, error, sql);
	*are_times = found && *found == '0';
	sqlite3_free(found);
	return error->rc;
}

int ifs_ends_are_in_order(sqlite3 *db, const struct ifs_advised_table *table, int end, bool *are_in_order,
			  struct ifs_error *error)
{
	const char *time = table->columns[table->time];
	sqlite3_str *sql = sqlite3_str_new(db);
	char *found;

	sqlite3_str_appendf(
		sql,
		"SELECT EXISTS (SELECT 1 FROM \"%w\".\"%w\" WHERE \"%w\" < \"%w\" OR (\"%w\" IS NULL AND \"%w\" IS NOT NULL))",
		table->schema, table->name, table->columns[end], time, time, table->columns[end]);
	(void)read_one(db, &found, error, sql);
	*are_in_order = found && *found == '0';
	sqlite3_free(found);
	return error->rc;
}

/* ---- forms of texts ---- */

/* A form of times: strftime() writes a time of that form as it is. */
static const struct form {
	const char *format, *next;
	const char *first; /* a text of the form, the least that begins with 2000 */
} forms[] = {
	{ "%Y-%m-%d", "+1 day", "2000-01-01" },
	{ "%Y-%m-%d %H:%M:%S", "+1 second", "2000-01-01 00:00:00" },
	{ "%Y-%m-%dT%H:%M:%S", "+1 second", "2000-01-01T00:00:00" },
	{ "%Y-%m-%dT%H:%M:%SZ", "+1 second", "2000-01-01T00:00:00Z" },
	{ "%Y-%m-%d %H:%M:%f", "+0.001 seconds", "2000-01-01 00:00:00.000" },
	{ "%Y-%m-%dT%H:%M:%f", "+0.001 seconds", "2000-01-01T00:00:00.000" },
	{ "%Y-%m-%dT%H:%M:%fZ", "+0.001 seconds", "2000-01-01T00:00:00.000Z" },
};

enum { N_FORMS = sizeof forms / sizeof *forms };

/* Finds the form that all times have. Times of nanoseconds end in 2262. */
static int find_form(struct ifs_time_window *window, sqlite3 *db, const struct ifs_advised_table *table,
		     struct ifs_error *error)
{
	const char *time = table->columns[table->time];

	for (window->form = 0; window->form < N_FORMS && !error->rc; window->form++) {
		sqlite3_str *sql = sqlite3_str_new(db);
		char *found;

		sqlite3_str_appendf(sql,
				    "SELECT EXISTS (SELECT 1 FROM \"%w\".\"%w\" WHERE \"%w\" IS NOT NULL AND "
				    "(strftime(%Q, \"%w\") IS NOT \"%w\" OR \"%w\" NOT BETWEEN '1678-' AND '2262-'))",
				    table->schema, table->name, time, forms[window->form].format, time, time, time);
		if (!read_one(db, &found, error, sql) && *found == '0') {
			sqlite3_free(found);
			return SQLITE_OK;
		}
		sqlite3_free(found);
	}
	if (!error->rc)
		refuse(&window->why, error,
		       "the texts of \"%s\" have no form of YYYY-MM-DD HH:MM:SS in common, from 1678 to 2261", time);
	return error->rc;
}

/* Completes a text that is the beginning of a time of the form, cuts one that goes on behind it, or takes it as it is. Returns the
 * difference of lengths: less than 0 if it was completed. *full is NULL if it is none of these. */
static int fit(const struct ifs_time_window *window, sqlite3 *db, const char *text, char **full, struct ifs_error *error)
{
	const struct form *form = &forms[window->form];
	int n = (int)strlen(text), n_full = (int)strlen(form->first);
	sqlite3_str *sql = sqlite3_str_new(db);
	char *completed = n < n_full ? sqlite3_mprintf("%s%s", text, form->first + n) : sqlite3_mprintf("%.*s", n_full, text);

	if (!completed)
		ifs_error_set(error, SQLITE_NOMEM, "");
	sqlite3_str_appendf(sql, "SELECT t FROM (SELECT %Q AS t) WHERE strftime(%Q, t) = t AND t BETWEEN '1678-' AND '2262-'",
			    completed, form->format);
	sqlite3_free(completed);
	(void)read_one(db, full, error, sql);
	/* where a beginning ends inside a number, the rest is not the least */
	if (n < n_full && (n < 4 || !strchr("- T:.Z", form->first[n]))) {
		sqlite3_free(*full);
		*full = NULL;
	}
	return n - n_full;
}

static int next_time(const struct ifs_time_window *window, sqlite3 *db, char **text, struct ifs_error *error)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *before = *text;

	sqlite3_str_appendf(sql, "SELECT strftime(%Q, %Q, %Q)", forms[window->form].format, before, forms[window->form].next);
	(void)read_one(db, text, error, sql);
	sqlite3_free(before);
	return error->rc;
}

/* Keeps the greater text as the beginning, or the lesser one as the end. */
static void keep(char **kept, char *text, int sign)
{
	bool is_better = !*kept || strcmp(text, *kept) * sign > 0;

	sqlite3_free(is_better ? *kept : text);
	if (is_better)
		*kept = text;
}

/* Takes a comparison with a text. */
static int narrow_texts(struct ifs_time_window *window, sqlite3 *db, char op, const char *text, char **why,
			struct ifs_error *error)
{
	bool is_lower = op == 'g' || op == '>' || op == '=', is_upper = op == 'l' || op == '<' || op == '=';
	char *low = NULL, *end = NULL;
	int longer = fit(window, db, text, &low, error);

	if (!error->rc && !low)
		refuse(why, error, "the time is compared with %Q, which is of another form than its texts", text);
	if (!low)
		return error->rc;
	end = sqlite3_mprintf("%s", low);
	if (longer > 0 || (longer == 0 && op == '>'))
		(void)next_time(window, db, &low, error);
	if (longer > 0 || (longer == 0 && (op == 'l' || op == '=')))
		(void)next_time(window, db, &end, error);
	if (!low || !end) {
		ifs_error_set(error, SQLITE_NOMEM, "");
		is_lower = is_upper = false;
	}
	window->is_empty |= op == '=' && longer != 0;
	if (is_lower)
		keep(&window->low_text, low, 1);
	else
		sqlite3_free(low);
	if (is_upper)
		keep(&window->end_text, end, -1);
	else
		sqlite3_free(end);
	return error->rc;
}

/* ---- numbers ---- */

/* True if SQLite reads the literal of a mapped real back as the same real. */
static bool is_exact(sqlite3 *db, int64_t time, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	bool is_same = ifs_prepare(error, db, &statement, "SELECT %!.17g", iforest_real_of_time(time)) == SQLITE_OK &&
		       sqlite3_step(statement) == SQLITE_ROW &&
		       iforest_time_of_real(sqlite3_column_double(statement, 0)) == time;

	sqlite3_finalize(statement);
	return is_same;
}

static bool has_end(const struct ifs_time_window *window)
{
	return window->high < (window->kind == IFS_WINDOW_OF_REALS ? IFOREST_TIME_OF_INFINITY - 1 : INT64_MAX);
}

static void narrow_numbers(struct ifs_time_window *window, sqlite3 *db, char op, sqlite3_value *value, char **why,
			   struct ifs_error *error)
{
	bool is_real = window->kind == IFS_WINDOW_OF_REALS, is_lower = op == 'g' || op == '>' || op == '=';

	/* without a numeric affinity texts remain texts, and are greater than all numbers */
	if (sqlite3_value_type(value) == SQLITE_TEXT && strcmp(window->affinity, "BLOB") == 0)
		window->is_empty |= is_lower;
	else if (!(is_real ? ifs_bound_real_times : ifs_bound_integers)(op, value, &window->low, &window->high))
		window->is_empty = true;
	if (is_real && !window->is_empty &&
	    ((window->low > INT64_MIN && !is_exact(db, window->low, error)) ||
	     (has_end(window) && !is_exact(db, window->high + 1, error))))
		refuse(why, error, "a bound of the time has no %s literal", "exact");
}

static int narrow_by_constant(struct ifs_time_window *window, sqlite3 *db, char op, const char *expression, char **why,
			      struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, db, &statement, "SELECT %s", expression);

	if (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		sqlite3_value *value = sqlite3_column_value(statement, 0);

		if (sqlite3_value_type(value) == SQLITE_NULL)
			window->is_empty = true;
		else if (window->kind != IFS_WINDOW_OF_TEXTS)
			narrow_numbers(window, db, op, value, why, error);
		else if (sqlite3_value_type(value) != SQLITE_TEXT)
			refuse(why, error, "the time is a text, and compared with %s", expression);
		else
			(void)narrow_texts(window, db, op, (const char *)sqlite3_value_text(value), why, error);
	}
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(error, db, rc);
	return error->rc;
}

/* ---- parameters ---- */

static void add(char **list, int *n, const char *expression, const char *plus, struct ifs_error *error)
{
	char *before = *list;

	*list = sqlite3_mprintf("%s%s%s%s", before ? before : "", before ? ", " : "", expression, plus);
	++*n;
	if (!*list)
		ifs_error_set(error, SQLITE_NOMEM, "");
	sqlite3_free(before);
}

static void narrow_by_parameter(struct ifs_time_window *window, char op, const char *expression, char **why,
				struct ifs_error *error)
{
	char *operand = strchr(expression, ' ') ? sqlite3_mprintf("(%s)", expression) : sqlite3_mprintf("%s", expression);
	const char *after = " + 1";

	if (window->kind == IFS_WINDOW_OF_TEXTS || strpbrk(expression, "'|"))
		refuse(why, error, "the time is compared with %s, a parameter, as a text, whose form is not known", expression);
	else if (window->kind == IFS_WINDOW_OF_REALS && op != 'g' && op != '<')
		refuse(why, error, "times are reals, and there is no next one after %s", expression);
	else if (!operand)
		ifs_error_set(error, SQLITE_NOMEM, "");
	else {
		if (op == 'g' || op == '>' || op == '=')
			add(&window->lowers, &window->n_lowers, operand, op == '>' ? after : "", error);
		if (op == 'l' || op == '<' || op == '=')
			add(&window->ends, &window->n_ends, operand, op == '<' ? "" : after, error);
	}
	sqlite3_free(operand);
}

/* ---- windows ---- */

static bool has_word(const char *type, const char *pattern)
{
	return sqlite3_strlike(pattern, type, 0) == 0;
}

int ifs_time_window_open(struct ifs_time_window *window, sqlite3 *db, const struct ifs_advised_table *table,
			 const struct ifs_column_classes *classes, struct ifs_error *error)
{
	const char *type = table->types[table->time], *time = table->columns[table->time];
	bool has_numbers = classes->n_integers || classes->n_reals;

	*window = (struct ifs_time_window){ .affinity = ifs_affinity_of(type, false) };
	ifs_time_window_reopen(window);
	if (error->rc)
		return error->rc;
	if (classes->n_blobs || classes->n_infinities || (has_numbers && classes->n_texts))
		refuse(&window->why, error, "times of \"%s\" are of several classes", time);
	else if (classes->n_texts) {
		window->kind = IFS_WINDOW_OF_TEXTS;
		return find_form(window, db, table, error);
	} else if (!has_numbers &&
		   (strcmp(window->affinity, "TEXT") == 0 || has_word(type, "%time%") || has_word(type, "%date%")))
		refuse(&window->why, error, "\"%s\" has no times yet, and their form is not known", time);
	else if (classes->n_fractions || (ifs_is_for_fractions(type) && !classes->n_large))
		window->kind = IFS_WINDOW_OF_REALS;
	if (window->kind == IFS_WINDOW_OF_REALS && classes->n_large)
		refuse(&window->why, error, "integers of \"%s\" are too large to be reals", time);
	return error->rc;
}

void ifs_time_window_reopen(struct ifs_time_window *window)
{
	struct ifs_time_window opened = { .kind = window->kind,
					  .affinity = window->affinity,
					  .form = window->form,
					  .low = INT64_MIN,
					  .high = INT64_MAX,
					  .why = window->why };

	window->why = NULL;
	ifs_time_window_release(window);
	*window = opened;
}

int ifs_time_window_narrow(struct ifs_time_window *window, sqlite3 *db, char op, const char *expression, bool is_constant,
			   char **why, struct ifs_error *error)
{
	window->is_bounded = true;
	*why = NULL;
	if (is_constant)
		return narrow_by_constant(window, db, op, expression, why, error);
	narrow_by_parameter(window, op, expression, why, error);
	return error->rc;
}

/* Begins `name = `, or `name = function(` for several expressions. */
static void begin_bound(sqlite3_str *out, const char *name, const char *function, int n)
{
	sqlite3_str_appendf(out, "%s%s = %s%s", sqlite3_str_length(out) ? " AND " : "", name, n > 1 ? function : "",
			    n > 1 ? "(" : "");
}

static void end_bound(sqlite3_str *out, bool has_constant, const char *others, int n)
{
	sqlite3_str_appendf(out, "%s%s%s", has_constant && others ? ", " : "", others ? others : "", n > 1 ? ")" : "");
}

static void write_time(const struct ifs_time_window *window, int64_t time, sqlite3_str *out)
{
	if (window->kind == IFS_WINDOW_OF_REALS)
		sqlite3_str_appendf(out, "%!.17g", iforest_real_of_time(time));
	else
		sqlite3_str_appendf(out, "%lld", time);
}

/* is_open: no time is excluded but NULL. */
static void write_low(const struct ifs_time_window *window, bool is_open, sqlite3_str *out)
{
	bool is_text = window->kind == IFS_WINDOW_OF_TEXTS,
	     has_constant = is_open || (is_text ? window->low_text != NULL : window->low > INT64_MIN);
	int n = window->n_lowers + has_constant;

	if (n == 0)
		return;
	begin_bound(out, "t0", "max", n);
	if (has_constant && is_text)
		sqlite3_str_appendf(out, "%Q", window->low_text ? window->low_text : "1678-01-01");
	else if (has_constant && window->low == INT64_MIN && window->kind == IFS_WINDOW_OF_REALS)
		write_time(window, iforest_time_of_real(-IFOREST_GREATEST_REAL), out);
	else if (has_constant)
		write_time(window, window->low, out);
	end_bound(out, has_constant, window->lowers, n);
}

static void write_end(const struct ifs_time_window *window, sqlite3_str *out)
{
	bool is_text = window->kind == IFS_WINDOW_OF_TEXTS, has_constant = is_text ? window->end_text != NULL : has_end(window);
	int n = window->n_ends + has_constant;

	if (n == 0)
		return;
	begin_bound(out, "t1", "min", n);
	if (has_constant && is_text)
		sqlite3_str_appendf(out, "%Q", window->end_text);
	else if (has_constant)
		write_time(window, window->high + 1, out);
	end_bound(out, has_constant, window->ends, n);
}

void ifs_time_window_write(const struct ifs_time_window *window, sqlite3_str *out)
{
	bool is_text = window->kind == IFS_WINDOW_OF_TEXTS, is_open = !window->low_text && !window->end_text &&
								      !window->n_lowers && !window->n_ends &&
								      !has_end(window) && window->low == INT64_MIN;

	if (!window->is_bounded)
		return;
	if (window->is_empty || (!is_text && window->low > window->high)) {
		sqlite3_str_appendall(out, is_text ? "t0 = '2000-01-01' AND t1 = '2000-01-01'" : "t0 = 0 AND t1 = 0");
		return;
	}
	write_low(window, is_open, out);
	write_end(window, out);
}

void ifs_time_window_release(struct ifs_time_window *window)
{
	char *texts[] = { window->low_text, window->end_text, window->lowers, window->ends, window->why };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		sqlite3_free(texts[i]);
	*window = (struct ifs_time_window){ .kind = IFS_WINDOW_OF_INTEGERS };
}
