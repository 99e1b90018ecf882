#include "sqlite_ext/follow/tail_internal.h"

#include "core/page/node_slice.h"

static bool is_up_to(const struct iforest_tail *tail, uint64_t at, const struct iforest_key *last)
{
	return at < tail->n_removed && iforest_key_compare(&tail->removed[at], last) <= 0;
}

static enum iforest_verdict of_node(void *context, const uint8_t *node)
{
	const struct iforest_tail *tail = context;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return is_up_to(tail, iforest_key_search(tail->removed, tail->n_removed, &first), &last) ? IFOREST_SOME : IFOREST_ALL;
}

static uint64_t n_gone(void *context, const uint8_t *node)
{
	const struct iforest_tail *tail = context;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	uint64_t from = iforest_key_search(tail->removed, tail->n_removed, &first);
	uint64_t n = iforest_key_search(tail->removed + from, tail->n_removed - from, &last);

	return n + is_up_to(tail, from + n, &last); /* the last key's ref may be the greatest there is */
}

/* The entry of a block with times and refs unpacked that bears the key, or n. */
static unsigned find_entry(const struct iforest_block *block, const struct iforest_key *key)
{
	unsigned low = 0, high = block->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		bool is_before = block->time_is_null || block->times[middle] == key->time ? block->refs[middle] < key->ref :
											     block->times[middle] < key->time;

		if (is_before)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < block->n && block->refs[low] == key->ref && (block->time_is_null || block->times[low] == key->time))
		return low;
	return block->n;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct iforest_tail *tail = context;
	struct iforest_key first = iforest_leaf_block(reader->leaf, reader->number).first;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t at = iforest_key_search(tail->removed, tail->n_removed, &first); at < tail->n_removed && !status; at++) {
		const struct iforest_key *key = &tail->removed[at];
		const struct iforest_block *block = &reader->block;
		unsigned entry;

		if (key->series != block->series || key->time_is_null != block->time_is_null)
			break;
		if (!block->time_is_null)
			status = iforest_block_need(reader, IFOREST_TIMES);
		if (status || (!block->time_is_null && key->time > block->times[block->n - 1]))
			break;
		status = iforest_block_need(reader, IFOREST_REFS);
		if (status || (block->time_is_null && key->ref > block->refs[block->n - 1]))
			break;
		entry = find_entry(block, key);
		if (entry < block->n)
			*live &= ~(UINT64_C(1) << entry);
	}
	return status;
}

void iforest_tail_filter_init(struct iforest_tail *tail)
{
	tail->filter = (struct iforest_filter){ .context = tail, .of_node = of_node, .of_entries = of_entries,
						.remainders = &tail->remainders, .n_gone = n_gone };
}
