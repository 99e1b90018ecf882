/* build_internal.h -- what build.c (the passes) and build_rows.c (a row to an entry) share. Not for others. */
#ifndef IFOREST_SQLITE_BUILD_INTERNAL_H
#define IFOREST_SQLITE_BUILD_INTERNAL_H

#include "core/run_build.h"
#include "sqlite_ext/build.h"
#include "sqlite_ext/progress.h"

/* Columns of the query over the table: rowid, time, by columns, value columns. */
enum { ROWID, TIME, FIRST_BY };

struct iforest_build {
	struct iforest_index *index;
	const struct iforest_definition *definition;
	const struct iforest_source *source;
	struct iforest_error *error;
	struct iforest_fields fields;
	struct iforest_manifest manifest;
	struct iforest_run_builder *builder;
	struct iforest_progress progress;
	sqlite3_stmt *put_series;
	struct iforest_series_key key, previous_key;
	uint32_t first_series, next_series;
	uint64_t series_checksum;
	bool has_real_in_integers;       /* a column taken for integers is one of reals: start over */
};

/* Turns a status of core into the build's error. */
static inline int iforest_build_error(struct iforest_build *build, enum iforest_status status)
{
	return iforest_index_error(build->index, build->index->snapshot, status, build->error);
}

/* Adds the row that the statement stands at to the run, and its series to the table of series if it is a new one.
 * Refuses what is no time or no number, naming the first such row of the table. */
int iforest_build_add_row(struct iforest_build *build, sqlite3_stmt *statement);

#endif
