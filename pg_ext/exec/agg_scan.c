#include "pg_ext/exec/answer_internal.h"

#include "core/query/sketch_scan.h"
#include "pg_ext/types/sketch_datum.h"
#include "pg_ext/storage/sidecar.h"

static enum iforest_status add_pending(const struct iforest_answer_reader *reader, const struct iforest_bucket_range *range,
				       unsigned value, struct iforest_sketch *sketch)
{
	enum iforest_value_kind kind = (enum iforest_value_kind)reader->read.index.manifest.fields.kinds[value];
	enum iforest_status status = IFOREST_OK;

	for (uint32 i = range->pending; i < range->pending_end && !status; i++) {
		const struct iforest_entry *entry = &reader->read.pending.entries[i];

		if (entry->present >> value & 1)
			status = iforest_sketch_add(sketch, entry->values[value], kind);
	}
	return status;
}

enum iforest_status iforest_answer_sketches(struct iforest_answer_reader *reader, const struct iforest_bucket_range *range,
					    bytea **sketches)
{
	uint32 wanted = iforest_measures_sketches(reader->answer->measures), kept = reader->read.definition.sketches;
	struct iforest_shelf shelf;
	enum iforest_status status = IFOREST_OK;

	if ((wanted & kept) && !reader->shelf)
		reader->shelf = iforest_shelf_begin(&reader->read.index);
	shelf = iforest_shelf_of_reader(reader->shelf);
	/* the filter is what says which entries count */
	reader->read.scan.wanted = reader->wanted;
	for (unsigned v = 0; v < IFOREST_MAX_VALUES && !status; v++) {
		struct iforest_sketch sketch;

		sketches[v] = NULL;
		if (!(wanted >> v & 1))
			continue;
		iforest_sketch_init(&sketch, &iforest_pg_alloc);
		status = iforest_scan_sketch(&reader->read.scan, &range->from, &range->to, v, kept >> v & 1 ? &shelf : NULL,
					     &sketch);
		if (!status)
			status = add_pending(reader, range, v, &sketch);
		if (!status && sketch.n > 0)
			sketches[v] = iforest_sketch_to_bytea(&sketch);
		iforest_sketch_release(&sketch);
	}
	return status;
}
