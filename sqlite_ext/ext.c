/* ext.c -- where SQLite comes in: registers the modules and functions of iforest.so. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "sqlite_ext/progress.h"
#include "sqlite_ext/vtab.h"

#define IFOREST_VERSION "0.1.0"
#define OLDEST_SQLITE 3038000

static void version_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	(void)n_arguments;
	(void)arguments;
	sqlite3_result_text(context, IFOREST_VERSION, -1, SQLITE_STATIC);
}

__attribute__((visibility("default")))
int sqlite3_iforest_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_iforest_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	int rc;

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < OLDEST_SQLITE) {
		*message = sqlite3_mprintf("iforest needs SQLite 3.38 or newer; this is %s", sqlite3_libversion());
		return SQLITE_ERROR;
	}
	rc = sqlite3_create_module_v2(db, "iforest", &iforest_index_module, NULL, NULL);
	if (!rc)
		rc = sqlite3_create_module_v2(db, "iforest_fold", &iforest_fold_module, NULL, NULL);
	if (!rc)
		rc = sqlite3_create_function_v2(db, "iforest_version", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC,
						NULL, version_function, NULL, NULL, NULL);
	if (!rc)
		rc = iforest_progress_register(db);
	return rc;
}
