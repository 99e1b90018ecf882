/* storage/page.h -- Layout of the index's blocks: types of pages, page header and special space.
 *
 *   block 0      metapage (storage/meta.h)
 *   block 1, 2   the two slots of the manifest: the one that is not in force is overwritten, then the metapage turns
 *   block 3      first page of the list of extents (storage/extents.h)
 *   others       as the list of extents says: runs, chains of pending entries, series, more pages of the kinds above
 *
 * Every block is laid out as PostgreSQL's pages are, so that its checksums, full-page images and generic WAL work:
 *
 *   [0, 24)         PageHeaderData; what is in use ends at pd_lower. Generic WAL zeroes all between pd_lower and pd_upper
 *   [24, pd_lower)  content
 *   [8176, 8192)    struct ifp_special: whose page this is
 *
 * What stands on a page may be damaged, or forged with a right checksum of PostgreSQL's. So each number is bounded where it is
 * read, before anything is looped over, allocated, written or extended by it:
 *
 *   field                                        bounded in
 *   pd_lower, pd_upper, pd_special, kind         storage/page.c   is_ours()
 *   a block's number, wherever it stands         storage/page.c   ifp_page_read(): must be in the file; storage/index.c the same
 *   meta     checksum; slot, lengths, clocks,    storage/meta.c   what_is_wrong(): blocks within the file, no chain longer than it
 *            chains, blocks of slots and series
 *   manifest checksum; location, pages of a run  core/run/manifest.c; storage/index.c are_possible()
 *   space    extents                             storage/extents.c  the checksum; is_possible(): within twice the file; before a change
 *                                                         check_list(): each begins where another ends
 *            next                                storage/extents.c  at most 64 pages, none twice
 *   series   record lengths; next                storage/series_dict.c  the checksum; read_records(); no more pages than the file has
 *   pending  entries                             storage/pending.c  the checksum; the length, and what all entries have in common
 *            next, last                          storage/pending.c  as many pages as the metapage says; last: 15 blocks ahead at most
 *   run      checksum, counts, offsets           core/page/leaf.c, core/page/node_slice.c; whose page it is: storage/index.c lock_page()
 *   sketch   length, number, entries             storage/sidecar.c  length within the file; sketches one after the other
 */
#ifndef IFP_STORAGE_PAGE_H
#define IFP_STORAGE_PAGE_H

#include "pg_ext/base/engine.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "core/base/bits.h"

enum ifp_page_type {
	IFP_PAGE_META = 1,
	IFP_PAGE_MANIFEST = 2,
	IFP_PAGE_EXTENTS = 3,
	IFP_PAGE_SERIES = 4,
	IFP_PAGE_PENDING = 5,
	IFP_PAGE_RUN = 6,
	IFP_PAGE_SKETCH = 7 /* storage/sidecar.c */
};

#define IFP_PAGE_ID 0x1F07 /* in the last two bytes of every page, for whoever looks at a file */
#define IFP_CHAIN_CLOSED 1 /* flag of a pending page: the chain takes no more entries */
#define IFP_PAGE_SUMMED 2  /* flag of meta, space, series and pending pages: it ends with a struct ifp_sum */

struct ifp_special {
	uint32 owner; /* clock number of the run or chain, 0: of the index as such */
	uint32 next;  /* next page of a chain or list, InvalidBlockNumber at its end; of a run the page's index in it */
	uint32 last;  /* pending: last block of the extent that this page lies in */
	uint8 kind;   /* enum ifp_page_type */
	uint8 flags;
	uint16 page_id;
};

/* The last bytes before the special space of a page that has the flag, above pd_upper. Pages of earlier versions have none. */
struct ifp_sum {
	uint32 checksum;
	uint16 n_bytes;	 /* of the content, from its beginning */
	uint16 has_next; /* 1: the checksum took up `next` after them, and takes up nothing more */
};

#define IFP_CONTENT MAXALIGN(SizeOfPageHeaderData)
#define IFP_CONTENT_BYTES (BLCKSZ - IFP_CONTENT - MAXALIGN(sizeof(struct ifp_special)))

static inline struct ifp_special *ifp_special(Page page)
{
	return (struct ifp_special *)PageGetSpecialPointer(page);
}

static inline struct ifp_sum *ifp_sum(Page page)
{
	return (struct ifp_sum *)PageGetSpecialPointer(page) - 1;
}

static inline uint8 *ifp_content(Page page)
{
	return (uint8 *)page + IFP_CONTENT;
}

static inline uint32 ifp_content_used(Page page)
{
	return ((PageHeader)page)->pd_lower - IFP_CONTENT;
}

/* Bytes that there is room for, those in use included. */
static inline uint32 ifp_content_room(Page page)
{
	return ((PageHeader)page)->pd_upper - IFP_CONTENT;
}

static inline void ifp_content_set_used(Page page, uint32 n_bytes)
{
	((PageHeader)page)->pd_lower = (LocationIndex)(IFP_CONTENT + n_bytes);
}

/* Makes an empty page of a kind; next and last are InvalidBlockNumber. */
void ifp_page_init(Page page, enum ifp_page_type kind, uint32 owner);

/* ---- sums ----
 *
 * The checksum of a page that is appended to goes on from one append to the next. XXH64 has four times the latency for so few
 * bytes.
 */

static inline uint64 ifp_sum_mix(uint64 sum, uint64 word)
{
	sum = (sum ^ word) * UINT64CONST(0x9E3779B185EBCA87);
	return sum ^ sum >> 32;
}

/* The sum of a page without content. Owner and last are in it, and the block's number. */
struct ifp_sum ifp_sum_begin(const struct ifp_special *special, BlockNumber block);

/* Takes up what is appended at once: words of 8 bytes, the last one filled up with zeros. */
static inline void ifp_sum_up(struct ifp_sum *sum, const uint8 *bytes, uint16 n_bytes)
{
	uint64 mixed = sum->checksum, rest = 0;
	uint16 at = 0;

	for (; at + 8 <= n_bytes; at += 8)
		mixed = ifp_sum_mix(mixed, iforest_load64(bytes + at));
	if (at < n_bytes) {
		memcpy(&rest, bytes + at, n_bytes - at);
		mixed = ifp_sum_mix(mixed, iforest_load64((const uint8 *)&rest));
	}
	sum->checksum = (uint32)mixed;
	sum->n_bytes += n_bytes;
}

/* Takes up `next`: nothing is appended to the page from then on. */
static inline void ifp_sum_close(struct ifp_sum *sum, uint32 next)
{
	sum->checksum = (uint32)ifp_sum_mix(sum->checksum, next);
	sum->has_next = 1;
}

/* Puts the sum of no content on a page that has none; special->last stays as it is. */
void ifp_page_begin_sum(Page page, BlockNumber block);

/* Puts the sum of a whole page on it, of all content as one append and of `next`. Requires room for a sum where the page has
 * none. */
void ifp_page_sum(Page page, BlockNumber block);

/* Has a page the sum that ifp_page_sum() puts there, or none? */
bool ifp_page_is_whole(const uint8 *content, uint32 n_bytes, const struct ifp_special *special, const struct ifp_sum *sum,
		       BlockNumber block);

/* Raises that a block is corrupt; `why` is a sentence, or NULL. */
_Noreturn void ifp_page_wrong(Relation index, BlockNumber block, const char *why);

/* Pins a block whose number stood on a page; raises "corrupt" where it is not in the file. */
Buffer ifp_page_read(Relation index, BlockNumber block);

/* Is this a page of that kind? For pages that may have been given to someone else since their number was learnt. */
bool ifp_page_is(Page page, enum ifp_page_type kind, uint32 owner);

/* The same at a glance, without a lock: for a page that keeps its kind. */
bool ifp_page_looks_like(Page page, enum ifp_page_type kind);

/* Reads and locks a page that must be of that kind; raises "corrupt" otherwise. The buffer is the caller's to unlock and
 * release. */
Buffer ifp_page_lock(Relation index, BlockNumber block, enum ifp_page_type kind, int lock_mode);

/* Copies the content of such a page under a share lock, which is let go before return. `to` has IFP_CONTENT_BYTES, special
 * and sum (which holds where the page is SUMMED) may be NULL. Returns the number of bytes in use. */
uint32 ifp_page_copy(Relation index, BlockNumber block, enum ifp_page_type kind, uint8 *to, struct ifp_special *special,
		     struct ifp_sum *sum);

#define IFP_MOST_APPENDED 1024

/* Puts at most IFP_MOST_APPENDED bytes at the end of the content of a page that is locked exclusively and has room, and
 * with them its new sum, unless that is NULL; logs just these bytes. */
void ifp_page_append(Relation index, Buffer buffer, const uint8 *bytes, uint16 n_bytes, const struct ifp_sum *sum);

#endif
