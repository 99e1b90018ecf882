/* trace/foreign.h -- Files that are no traces, or traces in formats that are not read: what they are, and what to do with them.
 *
 *     head of a file --> "Jaeger's JSON is not read. Make events of Chrome of it: jq '...' FILE > OTHER"
 *
 * A wrapped, packed or related file would otherwise get an error about what it lacks, which says nothing of what it is. The
 * commands of the messages are run by a test.
 */
#ifndef IFOREST_FOREIGN_H
#define IFOREST_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* The formats that are read, as the end of an error message. */
extern const char trace_formats_read[];

/* Returns what a file is that begins with these bytes, and what to do with it: sentences without the last full stop. NULL if it
 * is nothing that is known here. No text of the file is in it. O(n_bytes). */
const char *trace_foreign_advice(const char *head, size_t n_bytes);

#endif
