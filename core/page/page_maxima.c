#include "core/page/page_maxima.h"

enum { UNKNOWN, BEING_MADE, THERE, NONE };

unsigned iforest_page_maxima_value(const struct iforest_node_schema *fields)
{
	if (fields->duration_value != IFOREST_NO_VALUE)
		return fields->end_rule == IFOREST_END_DURATION ? fields->duration_value : IFOREST_NO_VALUE;
	return fields->n_values > 0 && fields->value_types[0] == IFOREST_INT64 ? 0 : IFOREST_NO_VALUE;
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

/* Computes the maximum of block b, and the page's last time so far. */
static bool make_block_maximum(const struct iforest_leaf *leaf, unsigned v, unsigned b, struct iforest_page_maxima *room)
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
	room->blocks[b] = (struct iforest_block_maximum){ .first_time = block->times[0],
							  .value = block->values[v][i],
							  .time = block->times[i],
							  .ref = iforest_column_at(&reader.columns[IFOREST_REFS], i),
							  .latest_end = latest_end_of(block, v) };
	return true;
}

static bool make_maxima(const struct iforest_leaf *leaf, struct iforest_page_maxima *room)
{
	unsigned v = iforest_page_maxima_value(leaf->fields), n = leaf->header.n_items;
	bool made = v != IFOREST_NO_VALUE && n <= IFOREST_MAX_BLOCK_MAXIMA && leaf->header.n_dead == 0;

	for (unsigned b = 0; b < n && made; b++) {
		struct iforest_key first = iforest_leaf_block(leaf, b).first;

		if (b == 0)
			room->series = (uint32_t)first.series;
		made = first.series == room->series && make_block_maximum(leaf, v, b, room);
	}
	room->n = (uint8_t)n;
	return made;
}

static bool make_node_maxima(const uint8_t *page, const struct iforest_page_header *header,
			     const struct iforest_node_schema *fields, struct iforest_page_maxima *room)
{
	unsigned v = iforest_page_maxima_value(fields), n = header->n_items;
	bool made = v != IFOREST_NO_VALUE && n > 0 && n <= IFOREST_MAX_NODE_MAXIMA;

	for (unsigned k = 0; k < n && made; k++) {
		const uint8_t *node = iforest_node_at(page, fields, k);
		struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
		struct iforest_extreme greatest = iforest_node_extreme(node, fields, v, 1);

		if (k == 0)
			room->series = (uint32_t)first.series;
		made = first.series == room->series && last.series == room->series && !first.time_is_null &&
		       !last.time_is_null && iforest_node_rows(node) > 0 && greatest.is_set;
		room->nodes.first_times[k] = first.time;
		room->nodes.values[k] = greatest.value.integer;
		room->last_time = last.time;
	}
	room->n = (uint8_t)n;
	return made;
}

/* True if the caller must compute the maxima. */
static bool begin(struct iforest_page_maxima *room, uint8_t state)
{
	uint8_t unknown = UNKNOWN;

	return state == UNKNOWN &&
	       __atomic_compare_exchange_n(&room->state, &unknown, BEING_MADE, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static uint8_t end(struct iforest_page_maxima *room, bool made)
{
	uint8_t state = made ? THERE : NONE;

	__atomic_store_n(&room->state, state, __ATOMIC_RELEASE);
	return state;
}

bool iforest_leaf_has_maxima(const struct iforest_leaf *leaf, struct iforest_page_maxima *room)
{
	uint8_t state = __atomic_load_n(&room->state, __ATOMIC_ACQUIRE);

	if (begin(room, state))
		state = end(room, make_maxima(leaf, room));
	return state == THERE;
}

bool iforest_node_page_has_maxima(const uint8_t *page, const struct iforest_page_header *header,
				  const struct iforest_node_schema *fields, struct iforest_page_maxima *room)
{
	uint8_t state = __atomic_load_n(&room->state, __ATOMIC_ACQUIRE);

	if (begin(room, state))
		state = end(room, make_node_maxima(page, header, fields, room));
	return state == THERE;
}

bool iforest_page_maxima_are_there(const struct iforest_page_maxima *room)
{
	return __atomic_load_n(&room->state, __ATOMIC_ACQUIRE) == THERE;
}
