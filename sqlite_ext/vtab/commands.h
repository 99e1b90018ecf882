/* commands.h -- INSERT INTO spans_if(spans_if) VALUES('...'). */
#ifndef IFOREST_SQLITE_COMMANDS_H
#define IFOREST_SQLITE_COMMANDS_H

#include "sqlite_ext/vtab/common.h"

/* Runs a command on the index: flush, merge, optimize, rebuild, integrity-check, automerge, export. arguments are what stands
 * beside it in the columns of the arguments (enum iforest_argument): n goes with merge and automerge, step with export.
 * Refused inside a trigger and within another statement that writes: a row that is half changed would be taken for whole. */
int iforest_command_run(struct iforest_table *table, const char *command, sqlite3_value **arguments,
			struct iforest_error *error);

#endif
