/* follow/row_decoder.h -- Decoder of base-table rows into index entries: times and values checked, series looked up. */
#ifndef IFS_FOLLOW_ROW_DECODER_H
#define IFS_FOLLOW_ROW_DECODER_H

#include "core/model/series_key.h"
#include "core/page/leaf.h"
#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/storage/definition.h"

enum { IFS_N_RECENT = 64 };

struct ifs_recent_series {
	bool is_known;
	uint32_t series;
	int64_t value;
};

struct ifs_row_decoder {
	sqlite3 *db;
	const char *schema;
	const struct ifs_definition *definition;
	const struct ifs_base_table *base_table;
	const struct iforest_node_schema *fields;
	struct ifs_error *error;
	bool may_widen;		   /* a real in a column of integers is noted, else it is refused */
	bool has_real_in_integers; /* such a row was met; its entry is of no use */

	/* Gives the id of a series whose key is another than that of the row before. A key has one id for as long as the reader
	 * does not forget. */
	int (*series_of)(void *context, const struct iforest_series_key *key, uint32_t *id);
	void *context;

	struct iforest_series_key key, previous_key; /* with their alloc set; released at the end */
	bool has_series;
	uint64_t series;			       /* of the last row that was looked for among them */
	struct ifs_recent_series recent[IFS_N_RECENT]; /* by integers, where there is one by column */
};

/* Appends the columns that ifs_row_decode() takes: r."id", r."ts", r."track", r."dur", of the row named r. */
void ifs_row_decoder_append_columns(const struct ifs_definition *definition, const struct ifs_base_table *base_table,
				    const char *row, sqlite3_str *sql);

/* Reads a row of those columns. Refuses what is no time or no number, naming the first such row of the table. */
int ifs_row_decode(struct ifs_row_decoder *decoder, sqlite3_value **row, struct iforest_entry *entry);

/* The same of the row that a statement of those columns stands at. */
int ifs_row_decode_statement(struct ifs_row_decoder *decoder, sqlite3_stmt *statement, struct iforest_entry *entry);
void ifs_row_decoder_release(struct ifs_row_decoder *decoder);

/* The series of a row by its by values: one of the last, or the host says. */
int ifs_row_decode_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series);

/* The series of by values, if it is one of the last; and noting it for the next time. */
bool ifs_row_decoder_recall_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series);
void ifs_row_decoder_remember_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t series);
void ifs_row_decoder_forget_series(struct ifs_row_decoder *decoder);

/* Columns of the row that a statement stands at, valid until it moves. */
void ifs_statement_columns(sqlite3_stmt *statement, int first, unsigned n, sqlite3_value **values);

/* The canonical form of by values. */
int ifs_row_series_key(const struct ifs_definition *definition, sqlite3_value **values, struct iforest_series_key *key,
		       struct ifs_error *error);

#endif
