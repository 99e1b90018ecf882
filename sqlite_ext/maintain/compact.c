#include "sqlite_ext/maintain/compact.h"

#include "core/run/compact.h"
#include "core/run/remove.h"
#include "sqlite_ext/follow/mark.h"
#include "sqlite_ext/follow/triggers.h"
#include "sqlite_ext/maintain/export.h"
#include "sqlite_ext/storage/pager.h"

/* A flush merges up to FEW_PAGES (4 MB), and more if there are many runs. Runs over CAP_PAGES (1 GB) that lie apart in
 * time are left alone. */
enum { FEW_PAGES = 1024, CAP_PAGES = 262144 };

/* The state of a running command. */
struct compaction {
	struct ifs_index *index;
	struct ifs_error *error;
	struct ifs_snapshot *snapshot;	  /* the pending rows, and the state before */
	struct iforest_manifest manifest; /* to be changed */
	sqlite3_stmt *put_series;
	uint32_t fan_in; /* runs of similar size that are merged */
};

static int compaction_error(struct compaction *compaction, enum iforest_status status)
{
	return ifs_snapshot_error(compaction->index, NULL, status, compaction->error);
}

/* Opens the stored state. Queries that are running keep their snapshots. Call end() also after an error. */
static int start(struct compaction *compaction, struct ifs_index *index, struct ifs_error *error)
{
	int rc;

	*compaction = (struct compaction){ .index = index, .error = error };
	ifs_index_forget(index);
	rc = ifs_snapshot_open(index, &compaction->snapshot, error);
	if (!rc)
		rc = ifs_delta_check_log(index, &compaction->snapshot->delta, error);
	if (!rc)
		rc = ifs_index_get_automerge(index, &compaction->fan_in, error);
	return rc ? rc : ifs_pager_read_manifest(index, &compaction->manifest, error);
}

static void end(struct compaction *compaction)
{
	sqlite3_finalize(compaction->put_series);
	iforest_manifest_release(&compaction->manifest);
	ifs_snapshot_release(compaction->snapshot);
	ifs_index_forget(compaction->index);
}

/* ---- flushing ---- */

/* Writes the series that so far occur only in pending rows. */
static int write_series(struct compaction *compaction)
{
	const struct ifs_dictionary *dictionary = &compaction->snapshot->dictionary;
	struct ifs_host_bytes host = ifs_host_bytes_get(&compaction->manifest);
	int rc = SQLITE_OK;

	for (uint32_t s = 0; s < dictionary->n_series && !rc; s++) {
		const struct ifs_series *series = dictionary->series[s];

		if (series->id < host.end_of_series)
			continue;
		rc = ifs_index_put_series(compaction->index, &compaction->put_series, series->id, series->key, series->n_bytes,
					  compaction->error);
		host.series_checksum += iforest_series_key_checksum(series->id, series->key, series->n_bytes);
	}
	if (rc)
		return rc;
	host.end_of_series = compaction->snapshot->dictionary.next_id;
	host.last_rowid = compaction->snapshot->delta.last_rowid;
	return compaction_error(compaction, ifs_host_bytes_set(&compaction->manifest, &host));
}

/* Old keys are removed last: if an earlier write is refused, the runs are untouched. */
static int publish(struct compaction *compaction, const struct iforest_run *run)
{
	struct ifs_delta *delta = &compaction->snapshot->delta;
	struct iforest_store *store = &compaction->index->store;
	struct iforest_edit edit = { .added = run->n_leaves > 0 ? run : NULL };
	uint64_t n_removed;
	enum iforest_status status = IFOREST_OK;

	/* the log may have an old key that no run has: that of a new row which another trigger changed before ours ran */
	if (delta->n_removed > 0)
		status = iforest_runs_remove(store, &compaction->manifest, delta->removed, delta->n_removed, &n_removed);
	if (!status)
		status = iforest_manifest_commit(&compaction->manifest, store, &edit);
	return compaction_error(compaction, status);
}

static bool has_log(const struct compaction *compaction)
{
	return compaction->index->definition.sync == IFS_SYNC_LOG;
}

/* Does what may fail before anything is published: moves the front behind the rows to be flushed, and prepares the statement
 * that empties the log. */
static int prepare_log(struct compaction *compaction, sqlite3_stmt **statement)
{
	const struct ifs_index *index = compaction->index;
	int rc;

	if (!has_log(compaction))
		return SQLITE_OK;
	rc = ifs_triggers_raise_front(index->db, index->schema, index->name, compaction->snapshot->delta.last_rowid,
				      compaction->error);
	if (!rc)
		rc = ifs_triggers_prepare_log_reset(index->db, index->schema, index->name, &index->base_table,
						    &index->definition, statement, compaction->error);
	return rc;
}

static void drop_run(struct compaction *compaction, const struct iforest_run *run)
{
	struct ifs_index *index = compaction->index;

	if (run->n_leaves > 0)
		(void)index->pager.drop_run(index, &run->place, iforest_run_pages(&compaction->manifest, run));
}

/* Removes the run from the index again. The other runs can do without the old keys that were removed from them. */
static enum iforest_status take_back(struct compaction *compaction, const struct iforest_run *run)
{
	struct iforest_edit edit = { .removed = &run->place.run_id, .n_removed = run->n_leaves > 0 };
	struct ifs_host_bytes host = ifs_host_bytes_get(&compaction->manifest);
	enum iforest_status status;

	host.last_rowid = compaction->snapshot->delta.last_flushed;
	status = ifs_host_bytes_set(&compaction->manifest, &host);
	return status ? status : iforest_manifest_commit(&compaction->manifest, &compaction->index->store, &edit);
}

/* If the log cannot be emptied, perhaps because of a user's trigger, the run is removed and its rows stay pending. Within a
 * transaction, SQLite does not undo a command that fails. */
static int empty_log(struct compaction *compaction, sqlite3_stmt *statement, struct iforest_run *run)
{
	const struct ifs_index *index = compaction->index;
	int rc = ifs_step_to_end(statement);

	if (rc == SQLITE_DONE)
		return ifs_triggers_lower_front(index->db, index->schema, index->name, compaction->snapshot->delta.last_rowid,
						compaction->error);
	ifs_error_from_db(compaction->error, index->db, rc);
	if (take_back(compaction, run) == IFOREST_OK)
		drop_run(compaction, run);
	return rc;
}

static int flush_pending(struct compaction *compaction)
{
	struct ifs_index *index = compaction->index;
	struct ifs_delta *delta = &compaction->snapshot->delta;
	struct iforest_run *run = sqlite3_malloc64(sizeof *run);
	sqlite3_stmt *statement = NULL;
	int rc;

	if (!run)
		return ifs_error_set(compaction->error, SQLITE_NOMEM, "");
	run->n_leaves = 0;
	rc = prepare_log(compaction, &statement);
	if (!rc)
		rc = compaction_error(compaction,
				      iforest_memtable_flush(&delta->memtable, &index->store, &compaction->manifest, run));
	if (!rc)
		rc = write_series(compaction);
	if (!rc)
		rc = ifs_index_note_flush(index, compaction->error);
	if (!rc)
		rc = ifs_mark_update(index, ifs_pending_rows_count(&delta->pending), delta->last_flushed, delta->last_rowid,
				     compaction->error);
	if (!rc)
		rc = ifs_export_note(index, delta, compaction->error);
	if (!rc)
		rc = publish(compaction, run);
	if (rc)
		drop_run(compaction, run);
	else if (has_log(compaction))
		rc = empty_log(compaction, statement, run);
	sqlite3_finalize(statement);
	sqlite3_free(run);
	return rc;
}

/* ---- merging ---- */

/* Tells the policy a run's range of times, which is known only without by columns. With by columns, all runs are taken to
 * overlap in time. */
static bool may_merge(void *context, const struct iforest_run *run, int64_t *low, int64_t *high)
{
	const struct compaction *compaction = context;
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);

	if (compaction->index->definition.n_by == 0 && !first.time_is_null && !last.time_is_null) {
		*low = first.time;
		*high = last.time;
	}
	return true;
}

/* Merges once, or, if `again`, until nothing is left to be merged. */
static int merge(struct compaction *compaction, struct iforest_compaction *rules, bool again)
{
	enum iforest_status status = IFOREST_OK;
	uint32_t n = 1;

	rules->settings.fan_in = compaction->fan_in;
	rules->settings.cap_pages = CAP_PAGES;
	rules->may_merge = may_merge;
	rules->context = compaction;
	do {
		status = iforest_compact_next(&compaction->index->store, &compaction->manifest, rules, &n);
	} while (!status && again && n > 0);
	return compaction_error(compaction, status);
}

/* ---- commands ---- */

static bool is_pending(const struct compaction *compaction)
{
	return ifs_pending_rows_count(&compaction->snapshot->delta.pending) > 0;
}

int ifs_flush(struct ifs_index *index, struct ifs_error *error)
{
	struct compaction compaction;
	struct iforest_compaction rules = { .to_one = false };
	int rc = start(&compaction, index, error);

	if (!rc && is_pending(&compaction)) {
		rc = flush_pending(&compaction);
		rules.settings.most_pages = iforest_merge_bound(FEW_PAGES, compaction.manifest.n_runs);
		if (!rc)
			rc = merge(&compaction, &rules, false);
	}
	end(&compaction);
	return rc;
}

int ifs_merge(struct ifs_index *index, uint64_t most_pages, struct ifs_error *error)
{
	struct compaction compaction;
	struct iforest_compaction rules = { .settings.most_pages = most_pages };
	int rc = start(&compaction, index, error);

	if (!rc)
		rc = merge(&compaction, &rules, true);
	end(&compaction);
	return rc;
}

int ifs_optimize(struct ifs_index *index, struct ifs_error *error)
{
	struct compaction compaction;
	struct iforest_compaction rules = { .to_one = true };
	int rc = start(&compaction, index, error);

	if (!rc && is_pending(&compaction))
		rc = flush_pending(&compaction);
	if (!rc)
		rc = merge(&compaction, &rules, false);
	end(&compaction);
	return rc;
}
