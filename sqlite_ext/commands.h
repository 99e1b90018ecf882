/* commands.h -- INSERT INTO spans_if(spans_if) VALUES('...'). */
#ifndef IFOREST_SQLITE_COMMANDS_H
#define IFOREST_SQLITE_COMMANDS_H

#include "sqlite_ext/table.h"

/* Runs a command on the index: flush, merge, optimize, rebuild, integrity-check, export. step is what was given for the column of that
 * name, an option of export.
 * Refused inside a trigger and within another statement that writes: a row that is half changed would be taken for whole. */
int iforest_command_run(struct iforest_table *table, const char *command, sqlite3_value *step, struct iforest_error *error);

#endif
