/* Texts that PostgreSQL can store: UTF-8 without NUL.
 *
 * Each byte that is NUL or belongs to no valid UTF-8 character becomes U+FFFD. In JSON so does each escape \u0000 and each
 * half of a surrogate pair that stands alone: the type json takes them, but no operator could then look into the value. */
#ifndef TOOLS_STORABLE_H
#define TOOLS_STORABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/bytes.h"

/* How often something was replaced. */
struct storable_counts {
	uint64_t n_nul;
	uint64_t n_malformed;
};

/* Makes *text storable: leaves it alone where it is, otherwise lets it point to a repaired *copy, which is good until the
 * next repair. Returns TRACE_OK or TRACE_ERROR_MEMORY. O(n). */
int storable_repair(struct trace_text *text, bool is_json, struct trace_bytes *copy, struct storable_counts *counts);

#endif
