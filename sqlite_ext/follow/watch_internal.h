/* watch_internal.h -- what watch.c (triggers in the schema) and watch_text.c (what they say) share. Not for others. */
#ifndef IFOREST_SQLITE_WATCH_INTERNAL_H
#define IFOREST_SQLITE_WATCH_INTERNAL_H

#include "sqlite_ext/follow/triggers.h"

enum { IFOREST_BEFORE_INSERT, IFOREST_AFTER_INSERT, IFOREST_BEFORE_UPDATE, IFOREST_BEFORE_DELETE, IFOREST_N_TRIGGERS };

/* What the text of a trigger is made of. */
struct iforest_watch {
	sqlite3 *db;
	const char *schema, *index;
	const struct iforest_source *source;
	const struct iforest_definition *definition;
	struct iforest_error *error;
	bool is_no_trigger;          /* the SQL is to be run as it is */
};

/* The text of a trigger as the schema keeps it, or with the schema's name, as it is made; from sqlite3_mprintf(). */
int iforest_watch_make_text(const struct iforest_watch *watch, int trigger, bool with_schema, char **made);

/* Logs the row with rowid -1, if there is one. */
int iforest_watch_log_minus_one(const struct iforest_watch *watch);

/* The text in a column of a row, "" for NULL. Valid as long as sqlite3_column_text()'s is. */
static inline const char *iforest_column_string(sqlite3_stmt *statement, int column)
{
	const char *string = (const char *)sqlite3_column_text(statement, column);

	return string ? string : "";
}

#endif
