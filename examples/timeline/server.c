/* examples/timeline/server.c -- Timeline of a trace in a browser: one static page, and the queries that it needs, answered
 * out of a database.
 *
 *   timeline DATABASE [PORT]        IFOREST names the extension (default build/iforest.so), TIMELINE_PAGE the folder of the
 *                                   page (default examples/timeline); PORT 0, the default, is any
 *
 * The database is as frames.h says. Listens on this machine alone, under its own names, and only reads; prints where, and goes
 * on until it is killed.
 *
 *   GET /                    the page
 *   GET /trace               {"base": "1700000000000000000", "length": 5000000, "lanes": [["worker 01", 0], ...]}
 *   GET /frame?t0=&t1=&n=&from=&to=   what lanes [from, to) show of [t0, t1) on n pixels, times from the base on (frames.h)
 *   GET /span?id=            {"name": ..., "ts": ..., "dur": ..., "track": ..., "depth": ...}
 */
#include "frames.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct server {
	struct frames frames;
	const char *folder;            /* of the page */
};

static void append_text(struct bytes *bytes, const char *text)
{
	bytes_append(bytes, text, strlen(text));
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type, struct bytes *body)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(body->n, body->at, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(body->at);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_error(struct MHD_Connection *connection, unsigned status, const char *message)
{
	struct bytes body = { .n = 0 };

	append_text(&body, message);
	return reply(connection, status, "text/plain; charset=utf-8", &body);
}

static bool get_integer(struct MHD_Connection *connection, const char *name, int64_t *value)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
	char *end;

	if (!text || !*text)
		return false;
	*value = strtoll(text, &end, 10);
	return *end == '\0';
}

static enum MHD_Result get_frame(struct server *server, struct MHD_Connection *connection)
{
	struct bytes body = { .n = 0 };
	int64_t t0, t1, n, from, to;
	const char *error;

	if (!get_integer(connection, "t0", &t0) || !get_integer(connection, "t1", &t1) || !get_integer(connection, "n", &n) ||
	    !get_integer(connection, "from", &from) || !get_integer(connection, "to", &to))
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "t0, t1, n, from and to are integers");
	if (t0 >= t1 || t0 < -server->frames.length || t1 > 2 * server->frames.length || n < 1 || n > MOST_PIXELS || from < 0 ||
	    from > to || to > server->frames.n_lanes)
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "no such window or lanes");
	error = frames_make(&server->frames, t0, t1, n, (int)from, (int)to, &body);
	if (!error)
		return reply(connection, MHD_HTTP_OK, "application/octet-stream", &body);
	free(body.at);
	return reply_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, error);
}

/* As a JSON string. */
static void append_quoted(struct bytes *bytes, const char *text)
{
	append_text(bytes, "\"");
	for (; *text; text++) {
		char escaped[8];

		if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
			bytes_append(bytes, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)*text));
		else
			bytes_append(bytes, text, 1);
	}
	append_text(bytes, "\"");
}

static enum MHD_Result get_trace(struct server *server, struct MHD_Connection *connection)
{
	struct bytes body = { .n = 0 };
	char text[120];

	snprintf(text, sizeof text, "{\"base\": \"%" PRId64 "\", \"length\": %" PRId64 ", \"lanes\": [", server->frames.base,
		 server->frames.length);
	append_text(&body, text);
	for (int lane = 0; lane < server->frames.n_lanes; lane++) {
		append_text(&body, lane ? ", [" : "[");
		append_quoted(&body, server->frames.lanes[lane].track);
		snprintf(text, sizeof text, ", %" PRId64 "]", server->frames.lanes[lane].depth);
		append_text(&body, text);
	}
	append_text(&body, "]}");
	return reply(connection, MHD_HTTP_OK, "application/json", &body);
}

static enum MHD_Result get_span(struct server *server, struct MHD_Connection *connection)
{
	struct bytes body = { .n = 0 };
	const char *error;
	int64_t id;

	if (!get_integer(connection, "id", &id))
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "id is an integer");
	error = frames_span(&server->frames, id, &body);
	if (error)
		return reply_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, error);
	if (body.n > 0)
		return reply(connection, MHD_HTTP_OK, "application/json", &body);
	return reply_error(connection, MHD_HTTP_NOT_FOUND, "no such span");
}

static enum MHD_Result get_file(struct server *server, struct MHD_Connection *connection, const char *name, const char *type)
{
	struct bytes body = { .n = 0 };
	char path[4096], part[8192];
	size_t n;
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", server->folder, name);
	file = fopen(path, "rb");
	if (!file)
		return reply_error(connection, MHD_HTTP_NOT_FOUND, "the page is not where the server looks for it");
	while ((n = fread(part, 1, sizeof part, file)) > 0)
		bytes_append(&body, part, n);
	fclose(file);
	return reply(connection, MHD_HTTP_OK, type, &body);
}

/* A page of another site may make its own name lead here, and read the trace; the browser still sends that name. Any port will
 * do: a tunnel to this server has another one. */
static bool is_own_name(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);

		if (strncasecmp(host, names[i], n) == 0 &&
		    (host[n] == '\0' || (host[n] == ':' && host[n + 1 + strspn(host + n + 1, "0123456789")] == '\0')))
			return true;
	}
	return false;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *n_uploaded, void **state)
{
	struct server *server = context;

	(void)version;
	(void)upload;
	(void)n_uploaded;
	(void)state;
	if (!is_own_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return reply_error(connection, MHD_HTTP_FORBIDDEN,
				   "This server answers only as 127.0.0.1, localhost or [::1]. Open the address that it printed; "
				   "from another machine, through a tunnel (ssh -L PORT:127.0.0.1:PORT), as localhost.");
	if (strcmp(method, "GET") != 0)
		return reply_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
	if (strcmp(url, "/") == 0)
		return get_file(server, connection, "timeline.html", "text/html; charset=utf-8");
	if (strcmp(url, "/timeline.js") == 0)
		return get_file(server, connection, "timeline.js", "text/javascript; charset=utf-8");
	if (strcmp(url, "/trace") == 0)
		return get_trace(server, connection);
	if (strcmp(url, "/frame") == 0)
		return get_frame(server, connection);
	if (strcmp(url, "/span") == 0)
		return get_span(server, connection);
	return reply_error(connection, MHD_HTTP_NOT_FOUND, "nothing here");
}

static bool is_port(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5 && atoi(text) <= UINT16_MAX;
}

int main(int n_arguments, char **arguments)
{
	const char *extension = getenv("IFOREST"), *folder = getenv("TIMELINE_PAGE");
	const char *port = n_arguments == 3 ? arguments[2] : "0";
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server server = { .folder = folder ? folder : "examples/timeline" };
	struct MHD_Daemon *daemon;
	const union MHD_DaemonInfo *info;

	if (n_arguments < 2 || n_arguments > 3 || !is_port(port)) {
		fprintf(stderr, "usage: timeline DATABASE [PORT], with PORT from 0, which is any, to 65535\n");
		return 2;
	}
	if (!frames_open(&server.frames, arguments[1], extension ? extension : "build/iforest.so"))
		return 1;
	address.sin_port = htons((uint16_t)atoi(port));
	/* one thread answers all, one request after the other */
	daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, &server, MHD_OPTION_SOCK_ADDR,
				  &address, MHD_OPTION_END);
	info = daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		perror("timeline: cannot listen");
		return 1;
	}
	printf("http://127.0.0.1:%u/\n", info->port);
	fflush(stdout);
	for (;;)
		pause();
}
