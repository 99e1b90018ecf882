/* server.h -- a server of a test's own, which it may kill: made in a folder below PGHOST (cluster.sh removes that), with the
 * extension that PGHOST's server has. It belongs to the user that PGHOST's server belongs to, is this process's child, and
 * ends with it.
 */
#ifndef TESTS_PG_SERVER_H
#define TESTS_PG_SERVER_H

#include "tests/pg/client.h"

struct server {
	char folder[400];   /* socket and log; data in folder/data, a copy of it in folder/saved */
	pid_t pid;          /* of the postmaster, 0: it does not run */
};

/* initdb, with an option or NULL, and more lines for postgresql.conf. The server is left stopped. */
void server_make(struct server *server, const char *name, const char *option, const char *settings);

/* Starts it, recovering if it must, and waits until it takes connections. */
void server_start(struct server *server);

/* Ends it: shut down in an orderly way; at once (SIGQUIT); or every process of it killed, as with kill -9. */
enum server_end { SHUT_DOWN, STOP_AT_ONCE, KILL_ALL };
void server_end(struct server *server, enum server_end end);

/* Waits until it takes connections; fails if it ends instead. */
void server_wait(struct server *server);

/* Keeps a copy of the data as of a checkpoint. Nobody may be connected; it is running again afterwards. */
void server_save(struct server *server);

/* Kills it, as by a loss of power: of what was written since server_save(), the log is there, and of the file `relation` (as
 * pg_relation_filepath() says) each block or not. */
void server_lose_power(struct server *server, struct random *dice, const char *relation);

/* Kills it, if it runs, and starts it with the data that server_save() kept. */
void server_restore(struct server *server);

/* Every write of that session beyond this byte of a file fails, as where a disk is full; 0: no longer. */
void server_limit_files(const struct server *server, const PGconn *pg, long long n_bytes);

/* Limits each session that begins from now on: the bytes of a file that it writes, and of its address space. For good. */
void server_limit_sessions(const struct server *server, long long n_file_bytes, long long n_address_bytes);

/* Ends it, whatever state it is in. */
void server_abandon(struct server *server);

#endif
