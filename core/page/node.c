#include "core/page/node.h"

#include "core/page/page.h"

enum {
	RANGE_BYTES = 36,
	COUNT_BYTES = 16,
	INT64_BYTES = 72,
	FLOAT64_BYTES = 88,
	SQUARES_BYTES = 24,
	END_BYTES = 8,
	BLOCKS_BYTES = 8
};

static const uint8_t end_codes[IFOREST_END_RULES] = {
	[IFOREST_END_DURATION] = IFOREST_FIELD_LATEST_END,
	[IFOREST_END_COLUMN] = IFOREST_FIELD_LATEST_END_COLUMN,
	[IFOREST_END_PER_1000] = IFOREST_FIELD_LATEST_END_PER_1000,
	[IFOREST_END_TIMES_1000] = IFOREST_FIELD_LATEST_END_TIMES_1000,
	[IFOREST_END_TIMES_1000000] = IFOREST_FIELD_LATEST_END_TIMES_1000000,
};

enum iforest_status iforest_fields_finish(struct iforest_fields *fields)
{
	unsigned offset = RANGE_BYTES + COUNT_BYTES;

	if (fields->n_values > IFOREST_MAX_VALUES || fields->squares >> fields->n_values)
		return IFOREST_ARGUMENT;
	for (unsigned v = 0; v < fields->n_values; v++) {
		if (fields->kinds[v] != IFOREST_INT64 && fields->kinds[v] != IFOREST_FLOAT64)
			return IFOREST_ARGUMENT;
		fields->value_offset[v] = (uint16_t)offset;
		offset += fields->kinds[v] == IFOREST_INT64 ? INT64_BYTES : FLOAT64_BYTES;
		fields->squares_offset[v] = 0;
		if (!(fields->squares >> v & 1))
			continue;
		if (fields->kinds[v] != IFOREST_INT64)
			return IFOREST_ARGUMENT;
		fields->squares_offset[v] = (uint16_t)offset;
		offset += SQUARES_BYTES;
	}
	fields->latest_end_offset = 0;
	if (fields->duration_value != IFOREST_NO_VALUE) {
		if (fields->duration_value >= fields->n_values || fields->kinds[fields->duration_value] != IFOREST_INT64 ||
		    fields->end_rule >= IFOREST_END_RULES)
			return IFOREST_ARGUMENT;
		fields->latest_end_offset = (uint16_t)offset;
		offset += END_BYTES;
	}
	fields->blocks_offset = 0;
	if (fields->has_blocks) {
		fields->blocks_offset = (uint16_t)offset;
		offset += BLOCKS_BYTES;
	}
	fields->node_bytes = (uint16_t)offset;
	return IFOREST_OK;
}

unsigned iforest_fanout(const struct iforest_fields *fields, uint32_t page_bytes)
{
	return (page_bytes - IFOREST_PAGE_HEADER) / fields->node_bytes;
}

unsigned iforest_fields_write(const struct iforest_fields *fields, uint8_t *bytes)
{
	uint8_t *out = bytes + 1;

	*out++ = IFOREST_FIELD_RANGE;
	*out++ = IFOREST_NO_VALUE;
	*out++ = IFOREST_FIELD_COUNT;
	*out++ = IFOREST_NO_VALUE;
	for (uint8_t v = 0; v < fields->n_values; v++) {
		*out++ = fields->kinds[v] == IFOREST_INT64 ? IFOREST_FIELD_INT64 : IFOREST_FIELD_FLOAT64;
		*out++ = v;
		if (fields->squares >> v & 1) {
			*out++ = IFOREST_FIELD_SQUARES;
			*out++ = v;
		}
	}
	if (fields->duration_value != IFOREST_NO_VALUE) {
		*out++ = end_codes[fields->end_rule];
		*out++ = fields->duration_value;
	}
	if (fields->has_blocks) {
		*out++ = IFOREST_FIELD_BLOCKS;
		*out++ = IFOREST_NO_VALUE;
	}
	bytes[0] = (uint8_t)((out - bytes - 1) / 2);
	return (unsigned)(out - bytes);
}

/* Takes one (code, column) pair of the list. */
static enum iforest_status parse_field(struct iforest_fields *fields, unsigned code, uint8_t column)
{
	switch (code) {
	case IFOREST_FIELD_RANGE:
	case IFOREST_FIELD_COUNT:
		return IFOREST_OK;
	case IFOREST_FIELD_INT64:
	case IFOREST_FIELD_FLOAT64:
		if (column != fields->n_values || fields->n_values == IFOREST_MAX_VALUES)
			return IFOREST_CORRUPT;
		fields->kinds[fields->n_values++] = code == IFOREST_FIELD_INT64 ? IFOREST_INT64 : IFOREST_FLOAT64;
		return IFOREST_OK;
	case IFOREST_FIELD_SQUARES:
		if (column >= fields->n_values)
			return IFOREST_CORRUPT;
		fields->squares |= (uint8_t)(1u << column);
		return IFOREST_OK;
	case IFOREST_FIELD_BLOCKS:
		fields->has_blocks = true;
		return IFOREST_OK;
	default:
		break;
	}
	for (uint8_t rule = 0; rule < IFOREST_END_RULES; rule++)
		if (code == end_codes[rule]) {
			fields->duration_value = column;
			fields->end_rule = rule;
			return IFOREST_OK;
		}
	return IFOREST_FORMAT;
}

enum iforest_status iforest_fields_parse(struct iforest_fields *fields, const uint8_t *bytes, uint32_t n_bytes,
					 uint32_t *n_read)
{
	struct iforest_fields parsed = { .duration_value = IFOREST_NO_VALUE };
	uint8_t again[1 + 2 * IFOREST_MAX_FIELDS];
	unsigned n_fields = n_bytes ? bytes[0] : 0;
	enum iforest_status status;

	if (n_fields < 2 || n_fields > IFOREST_MAX_FIELDS || n_bytes < 1 + 2 * n_fields)
		return IFOREST_CORRUPT;
	for (unsigned i = 0; i < n_fields; i++) {
		status = parse_field(&parsed, bytes[1 + 2 * i], bytes[2 + 2 * i]);
		if (status)
			return status;
	}
	/* the order of fields is fixed, so a sound list is the one that we would write */
	if (iforest_fields_finish(&parsed) || iforest_fields_write(&parsed, again) != 1 + 2 * n_fields ||
	    memcmp(again, bytes, 1 + 2 * n_fields) != 0)
		return IFOREST_CORRUPT;
	*fields = parsed;
	*n_read = 1 + 2 * n_fields;
	return IFOREST_OK;
}
