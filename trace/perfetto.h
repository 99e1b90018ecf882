/* trace/perfetto.h -- Reader of Perfetto protobuf traces: packets, one after the other, to the model.
 *
 *     file      packet packet packet ...             a message Trace, of which each field 1 is a packet
 *     packet    what it is of a sequence, a time in some clock, and a track event, a descriptor, a snapshot of clocks, ...
 *
 * Of a packet the state of its sequence is brought up to date first, then its time is converted, then what it holds is taken.
 * Packets whose time needs a clock that no snapshot before them has are taken again when the file is read. docs/traces.md says
 * what is read and what is left out.
 */
#ifndef IFOREST_PERFETTO_H
#define IFOREST_PERFETTO_H

#include "trace/format.h"

extern const struct trace_format trace_perfetto;

#endif
