#include "sqlite_ext/storage/pager.h"

#include "core/base/bits.h"
#include "core/base/platform.h"

enum { MOST_BATCH_PAGES = 16 }; /* any number: SQLite's transaction makes them one */
enum { LEAST_READ_AHEAD = 4 };	/* pages, for which threads are started */
enum { MANIFEST_ID = 16 };	/* its offset in the manifest (core/run/manifest.h) */

static sqlite3_int64 row_of(const struct iforest_place *place, uint64_t index)
{
	return (sqlite3_int64)(place->location << 32 | index);
}

/* The manifest of a damaged file may name any location. */
static bool is_addressable(const struct iforest_place *place, uint64_t index)
{
	return place->location > 0 && place->location < UINT64_C(1) << 31 && index < UINT64_C(1) << 32;
}

enum iforest_status ifs_pager_failed(struct ifs_index *index, int rc)
{
	index->io_rc = rc;
	return rc == SQLITE_NOMEM ? IFOREST_NO_MEMORY : IFOREST_IO;
}

int ifs_pager_error(struct ifs_index *index, enum iforest_status status, struct ifs_error *error)
{
	int rc = ifs_error_from_status(error, status, index->name, &index->store.fault, index->io_rc);

	index->store.fault = (struct iforest_fault){ .what = NULL };
	index->io_rc = 0;
	return rc;
}

int ifs_pager_prepare(struct ifs_index *index, sqlite3_stmt **statement, const char *format)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	int rc = *statement ? SQLITE_OK : ifs_prepare(&error, index->db, statement, format, index->schema, index->name);

	ifs_error_clear(&error);
	return rc;
}

unsigned ifs_pager_cache_size(const struct ifs_index *index)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	sqlite3_stmt *statement;
	sqlite3_int64 size = 0;

	if (!ifs_prepare(&error, index->db, &statement, "PRAGMA \"%w\".cache_size", index->schema) &&
	    sqlite3_step(statement) == SQLITE_ROW)
		size = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	ifs_error_clear(&error);
	return (unsigned)(size < 0 ? -size / 4 : size);
}

/* A program that allows SQLite more memory than this cache takes by default allows this cache as much. */
static void ask_cache_size(struct ifs_index *index)
{
	index->knows_cache_size = true;
	index->cache.most_frames = ifs_pager_cache_size(index);
}

/* ---- the manifest ---- */

enum { PLAIN_BYTES = 24, KINDED_BYTES = 32 };

bool ifs_host_bytes_are_there(const struct iforest_manifest *manifest)
{
	struct iforest_text_form form;
	uint32_t n = manifest->n_host_bytes, kind, code;

	if (n != KINDED_BYTES)
		return n == PLAIN_BYTES;
	kind = iforest_load32(manifest->host_bytes + 24);
	code = iforest_load32(manifest->host_bytes + 28);
	return kind > IFS_TIMES_INTEGER && kind < IFS_N_TIME_KINDS &&
	       (code == 0 || (kind == IFS_TIMES_TEXT && iforest_text_form_decode(code, &form)));
}

struct ifs_host_bytes ifs_host_bytes_get(const struct iforest_manifest *manifest)
{
	const uint8_t *bytes = manifest->host_bytes;
	bool has_kind = manifest->n_host_bytes == KINDED_BYTES;

	return (struct ifs_host_bytes){ .first_series = iforest_load32(bytes),
					.end_of_series = iforest_load32(bytes + 4),
					.series_checksum = iforest_load64(bytes + 8),
					.last_rowid = (int64_t)iforest_load64(bytes + 16),
					.time_kind = has_kind ? iforest_load32(bytes + 24) : IFS_TIMES_INTEGER,
					.text_form = has_kind ? iforest_load32(bytes + 28) : 0 };
}

enum iforest_status ifs_host_bytes_set(struct iforest_manifest *manifest, const struct ifs_host_bytes *host)
{
	uint32_t n = host->time_kind == IFS_TIMES_INTEGER ? PLAIN_BYTES : KINDED_BYTES;
	bool has_room = manifest->n_host_bytes == n;
	uint8_t *bytes = has_room ? manifest->host_bytes : iforest_allocate(&ifs_alloc, n);

	if (!bytes)
		return IFOREST_NO_MEMORY;
	iforest_store32(bytes, host->first_series);
	iforest_store32(bytes + 4, host->end_of_series);
	iforest_store64(bytes + 8, host->series_checksum);
	iforest_store64(bytes + 16, (uint64_t)host->last_rowid);
	if (n == KINDED_BYTES) {
		iforest_store32(bytes + 24, host->time_kind);
		iforest_store32(bytes + 28, host->text_form);
	}
	if (!has_room)
		iforest_release(&ifs_alloc, manifest->host_bytes);
	manifest->host_bytes = bytes;
	manifest->n_host_bytes = n;
	return IFOREST_OK;
}

int ifs_pager_find_manifest(struct ifs_index *index, const uint8_t **bytes, uint32_t *n_bytes, uint64_t *id,
			    struct ifs_error *error)
{
	int step, failed, rc = SQLITE_OK;

	if (!index->get_page)
		rc = ifs_prepare(error, index->db, &index->get_page, "SELECT bytes FROM \"%w\".\"%w_page\" WHERE id = ?",
				 index->schema, index->name);
	if (rc)
		return rc;
	sqlite3_bind_int64(index->get_page, 1, 0);
	step = sqlite3_step(index->get_page);
	*bytes = step == SQLITE_ROW ? sqlite3_column_blob(index->get_page, 0) : NULL;
	*n_bytes = *bytes ? (uint32_t)sqlite3_column_bytes(index->get_page, 0) : 0;
	if (*n_bytes >= MANIFEST_ID + 8 && sqlite3_column_type(index->get_page, 0) == SQLITE_BLOB) {
		*id = iforest_load64(*bytes + MANIFEST_ID);
		return SQLITE_OK;
	}
	failed = sqlite3_reset(index->get_page);
	return failed ? ifs_error_from_db(error, index->db, failed)
		      : ifs_error_from_status(error, IFOREST_CORRUPT, index->name,
					      &(struct iforest_fault){ .what = "the manifest is missing" }, 0);
}

int ifs_pager_read_manifest(struct ifs_index *index, struct iforest_manifest *manifest, struct ifs_error *error)
{
	struct iforest_fault fault = { .what = NULL };
	const uint8_t *bytes;
	uint32_t n_bytes;
	uint64_t id;
	enum iforest_status status;
	int rc = ifs_pager_find_manifest(index, &bytes, &n_bytes, &id, error);

	if (rc)
		return rc;
	status = iforest_manifest_read(manifest, &ifs_alloc, bytes, n_bytes, &fault.what);
	if (!status && ifs_host_bytes_are_there(manifest))
		manifest->fields.has_real_times = ifs_host_bytes_get(manifest).time_kind == IFS_TIMES_REAL;
	sqlite3_reset(index->get_page);
	return ifs_error_from_status(error, status, index->name, &fault, 0);
}

/* ---- pages ---- */

static bool shares_cache(sqlite3 *db)
{
	int used, used_shared, most;

	return !sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_USED, &used, &most, false) &&
	       !sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_USED_SHARED, &used_shared, &most, false) && used != used_shared;
}

/* Returns IFOREST_CORRUPT if the stored run is not the one being read. With a shared cache a query that has found all
 * pages in memory so far holds no lock yet, so that another connection may have replaced pages and their generation. The
 * connection's own writes are known to it. */
static enum iforest_status check_place(struct ifs_index *index, const struct iforest_place *place)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	struct iforest_manifest manifest;
	enum iforest_status status;
	uint32_t r;

	if (!shares_cache(index->db) || sqlite3_txn_state(index->db, index->schema) == SQLITE_TXN_WRITE)
		return IFOREST_OK;
	if (ifs_pager_read_manifest(index, &manifest, &error)) {
		status = ifs_pager_failed(index, error.rc);
		ifs_error_clear(&error);
		return status;
	}
	r = iforest_manifest_find(&manifest, place->run_id);
	status = r < manifest.n_runs && manifest.runs[r].place.generation == place->generation ? IFOREST_OK : IFOREST_CORRUPT;
	iforest_manifest_release(&manifest);
	return status;
}

static int prepare_get(struct ifs_index *index)
{
	return ifs_pager_prepare(index, &index->get_page, "SELECT bytes FROM \"%w\".\"%w_page\" WHERE id = ?");
}

/* Threads that read ahead are helpers as those of a question are. */
static bool may_read_ahead(const struct ifs_index *index)
{
	return sqlite3_limit(index->db, SQLITE_LIMIT_WORKER_THREADS, -1) > 0;
}

/* Reads a page's row; where it would help to know, the time is taken. */
static int step_timed(struct ifs_index *index)
{
	uint64_t since = may_read_ahead(index) ? iforest_clock_nanoseconds() : 0;
	int rc = sqlite3_step(index->get_page);

	if (since)
		ifs_read_ahead_note(&index->ahead, iforest_clock_nanoseconds() - since);
	return rc;
}

static enum iforest_status sqlite_get(void *context, const struct iforest_place *place, uint64_t page_index,
				      struct iforest_page *page)
{
	struct ifs_index *index = context;
	enum iforest_status status;
	int rc;

	if (!is_addressable(place, page_index))
		return IFOREST_CORRUPT;
	if (ifs_page_cache_get(&index->cache, place, page_index, page))
		return IFOREST_OK;
	status = check_place(index, place);
	if (status)
		return status;
	if (!index->knows_cache_size && ifs_page_cache_is_full(&index->cache))
		ask_cache_size(index);
	rc = prepare_get(index);
	if (rc)
		return ifs_pager_failed(index, rc);
	sqlite3_bind_int64(index->get_page, 1, row_of(place, page_index));
	rc = step_timed(index);
	status = IFOREST_CORRUPT;
	if (rc == SQLITE_ROW && sqlite3_column_type(index->get_page, 0) == SQLITE_BLOB &&
	    sqlite3_column_bytes(index->get_page, 0) <= IFS_SQLITE_PAGE_BYTES) {
		const void *bytes = sqlite3_column_blob(index->get_page, 0);
		uint32_t n_bytes = (uint32_t)sqlite3_column_bytes(index->get_page, 0);

		status = n_bytes == 0 ? IFOREST_CORRUPT : !bytes ? IFOREST_NO_MEMORY : IFOREST_OK;
		if (!status && !ifs_page_cache_put(&index->cache, place, page_index, bytes, n_bytes, page))
			status = IFOREST_NO_MEMORY;
	}
	rc = sqlite3_reset(index->get_page);
	if (rc && !status)
		ifs_page_cache_unpin(&index->cache, page);
	return rc ? ifs_pager_failed(index, rc) : status;
}

enum iforest_status ifs_pager_may_go_on(struct ifs_index *index)
{
	int rc = prepare_get(index);

	if (rc)
		return ifs_pager_failed(index, rc);
	sqlite3_bind_int64(index->get_page, 1, 0);
	sqlite3_step(index->get_page);
	rc = sqlite3_reset(index->get_page);
	return rc ? ifs_pager_failed(index, rc) : IFOREST_OK;
}

static void sqlite_release(void *context, struct iforest_page *page)
{
	struct ifs_index *index = context;

	ifs_page_cache_unpin(&index->cache, page);
}

static void sqlite_prefetch(void *context, const struct iforest_place *place, uint64_t page_index, bool of_maxima)
{
	struct ifs_index *index = context;

	ifs_page_cache_prefetch(&index->cache, place, page_index, of_maxima);
}

static uint64_t sqlite_n_waits(void *context)
{
	return ((struct ifs_index *)context)->ahead.n_waits;
}

static void sqlite_read_ahead(void *context, const struct iforest_place *place, const uint64_t *indexes, unsigned n)
{
	struct ifs_index *index = context;
	sqlite3_int64 ids[IFOREST_MOST_CUTS_AHEAD];
	struct iforest_page page;
	unsigned n_ids = 0;
	char *table;

	for (unsigned i = 0; i < n && i < IFOREST_MOST_CUTS_AHEAD; i++)
		if (is_addressable(place, indexes[i]) && !ifs_page_cache_peek(&index->cache, place, indexes[i], &page))
			ids[n_ids++] = row_of(place, indexes[i]);
	if (n_ids == 0 || !may_read_ahead(index))
		return;
	table = sqlite3_mprintf("%s_page", index->name);
	if (table)
		ifs_read_ahead_rows(&index->ahead, index->db, index->schema, table, ids, n_ids);
	sqlite3_free(table);
}

static const uint8_t *sqlite_peek(void *context, const struct iforest_place *place, uint64_t page_index, uint32_t *n_bytes)
{
	struct ifs_index *index = context;

	return ifs_page_cache_peek_bytes(&index->cache, place, page_index, n_bytes);
}

/* Stores a blob under an id. */
static enum iforest_status put(struct ifs_index *index, sqlite3_int64 id, const uint8_t *bytes, uint32_t n_bytes)
{
	int rc = ifs_pager_prepare(index, &index->put_page, "REPLACE INTO \"%w\".\"%w_page\"(id, bytes) VALUES(?, ?)");

	if (rc)
		return ifs_pager_failed(index, rc);
	sqlite3_bind_int64(index->put_page, 1, id);
	sqlite3_bind_blob(index->put_page, 2, bytes, (int)n_bytes, SQLITE_STATIC);
	sqlite3_step(index->put_page);
	rc = sqlite3_reset(index->put_page);
	sqlite3_bind_null(index->put_page, 2);
	return rc ? ifs_pager_failed(index, rc) : IFOREST_OK;
}

/* A damaged database may have rows with the greatest ids: they are not pages, and the next rebuild removes them. */
static enum iforest_status sqlite_create_run(void *context, struct iforest_place *place)
{
	struct ifs_index *index = context;
	struct ifs_error error = { .rc = SQLITE_OK };
	uint64_t last = index->last_location;
	sqlite3_stmt *statement;
	int rc = ifs_prepare(&error, index->db, &statement,
			     "SELECT max(id) >> 32 FROM \"%w\".\"%w_page\" WHERE id < 4611686018427387904", index->schema,
			     index->name);

	if (!rc) {
		if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int64(statement, 0) > (sqlite3_int64)last)
			last = (uint64_t)sqlite3_column_int64(statement, 0);
		rc = sqlite3_finalize(statement);
	}
	ifs_error_clear(&error);
	if (rc)
		return ifs_pager_failed(index, rc);
	place->location = last + 1;
	if (!is_addressable(place, 0))
		return IFOREST_TOO_LARGE;
	index->last_location = place->location;
	return IFOREST_OK;
}

static enum iforest_status sqlite_write(void *context, const struct iforest_place *place,
					const struct iforest_page_write *pages, uint32_t n_pages)
{
	struct ifs_index *index = context;
	enum iforest_status status = IFOREST_OK;

	for (uint32_t i = 0; i < n_pages && !status; i++)
		status = is_addressable(place, pages[i].index)
				 ? put(index, row_of(place, pages[i].index), pages[i].bytes, pages[i].n_bytes)
				 : IFOREST_TOO_LARGE;
	return status;
}

static enum iforest_status sqlite_drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct ifs_index *index = context;
	struct ifs_error error = { .rc = SQLITE_OK };
	int rc = SQLITE_OK;

	if (n_pages > 0 && is_addressable(place, n_pages - 1))
		rc = ifs_execute(&error, index->db, "DELETE FROM \"%w\".\"%w_page\" WHERE id BETWEEN %lld AND %lld",
				 index->schema, index->name, row_of(place, 0), row_of(place, n_pages - 1));
	ifs_error_clear(&error);
	return rc ? ifs_pager_failed(index, rc) : IFOREST_OK;
}

static enum iforest_status sqlite_publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	return put(context, 0, bytes, n_bytes);
}

uint64_t ifs_pager_random(void *context)
{
	uint64_t x;

	(void)context;
	sqlite3_randomness(sizeof x, &x);
	return x;
}

static enum iforest_status sqlite_check_interrupt(void *context)
{
	return ifs_pager_may_go_on(context);
}

void ifs_pager_init(struct ifs_index *index)
{
	index->pager = (struct iforest_pager){
		.context = index,
		.page_bytes = IFS_SQLITE_PAGE_BYTES,
		.max_batch_pages = MOST_BATCH_PAGES,
		.get = sqlite_get,
		.release = sqlite_release,
		.prefetch = sqlite_prefetch,
		.peek = sqlite_peek,
		.n_waits = sqlite_n_waits,
		.read_ahead = sqlite_read_ahead,
		.create_run = sqlite_create_run,
		.write = sqlite_write,
		.drop_run = sqlite_drop_run,
		.publish = sqlite_publish,
		.interrupt = { .check = sqlite_check_interrupt, .context = index },
		.random = ifs_pager_random,
	};
	index->store = (struct iforest_store){ .pager = &index->pager, .alloc = &ifs_alloc };
}
