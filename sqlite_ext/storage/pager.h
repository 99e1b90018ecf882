/* storage/pager.h -- Pager of the core over the page table of an index, and the manifest stored there under id 0.
 *
 * The manifest is the only commit point: one REPLACE of one row, inside SQLite's transaction, makes new runs visible. Its
 * host bytes: the id of the first series u32, of the one after the last u32, the checksum of the series u64, and the
 * greatest rowid that may be in the runs, i64.
 */
#ifndef IFS_STORAGE_PAGER_H
#define IFS_STORAGE_PAGER_H

#include "core/run/manifest.h"
#include "core/run/pager_memory.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* Fills in index->pager and index->store. */
void ifs_pager_init(struct ifs_index *index);

/* Pages in memory instead, of the same size, which are lent to who reads them. */
void ifs_pager_in_memory(struct iforest_pager_memory *memory);

/* Prepares a statement of the handle once; the format takes schema and name. Returns SQLite's code. */
int ifs_pager_prepare(struct ifs_index *index, sqlite3_stmt **statement, const char *format);

/* Turns what core returned while it used the store into an error, with what SQLite last returned to the pager. */
int ifs_pager_error(struct ifs_index *index, enum iforest_status status, struct ifs_error *error);

/* Positions index->get_page at the stored manifest: its bytes and its id, which is random and new with each publish. The caller
 * resets get_page after SQLITE_OK; on an error it is reset. */
int ifs_pager_find_manifest(struct ifs_index *index, const uint8_t **bytes, uint32_t *n_bytes, uint64_t *id,
			    struct ifs_error *error);

/* Notes what SQLite returned, for ifs_pager_error(). */
enum iforest_status ifs_pager_failed(struct ifs_index *index, int rc);

/* Lets SQLite look whether it was interrupted, and call a progress handler: to be asked now and then where pages in memory keep
 * a question busy. IFOREST_IO where it is to end. */
enum iforest_status ifs_pager_may_go_on(struct ifs_index *index);

/* How many pages SQLite may keep in memory by PRAGMA cache_size: of KiB a page in four. 0 where that cannot be asked. */
unsigned ifs_pager_cache_size(const struct ifs_index *index);

/* A number for ids, from SQLite's own generator; the context is not looked at. */
uint64_t ifs_pager_random(void *context);

/* What the engine keeps in the manifest. */
struct ifs_host_bytes {
	uint32_t first_series, end_of_series;
	uint64_t series_checksum;
	int64_t last_rowid; /* the greatest that may be in the runs, INT64_MIN if there is none */
};

/* Reads the stored manifest once more, to be changed. */
int ifs_pager_read_manifest(struct ifs_index *index, struct iforest_manifest *manifest, struct ifs_error *error);

/* Reads the host bytes of a manifest that was found to be sound, and puts them there (IFOREST_NO_MEMORY). */
struct ifs_host_bytes ifs_host_bytes_get(const struct iforest_manifest *manifest);
enum iforest_status ifs_host_bytes_set(struct iforest_manifest *manifest, const struct ifs_host_bytes *host);

#endif
