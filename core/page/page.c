#include "core/page/page.h"

#include "core/base/bits.h"
#include "core/base/xxh64.h"

void iforest_page_finish(uint8_t *page, const struct iforest_page_header *header)
{
	iforest_store32(page, IFOREST_PAGE_MAGIC);
	iforest_store64(page + 8, header->run_id);
	iforest_store32(page + 16, header->number);
	iforest_store16(page + 20, header->length);
	page[22] = header->level;
	page[23] = IFOREST_PAGE_VERSION;
	iforest_store16(page + 24, header->n_items);
	iforest_store16(page + 26, header->n_entries);
	iforest_store16(page + 28, header->n_dead);
	iforest_store16(page + 30, header->flags);
	iforest_store32(page + 4, (uint32_t)iforest_xxh64(page + 8, header->length - 8u));
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
	if (!is_checked && iforest_load32(page + 4) != (uint32_t)iforest_xxh64(page + 8, header->length - 8u))
		return IFOREST_CORRUPT;
	*what = "the page's format version is unknown";
	if (page[23] != IFOREST_PAGE_VERSION || header->flags > (header->level == 0 ? IFOREST_PAGE_REFS_ASCEND : 0))
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
	read = (struct iforest_page_header){ .run_id = iforest_load64(page + 8),
					     .number = iforest_load32(page + 16),
					     .length = iforest_load16(page + 20),
					     .level = page[22],
					     .n_items = iforest_load16(page + 24),
					     .n_entries = iforest_load16(page + 26),
					     .n_dead = iforest_load16(page + 28),
					     .flags = iforest_load16(page + 30) };
	status = check_bytes(page, n_bytes, is_checked, &read, what);
	if (status)
		return status;
	*what = "another page stands in its place";
	if (read.run_id != run_id || read.level != level || read.number != number)
		return IFOREST_CORRUPT;
	*header = read;
	return IFOREST_OK;
}
