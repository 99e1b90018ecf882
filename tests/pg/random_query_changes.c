#include "tests/pg/random_query.h"

#define ONE_OF(dice, list) (list)[random_below(dice, COUNT_OF(list))]

/* The value of a column in row `id`; another salt, another value. */
static void add_value(const struct query_column *column, unsigned salt, struct text *sql)
{
	unsigned n = 0;

	text_add(sql, "CASE");
	if (column->percent_null)
		text_add(sql, " WHEN spread(id, %u) %% 100 < %u THEN NULL", salt, column->percent_null);
	if (column->percent_special || !*column->spread) {
		if (*column->spread)
			text_add(sql, " WHEN spread(id, %u) %% 100 < %u THEN", salt + 1, column->percent_special);
		else
			text_add(sql, " WHEN true THEN");
		while (n < COUNT_OF(column->kind->special) && column->kind->special[n])
			n++;
		text_add(sql, " (ARRAY[");
		for (unsigned i = 0; i < n; i++)
			text_add(sql, "%s'%s'", i ? "," : "", column->kind->special[i]);
		text_add(sql, "]::%s[])[1 + spread(id, %u) %% %u]", column->kind->name, salt + 2, n);
	}
	if (*column->spread)
		text_add(sql, "%s %s", column->percent_null || column->percent_special ? " ELSE" : " WHEN true THEN",
			 column->spread);
	text_add(sql, " END");
}

void query_table_insert(struct query_table *table, long long n, struct text *sql)
{
	unsigned salt = (unsigned)random_below(table->dice, 1000000);

	text_add(sql, "INSERT INTO t(id");
	for (unsigned i = 0; i < query_table_n_columns(table); i++)
		text_add(sql, ", %s", query_table_column(table, i)->name);
	text_add(sql, ") SELECT id");
	for (unsigned i = 0; i < query_table_n_columns(table); i++) {
		text_add(sql, ", ");
		add_value(query_table_column(table, i), salt + 10 * i, sql);
	}
	text_add(sql, " FROM generate_series(%lld::bigint, %lld) id", table->n_given + 1, table->n_given + n);
	if (random_chance(table->dice, 40))
		text_add(sql, " ORDER BY spread(id, %u)", salt);
	text_add(sql, ";\n");
	table->n_given += n;
}

static void add_choice(struct query_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	long long first = 1 + (long long)random_below(dice, (uint64_t)table->n_given + 1);

	if (random_chance(dice, 50))
		text_add(sql, " WHERE spread(id, %u) %% 100 < %u;\n", (unsigned)random_below(dice, 1000000),
			 1 + (unsigned)random_below(dice, 30));
	else
		text_add(sql, " WHERE id BETWEEN %lld AND %lld;\n", first, first + (long long)random_below(dice, 500));
}

void query_table_change(struct query_table *table, struct text *sql)
{
	struct random *dice = table->dice;
	const struct query_column *column =
		query_table_column(table, (unsigned)random_below(dice, query_table_n_columns(table)));

	if (random_chance(dice, 50)) {
		text_add(sql, "DELETE FROM t");
	} else if (random_chance(dice, 30)) {
		text_add(sql, "UPDATE t SET note = 'changed'");
	} else {
		text_add(sql, "UPDATE t SET %s = ", column->name);
		/* as a row with another id would have it */
		text_add(sql, "(SELECT ");
		add_value(column, (unsigned)random_below(dice, 1000000), sql);
		text_add(sql, " FROM (SELECT t.id + %u) moved(id))", (unsigned)random_below(dice, 1000));
	}
	add_choice(table, sql);
}

void query_table_maintain(struct query_table *table, struct text *sql)
{
	static const char *const often[] = {
		"VACUUM t", "VACUUM (INDEX_CLEANUP on) t", "VACUUM ANALYZE t", "ANALYZE t", "VACUUM (FREEZE) t",
	}, *const merges[] = {
		"SELECT iforest_merge(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		" JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'iforest' AND c.relkind = 'i'",
		"SELECT iforest_merge(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		" JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'iforest' AND c.relkind = 'i'",
	}, *const rare[] = { "REINDEX TABLE t", "VACUUM (FULL) t", "VACUUM (INDEX_CLEANUP off) t" };
	unsigned kind = (unsigned)random_below(table->dice, 100);

	text_add(sql, "%s;\n",
		 kind < 60   ? ONE_OF(table->dice, often)
		 : kind < 90 ? ONE_OF(table->dice, merges)
			     : ONE_OF(table->dice, rare));
}
