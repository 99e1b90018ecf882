#include "core/page.h"

#include "core/bits.h"

static const uint64_t prime1 = 0x9E3779B185EBCA87u, prime2 = 0xC2B2AE3D27D4EB4Fu, prime3 = 0x165667B19E3779F9u,
		      prime4 = 0x85EBCA77C2B2AE63u, prime5 = 0x27D4EB2F165667C5u;

static uint64_t rotate(uint64_t x, unsigned n)
{
	return (x << n) | (x >> (64 - n));
}

static uint64_t mix(uint64_t lane, uint64_t word)
{
	return rotate(lane + word * prime2, 31) * prime1;
}

static uint64_t merge(uint64_t hash, uint64_t lane)
{
	return (hash ^ mix(0, lane)) * prime1 + prime4;
}

uint64_t iforest_checksum64(const uint8_t *bytes, uint64_t n_bytes)
{
	const uint8_t *end = bytes + n_bytes;
	uint64_t a = prime1 + prime2, b = prime2, c = 0, d = 0 - prime1;
	uint64_t hash = prime5;

	if (n_bytes >= 32) {
		/* four lanes in registers: an array of them would be loaded and stored at every step */
		for (; end - bytes >= 32; bytes += 32) {
			a = mix(a, iforest_load64(bytes));
			b = mix(b, iforest_load64(bytes + 8));
			c = mix(c, iforest_load64(bytes + 16));
			d = mix(d, iforest_load64(bytes + 24));
		}
		hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
		hash = merge(merge(merge(merge(hash, a), b), c), d);
	}
	hash += n_bytes;
	for (; end - bytes >= 8; bytes += 8)
		hash = rotate(hash ^ mix(0, iforest_load64(bytes)), 27) * prime1 + prime4;
	if (end - bytes >= 4) {
		hash = rotate(hash ^ iforest_load32(bytes) * prime1, 23) * prime2 + prime3;
		bytes += 4;
	}
	for (; bytes < end; bytes++)
		hash = rotate(hash ^ *bytes * prime5, 11) * prime1;
	hash = (hash ^ (hash >> 33)) * prime2;
	hash = (hash ^ (hash >> 29)) * prime3;
	return hash ^ (hash >> 32);
}

void iforest_page_seal(uint8_t *page, const struct iforest_page_header *header)
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
	iforest_store32(page + 4, (uint32_t)iforest_checksum64(page + 8, header->length - 8u));
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
	if (!is_checked && iforest_load32(page + 4) != (uint32_t)iforest_checksum64(page + 8, header->length - 8u))
		return IFOREST_CORRUPT;
	*what = "the page's format version is unknown";
	if (page[23] != IFOREST_PAGE_VERSION || header->flags > (header->level == 0 ? IFOREST_PAGE_REFS_ASCEND : 0))
		return IFOREST_FORMAT;
	return IFOREST_OK;
}

enum iforest_status iforest_page_check(const uint8_t *page, uint32_t n_bytes, uint64_t run_id, unsigned level,
				       uint32_t number, bool is_checked, struct iforest_page_header *header, const char **what)
{
	struct iforest_page_header read;
	enum iforest_status status;

	*what = "the page is cut short";
	if (n_bytes < IFOREST_PAGE_HEADER)
		return IFOREST_CORRUPT;
	read = (struct iforest_page_header){ .run_id = iforest_load64(page + 8), .number = iforest_load32(page + 16),
		.length = iforest_load16(page + 20), .level = page[22], .n_items = iforest_load16(page + 24),
		.n_entries = iforest_load16(page + 26), .n_dead = iforest_load16(page + 28),
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
