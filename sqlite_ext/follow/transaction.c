#include "sqlite_ext/follow/transaction.h"

/* What was read deeper is not committed, or not any more: it is to be read anew. */
static void forget_deeper(struct iforest_connection *connection, int depth)
{
	for (struct iforest_index *index = connection->indexes; index; index = index->next)
		if (index->snapshot && index->snapshot->depth > depth)
			index->snapshot->is_passing = true;
	connection->n_changes++;
}

/* What was read deeper stays, as what was read there does. */
static void lift(struct iforest_connection *connection, int depth)
{
	for (struct iforest_index *index = connection->indexes; index; index = index->next)
		if (index->snapshot && index->snapshot->depth > depth)
			index->snapshot->depth = depth;
}

static void leave(struct iforest_index *index)
{
	index->connection->n_joined -= index->is_joined;
	index->is_joined = false;
}

void iforest_transaction_add(struct iforest_index *index)
{
	index->next = index->connection->indexes;
	index->connection->indexes = index;
}

void iforest_transaction_remove(struct iforest_index *index)
{
	struct iforest_index **link = &index->connection->indexes;

	while (*link && *link != index)
		link = &(*link)->next;
	if (*link)
		*link = index->next;
	/* it was dropped, and perhaps nobody is told any more: but where that is rolled back SQLite connects all tables anew */
	leave(index);
}

int iforest_transaction_join(struct iforest_index *index, int *depth, struct iforest_error *error)
{
	const struct iforest_connection *connection = index->connection;
	struct iforest_error refused = { .rc = SQLITE_OK };
	int rc = SQLITE_OK;

	/* made each time: a statement that is kept would keep the table from being closed */
	if (connection->n_joined == 0)
		rc = iforest_execute(&refused, index->db, "DELETE FROM \"%w\".\"%w\" WHERE 0", index->schema, index->name);
	if (rc && sqlite3_get_autocommit(index->db)) /* as it does where a statement that writes is interrupted */
		iforest_error_set(error, rc, "%s", refused.message ? refused.message : sqlite3_errstr(rc));
	iforest_error_clear(&refused);
	*depth = connection->n_joined > 0 ? 1 + connection->n_savepoints : 0;
	return error->rc;
}

void iforest_transaction_begin(struct iforest_index *index)
{
	struct iforest_connection *connection = index->connection;

	if (index->is_joined)
		return;
	index->is_joined = true;
	if (connection->n_joined++ == 0)
		connection->n_savepoints = 0;
}

/* A table that is made in the transaction takes part in it, and is told so by its first savepoint. */
void iforest_transaction_save(struct iforest_index *index, int savepoint)
{
	iforest_transaction_begin(index);
	index->connection->n_savepoints = savepoint + 1;
}

void iforest_transaction_release(struct iforest_index *index, int savepoint)
{
	index->connection->n_savepoints = savepoint;
	lift(index->connection, savepoint + 1);
}

void iforest_transaction_roll_back_to(struct iforest_index *index, int savepoint)
{
	index->connection->n_savepoints = savepoint + 1;
	forget_deeper(index->connection, savepoint + 1);
}

void iforest_transaction_commit(struct iforest_index *index)
{
	lift(index->connection, 0);
	leave(index);
}

void iforest_transaction_roll_back(struct iforest_index *index)
{
	forget_deeper(index->connection, 0);
	leave(index);
}
