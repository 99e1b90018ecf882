/* trace/chrome_json.h -- Reader of Chrome's trace event format (JSON).
 *
 * Events are read in any order and form that real writers produce; docs/traces.md has the rules for users. Files are those of
 * Chrome, PyTorch, Bazel, clang -ftime-trace, viztracer and many more.
 */
#ifndef IFOREST_CHROME_JSON_H
#define IFOREST_CHROME_JSON_H

#include "trace/format.h"

extern const struct trace_format trace_chrome_json;

#endif
