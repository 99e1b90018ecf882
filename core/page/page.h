/* page/page.h -- Page header shared by all pages of a run: bytes, checksum and validation.
 *
 * Bytes: FORMAT.md, "Page header".
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

/* Byte offsets in the header, which starts with the magic. */
enum {
	IFOREST_PAGE_CHECKSUM_OFFSET = 4,
	IFOREST_PAGE_RUN_ID_OFFSET = 8,
	IFOREST_PAGE_NUMBER_OFFSET = 16,
	IFOREST_PAGE_LENGTH_OFFSET = 20,
	IFOREST_PAGE_LEVEL_OFFSET = 22,
	IFOREST_PAGE_VERSION_OFFSET = 23,
	IFOREST_PAGE_ITEMS_OFFSET = 24,
	IFOREST_PAGE_ENTRIES_OFFSET = 26,
	IFOREST_PAGE_DEAD_OFFSET = 28,
	IFOREST_PAGE_FLAGS_OFFSET = 30
};

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

/* Checks untrusted bytes: length, magic, version, checksum, and that this is the requested page.
 * Requires  page has n_bytes. is_checked: the same bytes passed before, so their checksum is not computed again.
 * Errors    IFOREST_CORRUPT with *what set to what is wrong (static text); IFOREST_FORMAT. */
enum iforest_status iforest_page_check(const uint8_t *page, uint32_t n_bytes, uint64_t run_id, unsigned level, uint32_t number,
				       bool is_checked, struct iforest_page_header *header, const char **what);

#endif
