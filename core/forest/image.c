#include "core/forest/image.h"

#include "core/base/bits.h"
#include "core/forest/slots.h"
#include "core/base/xxh64.h"

#define MAGIC UINT64_C(0x747365726f664649) /* "IFforest" */

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304 };

struct header {
	uint64_t magic;
	uint32_t version, byte_order;
	uint64_t state_bytes, n_leaves, n_entries, block_entries, kind, slots_checksum, times_checksum, has_times;
	uint64_t checksum; /* of everything before it */
};

static uint64_t name_checksum(const struct iforest_monoid *kind)
{
	return iforest_xxh64((const uint8_t *)kind->name, strlen(kind->name));
}

static uint64_t header_checksum(const struct header *header)
{
	return iforest_xxh64((const uint8_t *)header, offsetof(struct header, checksum));
}

/* True if the bytes between two parts are zeros. */
static bool are_zeros(const uint8_t *bytes, uint64_t n_bytes)
{
	for (uint64_t i = 0; i < n_bytes; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Returns the hash of bytes, which may be none. */
static uint64_t checksum_of(const uint8_t *bytes, uint64_t n_bytes)
{
	return iforest_xxh64(n_bytes ? bytes : (const uint8_t *)"", n_bytes);
}

/* ---- Writing ---- */

/* Clears incomplete slots: at most one a level. */
static void clear_incomplete(struct iforest_forest *forest)
{
	uint64_t n = forest->n_leaves;

	for (unsigned level = 1; level < 64 && n >> (level - 1) > 0; level++) {
		uint64_t slot = iforest_slot(level, n >> level);

		if (slot < 2 * n - 1)
			memset(forest->slots.bytes + slot * forest->kind->state_bytes, 0, forest->kind->state_bytes);
	}
}

/* Returns the offset of the times after the slots. */
static uint64_t times_offset(uint64_t n_slot_bytes)
{
	return (n_slot_bytes + 7) & ~UINT64_C(7);
}

static enum iforest_status save(struct iforest_forest *forest, struct header *header, const uint8_t *times,
				iforest_write_bytes *write, void *context)
{
	uint8_t bytes[IFOREST_IMAGE_SLOTS] = { 0 }, zeros[8] = { 0 };
	uint64_t n_slot_bytes = iforest_forest_bytes(forest->kind, forest->n_leaves);
	uint64_t n_time_bytes = times ? forest->n_leaves * sizeof(int64_t) : 0;
	enum iforest_status status;

	if (!forest->is_mapped)
		clear_incomplete(forest);
	header->magic = MAGIC;
	header->version = VERSION;
	header->byte_order = BYTE_ORDER_MARK;
	header->state_bytes = forest->kind->state_bytes;
	header->n_leaves = forest->n_leaves;
	header->kind = name_checksum(forest->kind);
	header->slots_checksum = checksum_of(forest->slots.bytes, n_slot_bytes);
	header->times_checksum = checksum_of(times, n_time_bytes);
	header->checksum = header_checksum(header);
	memcpy(bytes, header, sizeof *header);
	status = write(context, bytes, sizeof bytes);
	if (!status && n_slot_bytes > 0)
		status = write(context, forest->slots.bytes, n_slot_bytes);
	if (!status && n_time_bytes > 0 && times_offset(n_slot_bytes) > n_slot_bytes)
		status = write(context, zeros, times_offset(n_slot_bytes) - n_slot_bytes);
	return status || n_time_bytes == 0 ? status : write(context, times, n_time_bytes);
}

enum iforest_status iforest_forest_save(struct iforest_forest *forest, iforest_write_bytes *write, void *context)
{
	struct header header = { .n_entries = forest->n_leaves, .block_entries = 1 };

	return save(forest, &header, NULL, write, context);
}

enum iforest_status iforest_block_forest_save(struct iforest_block_forest *blocks, iforest_write_bytes *write, void *context)
{
	struct header header = { .n_entries = blocks->n_entries,
				 .block_entries = UINT64_C(1) << blocks->block_level,
				 .has_times = blocks->has_times };

	return save(&blocks->forest, &header, blocks->has_times ? blocks->times.bytes : NULL, write, context);
}

/* ---- Reading ---- */

static enum iforest_status check_header(const struct header *header, const struct iforest_monoid *kind)
{
	if (header->magic != MAGIC)
		return IFOREST_CORRUPT;
	if (header->version != VERSION || header->byte_order != BYTE_ORDER_MARK)
		return IFOREST_FORMAT;
	if (header->checksum != header_checksum(header))
		return IFOREST_CORRUPT;
	return header->state_bytes != kind->state_bytes || header->kind != name_checksum(kind) ? IFOREST_FORMAT : IFOREST_OK;
}

/* Checks the parts after the header, which have n_bytes. */
static enum iforest_status check_parts(const struct header *header, const struct iforest_monoid *kind, const uint8_t *slots,
				       uint64_t n_bytes, bool all)
{
	uint64_t n_slot_bytes, n_time_bytes, offset;

	if (header->n_leaves > (n_bytes / kind->state_bytes + 1) / 2)
		return IFOREST_CORRUPT;
	n_slot_bytes = iforest_forest_bytes(kind, header->n_leaves);
	n_time_bytes = header->has_times ? header->n_leaves * sizeof(int64_t) : 0;
	offset = n_time_bytes ? times_offset(n_slot_bytes) : n_slot_bytes;
	if (n_bytes < offset || n_bytes - offset < n_time_bytes || !are_zeros(slots + n_slot_bytes, offset - n_slot_bytes))
		return IFOREST_CORRUPT;
	if (all && (header->slots_checksum != checksum_of(slots, n_slot_bytes) ||
		    header->times_checksum != checksum_of(slots + offset, n_time_bytes)))
		return IFOREST_CORRUPT;
	return IFOREST_OK;
}

static enum iforest_status open_image(struct iforest_forest *forest, const struct iforest_monoid *kind, const void *bytes,
				      uint64_t n_bytes, bool all, struct header *header)
{
	const uint8_t *slots = (const uint8_t *)bytes + IFOREST_IMAGE_SLOTS;
	enum iforest_status status;

	if ((uintptr_t)bytes % 16)
		return IFOREST_ARGUMENT;
	if (n_bytes < IFOREST_IMAGE_SLOTS)
		return IFOREST_CORRUPT;
	memcpy(header, bytes, sizeof *header);
	status = check_header(header, kind);
	if (!status && !are_zeros((const uint8_t *)bytes + sizeof *header, IFOREST_IMAGE_SLOTS - sizeof *header))
		status = IFOREST_CORRUPT;
	if (!status)
		status = check_parts(header, kind, slots, n_bytes - IFOREST_IMAGE_SLOTS, all);
	if (!status) {
		*forest = (struct iforest_forest){ .kind = kind, .n_leaves = header->n_leaves, .is_mapped = true };
		forest->slots.bytes = (uint8_t *)(uintptr_t)slots;
	}
	return status;
}

enum iforest_status iforest_forest_open(struct iforest_forest *forest, const struct iforest_monoid *kind, const void *bytes,
					uint64_t n_bytes, bool all)
{
	struct iforest_forest opened;
	struct header header;
	enum iforest_status status = open_image(&opened, kind, bytes, n_bytes, all, &header);

	if (!status && (header.block_entries != 1 || header.n_entries != header.n_leaves || header.has_times))
		status = IFOREST_FORMAT;
	if (!status)
		*forest = opened;
	return status;
}

enum iforest_status iforest_block_forest_open(struct iforest_block_forest *blocks, const struct iforest_monoid *kind,
					      const struct iforest_entries *entries, const void *bytes, uint64_t n_bytes,
					      bool all)
{
	struct iforest_forest opened;
	struct header header;
	unsigned level;
	enum iforest_status status = open_image(&opened, kind, bytes, n_bytes, all, &header);

	if (status)
		return status;
	if (header.block_entries == 0 || header.block_entries & (header.block_entries - 1) || header.has_times > 1)
		return IFOREST_CORRUPT;
	if (!iforest_monoid_fits(kind))
		return IFOREST_ARGUMENT;
	level = iforest_trailing_zeros(header.block_entries);
	if (header.n_entries >> level != header.n_leaves)
		return IFOREST_CORRUPT;
	if (header.has_times != iforest_entries_have_times(entries))
		return IFOREST_FORMAT;
	*blocks = (struct iforest_block_forest){ .forest = opened,
						 .entries = *entries,
						 .n_entries = header.n_entries,
						 .block_level = level,
						 .has_times = header.has_times };
	if (blocks->has_times)
		blocks->times.bytes = opened.slots.bytes + times_offset(iforest_forest_bytes(kind, opened.n_leaves));
	return IFOREST_OK;
}
