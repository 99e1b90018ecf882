#include "core/query/overlap_internal.h"

#include "core/base/bits.h"

/* Does a span of that node end after the bound? A latest end that saturated may stand for a later one. */
static bool reaches_beyond(const struct iforest_overlap *overlap, const uint8_t *node)
{
	int64_t latest_end = iforest_node_latest_end(node, &overlap->scan->manifest->fields);

	return overlap->has_bound && (latest_end > overlap->bound || latest_end == INT64_MAX);
}

static bool has_negatives(const struct iforest_overlap *overlap, const uint8_t *node)
{
	const struct iforest_fields *fields = &overlap->scan->manifest->fields;
	struct iforest_row least;

	if (!overlap->wants_inside || overlap->is_searching)
		return false;
	least = iforest_node_extreme(node, fields, overlap->duration, -1);
	return least.is_set && least.value.integer < 0;
}

static enum iforest_verdict of_node(void *context, const uint8_t *node)
{
	const struct iforest_overlap_filter *filter = context;

	if (reaches_beyond(filter->overlap, node) || has_negatives(filter->overlap, node))
		return IFOREST_SOME;
	if (filter->overlap->is_searching)
		return IFOREST_NONE;
	return filter->inner ? filter->inner->of_node(filter->inner->context, node) : IFOREST_ALL;
}

/* Takes the entries with a negative duration out of *live, whose durations are unpacked, and counts them apart. */
static enum iforest_status take_negatives(struct iforest_overlap *overlap, struct iforest_block_reader *reader, uint64_t which,
					  uint64_t *live)
{
	const struct iforest_block *block = &reader->block;
	enum iforest_status status = IFOREST_OK;

	for (; which && !status; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);
		struct iforest_row row = { .value.integer = block->values[overlap->duration][i], .is_set = true };

		if (row.value.integer >= 0)
			continue;
		status = iforest_block_need(reader, IFOREST_TIMES);
		if (!status)
			status = iforest_block_need(reader, IFOREST_REFS);
		row.time = block->times[i];
		row.ref = block->refs[i];
		iforest_row_max(&overlap->negative.max, &row, IFOREST_INT64);
		overlap->negative.n++;
		*live &= ~(UINT64_C(1) << i);
	}
	return status;
}

/* Would a span of that duration which starts at that time, before the bound, end after it? */
static bool outlives(const struct iforest_overlap *overlap, int64_t time, int64_t duration)
{
	return duration > 0 && (uint64_t)duration > (uint64_t)overlap->bound - (uint64_t)time;
}

/* Can one of the block's entries `which` outlive the bound, by the longest of the block and the latest of them? */
static bool may_outlive(const struct iforest_overlap *overlap, const struct iforest_block_reader *reader, uint64_t which,
			int64_t longest)
{
	const struct iforest_block *block = &reader->block;
	struct iforest_key next;

	if (reader->unpacked >> IFOREST_TIMES & 1)
		return outlives(overlap, block->times[iforest_highest_bit(which)], longest);
	if (reader->number + 1u == reader->leaf->header.n_items)
		return true;
	next = iforest_leaf_block(reader->leaf, reader->number + 1).first;
	if (next.series != block->series || next.time_is_null || next.time >= overlap->bound)
		return true;
	return outlives(overlap, next.time, longest);
}

/* The spans among the entries that outlive the bound are open ones from there on. None is longer than `longest`: so entries
 * that start too early for it, and all before them, need not be looked at. */
static enum iforest_status collect(struct iforest_overlap *overlap, struct iforest_block_reader *reader, uint64_t which,
				   int64_t longest)
{
	const struct iforest_block *block = &reader->block;
	const int64_t *durations = block->values[overlap->duration];
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	while (which && !status) {
		unsigned i = iforest_highest_bit(which);
		struct iforest_open_span span = { .time = block->times[i], .duration = durations[i] };

		if (!outlives(overlap, span.time, longest))
			break;
		which ^= UINT64_C(1) << i;
		if (!outlives(overlap, span.time, span.duration))
			continue;
		status = iforest_block_need(reader, IFOREST_REFS);
		span.ref = block->refs[i];
		overlap->beyond += (iforest_int128)span.time + span.duration - overlap->bound;
		if (!status)
			status = iforest_open_spans_add(&overlap->open, &span);
	}
	return status;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct iforest_overlap_filter *filter = context;
	struct iforest_overlap *overlap = filter->overlap;
	unsigned column = IFOREST_VALUES + overlap->duration;
	const struct iforest_summary *summary = &reader->summaries[overlap->duration];
	int64_t least = INT64_MIN, longest = INT64_MAX;
	bool splits, collects;
	uint64_t which;
	enum iforest_status status = IFOREST_OK;

	if (filter->inner)
		status = filter->inner->of_entries(filter->inner->context, reader, live);
	if (!status)
		status = iforest_block_find_column(reader, column);
	if (status || reader->block.time_is_null)
		return status;
	which = *live & reader->columns[column].present;
	if (which && reader->has_summary[overlap->duration]) {
		least = iforest_column_at(&reader->columns[column], summary->low);
		longest = iforest_column_at(&reader->columns[column], summary->high);
	}
	splits = which && least < 0 && overlap->wants_inside && !overlap->is_searching;
	collects = which && overlap->has_bound && may_outlive(overlap, reader, which, longest);
	if (splits || collects)
		status = iforest_block_need(reader, column);
	if (!status && splits)
		status = take_negatives(overlap, reader, which, live);
	if (!status && collects)
		status = collect(overlap, reader, which, longest);
	return status;
}

struct iforest_overlap_filter iforest_overlap_collector(struct iforest_overlap *overlap, struct iforest_overlap_filter *place,
							const struct iforest_filter *inner)
{
	return (struct iforest_overlap_filter){ .overlap = overlap, .inner = inner,
		.filter = { .context = place, .of_node = of_node, .of_entries = of_entries } };
}
