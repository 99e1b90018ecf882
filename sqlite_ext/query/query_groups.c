#include "sqlite_ext/query/query_groups.h"

#include "sqlite_ext/query/series_filter.h"

static bool passes(const struct iforest_series *series, const struct iforest_query *query, const struct iforest_plan *plan,
		   const struct iforest_by_value *wanted)
{
	for (unsigned c = 0; c < plan->n_conditions; c++) {
		const struct iforest_condition *condition = &plan->conditions[c];

		if (!condition->is_in &&
		    !iforest_by_may_equal(&series->values[query->kept[condition->by]], &wanted[c], condition->is_is))
			return false;
	}
	return true;
}

static int compare_groups(const struct iforest_query *query, const struct iforest_series *a, const struct iforest_series *b)
{
	int order = 0;

	for (unsigned k = 0; k < query->n_kept && !order; k++)
		order = iforest_by_compare(&a->values[query->kept[k]], &b->values[query->kept[k]]);
	return order;
}

/* Are the by columns kept the first of the index, in its order? Then the dictionary is sorted by them already. */
static bool is_prefix(const struct iforest_query *query)
{
	for (unsigned k = 0; k < query->n_kept; k++)
		if (query->kept[k] != k)
			return false;
	return true;
}

/* Merge sort, for qsort() takes no context: `from` has n members, `scratch` room for as many. */
static void sort_between(const struct iforest_query *query, const struct iforest_series **from,
			 const struct iforest_series **scratch, uint32_t n)
{
	uint32_t middle = n / 2, left = 0, right = middle;

	if (n < 2)
		return;
	sort_between(query, from, scratch, middle);
	sort_between(query, from + middle, scratch, n - middle);
	for (uint32_t i = 0; i < n; i++) {
		bool take_left = right == n || (left < middle && compare_groups(query, from[left], from[right]) <= 0);

		scratch[i] = take_left ? from[left++] : from[right++];
	}
	memcpy(from, scratch, n * sizeof(struct iforest_series *));
}

static int sort_members(struct iforest_query *query, struct iforest_error *error)
{
	const struct iforest_series **scratch =
		sqlite3_malloc64((query->n_members + (size_t)1) * sizeof(struct iforest_series *));

	if (!scratch)
		return iforest_error_set(error, SQLITE_NOMEM, "");
	sort_between(query, query->members, scratch, query->n_members);
	sqlite3_free(scratch);
	return SQLITE_OK;
}

/* is_chosen: those of the series that the conditions with IN leave; NULL where there are none such. */
static int choose_among(const struct iforest_query *query, const struct iforest_plan *plan, sqlite3_value **argv,
			bool **is_chosen, struct iforest_error *error)
{
	const struct iforest_dictionary *dictionary = &query->snapshot->dictionary;

	for (unsigned c = 0; c < plan->n_conditions && !error->rc; c++) {
		if (!plan->conditions[c].is_in)
			continue;
		if (!*is_chosen) {
			*is_chosen = sqlite3_malloc64(dictionary->n_series + (size_t)1);
			if (!*is_chosen)
				return iforest_error_set(error, SQLITE_NOMEM, "");
			memset(*is_chosen, true, dictionary->n_series);
		}
		iforest_choice_among((const struct iforest_series *const *)dictionary->series, dictionary->n_series,
				     query->kept[plan->conditions[c].by], argv[c], *is_chosen, error);
	}
	if (error->rc) {
		sqlite3_free(*is_chosen);
		*is_chosen = NULL;
	}
	return error->rc;
}

int iforest_query_choose(struct iforest_query *query, const struct iforest_plan *plan, sqlite3_value **argv,
			 struct iforest_error *error)
{
	const struct iforest_dictionary *dictionary = &query->snapshot->dictionary;
	struct iforest_by_value wanted[IFOREST_MAX_CONDITIONS];
	struct iforest_series_stretch stretches[2] = { { 0, dictionary->n_series }, { 0, 0 } };
	bool *is_chosen = NULL;
	size_t n_most;

	if (choose_among(query, plan, argv, &is_chosen, error))
		return error->rc;
	for (unsigned c = 0; c < plan->n_conditions; c++) {
		wanted[c] = iforest_by_from_sql(argv[c]);
		if (query->kept[plan->conditions[c].by] == 0 && !plan->conditions[c].is_in)
			iforest_dictionary_narrow(dictionary, &wanted[c], stretches);
	}
	n_most = (size_t)(stretches[0].to - stretches[0].from) + (stretches[1].to - stretches[1].from);
	query->members = sqlite3_malloc64((n_most + 1) * sizeof(struct iforest_series *));
	query->group_starts = sqlite3_malloc64((n_most + 2) * sizeof *query->group_starts);
	if (!query->members || !query->group_starts) {
		sqlite3_free(is_chosen);
		return iforest_error_set(error, SQLITE_NOMEM, "");
	}
	for (unsigned k = 0; k < 2; k++)
		for (uint32_t s = stretches[k].from; s < stretches[k].to; s++)
			if ((!is_chosen || is_chosen[s]) && passes(dictionary->series[s], query, plan, wanted))
				query->members[query->n_members++] = dictionary->series[s];
	sqlite3_free(is_chosen);
	if (!is_prefix(query) && sort_members(query, error))
		return error->rc;
	for (uint32_t m = 0; m < query->n_members; m++)
		if (m == 0 || compare_groups(query, query->members[m - 1], query->members[m]) != 0)
			query->group_starts[query->n_groups++] = m;
	/* without by columns there is one group, even over no series at all */
	if (query->n_kept == 0 && query->n_groups == 0)
		query->group_starts[query->n_groups++] = 0;
	query->group_starts[query->n_groups] = query->n_members;
	return SQLITE_OK;
}

const struct iforest_series *iforest_query_series(const struct iforest_query *query)
{
	return query->n_kept ? query->members[query->group_starts[query->group]] : NULL;
}
