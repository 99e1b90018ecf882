/* trace/perfetto.h -- Reader of Perfetto protobuf traces: packets, one after the other, to the model.
 *
 *     file      packet packet packet ...             a message Trace, of which each field 1 is a packet
 *     packet    what it is of a sequence, a time in some clock, and a track event, a descriptor, a snapshot of clocks, ...
 *
 * For each packet, the state of its sequence is updated, its time is converted, and its content is processed. Packets whose
 * clock is in no earlier snapshot are processed again at the end of the file. docs/traces.md documents what is read and what is
 * left out.
 */
#ifndef IFOREST_PERFETTO_H
#define IFOREST_PERFETTO_H

#include "trace/format.h"

extern const struct trace_format trace_perfetto;

#endif
