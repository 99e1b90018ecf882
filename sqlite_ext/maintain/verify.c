#include "sqlite_ext/maintain/verify.h"

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/run/check.h"
#include "core/run/cursor.h"
#include "sqlite_ext/follow/condition.h"
#include "sqlite_ext/follow/row_decoder.h"
#include "sqlite_ext/storage/sidecar.h"

/* The number of rows and the sum of their checksums, which does not depend on their order. */
struct tally {
	uint64_t n, checksum;
};

struct verification {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	struct ifs_error *error;
	struct tally stored, expected;
	uint64_t n_surplus; /* entries of the runs whose rows are pending, but which queries would still count */
};

/* 0.0 and -0.0 get the same checksum: they are equal, so the triggers log no change from one to the other. */
static void add_entry(struct tally *tally, const struct iforest_entry *entry, const struct iforest_node_schema *fields)
{
	uint64_t words[5 + IFOREST_MAX_VALUES] = { entry->key.series, entry->key.time_is_null, (uint64_t)entry->key.time,
						   (uint64_t)entry->key.ref, entry->present };

	for (unsigned v = 0; v < fields->n_values; v++) {
		union iforest_number value = entry->values[v];

		if (fields->value_types[v] == IFOREST_FLOAT64 && value.real == 0)
			value.real = 0;
		words[5 + v] = entry->present >> v & 1 ? (uint64_t)value.integer : 0;
	}
	tally->n++;
	tally->checksum += iforest_xxh64((const uint8_t *)words, sizeof words);
}

/* ---- entries of the runs ---- */

static bool is_left_out(const struct ifs_delta *delta, const struct iforest_key *key)
{
	uint64_t at = iforest_key_search(delta->removed, delta->n_removed, key);

	return at < delta->n_removed && iforest_key_compare(&delta->removed[at], key) == 0;
}

static void add_block(struct verification *verification, const struct iforest_block *block)
{
	const struct ifs_delta *delta = &verification->snapshot->delta;
	const struct iforest_node_schema *fields = &verification->snapshot->manifest.fields;

	for (uint64_t live = iforest_low_bits(block->n) & ~block->dead; live; live &= live - 1) {
		unsigned i = iforest_trailing_zeros(live);
		struct iforest_entry entry = { .key = { .series = block->series,
							.time_is_null = block->time_is_null,
							.time = block->time_is_null ? 0 : block->times[i],
							.ref = block->refs[i] } };

		for (unsigned v = 0; v < fields->n_values; v++) {
			entry.present |= (uint32_t)(block->present[v] >> i & 1) << v;
			entry.values[v].integer = block->values[v][i];
		}
		if (!ifs_pending_rows_contain(&delta->pending, entry.key.ref))
			add_entry(&verification->stored, &entry, fields);
		else
			verification->n_surplus += !is_left_out(delta, &entry.key);
	}
}

static enum iforest_status add_run(struct verification *verification, struct iforest_cursor *cursor,
				   const struct iforest_run *run)
{
	const struct iforest_manifest *manifest = &verification->snapshot->manifest;
	uint32_t all = (1u << (IFOREST_VALUES + manifest->fields.n_values)) - 1;
	const struct iforest_block *block;
	enum iforest_status status = IFOREST_OK;

	iforest_cursor_init(cursor, &verification->index->store, manifest, run);
	do {
		status = iforest_cursor_block(cursor, all, &block);
		if (!status && block) {
			add_block(verification, block);
			status = iforest_cursor_next(cursor);
		}
	} while (!status && block);
	iforest_cursor_release(cursor);
	return status;
}

static int add_runs(struct verification *verification)
{
	const struct iforest_manifest *manifest = &verification->snapshot->manifest;
	struct iforest_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
	enum iforest_status status = cursor ? IFOREST_OK : IFOREST_NO_MEMORY;

	for (uint32_t r = 0; r < manifest->n_runs && !status; r++)
		status = add_run(verification, cursor, &manifest->runs[r]);
	sqlite3_free(cursor);
	return ifs_snapshot_error(verification->index, verification->snapshot, status, verification->error);
}

/* ---- rows of the table ---- */

/* A series that the index does not have may get any id that makes the checksums differ. */
static int find_series(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	const struct verification *verification = context;
	struct ifs_snapshot *snapshot = verification->snapshot;
	const struct ifs_series *series;
	enum iforest_status status = ifs_dictionary_find(&snapshot->dictionary, key->bytes, key->n_bytes, &series);

	*id = series ? series->id : UINT32_MAX;
	return ifs_snapshot_error(verification->index, snapshot, status, verification->error);
}

static int prepare_table(struct verification *verification, const struct ifs_base_table *base_table, sqlite3_stmt **statement)
{
	struct ifs_index *index = verification->index;
	sqlite3_str *sql = sqlite3_str_new(index->db);

	sqlite3_str_appendall(sql, "SELECT ");
	ifs_row_decoder_append_columns(&index->definition, base_table, "s", sql);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS s", index->schema, base_table->name);
	ifs_definition_append_where(&index->definition, "WHERE", sql);
	return ifs_prepare_text(verification->error, index->db, statement, sql);
}

static int add_table(struct verification *verification, const struct ifs_base_table *base_table)
{
	struct ifs_index *index = verification->index;
	const struct iforest_node_schema *fields = &verification->snapshot->manifest.fields;
	struct ifs_row_decoder rows = { .db = index->db,
					.schema = index->schema,
					.definition = &index->definition,
					.base_table = base_table,
					.fields = fields,
					.times = &verification->snapshot->times,
					.error = verification->error,
					.series_of = find_series,
					.context = verification,
					.key.alloc = &ifs_alloc,
					.previous_key.alloc = &ifs_alloc };
	struct iforest_entry entry;
	sqlite3_stmt *statement = NULL;
	int failed, rc = prepare_table(verification, base_table, &statement);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		if (ifs_pending_rows_contain(&verification->snapshot->delta.pending, sqlite3_column_int64(statement, 0)))
			continue;
		rc = ifs_row_decode_statement(&rows, statement, &entry);
		if (!rc)
			add_entry(&verification->expected, &entry, fields);
	}
	failed = sqlite3_finalize(statement);
	ifs_row_decoder_release(&rows);
	return !rc && failed ? ifs_error_from_db(verification->error, index->db, failed) : rc;
}

static int differs(struct verification *verification, const char *table)
{
	struct ifs_index *index = verification->index;

	return ifs_error_set(verification->error, SQLITE_CORRUPT_VTAB,
			     "%s: holds other rows than the table \"%s\" (%lld and %lld rows that are not pending, %lld "
			     "old ones of rows that are); run "
			     "INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')",
			     index->name, table, (sqlite3_int64)verification->stored.n, (sqlite3_int64)verification->expected.n,
			     (sqlite3_int64)verification->n_surplus, index->name, index->name);
}

static int compare(struct verification *verification)
{
	struct ifs_index *index = verification->index;
	struct ifs_base_table base_table = { .name = NULL };
	const struct ifs_base_table *table = &index->base_table;
	int rc = SQLITE_OK;

	if (index->definition.sync == IFS_SYNC_MANUAL) {
		rc = ifs_base_table_inspect(&base_table, index->db, index->schema, &index->definition, verification->error);
		if (!rc)
			rc = ifs_condition_judge(index->db, index->schema, base_table.name, &index->definition,
						 verification->error);
		table = &base_table;
	}
	if (!rc)
		rc = add_runs(verification);
	if (!rc)
		rc = add_table(verification, table);
	if (!rc && (verification->stored.n != verification->expected.n ||
		    verification->stored.checksum != verification->expected.checksum || verification->n_surplus > 0))
		rc = differs(verification, table->name);
	ifs_base_table_release(&base_table);
	return rc;
}

int ifs_verify(struct ifs_index *index, bool with_table, struct ifs_error *error)
{
	struct verification verification = { .index = index, .error = error };
	struct iforest_check_result result;
	int rc;

	ifs_index_forget(index);
	rc = ifs_snapshot_open_unguarded(index, &verification.snapshot, error);
	if (!rc)
		rc = ifs_snapshot_error(index, verification.snapshot,
					iforest_check(&index->store, &verification.snapshot->manifest, &result), error);
	if (!rc)
		rc = ifs_snapshot_error(index, verification.snapshot,
					ifs_sidecars_check(index, &verification.snapshot->manifest), error);
	ifs_snapshot_release(verification.snapshot);
	verification.snapshot = NULL;
	if (rc || !with_table)
		return rc;
	rc = ifs_snapshot_open(index, &verification.snapshot, error);
	if (!rc)
		rc = ifs_delta_check_log(index, &verification.snapshot->delta, error);
	if (!rc)
		rc = compare(&verification);
	ifs_snapshot_release(verification.snapshot);
	return rc;
}
