#include "sqlite_ext/maintain/kinds.h"

static int finish(struct iforest_fields *fields, struct iforest_error *error)
{
	enum iforest_status status = iforest_fields_finish(fields);

	return iforest_error_from_status(error, status, "iforest", &(struct iforest_fault){ .what = NULL }, 0);
}

/* By its first number, or by what is declared where there is none. */
static int look_at_column(const struct iforest_index *index, const struct iforest_source *source, const char *column,
			  bool *is_real, struct iforest_error *error)
{
	const char *type = NULL;
	sqlite3_stmt *statement;
	int rc = iforest_prepare(error, index->db, &statement,
				 "SELECT typeof(\"%w\") = 'real' FROM \"%w\".\"%w\" WHERE \"%w\" IS NOT NULL LIMIT 1", column,
				 index->schema, source->name, column);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW)
		*is_real = sqlite3_column_int(statement, 0);
	else
		*is_real = !sqlite3_table_column_metadata(index->db, index->schema, source->name, column, &type, NULL, NULL,
							  NULL, NULL) &&
			   strcmp(iforest_affinity_of(type, false), "REAL") == 0;
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(error, index->db, rc) : SQLITE_OK;
}

int iforest_kinds_choose(const struct iforest_index *index, const struct iforest_definition *definition,
			 const struct iforest_source *source, struct iforest_fields *fields, struct iforest_error *error)
{
	int rc = SQLITE_OK;

	*fields = (struct iforest_fields){ .n_values = (uint8_t)definition->n_values, .squares = definition->squares,
					   .duration_value = definition->duration_value };
	for (unsigned v = 0; v < definition->n_values && !rc; v++) {
		bool is_real = false;

		if (v != definition->duration_value && !(definition->squares >> v & 1))
			rc = look_at_column(index, source, definition->values[v].source, &is_real, error);
		fields->kinds[v] = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;
	}
	return rc ? rc : finish(fields, error);
}

int iforest_kinds_widen(const struct iforest_index *index, const struct iforest_definition *definition,
			const struct iforest_source *source, struct iforest_fields *fields, struct iforest_error *error)
{
	int rc = SQLITE_OK;

	for (unsigned v = 0; v < definition->n_values && !rc; v++) {
		sqlite3_stmt *statement;

		rc = iforest_prepare(error, index->db, &statement,
				     "SELECT 1 FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'real' LIMIT 1", index->schema,
				     source->name, definition->values[v].source);
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			fields->kinds[v] = IFOREST_FLOAT64;
		if (!rc && (rc = sqlite3_finalize(statement)))
			iforest_error_from_db(error, index->db, rc);
	}
	return rc ? rc : finish(fields, error);
}
