#include "tests/fuzz/pg_damage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/pg_checksum.h"
#include "tests/sqlite/xxh64.h"

enum {
	CONTENT = 24, CONTENT_END = 8176, CONTENT_BYTES = CONTENT_END - CONTENT, /* bytes of a block, as FORMAT.md has them */
	OWNER = CONTENT_END, NEXT = CONTENT_END + 4, LAST = CONTENT_END + 8, KIND = CONTENT_END + 12,
	FLAGS = CONTENT_END + 13, IS_SUMMED = 2, SUM = CONTENT_END - 8,
	KIND_META = 1, KIND_MANIFEST = 2, KIND_SPACE = 3, KIND_SERIES = 4, KIND_PENDING = 5, KIND_RUN = 6, KIND_SKETCH = 7, N_KINDS = 8,
	SKETCH_HEADER = 24, SKETCH_DATA = CONTENT_BYTES - SKETCH_HEADER, MOST_SKETCH_PAGES = 8
};

static const char *const kind_names[N_KINDS] = { "unused", "meta", "manifest", "space", "series", "pending", "run", "sketch" };

/* ---- numbers on pages ---- */

static uint64_t read_number(const uint8_t *at, unsigned n_bytes)
{
	uint64_t number = 0;

	while (n_bytes-- > 0)
		number = number << 8 | at[n_bytes];
	return number;
}

static void write_number(uint8_t *at, unsigned n_bytes, uint64_t number)
{
	for (unsigned i = 0; i < n_bytes; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

static uint8_t *block_at(struct damage_file *file, uint32_t block)
{
	return file->bytes + (size_t)block * DAMAGE_BLOCK_BYTES;
}

static uint32_t blocks_of(const struct damage_file *file)
{
	return (uint32_t)(file->n_bytes / DAMAGE_BLOCK_BYTES);
}

static unsigned kind_of(const struct damage_file *file, uint32_t block)
{
	unsigned kind = file->bytes[(size_t)block * DAMAGE_BLOCK_BYTES + KIND];

	return kind < N_KINDS ? kind : 0;
}

unsigned damage_kinds(const struct damage_file *file)
{
	unsigned kinds = 0;

	for (uint32_t block = 0; block < blocks_of(file); block++)
		kinds |= 1u << kind_of(file, block);
	return kinds;
}

static void tell(struct damage *damage, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(struct damage *damage, const char *format, ...)
{
	size_t n = strlen(damage->words);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(damage->words + n, sizeof damage->words - n, format, arguments);
	va_end(arguments);
}

/* Each kind of page is as likely as the others, however many there are. */
static uint32_t pick_block(const struct damage_file *file, struct random *dice)
{
	unsigned kinds = damage_kinds(file) & ~1u, kind;
	uint32_t block;

	do
		kind = (unsigned)random_below(dice, N_KINDS);
	while (!(kinds >> kind & 1));
	do
		block = (uint32_t)random_below(dice, blocks_of(file));
	while (kind_of(file, block) != kind);
	return block;
}

/* ---- checksums made right ---- */

static void seal(uint8_t *bytes, size_t length, size_t most)
{
	if (length >= 8 && length <= most)
		write_number(bytes + 4, 4, xxh64(bytes + 8, length - 8));
}

/* The blocks that a sketch page's stream is on, in order. */
static unsigned stream_blocks(const struct damage_file *file, uint64_t owner, uint32_t *blocks)
{
	unsigned n = 0;

	for (uint32_t next = 0; next < DAMAGE_MOST_BLOCKS; next++)
		for (uint32_t block = 0; block < blocks_of(file) && n < MOST_SKETCH_PAGES; block++) {
			const uint8_t *page = file->bytes + (size_t)block * DAMAGE_BLOCK_BYTES;

			if (page[KIND] == KIND_SKETCH && read_number(page + OWNER, 4) == owner &&
			    read_number(page + NEXT, 4) == next)
				blocks[n++] = block;
		}
	return n;
}

static void seal_stream(uint8_t *stream, size_t n_bytes)
{
	uint64_t n = read_number(stream + 8, 4), list_bytes = 16 + 24 * n;

	seal(stream, list_bytes, n_bytes);
	for (uint64_t i = 0; i < n && list_bytes <= n_bytes; i++) {
		const uint8_t *entry = stream + 16 + 24 * i;
		uint64_t offset = read_number(entry + 12, 4), length = read_number(entry + 16, 4);

		if (offset >= list_bytes && offset < n_bytes)
			seal(stream + offset, length, n_bytes - offset);
	}
	/* a sketch may be damaged so that it lies in the list, and the list is read first */
	seal(stream, list_bytes, n_bytes);
}

static void seal_sketches(struct damage_file *file, uint32_t block)
{
	static uint8_t stream[MOST_SKETCH_PAGES * SKETCH_DATA];
	uint32_t blocks[MOST_SKETCH_PAGES];
	unsigned n = stream_blocks(file, read_number(block_at(file, block) + OWNER, 4), blocks);

	for (unsigned i = 0; i < n; i++)
		memcpy(stream + i * SKETCH_DATA, block_at(file, blocks[i]) + CONTENT + SKETCH_HEADER, SKETCH_DATA);
	seal_stream(stream, n * SKETCH_DATA);
	for (unsigned i = 0; i < n; i++)
		memcpy(block_at(file, blocks[i]) + CONTENT + SKETCH_HEADER, stream + i * SKETCH_DATA, SKETCH_DATA);
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9E3779B185EBCA87);
	return sum ^ sum >> 32;
}

static uint32_t take_up(uint32_t checksum, const uint8_t *part, unsigned n_bytes)
{
	uint64_t sum = checksum;

	for (unsigned at = 0; at < n_bytes; at += 8)
		sum = mix(sum, read_number(part + at, n_bytes - at < 8 ? n_bytes - at : 8));
	return (uint32_t)sum;
}

/* The length of what was appended at `at`, of n_bytes in all. */
static unsigned part_bytes(unsigned kind, const uint8_t *content, unsigned at, unsigned n_bytes)
{
	unsigned length = n_bytes - at;

	if (kind == KIND_SERIES && n_bytes - at >= 2)
		length = 2 + (unsigned)read_number(content + at, 2);
	return length < n_bytes - at ? length : n_bytes - at;
}

/* What is summed up on meta and space pages is all of them. */
static void seal_sum(struct damage_file *file, uint32_t block, unsigned kind)
{
	uint8_t *page = block_at(file, block);
	unsigned n_bytes = (unsigned)read_number(page + SUM + 4, 2);
	uint32_t checksum;

	if (kind == KIND_META || kind == KIND_SPACE)
		n_bytes = (unsigned)read_number(page + 12, 2) - CONTENT;
	if (!(page[FLAGS] & IS_SUMMED) || n_bytes > SUM - CONTENT)
		return;
	write_number(page + SUM + 4, 2, n_bytes);
	checksum = (uint32_t)mix(mix(0, read_number(page + OWNER, 4) | read_number(page + LAST, 4) << 32), block);
	for (unsigned at = 0, length; at < n_bytes; at += length) {
		length = part_bytes(kind, page + CONTENT, at, n_bytes);
		checksum = take_up(checksum, page + CONTENT + at, length);
	}
	if (read_number(page + SUM + 6, 2) == 1)
		checksum = (uint32_t)mix(checksum, read_number(page + NEXT, 4));
	write_number(page + SUM, 4, checksum);
}

/* The length of a packed entry without its check. */
static unsigned packed_bytes(const uint8_t *entry, unsigned n_values, unsigned most)
{
	unsigned n = 0, lengths;

	for (unsigned number = 0; number < 3 && n < most; number++)
		while (n < most && entry[n++] & 0x80) {
		}
	lengths = n;
	n += n_values / 2 + 1;
	for (unsigned i = 0; i <= n_values && lengths + i / 2 < most; i++)
		n += (entry[lengths + i / 2] >> i % 2 * 4 & 15) % 15;
	return n;
}

static void seal_packed(struct damage_file *file, uint32_t block)
{
	uint8_t *page = block_at(file, block), *content = page + CONTENT;
	uint32_t check = (uint32_t)mix(mix(0, read_number(page + OWNER, 4) | read_number(page + LAST, 4) << 32), block);

	for (unsigned at = 0, n; at < CONTENT_BYTES && content[at] != 0; at += n + 2) {
		n = packed_bytes(content + at, file->n_values, CONTENT_BYTES - at);
		if (at + n + 2 > CONTENT_BYTES)
			return;
		check = take_up(check & 0xffff, content + at, n);
		check ^= check >> 16;
		write_number(content + at + n, 2, check);
	}
}

/* Makes the index's own checksum on the page right, whatever kind of page it was. */
static void forge(struct damage_file *file, uint32_t block, unsigned kind)
{
	uint8_t *content = block_at(file, block) + CONTENT;

	if (kind == KIND_RUN)
		seal(content, read_number(content + 20, 2), CONTENT_BYTES);
	else if (kind == KIND_MANIFEST)
		seal(content, read_number(content + 12, 4), CONTENT_BYTES);
	else if (kind == KIND_PENDING)
		seal_packed(file, block);
	else if (kind == KIND_META || kind == KIND_SPACE || kind == KIND_SERIES)
		seal_sum(file, block, kind);
	else if (kind == KIND_SKETCH)
		seal_sketches(file, block);
}

/* A page of zeros is a new page, which has no checksum. */
static bool is_zero(const uint8_t *page)
{
	return page[0] == 0 && memcmp(page, page + 1, DAMAGE_BLOCK_BYTES - 1) == 0;
}

static void make_checksums_right(struct damage_file *file)
{
	for (uint32_t block = 0; block < blocks_of(file); block++)
		if (!is_zero(block_at(file, block)))
			write_number(block_at(file, block) + 8, 2, pg_checksum(block_at(file, block), block));
}

/* ---- damage to bytes ---- */

/* A place on a page: where something is in use, more often than elsewhere. */
static unsigned pick_offset(const uint8_t *page, struct random *dice)
{
	unsigned used = (unsigned)read_number(page + 12, 2), area = (unsigned)random_below(dice, 100);

	if (used <= CONTENT || used > CONTENT_END)
		used = CONTENT_END;
	if (area < 40)
		return CONTENT + (unsigned)random_below(dice, used - CONTENT);
	if (area < 65) /* headers, directories and first entries */
		return CONTENT + (unsigned)random_below(dice, used - CONTENT < 128 ? used - CONTENT : 128);
	if (area < 80)
		return CONTENT_END + (unsigned)random_below(dice, DAMAGE_BLOCK_BYTES - CONTENT_END);
	return (unsigned)random_below(dice, area < 90 ? CONTENT : DAMAGE_BLOCK_BYTES);
}

/* A number that tests bounds, in the place of another. */
static uint64_t odd_number(uint64_t was, uint32_t n_blocks, unsigned n_bytes, struct random *dice)
{
	uint64_t most = n_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * n_bytes) - 1;

	switch (random_below(dice, 10)) {
	case 0: return 0;
	case 1: return most;
	case 2: return most / 2;
	case 3: return most / 2 + 1;
	case 4: return n_blocks + random_below(dice, 3) - 1;
	case 5: return random_below(dice, n_blocks);
	case 6: return was + 1;
	case 7: return was - 1;
	case 8: return was + random_below(dice, UINT64_C(1) << random_below(dice, 31));
	default: return random_next(dice) >> random_below(dice, 64);
	}
}

static void damage_number(struct damage *damage, uint8_t *page, uint32_t n_blocks, struct random *dice)
{
	unsigned n_bytes = 2u << random_below(dice, 3), offset = pick_offset(page, dice) / n_bytes * n_bytes;
	uint64_t was = read_number(page + offset, n_bytes), number = odd_number(was, n_blocks, n_bytes, dice);

	write_number(page + offset, n_bytes, number);
	tell(damage, " offset %u u%u %llu for %llu,", offset, 8 * n_bytes, (unsigned long long)read_number(page + offset, n_bytes),
	     (unsigned long long)was);
}

static void damage_stretch(struct damage *damage, uint8_t *page, struct random *dice)
{
	unsigned offset = pick_offset(page, dice), n = 1 + (unsigned)random_below(dice, 200), how = (unsigned)random_below(dice, 4);
	unsigned from = (unsigned)random_below(dice, DAMAGE_BLOCK_BYTES - 200);

	if (n > DAMAGE_BLOCK_BYTES - offset)
		n = DAMAGE_BLOCK_BYTES - offset;
	for (unsigned i = 0; i < n; i++)
		page[offset + i] = how == 0 ? 0 : how == 1 ? 0xff : how == 2 ? page[from + i] : (uint8_t)random_next(dice);
	tell(damage, " offset %u %u bytes %s,", offset, n,
	     how == 0 ? "zeroed" : how == 1 ? "of 0xff" : how == 2 ? "from elsewhere on the page" : "of noise");
}

static void damage_bytes(struct damage *damage, struct damage_file *file, uint32_t block, struct random *dice)
{
	unsigned n = random_chance(dice, 70) ? 1 : 2 + (unsigned)random_below(dice, 3);
	uint8_t *page = block_at(file, block);

	tell(damage, "block %u (%s)", block, damage->kind);
	while (n-- > 0) {
		unsigned what = (unsigned)random_below(dice, 100), offset;

		if (what < 45) {
			damage_number(damage, page, blocks_of(file), dice);
		} else if (what < 60) {
			damage_stretch(damage, page, dice);
		} else {
			offset = pick_offset(page, dice);
			page[offset] = what < 80 ? (uint8_t)(page[offset] ^ 1u << random_below(dice, 8)) : (uint8_t)random_next(dice);
			tell(damage, " offset %u byte 0x%02x,", offset, page[offset]);
		}
	}
}

/* ---- damage to pages ---- */

static void swap_pages(uint8_t *a, uint8_t *b)
{
	static uint8_t kept[DAMAGE_BLOCK_BYTES];

	memcpy(kept, a, sizeof kept);
	memcpy(a, b, sizeof kept);
	memcpy(b, kept, sizeof kept);
}

static void cut_file(struct damage *damage, struct damage_file *file, struct random *dice)
{
	size_t n_blocks = random_below(dice, blocks_of(file)), n_more = random_chance(dice, 70) ? 0 : random_below(dice, 8192);

	file->n_bytes = n_blocks * DAMAGE_BLOCK_BYTES + n_more;
	tell(damage, "cut to %zu bytes", file->n_bytes);
}

static void extend_file(struct damage *damage, struct damage_file *file, struct random *dice)
{
	uint32_t n_blocks = blocks_of(file), n = 1 + (uint32_t)random_below(dice, random_chance(dice, 80) ? 4 : 100);
	unsigned how = (unsigned)random_below(dice, 3);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *page = block_at(file, n_blocks + i);

		memset(page, 0, DAMAGE_BLOCK_BYTES);
		if (how == 1)
			memcpy(page, block_at(file, (uint32_t)random_below(dice, n_blocks)), DAMAGE_BLOCK_BYTES);
		for (unsigned at = CONTENT; how == 2 && at < DAMAGE_BLOCK_BYTES; at++)
			page[at] = (uint8_t)random_next(dice);
		if (how == 2) /* a header that the server takes */
			memcpy(page, file->bytes, CONTENT);
	}
	file->n_bytes = (size_t)(n_blocks + n) * DAMAGE_BLOCK_BYTES;
	tell(damage, "%u pages more, %s", n, how == 0 ? "of zeros" : how == 1 ? "copies of others" : "of noise");
}

/* A page that is not what was written last: it, or its second half, is what was there before. */
static void lose_write(struct damage *damage, struct damage_file *file, const struct damage_file *earlier, uint32_t block,
		       struct random *dice)
{
	size_t start = random_chance(dice, 50) ? 0 : DAMAGE_BLOCK_BYTES / 2;

	damage->is_forged = true;
	if (block < blocks_of(earlier))
		memcpy(block_at(file, block) + start, earlier->bytes + (size_t)block * DAMAGE_BLOCK_BYTES + start,
		       DAMAGE_BLOCK_BYTES - start);
	tell(damage, "block %u (%s) as it was earlier, from byte %zu on", block, damage->kind, start);
}

static void damage_pages(struct damage *damage, struct damage_file *file, const struct damage_file *earlier, uint32_t block,
			 struct random *dice)
{
	uint32_t other = pick_block(file, dice);

	switch (random_below(dice, 6)) {
	case 0:
		memset(block_at(file, block), 0, DAMAGE_BLOCK_BYTES);
		tell(damage, "block %u (%s) zeroed", block, damage->kind);
		break;
	case 1:
		swap_pages(block_at(file, block), block_at(file, other));
		tell(damage, "blocks %u (%s) and %u swapped", block, damage->kind, other);
		break;
	case 2:
		memcpy(block_at(file, block), block_at(file, other), DAMAGE_BLOCK_BYTES);
		tell(damage, "block %u (%s) overwritten by block %u", block, damage->kind, other);
		break;
	case 3: lose_write(damage, file, earlier, block, dice); break;
	case 4: cut_file(damage, file, dice); break;
	default: extend_file(damage, file, dice); break;
	}
}

void damage_file(struct damage *damage, struct damage_file *file, const struct damage_file *earlier, bool has_checksums,
		 struct random *dice)
{
	uint32_t block = pick_block(file, dice);
	unsigned kind = kind_of(file, block), way = (unsigned)random_below(dice, 100);
	bool is_noticed = has_checksums && random_chance(dice, 5);

	*damage = (struct damage){ .kind = kind_names[kind], .is_forged = way >= 50 && way < 85 };
	if (way < 85)
		damage_bytes(damage, file, block, dice);
	else
		damage_pages(damage, file, earlier, block, dice);
	if (damage->is_forged && way < 85) {
		forge(file, block, kind);
		tell(damage, " forged");
	}
	if (has_checksums && !is_noticed)
		make_checksums_right(file);
	if (is_noticed)
		tell(damage, " PostgreSQL's checksum left wrong");
}
