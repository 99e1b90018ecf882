/* page/page.h -- Page header shared by all pages of a run: bytes, checksum and validation.
 *
 *   byte  0  u32  magic "IFpg"
 *         4  u32  checksum: low half of XXH64, seed 0, over bytes [8, length)
 *         8  u64  run id
 *        16  u32  number: the page's place in its level
 *        20  u16  length in bytes, header included
 *        22  u8   level: 0 leaf page, 1.. node page
 *        23  u8   format version, 1
 *        24  u16  items: blocks of a leaf page, nodes of a node page
 *        26  u16  entries of a leaf page, 0 on node pages
 *        28  u16  removed entries of a leaf page, 0 on node pages
 *        30  u16  flags of a leaf page: 1 REFS_ASCEND, the refs of all its entries ascend; 0 on node pages
 *
 * All numbers of the format are little-endian.
 */
#ifndef IFOREST_PAGE_PAGE_H
#define IFOREST_PAGE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

#define IFOREST_PAGE_HEADER 32u
#define IFOREST_PAGE_MAGIC 0x67704649u
#define IFOREST_PAGE_VERSION 1
#define IFOREST_MIN_PAGE_BYTES 1024u
#define IFOREST_MAX_PAGE_BYTES 32768u

struct iforest_page_header {
	uint64_t run_id;
	uint32_t number;
	uint16_t length;
	uint8_t level;
	uint16_t n_items;
	uint16_t n_entries;
	uint16_t n_dead;
	uint16_t flags;
};

enum { IFOREST_PAGE_REFS_ASCEND = 1 };

/* Writes the header, checksum included; the rest of the page must be in place. */
void iforest_page_finish(uint8_t *page, const struct iforest_page_header *header);

/* Checks foreign bytes: length, magic, version, checksum, and that this is the page that was asked for.
 * Requires  page has n_bytes; is_checked: these very bytes have passed before, so their checksum is
 *           not computed again.
 * Errors    IFOREST_CORRUPT with *what set to what is wrong (static text); IFOREST_FORMAT. */
enum iforest_status iforest_page_check(const uint8_t *page, uint32_t n_bytes, uint64_t run_id, unsigned level, uint32_t number,
				       bool is_checked, struct iforest_page_header *header, const char **what);

#endif
