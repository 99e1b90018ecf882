/* storage/pending_entry.h -- Pending entries as bytes on a page: packed, and as earlier versions wrote them.
 *
 * A packed entry holds the distance of its time and of its heap block from those of the page's first entry, each number in as
 * many bytes as it needs, and a check that continues that of the entry before it, by which a damaged byte is noticed. Entries
 * begin with a byte that is not zero, and zeros follow the last one: so no number has to be changed with each entry, and a record
 * of WAL is short. Pages of earlier versions have entries of one length. Bytes: FORMAT.md, "Pending entries".
 */
#ifndef IFP_STORAGE_PENDING_ENTRY_H
#define IFP_STORAGE_PENDING_ENTRY_H

#include "pg_ext/base/engine.h"

#include "core/run/batch.h"
#include "pg_ext/storage/page.h"

/* What entries of earlier versions are, little-endian; then the values of the other value columns. */
struct ifp_fixed_entry {
	uint32 series;
	uint16 flags; /* bit v: value v is there; bit 15: the time is NULL */
	uint16 offset;
	uint32 block;
	uint32 zero;
	int64 time;
	int64 value;
};

/* Of an entry without a time or a value. */
#define IFP_FEWEST_PENDING_BYTES 6

/* More than a page can have. */
#define IFP_MOST_PENDING (IFP_CONTENT_BYTES / IFP_FEWEST_PENDING_BYTES + 1)

/* Returns about how many entries pages have, as they come from tables. */
static inline double ifp_pending_guess(double n_pages, unsigned n_values)
{
	return n_pages * IFP_CONTENT_BYTES / (8 + 4 * n_values);
}

/* Appends an entry to a page with packed entries, unless it is full: then it returns false. *end: where the entries end, at
 * least; after the call where they do. Raises a "corrupt" error if the page's entries cannot be read.
 * Requires  the page is locked exclusively.
 * Cost      one step for each entry from *end on. */
bool ifp_pending_page_append(Relation index, Buffer buffer, unsigned n_values, const struct iforest_entry *entry, uint32 *end);

/* A copy of a page, whose entries can be read in any order: their keys are in it. */
struct ifp_pending_page {
	struct ifp_special special;
	struct ifp_sum sum; /* valid if the page is SUMMED */
	XLogRecPtr lsn;
	unsigned n_values;
	bool is_packed;
	uint32 n_used; /* bytes of content, zeros included */
	uint32 n_entries;
	struct iforest_key keys[IFP_MOST_PENDING];
	uint16 at[IFP_MOST_PENDING];	       /* where the values are, in bytes of the content */
	uint8 content[IFP_CONTENT_BYTES + 16]; /* lengths, and a number that is read 8 bytes at a time, may be behind it */
};

/* Copies a page. Requires  the page is locked, or a copy itself. */
void ifp_pending_page_copy(struct ifp_pending_page *copy, unsigned n_values, Page page);

/* Finds the entries of a copied page. Returns what is wrong with it, as a sentence; NULL if nothing is. Of a page that was found
 * whole before, as it is, the checks of entries are not computed again. */
const char *ifp_pending_page_open(struct ifp_pending_page *page, BlockNumber block, bool is_verified);

/* Reads entry i. */
void ifp_pending_page_entry(const struct ifp_pending_page *page, uint32 i, struct iforest_entry *entry);

#endif
