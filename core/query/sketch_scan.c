#include "core/query/sketch_scan.h"

#include "core/base/bits.h"
#include "core/query/descent.h"

/* A descent that adds a range to a sketch, or passes its values to a callback. */
struct walk {
	struct iforest_cursor *cursor;
	struct iforest_key from, to;
	unsigned value;
	const struct iforest_filter *filter;
	const struct iforest_sidecar *sidecar;
	struct iforest_digest *sketch;
	bool takes_out;		  /* subtract the range from the sketch instead */
	iforest_take_value *take; /* if not NULL, it gets the values, and there is no sketch */
	void *context;
	enum iforest_digest_kind keeps; /* while sketches are stored */
};

/* ---- Entries ---- */

static enum iforest_status add_number(const struct walk *walk, union iforest_number number, enum iforest_value_type type)
{
	if (walk->take)
		return walk->take(walk->context, number);
	if (walk->takes_out)
		return iforest_digest_remove(walk->sketch, number, type);
	return iforest_digest_add(walk->sketch, number, type);
}

static enum iforest_status add_values(const struct walk *walk, uint64_t live)
{
	struct iforest_block_reader *reader = &walk->cursor->reader;
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[walk->value];
	enum iforest_status status = IFOREST_OK;

	if (walk->filter && live)
		status = walk->filter->of_entries(walk->filter->context, reader, &live);
	if (!status && live)
		status = iforest_block_need(reader, IFOREST_VALUES + walk->value);
	if (status || !live)
		return iforest_cursor_report_leaf(walk->cursor, status);
	for (live &= reader->block.present[walk->value]; live && !status; live &= live - 1) {
		union iforest_number number = { .integer = reader->block.values[walk->value][iforest_trailing_zeros(live)] };

		status = add_number(walk, number, type);
	}
	return status;
}

/* Adds the entries of a block in the range. */
static enum iforest_status add_block(const struct walk *walk, unsigned b)
{
	struct iforest_cursor *cursor = walk->cursor;
	unsigned from, to;
	enum iforest_status status = iforest_cursor_find_in_block(cursor, b, &walk->from, &walk->to, &from, &to);

	if (status || from >= to)
		return status;
	return add_values(walk, iforest_low_bits(to) & ~iforest_low_bits(from) & ~cursor->reader.block.dead);
}

static enum iforest_status add_leaf(struct iforest_descent *descent, const struct iforest_visited_node *node)
{
	const struct walk *walk = descent->context;
	enum iforest_status status = iforest_cursor_pin(walk->cursor, 0, node->i);

	for (unsigned b = 0; !status && b < walk->cursor->leaf.header.n_items; b++)
		status = add_block(walk, b);
	return status;
}

/* ---- Nodes ---- */

static bool is_of_one_series(const uint8_t *node)
{
	return iforest_node_first(node).series == iforest_node_last(node).series;
}

static struct iforest_sidecar_name name_of(const struct walk *walk, unsigned level, uint64_t i, const uint8_t *node)
{
	return (struct iforest_sidecar_name){ .run_id = walk->cursor->run->place.run_id,
					      .level = level,
					      .number = i,
					      .value = walk->value,
					      .n_dead = iforest_node_dead(node) };
}

/* Adds a stored sketch, which must be of n values. */
static enum iforest_status add_bytes(struct iforest_digest *sketch, const uint8_t *bytes, size_t n_bytes, uint64_t n)
{
	uint64_t n_before = sketch->kind == IFOREST_DIGEST_QUANTILES ? sketch->as.quantiles.n : 0, n_distinct;
	enum iforest_status status = iforest_digest_merge(sketch, bytes, n_bytes);

	if (status)
		return status;
	if (sketch->kind == IFOREST_DIGEST_QUANTILES)
		return sketch->as.quantiles.n - n_before == n ? IFOREST_OK : IFOREST_CORRUPT;
	status = iforest_distinct_count(bytes, n_bytes, &n_distinct);
	return status || (n_distinct > 0) == (n > 0) ? status : IFOREST_CORRUPT;
}

/* Adds the stored sketch of a node, if there is one. */
static enum iforest_status take_kept(const struct walk *walk, unsigned level, uint64_t i, const uint8_t *node, bool *found)
{
	struct iforest_sidecar_name name = name_of(walk, level, i, node);
	uint64_t n_wanted = iforest_node_value_rows(node, &walk->cursor->manifest->fields, walk->value);
	uint8_t *bytes;
	size_t n_bytes;
	enum iforest_status status = walk->sidecar->get(walk->sidecar->context, &name, &bytes, &n_bytes, found);

	if (status || !*found)
		return status;
	status = add_bytes(walk->sketch, bytes, n_bytes, n_wanted);
	iforest_release(walk->cursor->store->alloc, bytes);
	if (status == IFOREST_CORRUPT || status == IFOREST_FORMAT)
		return iforest_cursor_report_corrupt(walk->cursor, status, IFOREST_SKETCH_WRONG, level - 1, i);
	return status;
}

static enum iforest_status add_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open);

static struct iforest_descent descent_of(struct walk *walk)
{
	static const struct iforest_visitor visitor = { .node = add_node, .leaf = add_leaf };

	return (struct iforest_descent){
		.visitor = &visitor, .context = walk, .cursor = walk->cursor, .from = &walk->from, .to = &walk->to
	};
}

/* Adds the part of the range below node i of a level above 1. */
static enum iforest_status add_children(struct walk *walk, unsigned level, uint64_t i)
{
	struct iforest_descent descent = descent_of(walk);

	return iforest_descend(&descent, level - 1, i, 0);
}

/* Sets *most if the range has most entries of a node of level 2, so that the entries outside are fewer to read. */
static enum iforest_status holds_most(const struct walk *walk, uint64_t i, const uint8_t *node, bool *most)
{
	const struct iforest_pinned_page *pinned = &walk->cursor->path[1];
	uint64_t n_rows = iforest_node_rows(node), n_inside = 0;
	enum iforest_status status = iforest_cursor_pin(walk->cursor, 1, i);

	for (unsigned k = 0; !status && k < pinned->header.n_items; k++) {
		const uint8_t *child = iforest_cursor_sibling(walk->cursor, 1, k);
		struct iforest_key first = iforest_node_first(child);

		if (iforest_key_compare(&first, &walk->from) >= 0 && iforest_key_compare(&first, &walk->to) < 0)
			n_inside += iforest_node_rows(child);
	}
	*most = n_inside > n_rows / 2;
	return status;
}

/* Subtracts the entries of a node outside the range. */
static enum iforest_status subtract_others(const struct walk *walk, unsigned level, uint64_t i)
{
	struct walk before = *walk, after = *walk;
	enum iforest_status status;

	before.takes_out = after.takes_out = true;
	before.filter = after.filter = NULL;
	before.from = iforest_key_at(0, INT64_MIN);
	before.to = walk->from;
	after.from = walk->to;
	after.to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	status = add_children(&before, level, i);
	if (!status)
		status = add_children(&after, level, i);
	if (status == IFOREST_NOT_FOUND)
		return iforest_cursor_report_corrupt(walk->cursor, IFOREST_CORRUPT, IFOREST_SKETCH_WRONG, level - 1, i);
	return status;
}

/* Adds the stored sketch of a node whose entries all count, if it lies inside the range, or if it is of level 2 and most of it
 * does. */
static enum iforest_status add_kept(const struct walk *walk, const struct iforest_visited_node *node, bool *found)
{
	bool is_inside = node->place == IFOREST_INSIDE, is_wanted = is_inside;
	enum iforest_status status = IFOREST_OK;

	if (!is_inside && node->level == 2 && iforest_digest_takes_out(walk->sketch->kind))
		status = holds_most(walk, node->i, node->bytes, &is_wanted);
	if (!status && is_wanted)
		status = take_kept(walk, node->level, node->i, node->bytes, found);
	return status || !*found || is_inside ? status : subtract_others(walk, node->level, node->i);
}

static enum iforest_status add_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open)
{
	const struct walk *walk = descent->context;
	enum iforest_filter_class filter_class = iforest_filter_class_of_node(walk->filter, node->bytes);
	bool found = false;
	enum iforest_status status = IFOREST_OK;

	if (iforest_node_rows(node->bytes) == 0 || filter_class == IFOREST_COUNTS_NONE)
		return IFOREST_OK;
	if (walk->sidecar && node->level > 1 && filter_class == IFOREST_COUNTS_ALL && is_of_one_series(node->bytes) &&
	    iforest_node_rows(node->bytes) >= IFOREST_SKETCH_LEAST_ROWS)
		status = add_kept(walk, node, &found);
	*open = !found;
	return status;
}

/* Adds the values of the scan's joined batch in the range. */
static enum iforest_status add_batch(const struct iforest_scan *scan, const struct walk *walk)
{
	const struct iforest_batch *batch = scan->batch;
	enum iforest_value_type type = (enum iforest_value_type)scan->manifest->fields.value_types[walk->value];
	uint32_t i = batch ? iforest_batch_find(batch, 0, &walk->from) : 0;
	uint32_t end = batch ? iforest_batch_find(batch, i, &walk->to) : 0;
	enum iforest_status status = IFOREST_OK;

	for (; i < end && !status; i++) {
		uint32_t present;
		union iforest_number number = iforest_batch_values(batch, i, &present)[walk->value];

		if (present >> walk->value & 1)
			status = add_number(walk, number, type);
	}
	return status;
}

/* Adds the range of the walk over all runs of the scan. The walk is that of own runs; joined ones have no sidecar store. */
static enum iforest_status add_range(struct iforest_scan *scan, const struct walk *range)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < scan->n_folds && !status; r++) {
		struct iforest_cursor *cursor = &scan->folds[r].cursor;
		bool is_own = cursor->store == scan->store;
		struct walk walk = *range;
		struct iforest_descent descent;

		walk.cursor = cursor;
		walk.filter = is_own ? scan->request.filter : NULL;
		walk.sidecar = is_own ? range->sidecar : NULL;
		descent = descent_of(&walk);
		status = iforest_descend_from_root(&descent);
	}
	return status ? status : add_batch(scan, range);
}

enum iforest_status iforest_scan_sketch(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, const struct iforest_sidecar *sidecar, struct iforest_digest *sketch)
{
	struct walk walk = { .from = *from, .to = *to, .value = value, .sidecar = sidecar, .sketch = sketch };

	return add_range(scan, &walk);
}

enum iforest_status iforest_scan_values(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, iforest_take_value *take, void *context)
{
	struct walk walk = { .from = *from, .to = *to, .value = value, .take = take, .context = context };

	return add_range(scan, &walk);
}

/* ---- Storing ---- */

static enum iforest_status put_node(const struct walk *walk, unsigned level, uint64_t i,
				    const struct iforest_sidecar_name *name)
{
	struct iforest_digest sketch;
	struct walk whole = *walk;
	uint8_t *bytes;
	size_t n_bytes;
	enum iforest_status status;

	iforest_digest_init(&sketch, walk->keeps, walk->cursor->store->alloc);
	whole.sketch = &sketch;
	status = add_children(&whole, level, i);
	if (!status)
		status = iforest_digest_write(&sketch, &bytes, &n_bytes);
	iforest_digest_release(&sketch);
	if (status)
		return status;
	status = walk->sidecar->put(walk->sidecar->context, name, bytes, n_bytes);
	iforest_release(walk->cursor->store->alloc, bytes);
	return status;
}

/* Stores children first, so that a parent is merged from them. If a node is stored, so are its children. */
static enum iforest_status keep_node(const struct walk *walk, unsigned level, uint64_t i)
{
	struct iforest_cursor *cursor = walk->cursor;
	struct iforest_sidecar_name name;
	const uint8_t *node;
	bool found = false, is_kept;
	unsigned n = 0;
	enum iforest_status status = iforest_cursor_node(cursor, level, i, &node);

	if (status || iforest_node_rows(node) < IFOREST_SKETCH_LEAST_ROWS)
		return status;
	name = name_of(walk, level, i, node);
	is_kept = is_of_one_series(node);
	if (is_kept)
		status = walk->sidecar->has(walk->sidecar->context, &name, &found);
	if (status || found)
		return status;
	if (level > 2) {
		status = iforest_cursor_pin(cursor, level - 1, i);
		n = status ? 0 : cursor->path[level - 1].header.n_items;
	}
	for (unsigned k = 0; k < n && !status; k++)
		status = keep_node(walk, level - 1, i * cursor->manifest->fanout + k);
	return !status && is_kept ? put_node(walk, level, i, &name) : status;
}

static enum iforest_status keep_run(struct iforest_store *store, const struct iforest_manifest *manifest,
				    const struct iforest_run *run, unsigned value, const struct iforest_sidecar *sidecar,
				    enum iforest_digest_kind kind)
{
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	struct walk walk = { .cursor = cursor,
			     .from = iforest_key_at(0, INT64_MIN),
			     .value = value,
			     .sidecar = sidecar,
			     .keeps = kind,
			     .to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN) };
	enum iforest_status status;

	if (!cursor)
		return IFOREST_NO_MEMORY;
	iforest_cursor_init(cursor, store, manifest, run);
	status = keep_node(&walk, run->n_levels + 1, 0);
	iforest_cursor_release(cursor);
	iforest_release(store->alloc, cursor);
	return status;
}

enum iforest_status iforest_run_keep_sketches(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar)
{
	return keep_run(store, manifest, run, value, sidecar, IFOREST_DIGEST_QUANTILES);
}

enum iforest_status iforest_run_keep_distincts(struct iforest_store *store, const struct iforest_manifest *manifest,
					       const struct iforest_run *run, unsigned value,
					       const struct iforest_sidecar *sidecar)
{
	return keep_run(store, manifest, run, value, sidecar, IFOREST_DIGEST_DISTINCT);
}
