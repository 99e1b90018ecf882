#include "answers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, SERVER_ERROR = 500 };

bool answers_open(struct answers *answers, const char *path, const char *extension, int n_seconds)
{
	const char *slash = strrchr(path, '/');

	answers->file = slash ? slash + 1 : path;
	return frames_open(&answers->frames, path, extension, n_seconds) && box_open(&answers->box, path, extension, n_seconds);
}

struct answer answers_error(unsigned status, const char *message)
{
	struct answer answer = { status, "text/plain; charset=utf-8", { .n = 0 } };

	bytes_append(&answer.body, message, strlen(message));
	return answer;
}

/* Takes the bytes over: an answer, or none if there is an error. */
static struct answer finish(struct bytes *body, const char *type, const char *error)
{
	if (!error && !body->failed)
		return (struct answer){ OK, type, *body };
	free(body->at);
	return answers_error(SERVER_ERROR, error ? error : "out of memory");
}

static struct answer finish_json(struct bytes *body, const char *error)
{
	return finish(body, "application/json", error);
}

static const char *argument(const struct request *request, const char *name)
{
	return request->argument(request->context, name);
}

static bool get_integer(const struct request *request, const char *name, int64_t *value)
{
	const char *text = argument(request, name);
	char *end;

	if (!text || !*text)
		return false;
	*value = strtoll(text, &end, 10);
	return *end == '\0';
}

/* A window, and rows of it. */
struct asked {
	int64_t t0, t1, from, to;
};

static bool get_asked(const struct answers *answers, const struct request *request, struct asked *asked)
{
	const struct layout *layout = &answers->frames.layout;

	return get_integer(request, "t0", &asked->t0) && get_integer(request, "t1", &asked->t1) &&
	       get_integer(request, "from", &asked->from) && get_integer(request, "to", &asked->to) && asked->t0 < asked->t1 &&
	       asked->t0 >= -layout->length && asked->t1 <= 2 * layout->length && asked->from >= 0 &&
	       asked->from <= asked->to && asked->to <= layout->n_rows;
}

static struct answer get_frame(struct answers *answers, const struct request *request)
{
	struct bytes body = { .n = 0 };
	struct asked asked;
	int64_t n;

	if (!get_asked(answers, request, &asked) || !get_integer(request, "n", &n) || n < 1 || n > MOST_PIXELS)
		return answers_error(BAD_REQUEST, "no such window or rows");
	return finish(&body, "application/octet-stream",
		      frames_make(&answers->frames, asked.t0, asked.t1, n, (int)asked.from, (int)asked.to, &body));
}

static struct answer get_arrows(struct answers *answers, const struct request *request)
{
	struct bytes body = { .n = 0 };
	struct asked asked;
	int64_t span;

	if (get_integer(request, "span", &span))
		return finish_json(&body, frames_arrows_of_span(&answers->frames, span, &body));
	if (!get_asked(answers, request, &asked))
		return answers_error(BAD_REQUEST, "no such window or rows");
	return finish_json(&body, frames_arrows(&answers->frames, asked.t0, asked.t1, (int)asked.from, (int)asked.to, &body));
}

static struct answer get_trace(struct answers *answers, const struct request *request)
{
	const struct layout *layout = &answers->frames.layout;
	struct bytes body = { .n = 0 };
	const char *error;

	(void)request;
	bytes_print(&body,
		    "{\"base\": \"%" PRId64 "\", \"length\": %" PRId64 ", \"busy\": [%" PRId64 ", %" PRId64 "], \"left_out\": ",
		    layout->base, layout->length, layout->busy[0], layout->busy[1]);
	error = frames_left_out(&answers->frames, &body);
	bytes_print(&body, ", \"rows\": ");
	layout_describe(layout, &body);
	bytes_print(&body, "}");
	return finish_json(&body, error);
}

static struct answer get_row(struct answers *answers, const struct request *request,
			     const char *(*find)(struct frames *frames, int64_t id, struct bytes *out))
{
	struct bytes body = { .n = 0 };
	const char *error;
	int64_t id;

	if (!get_integer(request, "id", &id))
		return answers_error(BAD_REQUEST, "id is an integer");
	error = find(&answers->frames, id, &body);
	if (error || body.n > 0)
		return finish_json(&body, error);
	return answers_error(NOT_FOUND, "no such row");
}

static struct answer get_span(struct answers *answers, const struct request *request)
{
	return get_row(answers, request, frames_span);
}

static struct answer get_instant(struct answers *answers, const struct request *request)
{
	return get_row(answers, request, frames_instant);
}

static struct answer get_sql(struct answers *answers, const struct request *request)
{
	const char *sql = argument(request, "q");
	struct bytes body = { .n = 0 };
	struct answer answer;
	int64_t t0, t1;
	char *error;

	if (!sql || !get_integer(request, "t0", &t0) || !get_integer(request, "t1", &t1))
		return answers_error(BAD_REQUEST, "q is a question, t0 and t1 are integers");
	error = box_ask(&answers->box, sql, t0, t1, &body);
	if (!error)
		return finish_json(&body, NULL);
	free(body.at);
	answer = answers_error(BAD_REQUEST, error);
	free(error);
	return answer;
}

static struct answer get_stop(struct answers *answers, const struct request *request)
{
	struct bytes body = { .n = 0 };

	(void)request;
	box_stop(&answers->box);
	bytes_print(&body, "{}");
	return finish_json(&body, NULL);
}

static struct answer get_file(struct answers *answers, const struct request *request)
{
	struct bytes body = { .n = 0 };

	(void)request;
	bytes_append(&body, answers->file, strlen(answers->file));
	return finish(&body, "text/plain; charset=utf-8", NULL);
}

static const struct {
	const char *path;
	struct answer (*get)(struct answers *answers, const struct request *request);
} addresses[] = {
	{ "/trace", get_trace },     { "/frame", get_frame }, { "/arrows", get_arrows }, { "/span", get_span },
	{ "/instant", get_instant }, { "/sql", get_sql },     { "/stop", get_stop },	 { "/file", get_file },
};

enum { N_ADDRESSES = sizeof addresses / sizeof *addresses };

struct answer answers_get(struct answers *answers, const struct request *request)
{
	for (int i = 0; i < N_ADDRESSES; i++)
		if (strcmp(request->path, addresses[i].path) == 0)
			return addresses[i].get(answers, request);
	return answers_error(NOT_FOUND, "nothing here");
}
