/* storage/page.h -- Layout of the index's blocks: types of pages, page header and special space.
 *
 * Every block is laid out as PostgreSQL's pages are, so that its checksums, full-page images and generic WAL work. Content ends
 * at pd_lower: generic WAL zeroes all between pd_lower and pd_upper. Bytes: FORMAT.md, "Blocks in PostgreSQL".
 *
 * A page may be damaged, or forged with a correct checksum of PostgreSQL's. So each number is checked where it is read, before
 * a loop, an allocation, a write or an extension of the file depends on it:
 *
 *   field                                    checked in
 *   pd_lower, pd_upper, pd_special, type     storage/page.c         is_ours()
 *   number of any block                      storage/page.c         ifp_page_read(): must be in the file; also storage/index.c
 *   meta      checksum, slot, lengths,       storage/meta.c         find_fault(): blocks in the file, chains no longer than it
 *             clocks, chains, blocks
 *   manifest  checksum, pages of runs        core/run/manifest.c    and storage/index.c are_possible()
 *   extents   extents                        storage/extents.c      the checksum; is_possible(): within twice the file; before
 *                                                                   a change check_list(): each begins where another ends
 *             next                           storage/extents.c      at most 64 pages, none twice
 *   series    lengths of records; next       storage/series_dict.c  the checksum; read_records(); no more pages than the file
 *   pending   entries                        storage/pending_entry.c  the checks of entries, and their lengths
 *             next, last                     storage/pending.c      as many pages as in the metapage; last: at most 15 on
 *   run       checksum, counts, offsets      core/page/leaf.c       and node.c; the owner: storage/index.c lock_page()
 *   sketch    length, number, entries        storage/sidecar.c      length within the file; sketches one after the other
 */
#ifndef IFP_STORAGE_PAGE_H
#define IFP_STORAGE_PAGE_H

#include "pg_ext/base/engine.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "core/base/bits.h"
#include "core/page/page.h"

enum ifp_page_type {
	IFP_PAGE_META = 1,
	IFP_PAGE_MANIFEST = 2,
	IFP_PAGE_EXTENTS = 3,
	IFP_PAGE_SERIES = 4,
	IFP_PAGE_PENDING = 5,
	IFP_PAGE_RUN = 6,
	IFP_PAGE_SKETCH = 7 /* storage/sidecar.c */
};

#define IFP_PAGE_ID 0x1F07 /* in the last two bytes of every page, to recognise a file */
#define IFP_CHAIN_CLOSED 1 /* flag of a pending page: the chain takes no more entries */
#define IFP_PAGE_SUMMED 2  /* flag of meta, extents and series pages: it ends with a struct ifp_sum */
#define IFP_PAGE_PACKED 4  /* flag of a pending page: its entries are packed, and have checks of their own */

struct ifp_special {
	uint32 owner;	 /* clock number of the run or chain; 0: the index */
	uint32 next;	 /* next page of a chain or list, InvalidBlockNumber at its end; in a run the page's index */
	uint32 last;	 /* pending: last block of this page's extent */
	uint8 page_type; /* enum ifp_page_type */
	uint8 flags;
	uint16 page_id;
};

/* The last bytes before the special space of a page with the flag SUMMED, above pd_upper. Pages of earlier versions have none.
 */
struct ifp_sum {
	uint32 checksum;
	uint16 n_bytes;	 /* bytes of the content that are summed, from its beginning */
	uint16 has_next; /* 1: the checksum includes `next` after them, and is complete */
};

#define IFP_CONTENT MAXALIGN(SizeOfPageHeaderData)
#define IFP_CONTENT_BYTES (BLCKSZ - IFP_CONTENT - MAXALIGN(sizeof(struct ifp_special)))

StaticAssertDecl(IFP_CONTENT_BYTES >= IFOREST_MIN_PAGE_BYTES && IFP_CONTENT_BYTES <= IFOREST_MAX_PAGE_BYTES,
		 "iforest needs a PostgreSQL with blocks of 2 to 32 KiB (configure --with-blocksize)");

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

/* Returns the bytes of content that a page has room for, those in use included. */
static inline uint32 ifp_content_room(Page page)
{
	return ((PageHeader)page)->pd_upper - IFP_CONTENT;
}

static inline void ifp_content_set_used(Page page, uint32 n_bytes)
{
	((PageHeader)page)->pd_lower = (LocationIndex)(IFP_CONTENT + n_bytes);
}

/* Makes an empty page; next and last are InvalidBlockNumber. */
void ifp_page_init(Page page, enum ifp_page_type type, uint32 owner);

/* ---- sums ----
 *
 * The checksum of a page is continued from one append to the next. For so few bytes XXH64 has four times the latency.
 */

static inline uint64 ifp_sum_mix(uint64 sum, uint64 word)
{
	sum = (sum ^ word) * UINT64CONST(0x9E3779B185EBCA87);
	return sum ^ sum >> 32;
}

/* Returns the sum of a page without content. It includes owner, last and the block's number. */
struct ifp_sum ifp_sum_begin(const struct ifp_special *special, BlockNumber block);

/* Adds the bytes of one append: words of 8 bytes, the last one padded with zeros. */
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

/* Adds `next` and completes the sum: nothing is appended to the page from then on. */
static inline void ifp_sum_close(struct ifp_sum *sum, uint32 next)
{
	sum->checksum = (uint32)ifp_sum_mix(sum->checksum, next);
	sum->has_next = 1;
}

/* Writes the first sum to a page without content. Requires  special->last is final. */
void ifp_page_begin_sum(Page page, BlockNumber block);

/* Writes the complete sum to a page, of all content as one append and of `next`. Requires room for a sum if the page has none.
 */
void ifp_page_sum(Page page, BlockNumber block);

/* True if a page has the sum that ifp_page_sum() writes, or none. */
bool ifp_page_is_whole(const uint8 *content, uint32 n_bytes, const struct ifp_special *special, const struct ifp_sum *sum,
		       BlockNumber block);

/* ---- pages ---- */

/* Raises the error that a block is corrupt; `why` is a sentence, or NULL. */
_Noreturn void ifp_page_wrong(Relation index, BlockNumber block, const char *why);

/* True if a block is in the index's file. Such a file only grows while its relation is open, and the server remembers the size
 * that it last had here, so the file is seldom asked. */
bool ifp_page_is_in_file(Relation index, BlockNumber block);

/* Pins a block whose number was read from a page. Raises a "corrupt" error if it is not in the file. */
Buffer ifp_page_read(Relation index, BlockNumber block);

/* True if this is a page of that type and owner. For pages that may have been reused since their number was read.
 * Requires  the page is locked. */
bool ifp_page_is(Page page, enum ifp_page_type type, uint32 owner);

/* True if this seems to be a page of that type; needs no lock, for pages that keep their type. */
bool ifp_page_looks_like(Page page, enum ifp_page_type type);

/* Pins and locks a page that must be of that type; raises a "corrupt" error otherwise. The caller unlocks and releases it. */
Buffer ifp_page_lock(Relation index, BlockNumber block, enum ifp_page_type type, int lock_mode);

/* Copies the content of a page that must be of that type, under a share lock that is released before return. `to` has
 * IFP_CONTENT_BYTES. special and sum (valid if the page is SUMMED) may be NULL. Returns the number of bytes in use. */
uint32 ifp_page_copy(Relation index, BlockNumber block, enum ifp_page_type type, uint8 *to, struct ifp_special *special,
		     struct ifp_sum *sum);

#define IFP_MOST_APPENDED 1024

/* Appends at most IFP_MOST_APPENDED bytes to the content of a page and writes its new sum, unless that is NULL. Logs just these
 * bytes.
 * Requires  the page is locked exclusively and has room. */
void ifp_page_append(Relation index, Buffer buffer, const uint8 *bytes, uint16 n_bytes, const struct ifp_sum *sum);

/* Writes at most IFP_MOST_APPENDED bytes of the content of a page, at an offset in it, and logs just these. All the page is
 * content from then on.
 * Requires  the page is locked exclusively. */
void ifp_page_write(Relation index, Buffer buffer, uint32 at, const uint8 *bytes, uint16 n_bytes);

#endif
