#include "sqlite_ext/query/series_filter.h"

#include <stdlib.h>

#include "core/base/array.h"

/* ---- operators ---- */

char ifs_condition_operator(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	case SQLITE_INDEX_CONSTRAINT_GT:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_IS:
		return 'i';
	/* not ISNOTNULL: SQLite offers that of the ON of a LEFT JOIN to the table on the left, too, whose rows it must not
	 * remove */
	case SQLITE_INDEX_CONSTRAINT_ISNULL:
		return 'n';
	default:
		return 0;
	}
}

const char *ifs_condition_word(char op)
{
	switch (op) {
	case 'l':
		return "<=";
	case 'g':
		return ">=";
	case 'i':
		return " is";
	case 'n':
		return " is null";
	case 'm':
		return " in";
	case '<':
		return "<";
	case '>':
		return ">";
	default:
		return "=";
	}
}

/* ---- conditions ---- */

/* True if one of two texts is a number: it becomes one if the other side has a numeric affinity, and then it is less. */
static bool may_be_numbers(const struct iforest_by_value *value, char op, const struct iforest_by_value *operand)
{
	bool is_less = op == '<' || op == 'l';

	if (value->tag != IFOREST_BY_TEXT || operand->tag != IFOREST_BY_TEXT)
		return false;
	return ifs_by_is_number_text(is_less ? value : operand) && !ifs_by_is_number_text(is_less ? operand : value);
}

/* True if the order of two values is certain. SQLite orders texts by their bytes in the encoding of the database. UTF-8
 * and UTF-16 agree if the first difference is between two ASCII characters, or one text is a prefix. */
static bool is_order_known(const struct iforest_by_value *a, const struct iforest_by_value *b)
{
	uint32_t at = 0;

	if (a->tag != IFOREST_BY_TEXT || b->tag != IFOREST_BY_TEXT)
		return true;
	while (at < a->n_bytes && at < b->n_bytes && a->data[at] == b->data[at])
		at++;
	return at == a->n_bytes || at == b->n_bytes || (a->data[at] | b->data[at]) < 0x80;
}

static bool may_compare(const struct iforest_by_value *value, char op, const struct iforest_by_value *operand)
{
	int order;

	if (value->tag == IFOREST_BY_NULL || operand->tag == IFOREST_BY_NULL)
		return false;
	/* a text may be taken for a number, or a number for a text, and be ordered otherwise in another encoding: SQLite
	 * decides */
	if (!ifs_by_is_same_class(value, operand) || may_be_numbers(value, op, operand) || !is_order_known(value, operand))
		return true;
	order = ifs_by_compare(value, operand);
	return order == 0 ? op == 'l' || op == 'g' : (order < 0) == (op == '<' || op == 'l');
}

static bool may_hold(const struct iforest_by_value *value, char op, const struct iforest_by_value *operand)
{
	if (operand->tag == IFOREST_BY_TEXT && !operand->data) /* no memory to convert it */
		return true;
	switch (op) {
	case '=':
	case '~':
	case 'i':
		return ifs_by_may_equal(value, operand, op == 'i');
	case 'n':
		return value->tag == IFOREST_BY_NULL;
	default:
		return may_compare(value, op, operand);
	}
}

/* ---- the values of an IN ---- */

/* A value of an IN. The list is sorted, so that each series is looked up in it. */
struct listed {
	struct iforest_by_value value;
	sqlite3_value *copy; /* has the bytes: SQLite keeps one value at a time */
};

struct list {
	struct listed *items;
	size_t n, n_reserved;
	bool has_number, has_text;
};

static int add_listed(struct list *list, sqlite3_value *value)
{
	struct listed *item;

	if (sqlite3_value_type(value) == SQLITE_NULL) /* equals nothing */
		return SQLITE_OK;
	if (!iforest_array_reserve(&ifs_alloc, &list->items, sizeof *list->items, list->n + 1, &list->n_reserved))
		return SQLITE_NOMEM;
	item = &list->items[list->n];
	item->copy = sqlite3_value_dup(value);
	if (!item->copy)
		return SQLITE_NOMEM;
	list->n++;
	item->value = ifs_by_from_sql(item->copy);
	list->has_text = list->has_text || item->value.tag == IFOREST_BY_TEXT;
	list->has_number = list->has_number || item->value.tag == IFOREST_BY_INTEGER || item->value.tag == IFOREST_BY_REAL;
	return item->value.tag == IFOREST_BY_TEXT && !item->value.data ? SQLITE_NOMEM : SQLITE_OK;
}

static int compare_listed(const void *left, const void *right)
{
	return ifs_by_compare(&((const struct listed *)left)->value, &((const struct listed *)right)->value);
}

static int read_list(struct list *list, sqlite3_value *values)
{
	sqlite3_value *value;
	int rc;

	for (rc = sqlite3_vtab_in_first(values, &value); rc == SQLITE_OK && value; rc = sqlite3_vtab_in_next(values, &value))
		if ((rc = add_listed(list, value)))
			return rc;
	if (list->n > 1)
		qsort(list->items, list->n, sizeof *list->items, compare_listed);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void release_list(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		sqlite3_value_free(list->items[i].copy);
	sqlite3_free(list->items);
}

/* True if ifs_by_may_equal() holds for any value of the list. */
static bool may_be_listed(const struct list *list, const struct iforest_by_value *value)
{
	struct listed sought = { .value = *value };
	bool is_number = value->tag == IFOREST_BY_INTEGER || value->tag == IFOREST_BY_REAL;

	if ((is_number && list->has_text) || (value->tag == IFOREST_BY_TEXT && list->has_number))
		return true;
	return list->n > 0 && bsearch(&sought, list->items, list->n, sizeof *list->items, compare_listed);
}

static int narrow_by_list(const struct ifs_series *const *series, uint32_t n, unsigned by, sqlite3_value *values,
			  bool *is_chosen, struct ifs_error *error)
{
	struct list list = { .items = NULL };
	int rc = read_list(&list, values);

	for (uint32_t s = 0; s < n && !rc; s++)
		is_chosen[s] = is_chosen[s] && may_be_listed(&list, &series[s]->values[by]);
	release_list(&list);
	return rc ? ifs_error_set(error, rc, "the values of an IN cannot be read") : SQLITE_OK;
}

/* ---- all conditions ---- */

/* Clears is_chosen of the series that cannot meet one condition. */
static int narrow(const struct ifs_series *const *series, uint32_t n, const struct ifs_by_condition *condition,
		  sqlite3_value *argument, bool *is_chosen, struct ifs_error *error)
{
	struct iforest_by_value operand;
	unsigned by = (unsigned)condition->by;

	if (condition->op == 'm')
		return narrow_by_list(series, n, by, argument, is_chosen, error);
	operand = ifs_by_from_sql(argument);
	for (uint32_t s = 0; s < n; s++)
		is_chosen[s] = is_chosen[s] && may_hold(&series[s]->values[by], condition->op, &operand);
	return SQLITE_OK;
}

/* Adds the series of a stretch that may meet the conditions. is_chosen has room for a mark for each. */
static int choose_in(const struct ifs_series *const *series, uint32_t n, const struct ifs_by_condition *conditions,
		     unsigned n_conditions, sqlite3_value **argv, bool *is_chosen, const struct ifs_series **chosen,
		     uint32_t *n_chosen, struct ifs_error *error)
{
	int rc = SQLITE_OK;

	memset(is_chosen, true, n);
	for (unsigned c = 0; c < n_conditions && n > 0 && !rc; c++)
		if (conditions[c].by >= 0)
			rc = narrow(series, n, &conditions[c], argv[c], is_chosen, error);
	for (uint32_t s = 0; s < n && !rc; s++)
		if (is_chosen[s])
			chosen[(*n_chosen)++] = series[s];
	return rc;
}

/* Finds the stretches of the dictionary in which a series may meet the conditions that equate its first by column. */
static void find_stretches(const struct ifs_dictionary *dictionary, const struct ifs_by_condition *conditions, unsigned n,
			   sqlite3_value **argv, struct ifs_series_stretch stretches[2])
{
	stretches[0] = (struct ifs_series_stretch){ 0, dictionary->n_series };
	stretches[1] = (struct ifs_series_stretch){ 0, 0 };
	for (unsigned c = 0; c < n; c++) {
		struct iforest_by_value operand;

		if (conditions[c].by != 0 || (conditions[c].op != '=' && conditions[c].op != '~' && conditions[c].op != 'i'))
			continue;
		operand = ifs_by_from_sql(argv[c]);
		if (operand.tag != IFOREST_BY_TEXT || operand.data) /* there was memory to convert it */
			ifs_dictionary_narrow(dictionary, &operand, stretches);
	}
}

/* True if a number is compared with a column whose texts were no numbers when the statement was prepared. A bound parameter is
 * in no row value. */
static bool is_outdated(const struct ifs_dictionary *dictionary, const struct ifs_by_condition *condition, sqlite3_value *value)
{
	int type = sqlite3_value_type(value);

	return condition->op == '=' && condition->by >= 0 && dictionary->number_texts >> condition->by & 1 &&
	       (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && !sqlite3_value_frombind(value);
}

int ifs_series_choose(const struct ifs_dictionary *dictionary, const struct ifs_by_condition *conditions, unsigned n,
		      sqlite3_value **argv, const struct ifs_series ***chosen, uint32_t *n_chosen, struct ifs_error *error)
{
	struct ifs_series_stretch stretches[2];
	size_t n_most;
	bool *is_chosen;
	int rc = SQLITE_OK;

	*chosen = NULL;
	for (unsigned c = 0; c < n; c++)
		if (is_outdated(dictionary, &conditions[c], argv[c]))
			return ifs_error_set(error, SQLITE_ERROR,
					     "since this statement was prepared, a by column that it compares with numbers has "
					     "got texts that are numbers: prepare it again");
	find_stretches(dictionary, conditions, n, argv, stretches);
	n_most = (size_t)(stretches[0].to - stretches[0].from) + (stretches[1].to - stretches[1].from);
	*n_chosen = 0;
	*chosen = sqlite3_malloc64((n_most + 1) * sizeof **chosen);
	is_chosen = sqlite3_malloc64(n_most + 1);
	if (!*chosen || !is_chosen)
		rc = ifs_error_set(error, SQLITE_NOMEM, "");
	for (unsigned k = 0; k < 2 && !rc; k++)
		rc = choose_in((const struct ifs_series *const *)dictionary->series + stretches[k].from,
			       stretches[k].to - stretches[k].from, conditions, n, argv, is_chosen, *chosen, n_chosen, error);
	sqlite3_free(is_chosen);
	return rc;
}

/* ---- the filter ---- */

static int compare_by_id(const void *left, const void *right)
{
	const struct ifs_series *a = *(const struct ifs_series *const *)left, *b = *(const struct ifs_series *const *)right;

	return (a->id > b->id) - (a->id < b->id);
}

static int number_series(struct ifs_series_filter *filter, struct ifs_error *error)
{
	bool is_ascending = true;

	filter->ids = sqlite3_malloc64((filter->n + (size_t)1) * sizeof *filter->ids);
	if (!filter->ids) {
		filter->n = 0;
		return ifs_error_set(error, SQLITE_NOMEM, "");
	}
	for (uint32_t s = 1; s < filter->n && is_ascending; s++)
		is_ascending = filter->series[s - 1]->id < filter->series[s]->id;
	if (!is_ascending)
		qsort(filter->series, filter->n, sizeof *filter->series, compare_by_id);
	for (uint32_t s = 0; s < filter->n; s++)
		filter->ids[s] = filter->series[s]->id;
	return SQLITE_OK;
}

int ifs_series_filter_apply(struct ifs_series_filter *filter, const struct ifs_dictionary *dictionary,
			    const struct ifs_by_condition *conditions, unsigned n, sqlite3_value **argv,
			    struct ifs_error *error)
{
	int rc;

	ifs_series_filter_release(filter);
	rc = ifs_series_choose(dictionary, conditions, n, argv, &filter->series, &filter->n, error);
	return rc ? rc : number_series(filter, error);
}

int ifs_series_filter_set(struct ifs_series_filter *filter, const struct ifs_series *series, struct ifs_error *error)
{
	ifs_series_filter_release(filter);
	filter->series = sqlite3_malloc64(sizeof *filter->series);
	if (!filter->series)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	filter->series[0] = series;
	filter->n = 1;
	return number_series(filter, error);
}

static int compare_ids(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

const struct ifs_series *ifs_series_filter_find(const struct ifs_series_filter *filter, uint64_t id)
{
	uint32_t sought = (uint32_t)id;
	const uint32_t *found;

	if (filter->n == 0 || id < filter->ids[0] || id > filter->ids[filter->n - 1])
		return NULL;
	if (filter->ids[filter->n - 1] - filter->ids[0] == filter->n - 1)
		return filter->series[id - filter->ids[0]];
	found = bsearch(&sought, filter->ids, filter->n, sizeof *filter->ids, compare_ids);
	return found ? filter->series[found - filter->ids] : NULL;
}

void ifs_series_filter_release(struct ifs_series_filter *filter)
{
	sqlite3_free(filter->series);
	sqlite3_free(filter->ids);
	*filter = (struct ifs_series_filter){ .series = NULL };
}
