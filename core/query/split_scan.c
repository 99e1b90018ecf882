#include "core/query/split_scan.h"

#include <string.h>

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/query/descent.h"

/* ---- classes ---- */

/* The key of a class. */
struct class_key {
	union iforest_number numbers[IFOREST_MAX_VALUES];
	uint32_t nulls;
};

void iforest_split_init(struct iforest_split *split, const struct iforest_alloc *alloc,
			const struct iforest_node_schema *fields, const struct iforest_split_column *columns,
			unsigned n_columns)
{
	*split = (struct iforest_split){ .alloc = alloc, .fields = fields, .columns = columns, .n_columns = n_columns };
}

void iforest_split_release(struct iforest_split *split)
{
	for (size_t i = 0; i < split->n_made; i++) {
		iforest_release(split->alloc, split->classes[i]->aggregate);
		iforest_release(split->alloc, split->classes[i]);
	}
	iforest_release(split->alloc, split->classes);
	iforest_release(split->alloc, split->slots);
	iforest_split_init(split, split->alloc, split->fields, split->columns, split->n_columns);
}

void iforest_split_clear(struct iforest_split *split)
{
	if (split->n > 0)
		memset(split->slots, 0, split->n_slots * sizeof *split->slots);
	split->n = 0;
}

static uint64_t hash_of(const struct iforest_split *split, const union iforest_number *numbers, uint32_t nulls)
{
	uint64_t hash = nulls;

	for (unsigned c = 0; c < split->n_columns; c++) {
		hash = (hash ^ (uint64_t)numbers[c].integer) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_of_class(const struct iforest_split *split, const struct iforest_split_class *class, const struct class_key *key)
{
	if (class->nulls != key->nulls)
		return false;
	for (unsigned c = 0; c < split->n_columns; c++)
		if (class->numbers[c].integer != key->numbers[c].integer)
			return false;
	return true;
}

/* Returns the slot of a key, or the free one in which it belongs. */
static uint32_t *slot_of(const struct iforest_split *split, const struct class_key *key)
{
	size_t at = hash_of(split, key->numbers, key->nulls) & (split->n_slots - 1);

	while (split->slots[at] && !is_of_class(split, split->classes[split->slots[at] - 1], key))
		at = (at + 1) & (split->n_slots - 1);
	return &split->slots[at];
}

/* Doubles the hash table. */
static enum iforest_status grow_slots(struct iforest_split *split)
{
	size_t n_slots = split->n_slots ? 2 * split->n_slots : 16;
	uint32_t *slots = iforest_allocate(split->alloc, n_slots * sizeof *slots);

	if (!slots)
		return IFOREST_NO_MEMORY;
	memset(slots, 0, n_slots * sizeof *slots);
	iforest_release(split->alloc, split->slots);
	split->slots = slots;
	split->n_slots = n_slots;
	for (size_t i = 0; i < split->n; i++) {
		struct class_key key = { .nulls = split->classes[i]->nulls };

		memcpy(key.numbers, split->classes[i]->numbers, sizeof key.numbers);
		*slot_of(split, &key) = (uint32_t)i + 1;
	}
	return IFOREST_OK;
}

/* Makes room for one more class. */
static enum iforest_status reserve_class(struct iforest_split *split)
{
	struct iforest_split_class *class;

	if (split->n < split->n_made)
		return IFOREST_OK;
	if (!iforest_array_reserve(split->alloc, &split->classes, sizeof(struct iforest_split_class *), split->n_made + 1,
				   &split->n_reserved))
		return IFOREST_NO_MEMORY;
	class = iforest_allocate(split->alloc, sizeof *class);
	if (!class)
		return IFOREST_NO_MEMORY;
	class->aggregate =
		iforest_allocate(split->alloc, iforest_aggregate_bytes(split->fields->n_values, &split->fields->accumulators));
	if (!class->aggregate) {
		iforest_release(split->alloc, class);
		return IFOREST_NO_MEMORY;
	}
	split->classes[split->n_made++] = class;
	return IFOREST_OK;
}

/* Finds a class, or adds it. */
static enum iforest_status find_class(struct iforest_split *split, const struct class_key *key,
				      struct iforest_split_class **class)
{
	enum iforest_status status = IFOREST_OK;
	uint32_t *slot;

	if (2 * (split->n + 1) > split->n_slots)
		status = grow_slots(split);
	if (!status)
		status = reserve_class(split);
	if (status)
		return status;
	slot = slot_of(split, key);
	if (!*slot) {
		struct iforest_split_class *added = split->classes[split->n++];

		memcpy(added->numbers, key->numbers, sizeof added->numbers);
		added->nulls = key->nulls;
		added->which = 0;
		iforest_aggregate_clear(added->aggregate, split->fields->n_values, &split->fields->accumulators);
		*slot = (uint32_t)split->n;
	}
	*class = split->classes[*slot - 1];
	return IFOREST_OK;
}

/* ---- the class of a value ---- */

static int64_t step_of(const struct iforest_split *split, const struct iforest_split_column *column,
		       union iforest_number number)
{
	enum iforest_value_type type = (enum iforest_value_type)split->fields->value_types[column->value];
	unsigned low = 0, high = column->n_bounds;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (iforest_number_compare(number, column->bounds[middle], type) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void set_number(const struct iforest_split *split, unsigned c, union iforest_number number, struct class_key *key)
{
	const struct iforest_split_column *column = &split->columns[c];

	key->numbers[c] = column->bounds ? (union iforest_number){ .integer = step_of(split, column, number) } : number;
}

static void set_null(const struct iforest_split *split, unsigned c, struct class_key *key)
{
	const struct iforest_split_column *column = &split->columns[c];

	key->nulls |= UINT32_C(1) << c;
	key->numbers[c].integer = column->bounds ? column->n_bounds + 1 : 0;
}

/* ---- a range ---- */

struct walk {
	struct iforest_cursor *cursor;
	struct iforest_key from, to;
	struct iforest_request request;
	struct iforest_split *split;
};

/* Finds the class of all entries under a node. Returns false if they may be of several. */
static bool class_of_node(const struct walk *walk, const uint8_t *node, struct class_key *key)
{
	const struct iforest_split *split = walk->split;

	*key = (struct class_key){ .nulls = 0 };
	for (unsigned c = 0; c < split->n_columns; c++) {
		unsigned v = split->columns[c].value;
		uint64_t n = iforest_node_value_rows(node, split->fields, v);
		struct class_key greatest = *key;

		if (n == 0) {
			set_null(split, c, key);
			continue;
		}
		set_number(split, c, iforest_node_extreme_value(node, split->fields, v, -1), key);
		set_number(split, c, iforest_node_extreme_value(node, split->fields, v, 1), &greatest);
		if (n != iforest_node_rows(node) || key->numbers[c].integer != greatest.numbers[c].integer)
			return false;
	}
	return true;
}

static enum iforest_status add_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open)
{
	const struct walk *walk = descent->context;
	const struct iforest_request *request = &walk->request;
	enum iforest_filter_class filter_class = iforest_filter_class_of_node(request->filter, node->bytes);
	struct iforest_split_class *class;
	struct class_key key;
	enum iforest_status status;

	if (iforest_node_rows(node->bytes) == 0 || filter_class == IFOREST_COUNTS_NONE)
		return IFOREST_OK;
	*open = node->place != IFOREST_INSIDE || filter_class != IFOREST_COUNTS_ALL || request->times || request->firsts ||
		request->lasts || !class_of_node(walk, node->bytes, &key);
	if (*open)
		return IFOREST_OK;
	status = find_class(walk->split, &key, &class);
	if (!status)
		iforest_request_fold_node(request, node->bytes, walk->split->fields, class->aggregate);
	return status;
}

/* A filter that keeps only the entries of the class. */
static enum iforest_status leave_class(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct iforest_split_class *class = context;

	(void)reader;
	*live &= class->which;
	return IFOREST_OK;
}

/* Sets `which` of each class with entries in the block. */
static enum iforest_status classify(const struct walk *walk, uint64_t live)
{
	struct iforest_split *split = walk->split;
	const struct iforest_block *block = &walk->cursor->reader.block;
	struct iforest_split_class *class = NULL;
	enum iforest_status status = IFOREST_OK;

	for (; live && !status; live &= live - 1) {
		unsigned i = iforest_trailing_zeros(live);
		struct class_key key = { .nulls = 0 };

		for (unsigned c = 0; c < split->n_columns; c++) {
			unsigned v = split->columns[c].value;

			if (block->present[v] >> i & 1)
				set_number(split, c, (union iforest_number){ .integer = block->values[v][i] }, &key);
			else
				set_null(split, c, &key);
		}
		if (!class || !is_of_class(split, class, &key))
			status = find_class(split, &key, &class);
		if (!status)
			class->which |= UINT64_C(1) << i;
	}
	return status;
}

/* Adds the classified entries of a block to their classes. */
static enum iforest_status fold_classes(const struct walk *walk)
{
	struct iforest_block_reader *reader = &walk->cursor->reader;
	struct iforest_request request = walk->request;
	struct iforest_filter filter = { .of_entries = leave_class };
	enum iforest_status status = IFOREST_OK;
	uint64_t counted;

	request.filter = &filter;
	for (size_t i = 0; i < walk->split->n && !status; i++) {
		struct iforest_split_class *class = walk->split->classes[i];

		if (!class->which)
			continue;
		filter.context = class;
		status = iforest_block_fold(reader, 0, reader->block.n, &request, class->aggregate, &counted);
		class->which = 0;
	}
	return status;
}

static enum iforest_status add_entries(const struct walk *walk, uint64_t live)
{
	struct iforest_block_reader *reader = &walk->cursor->reader;
	const struct iforest_filter *filter = walk->request.filter;
	enum iforest_status status = IFOREST_OK;

	if (filter && live)
		status = filter->of_entries(filter->context, reader, &live);
	for (unsigned c = 0; c < walk->split->n_columns && live && !status; c++)
		status = iforest_block_need(reader, IFOREST_VALUES + walk->split->columns[c].value);
	if (!status)
		status = classify(walk, live);
	if (!status)
		status = fold_classes(walk);
	return iforest_cursor_report_leaf(walk->cursor, status);
}

/* Adds the entries of a block in the range. */
static enum iforest_status add_block(const struct walk *walk, unsigned b)
{
	struct iforest_cursor *cursor = walk->cursor;
	unsigned from, to;
	uint64_t live;
	enum iforest_status status = iforest_cursor_find_in_block(cursor, b, &walk->from, &walk->to, &from, &to);

	if (status || from >= to)
		return status;
	live = iforest_low_bits(to) & ~iforest_low_bits(from) & ~cursor->reader.block.dead;
	return live ? add_entries(walk, live) : IFOREST_OK;
}

static enum iforest_status add_leaf(struct iforest_descent *descent, const struct iforest_visited_node *node)
{
	const struct walk *walk = descent->context;
	enum iforest_status status = iforest_cursor_pin(walk->cursor, 0, node->i);

	for (unsigned b = 0; !status && b < walk->cursor->leaf.header.n_items; b++)
		status = add_block(walk, b);
	return status;
}

static enum iforest_status add_batch(const struct iforest_batch *batch, const struct walk *walk)
{
	struct iforest_split *split = walk->split;
	uint32_t i = iforest_batch_find(batch, 0, &walk->from), end = iforest_batch_find(batch, i, &walk->to);
	struct iforest_split_class *class;
	enum iforest_status status = IFOREST_OK;

	for (; i < end && !status; i++) {
		uint32_t present;
		const union iforest_number *values = iforest_batch_values(batch, i, &present);
		struct class_key key = { .nulls = 0 };

		for (unsigned c = 0; c < split->n_columns; c++)
			if (present >> split->columns[c].value & 1)
				set_number(split, c, values[split->columns[c].value], &key);
			else
				set_null(split, c, &key);
		status = find_class(split, &key, &class);
		if (!status)
			iforest_batch_fold(batch, i, i + 1, split->fields, &walk->request, class->aggregate);
	}
	return status;
}

enum iforest_status iforest_scan_split(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
				       const struct iforest_request *request, struct iforest_split *split)
{
	static const struct iforest_visitor visitor = { .node = add_node, .leaf = add_leaf };
	struct walk walk = { .from = *from, .to = *to, .request = *request, .split = split };
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < scan->n_folds && !status; r++) {
		struct iforest_cursor *cursor = &scan->folds[r].cursor;
		struct iforest_descent descent = {
			.visitor = &visitor, .context = &walk, .cursor = cursor, .from = &walk.from, .to = &walk.to
		};

		walk.cursor = cursor;
		walk.request.filter = cursor->store == scan->store ? request->filter : scan->joined_filter;
		status = iforest_descend_from_root(&descent);
	}
	return status || !scan->batch ? status : add_batch(scan->batch, &walk);
}
