/* trace/chrome_json.h -- Reader of Chrome's trace event format (JSON).
 *
 * Reads events in any order and form that real writers produce: Chrome, PyTorch, Bazel, clang -ftime-trace, viztracer and many
 * more. The rules for users are in docs/traces.md.
 */
#ifndef IFOREST_CHROME_JSON_H
#define IFOREST_CHROME_JSON_H

#include "trace/format.h"

extern const struct trace_format trace_chrome_json;

#endif
