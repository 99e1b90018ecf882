/* follow/row_decoder.h -- Decoder of base-table rows into index entries: checks times and values, looks up the series.
 *
 * It caches the series of the previous row and, if there is a single by column of integers, the series of IFS_N_RECENT values.
 */
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
	const struct ifs_times *times;
	struct ifs_error *error;
	struct iforest_text_forms *forms; /* collects the forms of text times; NULL: not needed */
	bool may_widen;			  /* a real in a column of integers sets has_real_in_integers; else it is an error */
	bool has_real_in_integers;	  /* then the entry is invalid */

	/* Sets the id of a series that is not cached. A key keeps its id until ifs_row_decoder_forget_series(). */
	int (*series_of)(void *context, const struct iforest_series_key *key, uint32_t *id);
	void *context;

	struct iforest_series_key key, previous_key; /* the caller sets their alloc */
	bool has_series;
	uint64_t series;			       /* of `key` */
	struct ifs_recent_series recent[IFS_N_RECENT]; /* by value */
};

/* Appends the columns that ifs_row_decode() reads; `row` is the table's alias: r."id", r."ts", r."track", r."dur". */
void ifs_row_decoder_append_columns(const struct ifs_definition *definition, const struct ifs_base_table *base_table,
				    const char *row, sqlite3_str *sql);

/* Returns how many these are. */
unsigned ifs_row_decoder_n_columns(const struct ifs_definition *definition);

/* Decodes a row of those columns. If a time or value is invalid, the error names the first such row of the table. */
int ifs_row_decode(struct ifs_row_decoder *decoder, sqlite3_value **row, struct iforest_entry *entry);

/* Decodes the current row of a statement that returns those columns. */
int ifs_row_decode_statement(struct ifs_row_decoder *decoder, sqlite3_stmt *statement, struct iforest_entry *entry);
void ifs_row_decoder_release(struct ifs_row_decoder *decoder);

/* Finds the series of the by values, in the cache or with series_of(). */
int ifs_row_decode_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series);

/* Look up, add and clear cached series. A lookup returns false if the value is not cached. */
bool ifs_row_decoder_recall_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series);
void ifs_row_decoder_remember_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t series);
void ifs_row_decoder_forget_series(struct ifs_row_decoder *decoder);

/* Gets columns [first, first + n) of the statement's current row, valid until its next step or reset. */
void ifs_statement_columns(sqlite3_stmt *statement, int first, unsigned n, sqlite3_value **values);

/* Writes the canonical form of by values into *key. */
int ifs_row_series_key(const struct ifs_definition *definition, sqlite3_value **values, struct iforest_series_key *key,
		       struct ifs_error *error);

#endif
