/* storage/pager.h -- Core's pager over the page table of an index, and the manifest stored there with id 0.
 *
 * The manifest is the only commit point: one REPLACE of one row, inside SQLite's transaction, makes new runs visible.
 *
 * Errors: a function that returns a status of core stores SQLite's code in index->io_rc, and ifs_pager_error() turns both into
 * a message.
 */
#ifndef IFS_STORAGE_PAGER_H
#define IFS_STORAGE_PAGER_H

#include "core/run/manifest.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* Initializes index->pager and index->store. */
void ifs_pager_init(struct ifs_index *index);

/* Prepares a statement of the handle, unless it is prepared already. The format takes schema and name. Returns SQLite's
 * code. */
int ifs_pager_prepare(struct ifs_index *index, sqlite3_stmt **statement, const char *format);

/* Sets the error for a status that core returned while using the store, with SQLite's last code. Returns SQLite's code. */
int ifs_pager_error(struct ifs_index *index, enum iforest_status status, struct ifs_error *error);

/* Positions index->get_page at the stored manifest; returns its bytes and its id, which is random and new for each publish. The
 * caller must reset get_page after SQLITE_OK; after an error it is reset already. */
int ifs_pager_find_manifest(struct ifs_index *index, const uint8_t **bytes, uint32_t *n_bytes, uint64_t *id,
			    struct ifs_error *error);

/* Stores SQLite's code for ifs_pager_error(), and returns the corresponding status for core. */
enum iforest_status ifs_pager_failed(struct ifs_index *index, int rc);

/* Lets SQLite check for an interrupt and call a progress handler. Call it now and then while a query uses only pages in
 * memory. Returns IFOREST_IO if the query must end. */
enum iforest_status ifs_pager_may_go_on(struct ifs_index *index);

/* Returns how many pages PRAGMA cache_size allows (a size in KiB counts as one page for each 4 KiB); 0 if it cannot be
 * read. */
unsigned ifs_pager_cache_size(const struct ifs_index *index);

/* Returns a random number for ids, from SQLite's generator. The context is unused. */
uint64_t ifs_pager_random(void *context);

/* The host bytes of the manifest, in this order, little-endian (FORMAT.md): 24, or 32 unless times are integers. */
struct ifs_host_bytes {
	uint32_t first_series, end_of_series;
	uint64_t series_checksum;
	int64_t last_rowid; /* the greatest that the runs may contain, INT64_MIN if there is none */
	uint32_t time_kind; /* enum ifs_time_kind; may be any number in a damaged database */
	uint32_t text_form; /* of text times: iforest_text_form_code() */
};

/* Reads the stored manifest into a copy, which the caller may change and must release. */
int ifs_pager_read_manifest(struct ifs_index *index, struct iforest_manifest *manifest, struct ifs_error *error);

/* Tests whether a manifest has valid host bytes; reads them if so; sets them (IFOREST_NO_MEMORY). */
bool ifs_host_bytes_are_there(const struct iforest_manifest *manifest);
struct ifs_host_bytes ifs_host_bytes_get(const struct iforest_manifest *manifest);
enum iforest_status ifs_host_bytes_set(struct iforest_manifest *manifest, const struct ifs_host_bytes *host);

#endif
