/* tests/sqlite/test_read_ahead.c -- Tests of pages that threads read ahead for buckets: another file handle has read most pages
 * before SQLite does, the answers are the same, and nothing is read ahead without PRAGMA threads, or if reading is fast. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sqlite/harness.h"

enum { PAGE_BYTES = 4096, MOST_PAGES = 20000, N_ROWS = 400000 };

/* A file of a VFS over the default one. Each page takes time when it is read for the first time. */
struct slow_file {
	sqlite3_file base;
	unsigned number; /* files of the database are numbered as they are opened */
	sqlite3_file *inner;
};

static sqlite3_vfs slow_vfs, *inner_vfs;
static sqlite3_io_methods methods;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_slow, was_read[MOST_PAGES];
static unsigned n_files, n_read_by_sqlite, n_read_ahead;

static sqlite3_file *inner_of(sqlite3_file *file)
{
	return ((struct slow_file *)file)->inner;
}

static int slow_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	sqlite3_int64 page = at / PAGE_BYTES;
	struct slow_file *slow = (struct slow_file *)file;
	bool is_new;

	pthread_mutex_lock(&mutex);
	is_new = page < MOST_PAGES && !was_read[page] && slow->number > 0;
	if (is_new)
		was_read[page] = true;
	n_read_by_sqlite += is_new && slow->number == 1;
	n_read_ahead += is_new && slow->number > 1;
	pthread_mutex_unlock(&mutex);
	if (is_new && is_slow)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); /* the resolution of sleep on Windows is milliseconds */
	return slow->inner->pMethods->xRead(slow->inner, to, n, at);
}

#define PASS(name, parameters, ...)                                          \
	static int pass_##name parameters                                      \
	{                                                                      \
		return inner_of(file)->pMethods->name(inner_of(file), ##__VA_ARGS__); \
	}
PASS(xWrite, (sqlite3_file *file, const void *from, int n, sqlite3_int64 at), from, n, at)
PASS(xTruncate, (sqlite3_file *file, sqlite3_int64 size), size)
PASS(xSync, (sqlite3_file *file, int flags), flags)
PASS(xFileSize, (sqlite3_file *file, sqlite3_int64 *size), size)
PASS(xLock, (sqlite3_file *file, int lock), lock)
PASS(xUnlock, (sqlite3_file *file, int lock), lock)
PASS(xCheckReservedLock, (sqlite3_file *file, int *result), result)
PASS(xFileControl, (sqlite3_file *file, int operation, void *argument), operation, argument)
PASS(xSectorSize, (sqlite3_file *file))
PASS(xDeviceCharacteristics, (sqlite3_file *file))
PASS(xClose, (sqlite3_file *file))

static int slow_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	struct slow_file *slow = (struct slow_file *)file;
	int rc;

	(void)vfs;
	*slow = (struct slow_file){ .inner = (sqlite3_file *)(slow + 1) };
	rc = inner_vfs->xOpen(inner_vfs, name, slow->inner, flags, out_flags);
	if (slow->inner->pMethods)
		slow->base.pMethods = &methods;
	if (!rc && flags & SQLITE_OPEN_MAIN_DB)
		slow->number = ++n_files;
	return rc;
}

static void register_vfs(void)
{
	inner_vfs = sqlite3_vfs_find(NULL);
	slow_vfs = *inner_vfs;
	slow_vfs.zName = "slow";
	slow_vfs.szOsFile = (int)sizeof(struct slow_file) + inner_vfs->szOsFile;
	slow_vfs.xOpen = slow_open;
	methods = (sqlite3_io_methods){ .iVersion = 1,
		.xClose = pass_xClose, .xRead = slow_read, .xWrite = pass_xWrite, .xTruncate = pass_xTruncate,
		.xSync = pass_xSync, .xFileSize = pass_xFileSize, .xLock = pass_xLock, .xUnlock = pass_xUnlock,
		.xCheckReservedLock = pass_xCheckReservedLock, .xFileControl = pass_xFileControl,
		.xSectorSize = pass_xSectorSize, .xDeviceCharacteristics = pass_xDeviceCharacteristics };
	assert_int_equal(sqlite3_vfs_register(&slow_vfs, 0), SQLITE_OK);
}

static char uri[600];

static int make_spans(void **state)
{
	char path[512];
	sqlite3 *db;

	(void)state;
	register_vfs();
	snprintf(path, sizeof path, "%s/read_ahead.db", test_directory());
	snprintf(uri, sizeof uri, "file:%s?vfs=slow", path);
	db = open_database(path, 0);
	run(db, "PRAGMA page_size = %d; CREATE TABLE spans(id INTEGER PRIMARY KEY, track, ts, dur);"
		"INSERT INTO spans(track, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 < %d)"
		" SELECT i %% 4, i * 100 + (i * 40503 & 63), (i * 2246822519 >> 3) & ((1 << (i * 7 %% 24)) - 1) FROM g;"
		"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)", PAGE_BYTES, N_ROWS);
	close_database(db);
	return 0;
}

/* Runs a query on a new connection, as if the system had no page in memory. */
static uint64_t ask_cold(int n_threads, const char *question)
{
	sqlite3 *db;
	uint64_t digest;

	n_files = n_read_by_sqlite = n_read_ahead = 0;
	memset(was_read, 0, sizeof was_read);
	db = open_database(uri, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI);
	run(db, "PRAGMA threads = %d", n_threads);
	digest = digest_of(db, question);
	close_database(db);
	return digest;
}

static void most_pages_are_read_ahead(void **state)
{
	static const char *const questions[] = {
		"SELECT track, bucket, sum_dur, count FROM spans_if(0, 40000000, 150)",
		"SELECT track, bucket, max_dur, sum_dur FROM spans_if(0, 40000000) WHERE step = 170000",
	};

	(void)state;
	is_slow = true;
	for (unsigned q = 0; q < sizeof questions / sizeof *questions; q++) {
		uint64_t expected = ask_cold(0, questions[q]);

		assert_int_equal(n_read_ahead, 0);
		assert_int_equal(n_files, 1);
		assert_true(ask_cold(2, questions[q]) == expected);
		print_message("%u pages read ahead, %u by SQLite\n", n_read_ahead, n_read_by_sqlite);
		assert_true(n_read_ahead > 2 * n_read_by_sqlite);
	}
}

/* A single window has no further bucket ends; a query of extremes alone reads few of the pages that bucket ends cut. */
static void what_is_not_known_is_not_read_ahead(void **state)
{
	(void)state;
	is_slow = true;
	ask_cold(2, "SELECT track, sum_dur FROM spans_if(1000000, 2000000)");
	assert_int_equal(n_read_ahead, 0);
	ask_cold(2, "SELECT track, bucket, max_dur, max_dur_id FROM spans_if(0, 40000000, 300)");
	assert_int_equal(n_read_ahead, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_pages_are_read_ahead),
		cmocka_unit_test(what_is_not_known_is_not_read_ahead),
	};

	return cmocka_run_group_tests(tests, make_spans, remove_test_directory);
}
