/* storage/pager.h -- Pager of core over the page table of an index, and the manifest stored there under id 0.
 *
 * The manifest is the only commit point: one REPLACE of one row, inside SQLite's transaction, makes new runs visible.
 *
 * Errors: a function that returns a status of core keeps what SQLite returned in index->io_rc, and ifs_pager_error() turns
 * both into a message.
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

/* Sets the error to a status that core returned while it used the store, with SQLite's last code. Returns SQLite's code. */
int ifs_pager_error(struct ifs_index *index, enum iforest_status status, struct ifs_error *error);

/* Positions index->get_page at the stored manifest: its bytes and its id, which is random and new with each publish. The
 * caller resets get_page after SQLITE_OK; after an error it is reset. */
int ifs_pager_find_manifest(struct ifs_index *index, const uint8_t **bytes, uint32_t *n_bytes, uint64_t *id,
			    struct ifs_error *error);

/* Keeps what SQLite returned for ifs_pager_error(), and returns the status for core. */
enum iforest_status ifs_pager_failed(struct ifs_index *index, int rc);

/* Lets SQLite check for an interrupt and call a progress handler. To be called now and then while a query works on pages
 * in memory alone. Returns IFOREST_IO if the query is to end. */
enum iforest_status ifs_pager_may_go_on(struct ifs_index *index);

/* Returns how many pages PRAGMA cache_size allows (a size in KiB counts as one page for each 4 KiB); 0 if it cannot be
 * read. */
unsigned ifs_pager_cache_size(const struct ifs_index *index);

/* Returns a random number for ids, from SQLite's generator. The context is unused. */
uint64_t ifs_pager_random(void *context);

/* The host bytes of the manifest, in this order, little-endian (FORMAT.md): 24, and 8 for the kind if times are no integers. */
struct ifs_host_bytes {
	uint32_t first_series, end_of_series;
	uint64_t series_checksum;
	int64_t last_rowid; /* the greatest that the runs may hold, INT64_MIN if there is none */
	uint32_t time_kind; /* enum ifs_time_kind, unless an edited database has another number */
	uint32_t text_form; /* of times that are texts, as iforest_text_form_code() has it */
};

/* Reads the stored manifest into a copy that the caller may change, and releases. */
int ifs_pager_read_manifest(struct ifs_index *index, struct iforest_manifest *manifest, struct ifs_error *error);

/* Reads the host bytes of a manifest that has as many; sets them (IFOREST_NO_MEMORY). */
bool ifs_host_bytes_are_there(const struct iforest_manifest *manifest);
struct ifs_host_bytes ifs_host_bytes_get(const struct iforest_manifest *manifest);
enum iforest_status ifs_host_bytes_set(struct iforest_manifest *manifest, const struct ifs_host_bytes *host);

#endif
