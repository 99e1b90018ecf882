#include "pg_ext/storage/pending_entry.h"

enum { TIME_IS_NULL = 1 << 15, CHECK_BYTES = 2, ABSENT = 15 };

/* A TID, a series, lengths, a time, the values, a check; and what is touched behind a number of fewer than 8 bytes. */
enum { MOST_BYTES = 3 + 5 + 5 + IFOREST_MAX_VALUES / 2 + 1 + 8 + 8 * IFOREST_MAX_VALUES + CHECK_BYTES, SLACK = 8 };

static const struct iforest_key NONE = { 0 };
static const char IMPOSSIBLE[] = "It has an impossible entry.";
static const char WRONG_LENGTH[] = "The length of its entries is wrong.";
static const char WRONG_CHECK[] = "The checksum of its entries is wrong.";

/* ---- packed entries ----
 *
 * offset, series and block as varints; lengths in half bytes, of the time and of each value, ABSENT where there is none; the
 * time, the values; the check. */

static inline unsigned bytes_of(uint64 number)
{
	return number ? iforest_highest_bit(number) / 8 + 1 : 0;
}

static inline unsigned length_at(const uint8 *lengths, unsigned i)
{
	return lengths[i / 2] >> i % 2 * 4 & 15;
}

static inline unsigned n_length_bytes(unsigned n_values)
{
	return n_values / 2 + 1;
}

/* Writes the bytes of a number, lowest first, and their number. There must be room for eight. */
static inline uint8 *put_number(uint8 *out, uint8 *lengths, unsigned i, uint64 number)
{
	unsigned n = bytes_of(number);

	lengths[i / 2] |= (uint8)(n << i % 2 * 4);
	iforest_store64(out, number);
	return out + n;
}

static inline uint64 load_number(const uint8 *in, unsigned n)
{
	return iforest_load64(in) & iforest_low_bits(8 * n);
}

static uint8 *pack(const struct iforest_entry *entry, const struct iforest_key *first, unsigned n_values, uint8 *out)
{
	uint8 *lengths;

	out = iforest_varint_write(out, (uint64)entry->key.ref & 0xffff);
	out = iforest_varint_write(out, entry->key.series);
	out = iforest_varint_write(out, iforest_zigzag((entry->key.ref >> 16) - (first->ref >> 16)));
	lengths = out;
	out += n_length_bytes(n_values);
	memset(lengths, 0, n_length_bytes(n_values));
	if (entry->key.time_is_null)
		lengths[0] = ABSENT;
	else
		out = put_number(out, lengths, 0, iforest_zigzag((int64)((uint64)entry->key.time - (uint64)first->time)));
	for (unsigned v = 0; v < n_values; v++)
		if (entry->present & 1u << v)
			out = put_number(out, lengths, 1 + v, iforest_zigzag(entry->values[v].integer));
		else
			lengths[(1 + v) / 2] |= (uint8)(ABSENT << (1 + v) % 2 * 4);
	return out;
}

/* What an entry has before its lengths. */
struct head {
	uint64 offset, series, block;
};

/* Returns where an entry's lengths are; NULL if it is none.
 * The common head of fewer than 8 bytes is taken from one word: the next entry is not found before this one's lengths are. */
static inline const uint8 *unpack_head(const uint8 *in, const uint8 *end, struct head *head)
{
	uint64 word = iforest_load64(in), first = ~word & UINT64CONST(0x8080808080808080), second = first & (first - 1),
	       third = second & (second - 1);

	if (third) {
		uint64 of_first = first ^ (first - 1), of_second = second ^ (second - 1);
		unsigned n_first = iforest_trailing_zeros(first) + 1, n_second = iforest_trailing_zeros(second) + 1;

		head->offset = iforest_varint_number(word & of_first);
		head->series = iforest_varint_number((word & of_second) >> n_first);
		head->block = iforest_varint_number((word & (third ^ (third - 1))) >> n_second);
		return in + iforest_trailing_zeros(third) / 8 + 1;
	}
	in = iforest_varint_read(in, end, &head->offset);
	in = in ? iforest_varint_read(in, end, &head->series) : NULL;
	return in ? iforest_varint_read(in, end, &head->block) : NULL;
}

/* Returns where an entry's lengths are, and its key, whose time is that of the lengths; NULL if it is none. */
static inline const uint8 *unpack_key(const uint8 *in, const uint8 *end, const struct iforest_key *first, unsigned n_values,
				      struct iforest_key *key)
{
	struct head head;
	uint64 block;
	unsigned n;

	in = unpack_head(in, end, &head);
	if (!in || in >= end)
		return NULL;
	block = (uint64)(first->ref >> 16) + (uint64)iforest_unzigzag(head.block);
	if (head.offset - 1 >= PG_UINT16_MAX || head.series > PG_UINT32_MAX || block > PG_UINT32_MAX)
		return NULL;
	key->series = head.series;
	key->ref = (int64)(block << 16 | head.offset);
	n = length_at(in, 0);
	key->time_is_null = n == ABSENT;
	key->time = 0;
	if (!key->time_is_null)
		key->time =
			(int64)((uint64)first->time + (uint64)iforest_unzigzag(load_number(in + n_length_bytes(n_values), n)));
	return in;
}

/* The bytes that two lengths ask for; IMPOSSIBLE_BYTES, more than all values have, if one of them is none. */
enum { IMPOSSIBLE_BYTES = 128 };

#define IS_LENGTH(n) ((n) <= 8 || (n) == ABSENT)
#define BYTES_OF(n) ((n) == ABSENT ? 0 : (n))
#define OF_LOW(high, n) (uint8)(IS_LENGTH(high) && IS_LENGTH(n) ? BYTES_OF(high) + BYTES_OF(n) : IMPOSSIBLE_BYTES)
#define OF_HIGH(n)                                                                                                      \
	OF_LOW(n, 0), OF_LOW(n, 1), OF_LOW(n, 2), OF_LOW(n, 3), OF_LOW(n, 4), OF_LOW(n, 5), OF_LOW(n, 6), OF_LOW(n, 7), \
		OF_LOW(n, 8), OF_LOW(n, 9), OF_LOW(n, 10), OF_LOW(n, 11), OF_LOW(n, 12), OF_LOW(n, 13), OF_LOW(n, 14),  \
		OF_LOW(n, 15)

static const uint8 bytes_of_lengths[256] = { OF_HIGH(0),  OF_HIGH(1),  OF_HIGH(2),  OF_HIGH(3), OF_HIGH(4),  OF_HIGH(5),
					     OF_HIGH(6),  OF_HIGH(7),  OF_HIGH(8),  OF_HIGH(9), OF_HIGH(10), OF_HIGH(11),
					     OF_HIGH(12), OF_HIGH(13), OF_HIGH(14), OF_HIGH(15) };

/* Returns the end of an entry, behind its check, by its lengths; NULL if it is none. */
static inline const uint8 *end_of_entry(const uint8 *lengths, const uint8 *end, unsigned n_values)
{
	const uint8 *at = lengths + n_length_bytes(n_values) + CHECK_BYTES;
	unsigned last = n_values / 2, n_bytes = bytes_of_lengths[n_values % 2 ? lengths[last] : lengths[last] & 15];

	for (unsigned i = 0; i < last; i++)
		n_bytes += bytes_of_lengths[lengths[i]];
	at += n_bytes;
	return n_bytes < IMPOSSIBLE_BYTES && at <= end ? at : NULL;
}

static uint16 check_of(uint16 before, const uint8 *bytes, uint16 n_bytes)
{
	struct ifp_sum sum = { .checksum = before };

	ifp_sum_up(&sum, bytes, n_bytes);
	return (uint16)(sum.checksum ^ sum.checksum >> 16);
}

/* The check before the first entry. */
static uint16 first_check(const struct ifp_special *special, BlockNumber block)
{
	return (uint16)ifp_sum_begin(special, block).checksum;
}

/* Returns the end of the entry at `in`, and its key; NULL if it is none. */
static const uint8 *read_entry_end(const uint8 *in, const uint8 *end, const struct iforest_key *first, unsigned n_values,
				   struct iforest_key *key)
{
	const uint8 *lengths = unpack_key(in, end, first, n_values, key);

	return lengths ? end_of_entry(lengths, end, n_values) : NULL;
}

bool ifp_pending_page_append(Relation index, Buffer buffer, unsigned n_values, const struct iforest_entry *entry, uint32 *end)
{
	Page page = BufferGetPage(buffer);
	const uint8 *content = ifp_content(page), *content_end = content + ifp_content_room(page), *at = content + *end;
	struct iforest_key first = NONE, key;
	uint8 bytes[MOST_BYTES + SLACK], *out;
	uint16 check = first_check(ifp_special(page), BufferGetBlockNumber(buffer)), n_bytes;

	if (*content != 0 && !read_entry_end(content, content_end, &NONE, n_values, &first))
		ifp_page_wrong(index, BufferGetBlockNumber(buffer), IMPOSSIBLE);
	while (at < content_end && *at != 0) {
		at = read_entry_end(at, content_end, at == content ? &NONE : &first, n_values, &key);
		if (!at)
			ifp_page_wrong(index, BufferGetBlockNumber(buffer), IMPOSSIBLE);
	}
	*end = (uint32)(at - content);
	if (*end > 0)
		check = iforest_load16(at - CHECK_BYTES);
	out = pack(entry, &first, n_values, bytes);
	n_bytes = (uint16)(out + CHECK_BYTES - bytes);
	if (*end + n_bytes > ifp_content_room(page))
		return false;
	iforest_store16(out, check_of(check, bytes, (uint16)(n_bytes - CHECK_BYTES)));
	ifp_page_write(index, buffer, *end, bytes, n_bytes);
	*end += n_bytes;
	return true;
}

/* ---- entries of one length ---- */

#define FIXED(bytes, field) ((bytes) + offsetof(struct ifp_fixed_entry, field))

static uint32 fixed_bytes(unsigned n_values)
{
	return (uint32)(offsetof(struct ifp_fixed_entry, value) + 8 * n_values);
}

/* True if the constant bits of an entry are right. */
static bool is_fixed_entry(const uint8 *bytes, unsigned n_values)
{
	return iforest_load16(FIXED(bytes, offset)) != 0 && iforest_load32(FIXED(bytes, zero)) == 0 &&
	       (iforest_load16(FIXED(bytes, flags)) & ~(TIME_IS_NULL | ((1u << n_values) - 1))) == 0;
}

static void read_fixed_key(const uint8 *bytes, struct iforest_key *key)
{
	key->series = iforest_load32(FIXED(bytes, series));
	key->time_is_null = (iforest_load16(FIXED(bytes, flags)) & TIME_IS_NULL) != 0;
	key->time = (int64_t)iforest_load64(FIXED(bytes, time));
	key->ref = (int64_t)iforest_load32(FIXED(bytes, block)) << 16 | iforest_load16(FIXED(bytes, offset));
}

static void read_fixed_values(const uint8 *bytes, unsigned n_values, struct iforest_entry *entry)
{
	entry->present = iforest_load16(FIXED(bytes, flags)) & ((1u << n_values) - 1);
	for (unsigned v = 0; v < n_values; v++)
		entry->values[v].integer = (int64_t)iforest_load64(FIXED(bytes, value) + 8 * v);
}

/* ---- pages ---- */

void ifp_pending_page_copy(struct ifp_pending_page *copy, unsigned n_values, Page page)
{
	copy->n_values = n_values;
	copy->n_entries = 0;
	copy->n_used = ifp_content_used(page);
	copy->special = *ifp_special(page);
	copy->sum = *ifp_sum(page);
	copy->lsn = PageGetLSN(page);
	memcpy(copy->content, ifp_content(page), IFP_CONTENT_BYTES);
}

static bool are_zeros(const uint8 *at, const uint8 *end)
{
	while (end - at >= 8 && iforest_load64(at) == 0)
		at += 8;
	while (at < end && *at == 0)
		at++;
	return at == end;
}

static const char *open_packed(struct ifp_pending_page *page, BlockNumber block, bool is_verified)
{
	const uint8 *content = page->content, *end = content + page->n_used, *at = content;
	uint16 check = first_check(&page->special, block);

	/* all of it is content once an entry was appended */
	if (page->n_used != IFP_CONTENT_BYTES && (page->n_used != 0 || !are_zeros(at, content + IFP_CONTENT_BYTES)))
		return WRONG_LENGTH;
	while (at < end && *at != 0) {
		struct iforest_key *key = &page->keys[page->n_entries];
		const uint8 *lengths = unpack_key(at, end, page->n_entries == 0 ? &NONE : &page->keys[0], page->n_values, key),
			    *next = lengths ? end_of_entry(lengths, end, page->n_values) : NULL;

		if (!next)
			return IMPOSSIBLE;
		if (!is_verified) {
			check = check_of(check, at, (uint16)(next - CHECK_BYTES - at));
			if (check != iforest_load16(next - CHECK_BYTES))
				return WRONG_CHECK;
		}
		page->at[page->n_entries++] = (uint16)(lengths - content);
		at = next;
	}
	return are_zeros(at, end) ? NULL : IMPOSSIBLE;
}

static const char *open_fixed(struct ifp_pending_page *page, BlockNumber block, bool is_verified)
{
	uint32 n_bytes = fixed_bytes(page->n_values);
	bool has_sum = !is_verified && page->special.flags & IFP_PAGE_SUMMED;
	struct ifp_sum found = ifp_sum_begin(&page->special, block);

	if (page->n_used % n_bytes != 0 || (has_sum && (page->sum.n_bytes > page->n_used || page->sum.n_bytes % n_bytes != 0)))
		return WRONG_LENGTH;
	for (uint32 at = 0; at < page->n_used; at += n_bytes) {
		if (!is_fixed_entry(page->content + at, page->n_values))
			return IMPOSSIBLE;
		if (has_sum && at < page->sum.n_bytes)
			ifp_sum_up(&found, page->content + at, (uint16)n_bytes);
		read_fixed_key(page->content + at, &page->keys[page->n_entries]);
		page->at[page->n_entries++] = (uint16)at;
	}
	return has_sum && found.checksum != page->sum.checksum ? WRONG_CHECK : NULL;
}

const char *ifp_pending_page_open(struct ifp_pending_page *page, BlockNumber block, bool is_verified)
{
	page->is_packed = page->special.flags & IFP_PAGE_PACKED;
	return page->is_packed ? open_packed(page, block, is_verified) : open_fixed(page, block, is_verified);
}

void ifp_pending_page_entry(const struct ifp_pending_page *page, uint32 i, struct iforest_entry *entry)
{
	const uint8 *lengths = page->content + page->at[i], *at = lengths + n_length_bytes(page->n_values);

	entry->key = page->keys[i];
	if (!page->is_packed) {
		read_fixed_values(lengths, page->n_values, entry);
		return;
	}
	entry->present = 0;
	if (!entry->key.time_is_null)
		at += length_at(lengths, 0);
	for (unsigned v = 0; v < page->n_values; v++) {
		unsigned n = length_at(lengths, 1 + v);

		entry->values[v].integer = 0;
		if (n == ABSENT)
			continue;
		entry->present |= 1u << v;
		entry->values[v].integer = iforest_unzigzag(load_number(at, n));
		at += n;
	}
}
