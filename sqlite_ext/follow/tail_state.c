#include "sqlite_ext/follow/tail_internal.h"

#include "sqlite_ext/storage/shadow_tables.h"
#include "sqlite_ext/follow/triggers.h"

enum { LAST_SEQ, BLOCK, LAST_ROWID };

/* Of several fronts, which foreign hands may have made, the triggers take the first as well. */
static int prepare_state(struct iforest_index *index, struct iforest_error *error)
{
	const char *schema = index->schema, *name = index->name;
	const struct iforest_source *source = &index->source;

	if (index->read_state)
		return SQLITE_OK;
	if (index->definition.sync == IFOREST_SYNC_LOG)
		return iforest_prepare(error, index->db, &index->read_state,
				       "SELECT (SELECT max(seq) FROM \"%w\".\"%w_log\"), "
				       "(SELECT block FROM \"%w\".\"%w_front\"), "
				       "(SELECT max(\"%w\") FROM \"%w\".\"%w\")",
				       schema, name, schema, name, source->rowid_column, schema, source->name);
	return iforest_prepare(error, index->db, &index->read_state, "SELECT 0, 0, max(\"%w\") FROM \"%w\".\"%w\"",
			       source->rowid_column, schema, source->name);
}

/* No row that the runs may hold is of the front: of its changes nobody would tell. */
static int front_is_wrong(const struct iforest_index *index, struct iforest_error *error)
{
	return iforest_error_from_status(error, IFOREST_CORRUPT, index->name,
					 &(struct iforest_fault){ .what = "the table of the front is wrong" }, 0);
}

int iforest_tail_read_state(struct iforest_index *index, const struct iforest_tail *tail, struct iforest_tail_state *state,
			    struct iforest_error *error)
{
	bool is_log = index->definition.sync == IFOREST_SYNC_LOG, has_front = true;
	sqlite3_stmt *statement;
	sqlite3_int64 block;
	int failed, rc = prepare_state(index, error);

	if (rc)
		return rc;
	statement = index->read_state;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		state->last_seq = sqlite3_column_int64(statement, LAST_SEQ); /* 0 where there is none */
		if (state->last_seq < 0) /* of foreign hands */
			state->last_seq = 0;
		state->last_rowid = sqlite3_column_type(statement, LAST_ROWID) == SQLITE_NULL ?
					    INT64_MIN :
					    sqlite3_column_int64(statement, LAST_ROWID);
		state->followed = state->last_rowid;
		block = sqlite3_column_int64(statement, BLOCK);
		has_front = sqlite3_column_type(statement, BLOCK) == SQLITE_INTEGER &&
			    block > INT64_MIN / IFOREST_FRONT_ROWS && block <= INT64_MAX / IFOREST_FRONT_ROWS + 1;
		if (is_log && has_front) /* the last rowid before the block, whose first may be one too many for the type */
			state->followed = (sqlite3_int64)((uint64_t)block * IFOREST_FRONT_ROWS - 1);
	}
	failed = sqlite3_reset(statement);
	if (failed)
		return iforest_error_from_db(error, index->db, failed);
	return is_log && (!has_front || state->followed < tail->sealed) ? front_is_wrong(index, error) : SQLITE_OK;
}
