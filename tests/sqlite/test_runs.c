/* tests/sqlite/test_runs.c -- Tests of SQL over an index of several runs whose times overlap, with some entries removed.
 *
 * CREATE VIRTUAL TABLE makes one run. The test adds the others by core itself, through a pager over the index's table.
 */
#include "harness.h"

#include "core/base/bits.h"
#include "core/run/check.h"
#include "core/run/writer.h"
#include "core/run/compact.h"
#include "core/run/remove.h"
#include "core/model/series_key.h"

enum { N_ROWS = 9000, N_RUNS = 3, N_TRACKS = 5, N_WINDOWS = 200 };

/* ---- a pager over spans_if_page, in plain SQL ---- */

static void *allocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	return realloc(memory, n_bytes);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct iforest_alloc alloc = { .reallocate = allocate, .release = release };

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	return statement;
}

static uint8_t *read_blob(sqlite3 *db, sqlite3_int64 id, uint32_t *n_bytes)
{
	sqlite3_stmt *statement = prepare(db, "SELECT bytes FROM spans_if_page WHERE id = ?");
	uint8_t *copy;

	sqlite3_bind_int64(statement, 1, id);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	*n_bytes = (uint32_t)sqlite3_column_bytes(statement, 0);
	copy = malloc(*n_bytes);
	memcpy(copy, sqlite3_column_blob(statement, 0), *n_bytes);
	sqlite3_finalize(statement);
	return copy;
}

static void write_blob(sqlite3 *db, sqlite3_int64 id, const uint8_t *bytes, uint32_t n_bytes)
{
	sqlite3_stmt *statement = prepare(db, "REPLACE INTO spans_if_page VALUES(?, ?)");

	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_blob(statement, 2, bytes, (int)n_bytes, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	sqlite3_finalize(statement);
}

static enum iforest_status get(void *db, const struct iforest_place *place, uint64_t index, struct iforest_page *page)
{
	*page = (struct iforest_page){ .is_checked = NULL };
	page->bytes = read_blob(db, (sqlite3_int64)(place->location << 32 | index), &page->n_bytes);
	return IFOREST_OK;
}

static void let_go(void *db, struct iforest_page *page)
{
	(void)db;
	free((uint8_t *)page->bytes);
}

static enum iforest_status create_run(void *db, struct iforest_place *place)
{
	place->location = (uint64_t)integer_of(db, "SELECT (max(id) >> 32) + 1 FROM spans_if_page");
	return IFOREST_OK;
}

static enum iforest_status write_pages(void *db, const struct iforest_place *place, const struct iforest_page_write *pages,
				       uint32_t n_pages)
{
	for (uint32_t i = 0; i < n_pages; i++)
		write_blob(db, (sqlite3_int64)(place->location << 32 | pages[i].index), pages[i].bytes, pages[i].n_bytes);
	return IFOREST_OK;
}

static enum iforest_status drop_run(void *db, const struct iforest_place *place, uint64_t n_pages)
{
	run(db, "DELETE FROM spans_if_page WHERE id >> 32 = %lld AND id & 4294967295 < %lld", (sqlite3_int64)place->location,
	    (sqlite3_int64)n_pages);
	return IFOREST_OK;
}

static enum iforest_status publish(void *db, const uint8_t *bytes, uint32_t n_bytes)
{
	write_blob(db, 0, bytes, n_bytes);
	return IFOREST_OK;
}

static uint64_t random_number(void *db)
{
	uint64_t x;

	(void)db;
	sqlite3_randomness(sizeof x, &x);
	return x;
}

static struct iforest_pager pager_over(sqlite3 *db)
{
	return (struct iforest_pager){ .context = db, .page_bytes = 4000, .max_batch_pages = 4, .get = get, .release = let_go,
				       .create_run = create_run, .write = write_pages, .drop_run = drop_run, .publish = publish,
				       .random = random_number };
}

/* ---- runs ---- */

static void open_manifest(sqlite3 *db, struct iforest_manifest *manifest)
{
	uint32_t n_bytes;
	uint8_t *bytes = read_blob(db, 0, &n_bytes);
	const char *what;

	assert_int_equal(iforest_manifest_read(manifest, &alloc, bytes, n_bytes, &what), IFOREST_OK);
	free(bytes);
}

/* Returns the id of the series of a track, from the index's own table. */
static uint64_t series_of(sqlite3 *db, const char *track)
{
	struct iforest_series_key key = { .alloc = &alloc };
	struct iforest_by_value value = { .tag = IFOREST_BY_TEXT,
					  .data = (const uint8_t *)track,
					  .n_bytes = (uint32_t)strlen(track) };
	sqlite3_stmt *statement = prepare(db, "SELECT id FROM spans_if_series WHERE key = ?");
	uint64_t id;

	assert_int_equal(iforest_series_key_append(&key, &value), IFOREST_OK);
	sqlite3_bind_blob(statement, 1, key.bytes, (int)key.n_bytes, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	id = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	iforest_series_key_release(&key);
	return id;
}

static struct iforest_key key_of(sqlite3 *db, sqlite3_stmt *row)
{
	return (struct iforest_key){ .series = series_of(db, (const char *)sqlite3_column_text(row, 0)),
				     .time_is_null = sqlite3_column_type(row, 1) == SQLITE_NULL,
				     .time = sqlite3_column_int64(row, 1), .ref = sqlite3_column_int64(row, 2) };
}

/* Writes the table's rows of that number as a run of the index. */
static void add_run(sqlite3 *db, struct iforest_store *store, struct iforest_manifest *manifest, int number)
{
	sqlite3_stmt *rows = prepare(db, "SELECT track, ts, id, dur FROM spans WHERE id % 3 = ? ORDER BY track, ts NULLS LAST, id");
	struct iforest_run_writer builder;
	struct iforest_run added;

	sqlite3_bind_int(rows, 1, number);
	assert_int_equal(iforest_run_writer_start(&builder, store, manifest), IFOREST_OK);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		struct iforest_entry entry = { .key = key_of(db, rows),
					       .present = sqlite3_column_type(rows, 3) != SQLITE_NULL };

		entry.values[0].integer = sqlite3_column_int64(rows, 3);
		assert_int_equal(iforest_run_writer_add(&builder, &entry), IFOREST_OK);
	}
	sqlite3_finalize(rows);
	assert_int_equal(iforest_run_writer_finish(&builder, &added), IFOREST_OK);
	assert_int_equal(iforest_manifest_commit(manifest, store, &(struct iforest_edit){ .added = &added }), IFOREST_OK);
}

/* Removes a tenth of a run's rows from the index and from the table. */
static void remove_from_run(sqlite3 *db, struct iforest_store *store, struct iforest_manifest *manifest, int number)
{
	static struct iforest_key keys[N_ROWS];
	sqlite3_stmt *rows = prepare(db, "SELECT track, ts, id FROM spans WHERE id % 3 = ? AND id / 3 % 10 = 4 "
					 "ORDER BY track, ts NULLS LAST, id");
	uint64_t n_keys = 0;

	sqlite3_bind_int(rows, 1, number);
	while (sqlite3_step(rows) == SQLITE_ROW)
		keys[n_keys++] = key_of(db, rows);
	sqlite3_finalize(rows);
	assert_true(n_keys > 100);
	assert_int_equal(iforest_run_remove(store, manifest, manifest->runs[number].place.run_id, keys, n_keys), IFOREST_OK);
	run(db, "DELETE FROM spans WHERE id %% 3 = %d AND id / 3 %% 10 = 4", number);
}

/* ---- asking ---- */

static void compare_window(sqlite3 *db, int64_t t0, int64_t t1)
{
	char sql[512], reference[1024];

	sqlite3_snprintf(sizeof sql, sql,
			 "SELECT track, count, first_ts, last_ts, count_dur, sum_dur, min_dur, max_dur, max_dur_id, first_dur "
			 "FROM spans_if(%lld, %lld) ORDER BY 1", t0, t1);
	sqlite3_snprintf(sizeof reference, reference,
			 "WITH inside AS MATERIALIZED (SELECT * FROM spans WHERE ts >= %lld AND ts < %lld) "
			 "SELECT track, count(*), min(ts), max(ts), count(dur), sum(dur), min(dur), max(dur),"
			 " (SELECT id FROM inside x WHERE x.track = s.track AND dur NOT NULL ORDER BY dur DESC, ts, id LIMIT 1),"
			 " (SELECT dur FROM inside x WHERE x.track = s.track AND dur NOT NULL ORDER BY ts, id LIMIT 1) "
			 "FROM inside s GROUP BY 1 ORDER BY 1", t0, t1);
	same_rows(db, sql, reference);
}

static void compare_buckets(sqlite3 *db, int64_t t0, int64_t step, int64_t n)
{
	char sql[512], reference[512];

	sqlite3_snprintf(sizeof sql, sql,
			 "SELECT track, bucket, count, sum_dur, min_dur, max_dur FROM spans_if(%lld, %lld, %lld) ORDER BY 1, 2", t0,
			 t0 + n * step, n);
	sqlite3_snprintf(sizeof reference, reference,
			 "SELECT track, (ts - (%lld)) / %lld, count(*), sum(dur), min(dur), max(dur) FROM spans "
			 "WHERE ts >= %lld AND ts < %lld GROUP BY 1, 2 ORDER BY 1, 2", t0, step, t0, t0 + n * step);
	same_rows(db, sql, reference);
}

static void compare_all(sqlite3 *db, struct random *random)
{
	run(db, "INSERT INTO spans_if(spans_if) VALUES('integrity-check')");
	same_rows(db, "SELECT track, count, sum_dur, max_dur FROM spans_if ORDER BY 1",
		  "SELECT track, count(*), sum(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1");
	same_rows(db, "SELECT count, sum_dur, min_dur FROM spans_all", "SELECT count(*), sum(dur), min(dur) FROM spans");
	for (int w = 0; w < N_WINDOWS; w++) {
		int64_t t0 = random_below(random, 110000) - 55000, width = INT64_C(1) << random_below(random, 18);

		compare_window(db, t0, t0 + random_below(random, width));
		compare_buckets(db, t0, 1 + random_below(random, 3000), 1 + random_below(random, 60));
	}
}

/* Inserts rows for the first run, or for the others; a few have no time or duration. */
static void insert_rows(sqlite3 *db, struct random *random, bool of_first_run)
{
	for (int id = 0; id < N_ROWS; id++) {
		int64_t track = random_below(random, N_TRACKS), ts = random_below(random, 100000) - 50000;
		int64_t dur = random_below(random, 1000);

		if ((id % N_RUNS == 0) != of_first_run)
			continue;
		run(db, "INSERT INTO spans VALUES(%d, 'track %lld', nullif(%lld, %lld), nullif(%lld, %lld))", id, track, ts,
		    one_in(random, 50) ? ts : ts + 1, dur, one_in(random, 20) ? dur : dur + 1);
	}
}

static void three_overlapping_runs_with_removals(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);
	struct iforest_pager pager = pager_over(db);
	struct iforest_store store = { .pager = &pager, .alloc = &alloc };
	struct iforest_manifest manifest;
	struct iforest_run merged;
	uint64_t run_ids[2];

	(void)state;
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER)");
	insert_rows(db, &random, true);
	run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, sync=manual);"
		"CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if)");
	insert_rows(db, &random, false);
	open_manifest(db, &manifest);
	for (int number = 1; number < N_RUNS; number++)
		add_run(db, &store, &manifest, number);
	assert_int_equal(manifest.n_runs, N_RUNS);
	compare_all(db, &random);
	for (int number = 0; number < N_RUNS; number++)
		remove_from_run(db, &store, &manifest, number);
	compare_all(db, &random);
	run_ids[0] = manifest.runs[0].place.run_id;
	run_ids[1] = manifest.runs[2].place.run_id;
	assert_int_equal(iforest_compact(&store, &manifest, run_ids, 2, &merged), IFOREST_OK);
	assert_int_equal(manifest.n_runs, 2);
	compare_all(db, &random);
	iforest_manifest_release(&manifest);
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(three_overlapping_runs_with_removals) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
