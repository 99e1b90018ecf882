#include "sqlite_ext/storage/read_ahead.h"

#include "core/base/platform.h"

/* A page out of the system's memory takes a few microseconds, one from a device rarely less than fifty. */
enum { SLOW_NANOSECONDS = 25000, STEP_BYTES = 4096 };

/* Starting a thread costs as much as reading a page or two. */
enum { PAGES_A_READER = 16 };

/* File format of SQLite: the header of the file, and of a page of a b-tree. */
enum { FILE_HEADER = 100, PAGE_SIZE_AT = 16, INTERIOR_TABLE = 5, N_CELLS_AT = 3, RIGHT_AT = 8, INTERIOR_HEADER = 12 };

void ifs_read_ahead_note(struct ifs_read_ahead *ahead, uint64_t nanoseconds)
{
	if (ahead->n_expected > 0 || nanoseconds >= SLOW_NANOSECONDS)
		ahead->n_waits++;
	if (ahead->n_expected > 0)
		ahead->n_expected--;
}

void ifs_read_ahead_release(struct ifs_read_ahead *ahead)
{
	for (unsigned t = 0; t < IFS_READERS; t++)
		if (ahead->files[t] && ahead->files[t]->pMethods)
			ahead->files[t]->pMethods->xClose(ahead->files[t]);
	sqlite3_free(ahead->memory);
	sqlite3_free(ahead->pages);
	*ahead = (struct ifs_read_ahead){ .n_waits = ahead->n_waits };
}

/* ---- the b-tree ---- */

static uint32_t load_big(const uint8_t *at, unsigned n)
{
	uint32_t number = 0;

	for (unsigned i = 0; i < n; i++)
		number = number << 8 | at[i];
	return number;
}

/* Reads a varint of the file format; false if it does not end before `end`. */
static bool load_varint(const uint8_t *at, const uint8_t *end, sqlite3_int64 *number)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 9 && at + i < end; i++) {
		value = i == 8 ? value << 8 | at[i] : value << 7 | (at[i] & 0x7f);
		if (i == 8 || at[i] < 0x80) {
			*number = (sqlite3_int64)value;
			return true;
		}
	}
	return false;
}

static bool read_page(const struct ifs_read_ahead *ahead, sqlite3_file *file, uint32_t number, void *to, uint32_t n_bytes)
{
	return number > 0 &&
	       file->pMethods->xRead(file, to, (int)n_bytes, (sqlite3_int64)(number - 1) * ahead->n_page_bytes) == SQLITE_OK;
}

/* Returns the child of an interior page under which the row is; 0 if the page is none. */
static uint32_t child_of(const struct ifs_read_ahead *ahead, const uint8_t *page, uint32_t number, sqlite3_int64 id)
{
	const uint8_t *header = page + (number == 1 ? FILE_HEADER : 0), *end = page + ahead->n_page_bytes;
	uint32_t low = 0, high = load_big(header + N_CELLS_AT, 2);

	if (*header != INTERIOR_TABLE || header + INTERIOR_HEADER + 2 * (size_t)high > end)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2, at = load_big(header + INTERIOR_HEADER + 2 * (size_t)middle, 2);
		sqlite3_int64 key;

		if (at + 4 >= ahead->n_page_bytes || !load_varint(page + at + 4, end, &key))
			return 0;
		if (key < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == load_big(header + N_CELLS_AT, 2))
		return load_big(header + RIGHT_AT, 4);
	return load_big(page + load_big(header + INTERIOR_HEADER + 2 * (size_t)low, 2), 4);
}

/* Returns the leaf page of a row; 0 if it is not found. */
static uint32_t leaf_of(struct ifs_read_ahead *ahead, sqlite3_int64 id)
{
	uint32_t number = ahead->root;

	for (unsigned level = 0; level < ahead->n_levels && number > 0; level++) {
		if (ahead->numbers[level] != number) {
			ahead->numbers[level] = 0;
			if (!read_page(ahead, ahead->files[0], number, ahead->interior[level], ahead->n_page_bytes))
				return 0;
			ahead->numbers[level] = number;
		}
		number = child_of(ahead, ahead->interior[level], number, id);
	}
	return number;
}

/* ---- opening ---- */

static uint32_t root_of(sqlite3 *db, const char *schema, const char *table)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	sqlite3_stmt *statement;
	uint32_t root = 0;

	if (!ifs_prepare(&error, db, &statement, "SELECT rootpage FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = %Q",
			 schema, table) &&
	    sqlite3_step(statement) == SQLITE_ROW)
		root = (uint32_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	ifs_error_clear(&error);
	return root;
}

/* Opens the files. */
static bool open_files(struct ifs_read_ahead *ahead, sqlite3_vfs *vfs, const char *path)
{
	size_t n_file_bytes = ((size_t)vfs->szOsFile + 15) / 16 * 16;
	int flags;

	ahead->memory = sqlite3_malloc64(IFS_READERS * n_file_bytes);
	if (!ahead->memory)
		return false;
	memset(ahead->memory, 0, IFS_READERS * n_file_bytes);
	for (unsigned t = 0; t < IFS_READERS; t++) {
		ahead->files[t] = (sqlite3_file *)((char *)ahead->memory + t * n_file_bytes);
		if (vfs->xOpen(vfs, path, ahead->files[t], SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READONLY, &flags))
			return false;
	}
	return true;
}

/* Counts the levels above the leaf pages on the way to the first row. */
static bool find_depth(struct ifs_read_ahead *ahead)
{
	uint32_t number = ahead->root;
	uint8_t *page = ahead->interior[0];

	for (ahead->n_levels = 0; ahead->n_levels <= IFS_MOST_DEPTH; ahead->n_levels++) {
		if (!read_page(ahead, ahead->files[0], number, page, ahead->n_page_bytes))
			return false;
		number = child_of(ahead, page, number, INT64_MIN);
		if (number == 0)
			return ahead->n_levels > 0;
	}
	return false;
}

static bool open_table(struct ifs_read_ahead *ahead, sqlite3 *db, const char *schema, const char *table)
{
	const char *path = sqlite3_db_filename(db, schema);
	sqlite3_vfs *vfs = NULL;
	uint8_t header[FILE_HEADER];

	if (!path || !*path || !sqlite3_threadsafe() || sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs) ||
	    !vfs || !open_files(ahead, vfs, path) ||
	    ahead->files[0]->pMethods->xRead(ahead->files[0], header, sizeof header, 0))
		return false;
	ahead->n_page_bytes = load_big(header + PAGE_SIZE_AT, 2);
	if (ahead->n_page_bytes == 1)
		ahead->n_page_bytes = 65536;
	if (ahead->n_page_bytes < 512)
		return false;
	ahead->pages = sqlite3_malloc64(IFS_MOST_DEPTH * (sqlite3_uint64)ahead->n_page_bytes);
	if (!ahead->pages)
		return false;
	for (unsigned level = 0; level < IFS_MOST_DEPTH; level++)
		ahead->interior[level] = ahead->pages + level * (size_t)ahead->n_page_bytes;
	ahead->root = root_of(db, schema, table);
	return find_depth(ahead);
}

/* ---- reading ---- */

/* Pages of the file to be read by all threads. */
struct reading {
	const struct ifs_read_ahead *ahead;
	uint32_t numbers[IFOREST_MOST_CUTS_AHEAD];
	unsigned n, n_threads, n_slow[IFS_READERS];
};

/* Thread t reads every n_threads-th page. */
static void read_some(void *context, unsigned t)
{
	struct reading *reading = context;
	const struct ifs_read_ahead *ahead = reading->ahead;
	sqlite3_file *file = ahead->files[t];
	uint8_t step[STEP_BYTES];

	for (unsigned i = t; i < reading->n; i += reading->n_threads) {
		sqlite3_int64 start = (sqlite3_int64)(reading->numbers[i] - 1) * ahead->n_page_bytes;
		uint64_t since = iforest_clock_nanoseconds();

		for (uint32_t at = 0; at < ahead->n_page_bytes; at += STEP_BYTES)
			file->pMethods->xRead(file, step,
					      ahead->n_page_bytes < STEP_BYTES ? (int)ahead->n_page_bytes : STEP_BYTES,
					      start + at);
		reading->n_slow[t] += iforest_clock_nanoseconds() - since >= SLOW_NANOSECONDS;
	}
}

void ifs_read_ahead_rows(struct ifs_read_ahead *ahead, sqlite3 *db, const char *schema, const char *table,
			 const sqlite3_int64 *ids, unsigned n)
{
	struct reading reading = { .ahead = ahead };
	unsigned n_slow = 0;

	if (!ahead->is_opened) {
		ahead->is_possible = open_table(ahead, db, schema, table);
		ahead->is_opened = true;
	}
	if (!ahead->is_possible)
		return;
	memset(ahead->numbers, 0, sizeof ahead->numbers);
	for (unsigned i = 0; i < n && i < IFOREST_MOST_CUTS_AHEAD; i++) {
		uint32_t number = leaf_of(ahead, ids[i]);

		if (number > 0 && (reading.n == 0 || number != reading.numbers[reading.n - 1]))
			reading.numbers[reading.n++] = number;
	}
	if (reading.n < 2 * PAGES_A_READER)
		return;
	reading.n_threads = reading.n / PAGES_A_READER < IFS_READERS ? reading.n / PAGES_A_READER : IFS_READERS;
	iforest_run_threads(reading.n_threads, read_some, &reading);
	for (unsigned t = 0; t < IFS_READERS; t++)
		n_slow += reading.n_slow[t];
	/* where the system has the pages in memory already, there is nothing to be gained */
	ahead->n_expected = 2 * n_slow >= reading.n ? reading.n : 0;
}
