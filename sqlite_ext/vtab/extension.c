/* vtab/extension.c -- Entry point of iforest.so: registers the modules and functions. */
#include <stdbool.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "sqlite_ext/vtab/functions.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/follow/delta.h"
#include "sqlite_ext/vtab/advise.h"
#include "sqlite_ext/vtab/buckets.h"
#include "sqlite_ext/vtab/cover.h"
#include "sqlite_ext/vtab/gaps.h"
#include "sqlite_ext/vtab/histogram.h"
#include "sqlite_ext/vtab/index.h"
#include "sqlite_ext/vtab/line_functions.h"
#include "sqlite_ext/vtab/rows.h"
#include "sqlite_ext/vtab/stats.h"

#define OLDEST_SQLITE 3038000

static void version_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	(void)n_arguments;
	(void)arguments;
	sqlite3_result_text(context, IFOREST_VERSION, -1, SQLITE_STATIC);
}

static void release_registration(void *context)
{
	struct ifs_registration *registration = context;

	ifs_connection_release(registration->connection);
	sqlite3_free(registration);
}

static const struct ifs_module *const modules[] = {
	&ifs_index_module, &ifs_fold_module, &ifs_rows_module,	  &ifs_overlap_module,	 &ifs_cover_module,
	&ifs_stats_module, &ifs_gaps_module, &ifs_counter_module, &ifs_histogram_module, &ifs_advise_module,
};

enum { N_MODULES = sizeof modules / sizeof *modules };

static int register_all(sqlite3 *db);

static int register_module(sqlite3 *db, const struct ifs_module *module, struct ifs_connection *connection)
{
	struct ifs_registration *registration = sqlite3_malloc64(sizeof *registration);

	if (!registration)
		return SQLITE_NOMEM;
	*registration = (struct ifs_registration){ .connection = connection, .module = module, .register_all = register_all };
	connection->n_refs++;
	/* SQLite releases the context even if it refuses the module */
	return sqlite3_create_module_v2(db, module->name, module->methods, registration, release_registration);
}

static int register_functions(sqlite3 *db)
{
	int rc = ifs_bucket_function_register(db);

	if (!rc)
		rc = ifs_delta_register(db);
	if (!rc)
		rc = ifs_sketch_functions_register(db);
	if (!rc)
		rc = ifs_line_functions_register(db);
	return rc;
}

static int register_modules(sqlite3 *db)
{
	struct ifs_connection *connection = sqlite3_malloc64(sizeof *connection);
	int rc = SQLITE_OK;

	if (!connection)
		return SQLITE_NOMEM;
	*connection = (struct ifs_connection){ .n_refs = 1 };
	for (unsigned m = 0; m < N_MODULES && !rc; m++)
		rc = register_module(db, modules[m], connection);
	ifs_connection_release(connection);
	return rc;
}

static int register_all(sqlite3 *db)
{
	int rc = register_functions(db);

	return rc ? rc : register_modules(db);
}

/* The version is registered last: is_loaded() takes it as the sign that everything else is registered. */
static int register_version(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "iforest_version", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, NULL,
					  version_function, NULL, NULL, NULL);
}

/* True if this version is already registered with the connection. */
static bool is_loaded(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	bool loaded =
		sqlite3_prepare_v2(db, "SELECT iforest_version() = '" IFOREST_VERSION "'", -1, &statement, NULL) == SQLITE_OK &&
		sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1;

	sqlite3_finalize(statement);
	return loaded;
}

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

EXPORTED int sqlite3_iforest_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_iforest_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	int rc;

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < OLDEST_SQLITE) {
		*message = sqlite3_mprintf("iforest needs SQLite 3.38 or newer; this is %s", sqlite3_libversion());
		return SQLITE_ERROR;
	}
	rc = register_functions(db);
	/* SQLite does not replace functions while a statement runs, such as the one that calls load_extension() */
	if (rc == SQLITE_BUSY && is_loaded(db))
		return SQLITE_OK;
	if (rc == SQLITE_BUSY) {
		*message = sqlite3_mprintf("iforest cannot be loaded while a statement runs, for this connection has another "
					   "version of it; load it in a new connection");
		return SQLITE_ERROR;
	}
	if (!rc)
		rc = register_modules(db);
	if (!rc)
		rc = register_version(db);
	return rc;
}
