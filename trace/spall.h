/* trace/spall.h -- Spall's traces (.spall) of versions 0, 1 and 3.
 *
 *     header     magic u64, version u64, unit of time f64, 0 u64
 *     0 and 1    events with process, thread and time (f64); time * unit is microseconds
 *     3          buffers: size u32, thread u32, process u32, first time u64, then so many bytes of events with time (u64);
 *                time * unit is nanoseconds
 *
 * All is little-endian and packed; events begin with a byte that is their type. The layout is that of spall.h in
 * colrdavidson/spall-web. docs/traces.md documents the mapping of events.
 */
#ifndef IFOREST_SPALL_H
#define IFOREST_SPALL_H

#include <stdbool.h>

#include "trace/format.h"

extern const struct trace_format trace_spall;

/* a * b * factor rounded half to even, exactly: factor * 2^106 fits into 128 bits. False if a or b is not a number, or the product
 * no int64_t. */
bool trace_spall_time(double a, double b, unsigned factor, int64_t *product);

/* The same for an integer, without a factor. */
bool trace_spall_ticks(uint64_t ticks, double unit, int64_t *product);

#endif
