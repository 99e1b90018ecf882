/* server.c -- a timeline of a trace in a browser: one static page, and the queries that it needs, answered out of a database.
 *
 *   timeline DATABASE [PORT]        IFOREST names the extension (default build/iforest.so), TIMELINE_PAGE the folder of the
 *                                   page (default examples/timeline); PORT 0, the default, is any
 *
 * The database holds spans(id, ts_ns, dur_ns, track, depth, name), the index spans_if by=(track, depth) and spans_overlap over
 * it, as timeline.sh makes them. Listens on this machine alone, under its own names, and only reads; prints where, and goes on
 * until it is killed.
 * It may be written to meanwhile: frames show what is there, but lanes and the length of the trace are those of the start.
 * The lanes of a frame are shared out to a thread a processor.
 *
 *   GET /                    the page
 *   GET /trace               {"base": "1700000000000000000", "length": 5000000, "lanes": [["worker 01", 0], ...]}
 *   GET /frame?t0=&t1=&n=&from=&to=   what lanes [from, to) show of [t0, t1) on n pixels, times from the base on (below)
 *   GET /span?id=            {"name": ..., "ts": ..., "dur": ..., "track": ..., "depth": ...}
 *
 * A frame is for typed arrays of a browser on the same machine, so in its byte order:
 *
 *   u32 n_spans | u32 bytes of names | f64 start[n] | f64 end[n] | f64 id[n] | i32 lane[n] | i32 name[n] | names, a NUL after
 *   each
 *
 * Of each lane and pixel it has the longest span that covers it, once for all pixels in a row; those wider than NAMED_PIXELS
 * have the number of their name, the others -1. Times are from the base on, so that a double holds nanoseconds exactly for 104
 * days.
 */
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NAMED_PIXELS = 8, MOST_PIXELS = 16384, MOST_READERS = 8, LONGEST_WAIT_MS = 10000 };

struct lane {
	char *track;
	int64_t depth;
};

/* Lanes of a frame are shared out to readers, each with a connection and a thread of its own: one a processor. */
struct reader {
	struct server *server;
	sqlite3 *db;
	sqlite3_stmt *frame, *name;
	struct part *part;             /* of the frame at hand */
};

struct server {
	struct reader readers[MOST_READERS];
	int n_readers;
	sqlite3_stmt *span;            /* of the first reader, as the lanes are */
	const char *folder;            /* of the page */
	int64_t base, length;
	struct lane *lanes;
	int n_lanes;
};

/* Bytes that grow; without memory they stay as they are, and `failed` says so. */
struct bytes {
	unsigned char *at;
	size_t n, n_reserved;
	bool failed;
};

static void append(struct bytes *bytes, const void *from, size_t n)
{
	if (n > bytes->n_reserved - bytes->n) {
		size_t n_reserved = 2 * (bytes->n + n) + 4096;
		unsigned char *at = realloc(bytes->at, n_reserved);

		if (!at) {
			bytes->failed = true;
			return;
		}
		bytes->at = at;
		bytes->n_reserved = n_reserved;
	}
	memcpy(bytes->at + bytes->n, from, n);
	bytes->n += n;
}

static void append_text(struct bytes *bytes, const char *text)
{
	append(bytes, text, strlen(text));
}

/* ---- the database ---- */

static bool prepare(struct reader *reader, sqlite3_stmt **statement, const char *sql)
{
	if (sqlite3_prepare_v2(reader->db, sql, -1, statement, NULL) == SQLITE_OK)
		return true;
	fprintf(stderr, "timeline: %s\n", sqlite3_errmsg(reader->db));
	return false;
}

static bool read_lanes(struct server *server)
{
	sqlite3_stmt *statement;
	int64_t first = INT64_MAX, last = INT64_MIN;

	if (!prepare(&server->readers[0], &statement,
		     "SELECT track, depth, first_ts, last_ts + max(coalesce(last_dur_ns, 0), 0) FROM spans_if WHERE first_ts "
		     "IS NOT NULL "
		     "ORDER BY track, depth"))
		return false;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct lane *lanes = realloc(server->lanes, ((size_t)server->n_lanes + 1) * sizeof *lanes);
		const char *track = (const char *)sqlite3_column_text(statement, 0);
		int64_t from = sqlite3_column_int64(statement, 2), to = sqlite3_column_int64(statement, 3);

		if (!lanes)
			break;
		server->lanes = lanes;
		lanes[server->n_lanes++] = (struct lane){ strdup(track ? track : ""), sqlite3_column_int64(statement, 1) };
		first = from < first ? from : first;
		last = to > last ? to : last;
	}
	if (sqlite3_finalize(statement)) {
		fprintf(stderr, "timeline: %s\n", sqlite3_errmsg(server->readers[0].db));
		return false;
	}
	if (server->n_lanes == 0) {
		fprintf(stderr, "timeline: there are no spans to show\n");
		return false;
	}
	server->base = first;
	server->length = last > first ? last - first : 1;
	return true;
}

static bool open_reader(struct reader *reader, const char *path, const char *extension)
{
	char *message = NULL;

	/* one thread asks, and locks would cost a tenth of a frame */
	if (sqlite3_open_v2(path, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)) {
		fprintf(stderr, "timeline: %s: %s\n", path, sqlite3_errmsg(reader->db));
		return false;
	}
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(reader->db, extension, NULL, &message)) {
		fprintf(stderr, "timeline: %s (build it with make all, or name it with IFOREST=...)\n", message);
		sqlite3_free(message);
		return false;
	}
	sqlite3_busy_timeout(reader->db, LONGEST_WAIT_MS); /* who writes may lock the file for a moment */
	sqlite3_exec(reader->db, "PRAGMA mmap_size = 17179869184; PRAGMA cache_size = -200000", NULL, NULL, NULL);
	/* buckets of a series come in order; were it otherwise, a span would be sent twice: ORDER BY is not worth its
	 * sorting */
	return prepare(reader, &reader->frame, "SELECT longest_dur_ns_ts, longest_dur_ns, longest_dur_ns_id "
					       "FROM spans_overlap(?1, ?2, ?3) WHERE track = ?4 AND depth = ?5") &&
	       prepare(reader, &reader->name, "SELECT name FROM spans WHERE id = ?1");
}

static bool open_server(struct server *server, const char *path, const char *extension)
{
	long n_processors = sysconf(_SC_NPROCESSORS_ONLN);

	server->n_readers = n_processors < 1 ? 1 : n_processors > MOST_READERS ? MOST_READERS : (int)n_processors;
	for (int r = 0; r < server->n_readers; r++) {
		server->readers[r].server = server;
		if (!open_reader(&server->readers[r], path, extension))
			return false;
	}
	return read_lanes(server) && prepare(&server->readers[0], &server->span,
					     "SELECT json_object('name', name, 'ts', ts_ns - ?2, 'dur', dur_ns, 'track', "
					     "track, 'depth', depth) FROM spans WHERE id = ?1");
}

/* ---- a frame ---- */

/* The arrays of a frame, in the order in which they are sent, of some of its lanes. */
enum { STARTS, ENDS, IDS, LANES, NAMES, TEXT, N_ARRAYS };

struct part {
	int64_t t0, t1, n;
	int from, to;                  /* lanes */
	struct bytes arrays[N_ARRAYS];
	int32_t n_names;
	uint32_t n_spans;
	int rc;
};

static void add_name(struct reader *reader, int64_t id, bool is_wide)
{
	struct part *part = reader->part;
	int32_t number = -1;

	if (is_wide) {
		const char *name = "";

		sqlite3_bind_int64(reader->name, 1, id);
		if (sqlite3_step(reader->name) == SQLITE_ROW && sqlite3_column_text(reader->name, 0))
			name = (const char *)sqlite3_column_text(reader->name, 0);
		append(&part->arrays[TEXT], name, strlen(name) + 1);
		sqlite3_reset(reader->name);
		number = part->n_names++;
	}
	append(&part->arrays[NAMES], &number, sizeof number);
}

static int add_lane(struct reader *reader, int32_t lane)
{
	struct part *part = reader->part;
	sqlite3_stmt *statement = reader->frame;
	int64_t base = reader->server->base, last_id = -1;
	const struct lane *of = &reader->server->lanes[lane];
	bool has_last = false;

	sqlite3_bind_int64(statement, 1, part->t0 + base);
	sqlite3_bind_int64(statement, 2, part->t1 + base);
	sqlite3_bind_int64(statement, 3, part->n);
	sqlite3_bind_text(statement, 4, of->track, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 5, of->depth);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(statement, 2), duration = sqlite3_column_int64(statement, 1);
		double start = (double)(sqlite3_column_int64(statement, 0) - base), number = (double)id, end;

		/* there is none where no span has a duration */
		if ((has_last && id == last_id) || sqlite3_column_type(statement, 2) == SQLITE_NULL)
			continue;
		has_last = true;
		last_id = id;
		end = start + (duration > 0 ? (double)duration : 0);
		append(&part->arrays[STARTS], &start, sizeof start);
		append(&part->arrays[ENDS], &end, sizeof end);
		append(&part->arrays[IDS], &number, sizeof number);
		append(&part->arrays[LANES], &lane, sizeof lane);
		part->n_spans++;
		add_name(reader, id,
			 (double)duration * (double)part->n >= (double)NAMED_PIXELS * (double)(part->t1 - part->t0));
	}
	return sqlite3_reset(statement);
}

static void *make_part(void *context)
{
	struct reader *reader = context;

	for (int lane = reader->part->from; lane < reader->part->to && !reader->part->rc; lane++)
		reader->part->rc = add_lane(reader, lane);
	return NULL;
}

/* The parts one behind the other, array by array; numbers of names count on. */
static void join(struct part *parts, int n_parts, struct bytes *out)
{
	uint32_t header[2] = { 0, 0 };
	int32_t n_names = 0;

	for (int p = 0; p < n_parts; p++) {
		int32_t *names = (int32_t *)parts[p].arrays[NAMES].at;

		for (size_t i = 0; n_names > 0 && i < parts[p].arrays[NAMES].n / sizeof *names; i++)
			names[i] += names[i] >= 0 ? n_names : 0;
		n_names += parts[p].n_names;
		header[0] += parts[p].n_spans;
		header[1] += (uint32_t)parts[p].arrays[TEXT].n;
	}
	append(out, header, sizeof header);
	for (int a = 0; a < N_ARRAYS; a++)
		for (int p = 0; p < n_parts; p++) {
			if (parts[p].arrays[a].n)
				append(out, parts[p].arrays[a].at, parts[p].arrays[a].n);
			out->failed = out->failed || parts[p].arrays[a].failed;
			free(parts[p].arrays[a].at);
		}
}

/* Returns  NULL, or why there is no frame. */
static const char *make_frame(struct server *server, int64_t t0, int64_t t1, int64_t n, int from, int to, struct bytes *out)
{
	struct part parts[MOST_READERS];
	pthread_t threads[MOST_READERS];
	bool is_running[MOST_READERS] = { false };
	int n_readers = server->n_readers;
	const char *error = NULL;

	for (int r = 0; r < n_readers; r++) {
		parts[r] = (struct part){ .t0 = t0, .t1 = t1, .n = n, .from = from + (to - from) * r / n_readers,
					  .to = from + (to - from) * (r + 1) / n_readers };
		server->readers[r].part = &parts[r];
		is_running[r] = r + 1 < n_readers && !pthread_create(&threads[r], NULL, make_part, &server->readers[r]);
		if (!is_running[r])
			make_part(&server->readers[r]);
	}
	for (int r = 0; r < n_readers; r++)
		if (is_running[r])
			pthread_join(threads[r], NULL);
	for (int r = 0; r < n_readers; r++)
		error = parts[r].rc ? sqlite3_errmsg(server->readers[r].db) : error;
	join(parts, n_readers, out);
	return !error && out->failed ? sqlite3_errstr(SQLITE_NOMEM) : error;
}

/* ---- HTTP ---- */

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
	if (t0 >= t1 || t0 < -server->length || t1 > 2 * server->length || n < 1 || n > MOST_PIXELS || from < 0 || from > to ||
	    to > server->n_lanes)
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "no such window or lanes");
	error = make_frame(server, t0, t1, n, (int)from, (int)to, &body);
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
			append(bytes, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)*text));
		else
			append(bytes, text, 1);
	}
	append_text(bytes, "\"");
}

static enum MHD_Result get_trace(struct server *server, struct MHD_Connection *connection)
{
	struct bytes body = { .n = 0 };
	char text[120];

	snprintf(text, sizeof text, "{\"base\": \"%" PRId64 "\", \"length\": %" PRId64 ", \"lanes\": [", server->base,
		 server->length);
	append_text(&body, text);
	for (int lane = 0; lane < server->n_lanes; lane++) {
		append_text(&body, lane ? ", [" : "[");
		append_quoted(&body, server->lanes[lane].track);
		snprintf(text, sizeof text, ", %" PRId64 "]", server->lanes[lane].depth);
		append_text(&body, text);
	}
	append_text(&body, "]}");
	return reply(connection, MHD_HTTP_OK, "application/json", &body);
}

static enum MHD_Result get_span(struct server *server, struct MHD_Connection *connection)
{
	struct bytes body = { .n = 0 };
	int64_t id;

	if (!get_integer(connection, "id", &id))
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "id is an integer");
	sqlite3_bind_int64(server->span, 1, id);
	sqlite3_bind_int64(server->span, 2, server->base);
	if (sqlite3_step(server->span) == SQLITE_ROW)
		append_text(&body, (const char *)sqlite3_column_text(server->span, 0));
	if (sqlite3_reset(server->span))
		return reply_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, sqlite3_errmsg(server->readers[0].db));
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
		append(&body, part, n);
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
	if (!open_server(&server, arguments[1], extension ? extension : "build/iforest.so"))
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
