#include "sqlite_ext/follow/moment.h"

/* sqlite3_deserialize() puts another database in the place of one, under statements that are kept, and it counts anew. */
static bool may_be_replaced(sqlite3 *db, const char *schema)
{
	sqlite3_vfs *vfs = NULL;

	return sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK || !vfs ||
	       strcmp(vfs->zName, "memdb") == 0;
}

struct iforest_moment iforest_moment_now(sqlite3 *db, const char *schema)
{
	struct iforest_moment now = { .is_known = false };

	/* there is no temporary file before there is something in it: its version stays 0 */
	if (sqlite3_txn_state(db, schema) == SQLITE_TXN_READ && sqlite3_txn_state(db, "temp") != SQLITE_TXN_WRITE &&
	    !may_be_replaced(db, schema) &&
	    sqlite3_file_control(db, schema, SQLITE_FCNTL_DATA_VERSION, &now.version) == SQLITE_OK) {
		now.is_known = true;
		(void)sqlite3_file_control(db, "temp", SQLITE_FCNTL_DATA_VERSION, &now.temp_version);
	}
	return now;
}

bool iforest_moment_is_lasting(sqlite3 *db, const char *schema)
{
	sqlite3_stmt *statement; /* made each time, for it knows its answer from then on */
	bool is_lasting;

	if (may_be_replaced(db, schema))
		return false;
	if (sqlite3_txn_state(db, schema) == SQLITE_TXN_WRITE) /* of those that share a cache one writes at a time */
		return true;
	is_lasting = sqlite3_prepare_v2(db, "PRAGMA read_uncommitted", -1, &statement, NULL) == SQLITE_OK &&
		     sqlite3_step(statement) == SQLITE_ROW && !sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return is_lasting;
}
