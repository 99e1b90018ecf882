#include "sqlite_ext/query/row_key.h"

#include "sqlite_ext/follow/row_decoder.h"

enum { TIME, FIRST_BY };

/* SELECT r."ts", r."track" FROM "main"."spans" AS r WHERE r."id" = ?1 */
static int prepare(struct iforest_index *index, struct iforest_error *error)
{
	const struct iforest_source *source = &index->source;
	const struct iforest_definition *definition = &index->definition;
	sqlite3_str *sql;
	char *text;
	int rc;

	if (index->find_row)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql, "SELECT r.\"%w\"", definition->time);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, ", r.\"%w\"", definition->by[b].source);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS r WHERE r.\"%w\" = ?1", index->schema, source->name,
			    source->rowid_column);
	text = sqlite3_str_finish(sql);
	rc = text ? iforest_prepare(error, index->db, &index->find_row, "%s", text) :
		    iforest_error_set(error, SQLITE_NOMEM, "");
	sqlite3_free(text);
	return rc;
}

static bool read_time(sqlite3_stmt *statement, struct iforest_key *key)
{
	int type = sqlite3_column_type(statement, TIME);

	key->time_is_null = type == SQLITE_NULL;
	key->time = type == SQLITE_INTEGER ? sqlite3_column_int64(statement, TIME) : 0;
	return type == SQLITE_NULL || type == SQLITE_INTEGER ||
	       (type == SQLITE_FLOAT && iforest_integral(sqlite3_column_double(statement, TIME), &key->time));
}

int iforest_row_key(struct iforest_index *index, const struct iforest_snapshot *snapshot, sqlite3_int64 id,
		    struct iforest_key *key, bool *found, struct iforest_error *error)
{
	struct iforest_series_key bytes = { .alloc = &iforest_sqlite_alloc };
	const struct iforest_series *series = NULL;
	sqlite3_value *by[IFOREST_MAX_BY];
	int failed, rc = prepare(index, error);

	*found = false;
	*key = (struct iforest_key){ .ref = id };
	if (rc)
		return rc;
	sqlite3_bind_int64(index->find_row, 1, id);
	if (sqlite3_step(index->find_row) == SQLITE_ROW && read_time(index->find_row, key)) {
		iforest_entry_columns(index->find_row, FIRST_BY, index->definition.n_by, by);
		rc = iforest_entry_series_key(&index->definition, by, &bytes, error);
		if (!rc)
			series = iforest_dictionary_find(&snapshot->dictionary, bytes.bytes, bytes.n_bytes);
		iforest_series_release(&bytes);
	}
	failed = sqlite3_reset(index->find_row);
	if (!rc && failed)
		rc = iforest_error_from_db(error, index->db, failed);
	*found = !rc && series;
	key->series = *found ? series->id : 0;
	return rc;
}
