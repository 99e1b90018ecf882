#include "pg_ext/exec/bucket_values.h"

#include "miscadmin.h"

#include "core/query/sketch_scan.h"
#include "pg_ext/types/sketch_datum.h"

static const enum ifp_measure_type sketch_measures[IFOREST_N_DIGESTS] = {
	[IFOREST_DIGEST_QUANTILES] = IFP_MEASURE_SKETCH, [IFOREST_DIGEST_DISTINCT] = IFP_MEASURE_DISTINCT
};

bool ifp_bucket_values_are_needed(const struct ifp_agg_states *aggs)
{
	return ifp_agg_states_need(aggs, IFP_MEASURE_SKETCH) || ifp_agg_states_need(aggs, IFP_MEASURE_DISTINCT) ||
	       ifp_agg_states_need(aggs, IFP_MEASURE_NUMBERS);
}

/* ---- sketches ---- */

/* Makes a sketch of a bucket, in the current memory context. */
static enum iforest_status make_sketch(struct ifp_bucket_values *values, struct ifp_snapshot_reader *reader,
				       struct ifp_sketch_sidecar **kept, const struct iforest_key *from,
				       const struct iforest_key *to, enum iforest_digest_kind kind, unsigned v)
{
	bool is_kept = reader->definition.sketches[kind] >> v & 1;
	struct iforest_sidecar sidecar;
	struct iforest_digest sketch;
	enum iforest_status status;

	if (is_kept && !*kept)
		*kept = ifp_sidecar_open(&reader->index);
	sidecar = ifp_sidecar_for_reader(*kept, kind);
	iforest_digest_init(&sketch, kind, &ifp_palloc_allocator);
	status = iforest_scan_sketch(&reader->scan, from, to, v, is_kept ? &sidecar : NULL, &sketch);
	if (!status && !iforest_digest_is_empty(&sketch))
		values->sketches[kind][v] = ifp_sketch_to_bytea(&sketch);
	iforest_digest_release(&sketch);
	return status;
}

void ifp_bucket_values_free(struct ifp_bucket_values *values)
{
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++)
		for (unsigned v = 0; v < IFOREST_MAX_VALUES; v++)
			if (values->sketches[kind][v])
				pfree(values->sketches[kind][v]);
}

/* ---- numbers ---- */

struct number_taker {
	struct ifp_numbers *numbers;
	MemoryContext context;
};

static enum iforest_status take_number(void *context, union iforest_number number)
{
	const struct number_taker *taker = context;

	if (taker->numbers->n % 4096 == 0)
		CHECK_FOR_INTERRUPTS();
	ifp_numbers_add(taker->numbers, number, taker->context);
	return IFOREST_OK;
}

/* ---- both ---- */

enum iforest_status ifp_bucket_values_read(struct ifp_bucket_values *values, const struct ifp_agg_states *aggs,
					   struct ifp_snapshot_reader *reader, struct ifp_sketch_sidecar **sidecar,
					   const struct iforest_key *from, const struct iforest_key *to, MemoryContext context)
{
	uint32 requested = ifp_agg_states_need(aggs, IFP_MEASURE_NUMBERS);
	enum iforest_status status = IFOREST_OK;

	memset(values->sketches, 0, sizeof values->sketches);
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++) {
		uint32 sketched = ifp_agg_states_need(aggs, sketch_measures[kind]);

		for (unsigned v = 0; sketched >> v && !status; v++)
			if (sketched >> v & 1)
				status = make_sketch(values, reader, sidecar, from, to, (enum iforest_digest_kind)kind, v);
	}
	for (unsigned v = 0; v < IFOREST_MAX_VALUES && !status; v++) {
		struct number_taker taker = { &values->numbers[v], context };

		taker.numbers->n = 0;
		if (requested >> v & 1)
			status = iforest_scan_values(&reader->scan, from, to, v, take_number, &taker);
	}
	return status;
}
