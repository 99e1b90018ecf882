#include "sqlite_ext/follow/mark.h"

static int rows_are_dense(struct ifs_index *index, const struct ifs_base_table *base_table, bool *dense,
			  struct ifs_error *error)
{
	const char *rowid = base_table->rowid_column;
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT count(*) = 0 OR (min(\"%w\") = 1 AND max(\"%w\") = count(*)) FROM \"%w\".\"%w\"", rowid,
			     rowid, index->schema, base_table->name);

	if (rc)
		return rc;
	*dense = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Makes the rows 1 and 2. */
static int fill(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_execute(
		error, index->db,
		"DELETE FROM \"%w\".\"%w_mark\"; INSERT INTO \"%w\".\"%w_mark\"(rowid, mark) VALUES(%d, NULL), (%d, NULL)",
		index->schema, index->name, index->schema, index->name, IFS_MARK_FIRST, IFS_MARK_LAST);
}

static int note_gap(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_execute(error, index->db, "DELETE FROM \"%w\".\"%w_mark\" WHERE rowid = %d", index->schema, index->name,
			   IFS_MARK_FIRST);
}

/* SQLite cannot drop a table while a command runs, so a rebuild keeps an existing mark. A plain mark is correct for any table,
 * but may report a VACUUM that changed no rowid; a mark with an index is wrong for a table without one. */
static int refuse_form(const struct ifs_index *index, struct ifs_error *error)
{
	return ifs_error_set(error, SQLITE_ERROR,
			     "%s: the table was made anew without PRIMARY KEY and UNIQUE, for which the index is not made; run "
			     "DROP TABLE \"%w\", and create it again",
			     index->name, index->name);
}

int ifs_mark_prepare(struct ifs_index *index, const struct ifs_base_table *base_table, bool *is_dense, struct ifs_error *error)
{
	enum ifs_mark_form form, needed = base_table->has_constraint ? IFS_UNIQUE_MARK : IFS_PLAIN_MARK;
	int rc = ifs_index_find_mark(index, &form, error);

	*is_dense = true;
	if (rc || base_table->is_keyed)
		return rc;
	if (form == IFS_UNIQUE_MARK && needed == IFS_PLAIN_MARK)
		return refuse_form(index, error);
	if (!form)
		rc = ifs_index_make_mark(index, needed, error);
	if (!rc && !form)
		rc = fill(index, error);
	if (!rc)
		rc = rows_are_dense(index, base_table, is_dense, error);
	return rc || *is_dense ? rc : note_gap(index, error);
}

int ifs_mark_renew(struct ifs_index *index, bool is_dense, struct ifs_error *error)
{
	enum ifs_mark_form form;
	int rc = ifs_index_find_mark(index, &form, error);

	if (!rc && form)
		rc = fill(index, error);
	if (!rc && form)
		rc = ifs_index_order_mark(index, error);
	return rc || !form || is_dense ? rc : note_gap(index, error);
}

int ifs_mark_update(struct ifs_index *index, uint64_t n_flushed, sqlite3_int64 last_flushed, sqlite3_int64 last_rowid,
		    struct ifs_error *error)
{
	const struct ifs_base_table *base_table = &index->base_table;
	uint64_t first = last_flushed > 0 ? (uint64_t)last_flushed : 0;
	bool is_dense = false, is_append = index->definition.sync == IFS_SYNC_APPEND;
	int rc = SQLITE_OK;

	if (base_table->is_keyed || last_rowid <= 0)
		return SQLITE_OK;
	if (n_flushed >= (uint64_t)last_rowid / 2 || (is_append && index->definition.where))
		rc = rows_are_dense(index, base_table, &is_dense, error);
	if (!rc && is_dense)
		return fill(index, error);
	if (!rc && is_append && n_flushed != (uint64_t)last_rowid - first)
		rc = note_gap(index, error);
	return rc;
}

static int was_renumbered(const struct ifs_index *index, const char *table, struct ifs_error *error)
{
	return ifs_error_set(
		error, SQLITE_ERROR,
		"%s: the rows of \"%s\" may have other rowids than the index knows: VACUUM or a copy numbered them "
		"anew, for the table has no INTEGER PRIMARY KEY; run INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')",
		index->name, table, index->name, index->name);
}

/* Sets *moved to whether row 2 is missing, or the table comes after x_mark_order in the schema. */
static int look(struct ifs_index *index, const char *table, bool *moved, struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name;
	sqlite3_stmt *statement;
	int rc = ifs_prepare(
		error, index->db, &statement,
		"SELECT 1 FROM \"%w\".\"%w_mark\" WHERE rowid = %d AND NOT EXISTS(SELECT 1 FROM "
		"\"%w\".sqlite_schema AS o, \"%w\".sqlite_schema AS t WHERE o.type = 'trigger' AND "
		"o.name = '%q_mark_order' AND t.type = 'table' AND t.name = %Q COLLATE NOCASE AND t.rowid > o.rowid)",
		schema, name, IFS_MARK_LAST, schema, schema, name, table);

	if (rc)
		return rc;
	*moved = sqlite3_step(statement) == SQLITE_DONE;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

int ifs_mark_check(struct ifs_index *index, const char *table, bool *has_mark, struct ifs_error *error)
{
	enum ifs_mark_form form;
	bool moved = false;
	int rc = ifs_index_find_mark(index, &form, error);

	*has_mark = form;
	if (!rc && form)
		rc = look(index, table, &moved, error);
	return moved ? was_renumbered(index, table ? table : index->definition.content, error) : rc;
}
