/* dist/wasm/progress.c -- Progress of a load, told to Module.onProgress(what, bytes, of, rows) where JavaScript has it; in the place of
 * tools/progress.c, which has a terminal. */
#include "tools/progress.h"

#include <emscripten.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#define SECONDS_BETWEEN 0.1

enum { WHAT_BYTES = 100 };

/* clang-format off: it takes JavaScript for C */
EM_JS(void, call_back, (const char *what, double n_bytes, double of, double n_rows), {
	if (Module["onProgress"])
		Module["onProgress"](UTF8ToString(what), n_bytes, of, n_rows);
});
/* clang-format on */

double progress_now_s(void)
{
	return emscripten_get_now() / 1e3;
}

static void tell(struct progress *progress, const char *what, uint64_t n_bytes, uint64_t n_rows)
{
	progress->shown_s = progress_now_s();
	call_back(what, (double)n_bytes, (double)progress->n_file_bytes, (double)n_rows);
}

void progress_start(struct progress *progress, const char *program, const char *path)
{
	struct stat file;

	*progress = (struct progress){ .program = program, .is_on = true, .start_s = progress_now_s() };
	progress->n_file_bytes = stat(path, &file) ? 0 : (uint64_t)file.st_size;
	tell(progress, "reading", 0, 0);
}

void progress_step(struct progress *progress, uint64_t n_bytes, uint64_t n_rows)
{
	if (progress_now_s() - progress->shown_s >= SECONDS_BETWEEN)
		tell(progress, "reading", n_bytes, n_rows);
}

void progress_stage(struct progress *progress, const char *format, ...)
{
	char what[WHAT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	tell(progress, what, 0, 0);
}

void progress_end(struct progress *progress)
{
	progress->is_on = false;
}
