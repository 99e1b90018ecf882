/* examples/timeline/server.c -- Timeline of a trace in a browser: one static page, and the queries that it needs, answered
 * out of a database.
 *
 *   timeline DATABASE [PORT]        IFOREST names the extension (default build/iforest.so), TIMELINE_PAGE the folder of the
 *                                   page (default examples/timeline), TIMELINE_SECONDS how long a question
 *                                   of the box may take (default 10); PORT 0, the default, is any
 *
 * The database is as frames.h says, and may be a stranger's. Listens on this machine alone, under its own names, and only reads;
 * prints an address, and goes on until it is killed.
 *
 * GET / is the page, which anybody may have. What else may be got stands in answers.h, and takes a header "X-Timeline: TOKEN". The
 * token is random and stands behind the # of the address, which a browser keeps to itself: other users of the machine and pages of
 * other sites do not know it. A cookie would go to every server on the machine, whatever its port.
 */
#include "answers.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { TOKEN_BYTES = 16, MOST_CONNECTIONS = 64, IDLE_SECONDS = 5 };

struct server {
	struct answers answers;
	const char *folder; /* of the page */
	char token[2 * TOKEN_BYTES + 1];
};

static enum MHD_Result reply(struct MHD_Connection *connection, struct answer answer)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(answer.body.n, answer.body.at, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(answer.body.at);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", answer.type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	/* names in a trace are foreign text: should one get into the page as more than text, it can do nothing there */
	MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	result = MHD_queue_response(connection, answer.status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_error(struct MHD_Connection *connection, unsigned status, const char *message)
{
	return reply(connection, answers_error(status, message));
}

static const char *argument(void *context, const char *name)
{
	return MHD_lookup_connection_value(context, MHD_GET_ARGUMENT_KIND, name);
}

static bool make_token(char *token)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getentropy(bytes, sizeof bytes))
		return false;
	for (int i = 0; i < TOKEN_BYTES; i++)
		sprintf(token + 2 * i, "%02x", bytes[i]);
	return true;
}

/* Takes as long for any token that is as long: how much of it is right cannot be told. */
static bool has_token(const struct server *server, struct MHD_Connection *connection)
{
	const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Timeline");
	unsigned char differences = 0;

	if (!given || strlen(given) != 2 * TOKEN_BYTES)
		return false;
	for (int i = 0; i < 2 * TOKEN_BYTES; i++)
		differences |= (unsigned char)(given[i] ^ server->token[i]);
	return differences == 0;
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
	return reply(connection, (struct answer){ MHD_HTTP_OK, type, body });
}

static bool is_script(const char *url)
{
	static const char *const scripts[] = { "/timeline.js", "/picture.js", "/box.js", "/server.js" };

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		if (strcmp(url, scripts[i]) == 0)
			return true;
	return false;
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
	const struct request request = { url, argument, connection };

	(void)version;
	(void)upload;
	(void)n_uploaded;
	(void)state;
	if (!is_own_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return reply_error(
			connection, MHD_HTTP_FORBIDDEN,
			"This server answers only as 127.0.0.1, localhost or [::1]. Open the address that it printed; "
			"from another machine, through a tunnel (ssh -L PORT:127.0.0.1:PORT), as localhost.");
	if (strcmp(method, "GET") != 0)
		return reply_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
	if (strcmp(url, "/") == 0)
		return get_file(server, connection, "timeline.html", "text/html; charset=utf-8");
	if (is_script(url))
		return get_file(server, connection, url + 1, "text/javascript; charset=utf-8");
	if (!has_token(server, connection))
		return reply_error(connection, MHD_HTTP_FORBIDDEN,
				   "Open the whole address that the server printed, with what stands behind its #.");
	/* a query may take longer than a connection of others may be idle */
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	return reply(connection, answers_get(&server->answers, &request));
}

static bool is_port(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5 && atoi(text) <= UINT16_MAX;
}

int main(int n_arguments, char **arguments)
{
	const char *extension = getenv("IFOREST"), *folder = getenv("TIMELINE_PAGE"), *seconds = getenv("TIMELINE_SECONDS");
	const char *port = n_arguments == 3 ? arguments[2] : "0";
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server server = { .folder = folder ? folder : "examples/timeline" };
	struct MHD_Daemon *daemon;
	const union MHD_DaemonInfo *info;

	if (n_arguments < 2 || n_arguments > 3 || !is_port(port)) {
		fprintf(stderr, "usage: timeline DATABASE [PORT], with PORT from 0, which is any, to 65535\n");
		return 2;
	}
	if (!answers_open(&server.answers, arguments[1], extension ? extension : "build/iforest.so",
			  seconds && atoi(seconds) > 0 ? atoi(seconds) : 10))
		return 1;
	if (!make_token(server.token)) {
		perror("timeline: no random numbers");
		return 1;
	}
	address.sin_port = htons((uint16_t)atoi(port));
	/* A query may take long, and frames go on meanwhile. Idle connections on which nobody has shown the token make room. */
	daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, answer,
				  &server, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
				  (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)4 * BOX_SQL_BYTES, MHD_OPTION_END);
	info = daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		perror("timeline: cannot listen");
		return 1;
	}
	printf("http://127.0.0.1:%u/#%s\n", info->port, server.token);
	fflush(stdout);
	for (;;)
		pause();
}
