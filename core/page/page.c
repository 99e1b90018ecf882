#include "core/page/page.h"

#include "core/base/bits.h"
#include "core/base/xxh64.h"

static uint32_t checksum_of(const uint8_t *page, uint32_t length)
{
	return (uint32_t)iforest_xxh64(page + IFOREST_PAGE_RUN_ID_OFFSET, length - IFOREST_PAGE_RUN_ID_OFFSET);
}

void iforest_page_finish(uint8_t *page, const struct iforest_page_header *header)
{
	iforest_store32(page, IFOREST_PAGE_MAGIC);
	iforest_store64(page + IFOREST_PAGE_RUN_ID_OFFSET, header->run_id);
	iforest_store32(page + IFOREST_PAGE_NUMBER_OFFSET, header->number);
	iforest_store16(page + IFOREST_PAGE_LENGTH_OFFSET, header->length);
	page[IFOREST_PAGE_LEVEL_OFFSET] = header->level;
	page[IFOREST_PAGE_VERSION_OFFSET] = IFOREST_PAGE_VERSION;
	iforest_store16(page + IFOREST_PAGE_ITEMS_OFFSET, header->n_items);
	iforest_store16(page + IFOREST_PAGE_ENTRIES_OFFSET, header->n_entries);
	iforest_store16(page + IFOREST_PAGE_DEAD_OFFSET, header->n_dead);
	iforest_store16(page + IFOREST_PAGE_FLAGS_OFFSET, header->flags);
	iforest_store32(page + IFOREST_PAGE_CHECKSUM_OFFSET, checksum_of(page, header->length));
}

static enum iforest_status check_bytes(const uint8_t *page, uint32_t n_bytes, bool is_checked,
				       const struct iforest_page_header *header, const char **what)
{
	*what = "the page's magic is wrong";
	if (iforest_load32(page) != IFOREST_PAGE_MAGIC)
		return IFOREST_CORRUPT;
	*what = "the page's length is wrong";
	if (header->length < IFOREST_PAGE_HEADER || header->length > n_bytes)
		return IFOREST_CORRUPT;
	*what = "the page's checksum is wrong";
	if (!is_checked && iforest_load32(page + IFOREST_PAGE_CHECKSUM_OFFSET) != checksum_of(page, header->length))
		return IFOREST_CORRUPT;
	*what = "the page's format version is unknown";
	if (page[IFOREST_PAGE_VERSION_OFFSET] != IFOREST_PAGE_VERSION ||
	    header->flags > (header->level == 0 ? IFOREST_PAGE_REFS_ASCEND : 0))
		return IFOREST_FORMAT;
	return IFOREST_OK;
}

enum iforest_status iforest_page_check(const uint8_t *page, uint32_t n_bytes, uint64_t run_id, unsigned level, uint32_t number,
				       bool is_checked, struct iforest_page_header *header, const char **what)
{
	struct iforest_page_header read;
	enum iforest_status status;

	*what = "the page is cut short";
	if (n_bytes < IFOREST_PAGE_HEADER)
		return IFOREST_CORRUPT;
	read = (struct iforest_page_header){ .run_id = iforest_load64(page + IFOREST_PAGE_RUN_ID_OFFSET),
					     .number = iforest_load32(page + IFOREST_PAGE_NUMBER_OFFSET),
					     .length = iforest_load16(page + IFOREST_PAGE_LENGTH_OFFSET),
					     .level = page[IFOREST_PAGE_LEVEL_OFFSET],
					     .n_items = iforest_load16(page + IFOREST_PAGE_ITEMS_OFFSET),
					     .n_entries = iforest_load16(page + IFOREST_PAGE_ENTRIES_OFFSET),
					     .n_dead = iforest_load16(page + IFOREST_PAGE_DEAD_OFFSET),
					     .flags = iforest_load16(page + IFOREST_PAGE_FLAGS_OFFSET) };
	status = check_bytes(page, n_bytes, is_checked, &read, what);
	if (status)
		return status;
	*what = "another page stands in its place";
	if (read.run_id != run_id || read.level != level || read.number != number)
		return IFOREST_CORRUPT;
	*header = read;
	return IFOREST_OK;
}
