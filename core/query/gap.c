#include "core/query/gap.h"

enum iforest_status iforest_gap_init(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest)
{
	enum iforest_status status = iforest_scan_init(&reader->scan, store, manifest);

	if (status)
		return status;
	reader->fields = &manifest->fields;
	reader->is_at_end = true;
	status = iforest_iterator_init(&reader->iterator, store, manifest);
	if (status)
		iforest_scan_release(&reader->scan);
	return status;
}

enum iforest_status iforest_gap_join(struct iforest_gap_reader *reader, struct iforest_store *store,
				     const struct iforest_manifest *manifest)
{
	enum iforest_status status = iforest_scan_join(&reader->scan, store, manifest);

	return status ? status : iforest_iterator_join(&reader->iterator, store, manifest);
}

void iforest_gap_release(struct iforest_gap_reader *reader)
{
	iforest_scan_release(&reader->scan);
	iforest_iterator_release(&reader->iterator);
}

/* Finds the latest end, or the last time, of the entries that start before the window. */
static enum iforest_status look_back(struct iforest_gap_reader *reader)
{
	const struct iforest_gap_question *question = &reader->question;
	bool keeps_ends = reader->fields->latest_end_offset != 0;
	struct iforest_aggregate before;
	int64_t bucket;
	enum iforest_status status;

	reader->scan.bucketing =
		(struct iforest_bucketing){ .mode = IFOREST_WHOLE, .window = { .has_t1 = true, .t1 = question->window.t0 } };
	reader->scan.request =
		(struct iforest_request){ .times = !keeps_ends, .node_fields = keeps_ends, .filter = question->filter };
	status = iforest_scan_start(&reader->scan, question->series);
	if (!status)
		status = iforest_scan_next(&reader->scan, &bucket, &before, &reader->has_before);
	if (!status && reader->has_before)
		reader->latest_end = keeps_ends ? before.latest_end : before.last_time;
	return status;
}

enum iforest_status iforest_gap_start(struct iforest_gap_reader *reader, const struct iforest_gap_question *question)
{
	const struct iforest_window *window = &question->window;
	struct iforest_iterator_question all = { .from = iforest_key_at(question->series,
									window->has_t0 ? window->t0 : INT64_MIN),
						 .to = iforest_key_nulls(question->series),
						 .filter = question->filter,
						 .takes_nodes = true,
						 .node_width = question->longer_than };
	enum iforest_status status = IFOREST_OK;

	reader->question = *question;
	reader->has_before = false;
	reader->is_at_end = iforest_window_is_empty(window);
	if (window->has_t0 && !reader->is_at_end)
		status = look_back(reader);
	if (reader->fields->duration_value != IFOREST_NO_VALUE)
		all.values = 1u << reader->fields->duration_value;
	iforest_iterator_start(&reader->iterator, &all);
	return status;
}

/* Returns the end of the item that the iterator gave last. */
static int64_t end_of(const struct iforest_gap_reader *reader, const struct iforest_entry *entry)
{
	unsigned v = reader->fields->duration_value;
	int64_t end;

	if (iforest_iterator_gave_node(&reader->iterator, &end))
		return end;
	if (v == IFOREST_NO_VALUE)
		return entry->key.time;
	return iforest_span_end(entry->key.time, entry->present >> v & 1 ? entry->values[v].integer : 0,
				entry->present >> v & 1, (enum iforest_end_rule)reader->fields->end_rule);
}

enum iforest_status iforest_gap_next(struct iforest_gap_reader *reader, struct iforest_gap *gap, bool *found)
{
	const struct iforest_window *window = &reader->question.window;
	enum iforest_status status = IFOREST_OK;
	struct iforest_entry entry;

	*found = false;
	while (!status && !*found && !reader->is_at_end) {
		bool more;
		int64_t end;

		/* entries after the window can only end the gap that reaches out of it */
		if (reader->has_before && window->has_t1 && reader->latest_end >= window->t1)
			break;
		status = iforest_iterator_next(&reader->iterator, &entry, &more);
		if (status || !more)
			break;
		*gap = (struct iforest_gap){ .start = reader->latest_end, .end = entry.key.time };
		*found = reader->has_before && gap->end > gap->start &&
			 (uint64_t)gap->end - (uint64_t)gap->start > reader->question.longer_than &&
			 (!window->has_t0 || gap->end > window->t0);
		if (window->has_t1 && entry.key.time >= window->t1)
			reader->is_at_end = true;
		end = end_of(reader, &entry);
		if (!reader->has_before || end > reader->latest_end)
			reader->latest_end = end;
		reader->has_before = true;
	}
	reader->is_at_end = reader->is_at_end || !*found;
	return status;
}
