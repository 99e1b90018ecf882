/* dist/wasm/start.c -- What JavaScript calls before it loads a trace or opens a database. */
#include <emscripten.h>
#include <getopt.h>
#include <sqlite3.h>

int sqlite3_iforest_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);
int sqlite3_chrometrace_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* Each connection that is opened has the extension and the readers of traces. The command line of main(), which is that of trace2sqlite, is
 * read from its beginning each time. */
EMSCRIPTEN_KEEPALIVE int wasm_start(void)
{
	int rc = sqlite3_auto_extension((void (*)(void))sqlite3_iforest_init);

	optind = 0;
	return rc ? rc : sqlite3_auto_extension((void (*)(void))sqlite3_chrometrace_init);
}
