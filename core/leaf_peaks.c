#include "core/leaf_peaks.h"

enum { UNKNOWN, BEING_MADE, THERE, NONE };

unsigned iforest_peaks_value(const struct iforest_fields *fields)
{
	if (fields->duration_value != IFOREST_NO_VALUE)
		return fields->end_rule == IFOREST_END_DURATION ? fields->duration_value : IFOREST_NO_VALUE;
	return fields->n_values > 0 && fields->kinds[0] == IFOREST_INT64 ? 0 : IFOREST_NO_VALUE;
}

static int64_t latest_end_of(const struct iforest_block *block, unsigned v)
{
	int64_t latest = INT64_MIN;

	for (unsigned i = 0; i < block->n; i++) {
		bool is_present = block->present[v] >> i & 1;
		int64_t end = iforest_span_end(block->times[i], block->values[v][i], is_present, IFOREST_END_DURATION);

		latest = end > latest ? end : latest;
	}
	return latest;
}

/* Of block b; the page's last time is that of its last block. */
static bool make_peak(const struct iforest_leaf *leaf, unsigned v, unsigned b, struct iforest_page_peaks *room)
{
	struct iforest_block_reader reader;
	const struct iforest_block *block = &reader.block;
	unsigned i;

	iforest_block_start(&reader, leaf, b);
	if (block->time_is_null || iforest_block_need(&reader, IFOREST_VALUES + v) || !reader.has_summary[v] ||
	    iforest_block_need(&reader, IFOREST_TIMES) || iforest_block_find_column(&reader, IFOREST_REFS))
		return false;
	i = reader.summaries[v].high;
	room->last_time = block->times[block->n - 1];
	room->blocks[b] = (struct iforest_peak){ .first_time = block->times[0],
						 .value = block->values[v][i],
						 .time = block->times[i],
						 .ref = iforest_column_at(&reader.columns[IFOREST_REFS], i),
						 .latest_end = latest_end_of(block, v) };
	return true;
}

static bool make_peaks(const struct iforest_leaf *leaf, struct iforest_page_peaks *room)
{
	unsigned v = iforest_peaks_value(leaf->fields), n = leaf->header.n_items;
	bool made = v != IFOREST_NO_VALUE && n <= IFOREST_MOST_PEAKS && leaf->header.n_dead == 0;

	for (unsigned b = 0; b < n && made; b++) {
		struct iforest_key first = iforest_leaf_block(leaf, b).first;

		if (b == 0)
			room->series = (uint32_t)first.series;
		made = first.series == room->series && make_peak(leaf, v, b, room);
	}
	room->n = (uint8_t)n;
	return made;
}

bool iforest_leaf_has_peaks(const struct iforest_leaf *leaf, struct iforest_page_peaks *room)
{
	uint8_t state = __atomic_load_n(&room->state, __ATOMIC_ACQUIRE), unknown = UNKNOWN;

	if (state == UNKNOWN &&
	    __atomic_compare_exchange_n(&room->state, &unknown, BEING_MADE, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		state = make_peaks(leaf, room) ? THERE : NONE;
		__atomic_store_n(&room->state, state, __ATOMIC_RELEASE);
	}
	return state == THERE;
}

bool iforest_peaks_are_there(const struct iforest_page_peaks *room)
{
	return __atomic_load_n(&room->state, __ATOMIC_ACQUIRE) == THERE;
}
