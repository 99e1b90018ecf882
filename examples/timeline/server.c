/* server.c -- a timeline of a trace in a browser: one static page, and the queries that it needs, answered out of a database.
 *
 *   timeline DATABASE [PORT]        IFOREST names the extension (default build/iforest.so); PORT 0, the default, is any
 *
 * The database holds spans(id, ts_ns, dur_ns, track, depth, name), the index spans_if by=(track, depth) and spans_overlap over it,
 * as timeline.sh makes them. Listens on this machine alone and only reads; prints where, and goes on until it is killed.
 *
 *   GET /                    the page
 *   GET /trace               {"base": "1700000000000000000", "length": 5000000, "lanes": [["worker 01", 0], ...]}
 *   GET /frame?t0=&t1=&n=&from=&to=   what lanes [from, to) show of [t0, t1) on n pixels, times from the base on (below)
 *   GET /span?id=            {"name": ..., "ts": ..., "dur": ..., "args": ...}
 *
 * A frame is for typed arrays of a browser on the same machine, so in its byte order:
 *
 *   u32 n_spans | u32 bytes of names | f64 start[n] | f64 end[n] | f64 id[n] | i32 lane[n] | i32 name[n] | names, a NUL after each
 *
 * Of each lane and pixel it has the longest span that covers it, once for all pixels in a row; those wider than NAMED_PIXELS have
 * the number of their name, the others -1. Times are from the base on, so that a double holds nanoseconds exactly for 104 days.
 */
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_PIXELS = 8, MOST_PIXELS = 16384 };

struct lane {
	char *track;
	int64_t depth;
};

struct server {
	sqlite3 *db;
	sqlite3_stmt *frame, *name, *span;
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

static bool prepare(struct server *server, sqlite3_stmt **statement, const char *sql)
{
	if (sqlite3_prepare_v2(server->db, sql, -1, statement, NULL) == SQLITE_OK)
		return true;
	fprintf(stderr, "timeline: %s\n", sqlite3_errmsg(server->db));
	return false;
}

static bool read_lanes(struct server *server)
{
	sqlite3_stmt *statement;
	int64_t first = INT64_MAX, last = INT64_MIN;

	if (!prepare(server, &statement,
		     "SELECT track, depth, first_ts, last_ts + max(coalesce(last_dur_ns, 0), 0) FROM spans_if WHERE first_ts IS NOT NULL "
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
	if (sqlite3_finalize(statement) || server->n_lanes == 0) {
		fprintf(stderr, "timeline: no spans: %s\n", sqlite3_errmsg(server->db));
		return false;
	}
	server->base = first;
	server->length = last > first ? last - first : 1;
	return true;
}

static bool open_server(struct server *server, const char *path, const char *extension)
{
	char *message = NULL;

	if (sqlite3_open_v2(path, &server->db, SQLITE_OPEN_READONLY, NULL)) {
		fprintf(stderr, "timeline: %s: %s\n", path, sqlite3_errmsg(server->db));
		return false;
	}
	sqlite3_db_config(server->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(server->db, extension, NULL, &message)) {
		fprintf(stderr, "timeline: %s (build it with make all, or name it with IFOREST=...)\n", message);
		sqlite3_free(message);
		return false;
	}
	sqlite3_exec(server->db, "PRAGMA mmap_size = 17179869184; PRAGMA cache_size = -200000", NULL, NULL, NULL);
	return read_lanes(server) &&
	       prepare(server, &server->frame,
		       "SELECT bucket, longest_dur_ns_ts, longest_dur_ns, longest_dur_ns_id FROM spans_overlap(?1, ?2, ?3) WHERE track = ?4 AND depth = ?5 ORDER BY bucket") &&
	       prepare(server, &server->name, "SELECT name FROM spans WHERE id = ?1") &&
	       prepare(server, &server->span,
		       "SELECT json_object('name', name, 'ts', ts_ns - ?2, 'dur', dur_ns, 'track', track, 'depth', depth) FROM spans WHERE id = ?1");
}

/* ---- a frame ---- */

struct frame {
	struct bytes starts, ends, ids, lanes, names, text;
	int32_t n_names;
	uint32_t n_spans;
};

static void add_name(struct server *server, struct frame *frame, int64_t id, bool is_wide)
{
	int32_t number = -1;

	if (is_wide) {
		const char *name = "";

		sqlite3_bind_int64(server->name, 1, id);
		if (sqlite3_step(server->name) == SQLITE_ROW && sqlite3_column_text(server->name, 0))
			name = (const char *)sqlite3_column_text(server->name, 0);
		append(&frame->text, name, strlen(name) + 1);
		sqlite3_reset(server->name);
		number = frame->n_names++;
	}
	append(&frame->names, &number, sizeof number);
}

static int add_lane(struct server *server, struct frame *frame, int32_t lane, int64_t t0, int64_t t1, int64_t n)
{
	sqlite3_stmt *statement = server->frame;
	const struct lane *of = &server->lanes[lane];
	int64_t last_id = -1;
	bool has_last = false;

	sqlite3_bind_int64(statement, 1, t0 + server->base);
	sqlite3_bind_int64(statement, 2, t1 + server->base);
	sqlite3_bind_int64(statement, 3, n);
	sqlite3_bind_text(statement, 4, of->track, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 5, of->depth);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(statement, 3), duration = sqlite3_column_int64(statement, 2);
		double start = (double)(sqlite3_column_int64(statement, 1) - server->base), number = (double)id, end;

		if (has_last && id == last_id)
			continue;
		has_last = true;
		last_id = id;
		end = start + (duration > 0 ? (double)duration : 0);
		append(&frame->starts, &start, sizeof start);
		append(&frame->ends, &end, sizeof end);
		append(&frame->ids, &number, sizeof number);
		append(&frame->lanes, &lane, sizeof lane);
		frame->n_spans++;
		add_name(server, frame, id, (double)duration * (double)n >= (double)NAMED_PIXELS * (double)(t1 - t0));
	}
	return sqlite3_reset(statement);
}

/* Returns  SQLITE_OK, or why there is no frame. */
static int make_frame(struct server *server, int64_t t0, int64_t t1, int64_t n, int from, int to, struct bytes *out)
{
	struct frame frame = { .n_spans = 0 };
	struct bytes *parts[] = { &frame.starts, &frame.ends, &frame.ids, &frame.lanes, &frame.names, &frame.text };
	uint32_t header[2];
	int rc = SQLITE_OK;

	for (int lane = from; lane < to && !rc; lane++)
		rc = add_lane(server, &frame, lane, t0, t1, n);
	header[0] = frame.n_spans;
	header[1] = (uint32_t)frame.text.n;
	append(out, header, sizeof header);
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		if (parts[p]->n)
			append(out, parts[p]->at, parts[p]->n);
		out->failed = out->failed || parts[p]->failed;
		free(parts[p]->at);
	}
	return rc ? rc : out->failed ? SQLITE_NOMEM : SQLITE_OK;
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
	int rc;

	if (!get_integer(connection, "t0", &t0) || !get_integer(connection, "t1", &t1) || !get_integer(connection, "n", &n) ||
	    !get_integer(connection, "from", &from) || !get_integer(connection, "to", &to))
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "t0, t1, n, from and to are integers");
	if (t0 >= t1 || t0 < -server->length || t1 > 2 * server->length || n < 1 || n > MOST_PIXELS || from < 0 || to > server->n_lanes)
		return reply_error(connection, MHD_HTTP_BAD_REQUEST, "no such window or lanes");
	rc = make_frame(server, t0, t1, n, (int)from, (int)to, &body);
	if (rc == SQLITE_OK)
		return reply(connection, MHD_HTTP_OK, "application/octet-stream", &body);
	free(body.at);
	return reply_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, sqlite3_errmsg(server->db));
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

	snprintf(text, sizeof text, "{\"base\": \"%" PRId64 "\", \"length\": %" PRId64 ", \"lanes\": [", server->base, server->length);
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
	sqlite3_reset(server->span);
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

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *n_uploaded, void **state)
{
	struct server *server = context;

	(void)version;
	(void)upload;
	(void)n_uploaded;
	(void)state;
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

int main(int n_arguments, char **arguments)
{
	const char *extension = getenv("IFOREST"), *folder = getenv("TIMELINE_PAGE");
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server server = { .folder = folder ? folder : "examples/timeline" };
	struct MHD_Daemon *daemon;
	const union MHD_DaemonInfo *info;

	if (n_arguments < 2 || n_arguments > 3) {
		fprintf(stderr, "usage: timeline DATABASE [PORT]\n");
		return 2;
	}
	if (!open_server(&server, arguments[1], extension ? extension : "build/iforest.so"))
		return 1;
	address.sin_port = htons((uint16_t)(n_arguments == 3 ? atoi(arguments[2]) : 0));
	/* one thread answers all, so one connection to the database is enough */
	daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, &server, MHD_OPTION_SOCK_ADDR, &address,
				  MHD_OPTION_END);
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
