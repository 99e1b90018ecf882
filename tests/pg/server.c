#define _DEFAULT_SOURCE
#include "tests/pg/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 100, BLOCK_BYTES = 8192 };

/* ---- commands as the server's user ---- */

static pid_t start_command(const struct server *server, const char *const arguments[])
{
	struct stat owner;
	char log[500];
	pid_t pid;
	int output;

	if (stat(getenv("PGHOST"), &owner))
		client_fail("PGHOST is no folder");
	snprintf(log, sizeof log, "%s/server.log", server->folder);
	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(getpwuid(owner.st_uid)->pw_gid) || setuid(owner.st_uid)))
		_exit(126);
	/* no server outlives its test */
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (output < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 || chdir(server->folder))
		_exit(126);
	execvp(arguments[0], (char *const *)arguments);
	_exit(127);
}

static void fail_with_log(const struct server *server, const char *what)
{
	char path[500], lines[4000] = "";
	FILE *log;

	snprintf(path, sizeof path, "%s/server.log", server->folder);
	log = fopen(path, "r");
	if (log) {
		if (fseek(log, -(long)sizeof lines + 1, SEEK_END))
			rewind(log);
		lines[fread(lines, 1, sizeof lines - 1, log)] = 0;
		fclose(log);
	}
	client_fail("%s; the server's log:\n%s", what, lines);
}

#define RUN(server, ...) run_command(server, (const char *const[]){ __VA_ARGS__, NULL })
static void run_command(const struct server *server, const char *const arguments[])
{
	pid_t pid = start_command(server, arguments);
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		fail_with_log(server, arguments[0]);
}

/* ---- making and starting ---- */

/* The lines by which PGHOST's server finds the extension. */
static void add_extension(struct text *settings)
{
	PGconn *pg = client_connect(NULL);
	PGresult *rows = client_rows(pg, "SELECT name, replace(setting, '''', '''''') FROM pg_settings"
					 " WHERE source = 'configuration file' AND"
					 " name IN ('extension_destdir', 'extension_control_path', 'dynamic_library_path')");

	for (int row = 0; row < PQntuples(rows); row++)
		text_add(settings, "%s = '%s'\n", PQgetvalue(rows, row, 0), PQgetvalue(rows, row, 1));
	PQclear(rows);
	PQfinish(pg);
}

void server_make(struct server *server, const char *name, const char *option, const char *settings)
{
	struct text lines;
	char path[500];
	struct stat owner;
	FILE *file;

	*server = (struct server){ .pid = 0 };
	snprintf(server->folder, sizeof server->folder, "%s/%s", getenv("PGHOST"), name);
	if (stat(getenv("PGHOST"), &owner) || mkdir(server->folder, 0700) ||
	    (geteuid() == 0 && chown(server->folder, owner.st_uid, owner.st_gid)))
		client_fail("cannot make %s", server->folder);
	text_set(&lines, "listen_addresses = ''\nunix_socket_directories = '%s'\nport = %s\nfsync = off\nautovacuum = off\n"
			 "dynamic_shared_memory_type = mmap\ncheckpoint_timeout = 1h\nmax_wal_size = 8GB\n"
			 "max_connections = 30\n%s\n",
		 server->folder, getenv("PGPORT"), settings);
	add_extension(&lines);
	RUN(server, "initdb", "-D", "data", "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C",
	    option ? option : "--no-instructions");
	snprintf(path, sizeof path, "%s/data/postgresql.conf", server->folder);
	file = fopen(path, "a");
	if (!file || fwrite(lines.at, 1, lines.n, file) != lines.n || fclose(file))
		client_fail("cannot write %s", path);
}

void server_start(struct server *server)
{
	server->pid = start_command(server, (const char *const[]){ "postgres", "-D", "data", NULL });
	server_wait(server);
}

void server_wait(struct server *server)
{
	PGconn *pg;

	while (!(pg = client_try_connect(server->folder))) {
		int status;

		if (waitpid(server->pid, &status, WNOHANG) != 0) {
			server->pid = 0;
			fail_with_log(server, "the server does not come up");
		}
		pause_microseconds(5000);
	}
	PQfinish(pg);
}

/* ---- ending ---- */

static void wait_for(pid_t pid)
{
	int status;

	(void)waitpid(pid, &status, 0);
}

/* The processes whose parent is this one. */
static unsigned children_of(pid_t parent, pid_t *children)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	unsigned n = 0;

	while (processes && (entry = readdir(processes)) && n < MOST_PROCESSES) {
		char path[300];
		int pid, its_parent;
		FILE *file;

		snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
		file = *entry->d_name >= '0' && *entry->d_name <= '9' ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		if (fscanf(file, "%d (%*[^)]) %*c %d", &pid, &its_parent) == 2 && its_parent == parent)
			children[n++] = (pid_t)pid;
		fclose(file);
	}
	if (processes)
		closedir(processes);
	return n;
}

static void kill_all(struct server *server)
{
	pid_t children[MOST_PROCESSES];
	unsigned n;

	/* stopped first, so that it neither starts processes nor sees them die; its orphans become children of ours, to be
	 * waited for */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	kill(server->pid, SIGSTOP);
	n = children_of(server->pid, children);
	for (unsigned i = 0; i < n; i++)
		kill(children[i], SIGKILL);
	kill(server->pid, SIGKILL);
	wait_for(server->pid);
	for (unsigned i = 0; i < n; i++)
		wait_for(children[i]);
}

void server_end(struct server *server, enum server_end end)
{
	if (server->pid == 0)
		return;
	if (end == KILL_ALL) {
		kill_all(server);
	} else {
		kill(server->pid, end == SHUT_DOWN ? SIGINT : SIGQUIT);
		wait_for(server->pid);
	}
	server->pid = 0;
}

void server_abandon(struct server *server)
{
	server_end(server, STOP_AT_ONCE);
}

/* ---- loss of power ---- */

void server_save(struct server *server)
{
	PGconn *pg = client_connect(server->folder);

	client_run(pg, "CHECKPOINT");
	server_end(server, KILL_ALL);
	PQfinish(pg);
	RUN(server, "sh", "-c", "rm -rf saved && cp -a data saved");
	server_start(server);
}

static FILE *open_file(const struct server *server, const char *folder, const char *name, const char *mode)
{
	char path[800];

	snprintf(path, sizeof path, "%s/%s/%s", server->folder, folder, name);
	return fopen(path, mode);
}

/* Each block of the file as it was written since, or not. */
static void mix_blocks(const struct server *server, struct random *dice, const char *relation)
{
	FILE *now = open_file(server, "lost", relation, "rb"), *saved = open_file(server, "data", relation, "r+b");
	unsigned percent_written = (unsigned)random_below(dice, 101);
	char block[BLOCK_BYTES];

	for (long i = 0; now && saved && fread(block, 1, sizeof block, now) == sizeof block; i++)
		if (random_chance(dice, percent_written))
			if (fseek(saved, i * BLOCK_BYTES, SEEK_SET) || fwrite(block, 1, sizeof block, saved) != sizeof block)
				client_fail("cannot write %s", relation);
	if (now)
		fclose(now);
	if (saved)
		fclose(saved);
}

void server_lose_power(struct server *server, struct random *dice, const char *relation)
{
	server_end(server, KILL_ALL);
	/* the folder stays the same: by its number the server finds shared memory that the killed one has left */
	RUN(server, "sh", "-c", "mkdir lost && mv data/* lost && cp -a saved/. data &&"
				" rm -rf data/pg_wal data/postmaster.pid && mv lost/pg_wal lost/postmaster.pid data");
	mix_blocks(server, dice, relation);
	RUN(server, "rm", "-rf", "lost");
}

void server_restore(struct server *server)
{
	server_end(server, KILL_ALL);
	/* as above: the folder and the number of its shared memory stay */
	RUN(server, "sh", "-c", "mv data/postmaster.pid left.pid; rm -rf data/* && cp -a saved/. data &&"
				" if [ -e left.pid ]; then mv left.pid data/postmaster.pid; fi");
	server_start(server);
}

/* ---- limits ---- */

void server_limit_files(const struct server *server, const PGconn *pg, long long n_bytes)
{
	char pid[30], limit[60];

	snprintf(pid, sizeof pid, "--pid=%d", PQbackendPID(pg));
	snprintf(limit, sizeof limit, "--fsize=%lld:", n_bytes);
	RUN(server, "prlimit", pid, n_bytes > 0 ? limit : "--fsize=unlimited:");
}

void server_limit_sessions(const struct server *server, long long n_file_bytes, long long n_address_bytes)
{
	char pid[30], files[60], addresses[60];

	snprintf(pid, sizeof pid, "--pid=%d", (int)server->pid);
	snprintf(files, sizeof files, "--fsize=%lld", n_file_bytes);
	snprintf(addresses, sizeof addresses, "--as=%lld", n_address_bytes);
	RUN(server, "prlimit", pid, files, addresses);
}
