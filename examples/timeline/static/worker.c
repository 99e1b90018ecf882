/* examples/timeline/static/worker.c -- Answers for a page without a server, in a worker of the browser: what server.c is elsewhere. */
#include "../answers.h"

#include <emscripten.h>
#include <stdlib.h>
#include <string.h>

enum { BOX_SECONDS = 5 };

/* An argument after the other: a name, a NUL, its value, a NUL; an empty name ends them. */
static const char *argument(void *context, const char *name)
{
	for (const char *at = context; *at;) {
		const char *value = at + strlen(at) + 1;

		if (strcmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

static struct answers answers;
static struct answer last;

/* Opens the database of a trace, which is done once. Returns whether it could; why not, is said on stderr. */
EMSCRIPTEN_KEEPALIVE int timeline_open(const char *path)
{
	return answers_open(&answers, path, NULL, BOX_SECONDS);
}

/* Answers: {status, type, bytes, n_bytes}, which stay until the next question. */
EMSCRIPTEN_KEEPALIVE const uint32_t *timeline_get(const char *path, char *arguments)
{
	static uint32_t told[4];

	free(last.body.at);
	last = answers_get(&answers, &(const struct request){ path, argument, arguments });
	told[0] = last.status;
	told[1] = (uint32_t)(uintptr_t)last.type;
	told[2] = (uint32_t)(uintptr_t)last.body.at;
	told[3] = (uint32_t)last.body.n;
	return told;
}
