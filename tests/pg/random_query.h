/* random_query.h -- a table of random columns with iforest indexes, and random grouped queries over it: dashboards', and
 * worse.
 *
 * A query is kept in pieces, so that those that matter for a failure can be found by leaving others out. A table's columns
 * are by1.., ts, v1.., id and note; what a row holds depends on the seed and its number alone. Before, once in a database:
 * random_table_prepare() and CREATE ROLE reader.
 */
#ifndef TESTS_PG_RANDOM_QUERY_H
#define TESTS_PG_RANDOM_QUERY_H

#include "tests/pg/client.h"

/* ---- tables ---- */

enum term_type {
	OF_TIMESTAMPTZ, OF_TIMESTAMP, OF_DATE, OF_INT4, OF_INT8, OF_NUMERIC, OF_FLOAT8, OF_TEXT, OF_BOOL, OF_INTERVAL,
	OF_UUID, OF_MOOD, TERM_TYPES
};

enum { QUERY_BY = 3, QUERY_VALUES = 4, QUERY_SAMPLES = 20, QUERY_BOUNDS = 8, QUERY_PIECE = 2400, QUERY_PIECES = 7 };

struct query_kind {
	const char *name;
	enum term_type type;
	const char *special[8];             /* of by columns: all there are */
	const char *spread;
};

struct query_column {
	char name[8];
	char operand[80];                   /* what the index has: the column, or an expression of it */
	const struct query_kind *kind;
	enum term_type type;                /* of that */
	bool is_indexed, is_not_null;
	unsigned percent_null, percent_special;
	char spread[160];                   /* SQL for a value that is neither, of id */
	unsigned n_bounds;                  /* of a histogram */
	long long bounds[QUERY_BOUNDS], step; /* step: between each two; 0: it varies */
	unsigned n_samples;
	char samples[QUERY_SAMPLES][64];    /* values that rows have, and special ones */
};

struct query_table {
	struct random *dice;
	unsigned n_by, n_values;
	struct query_column by[QUERY_BY], time, values[QUERY_VALUES];
	const char *persistence;            /* CREATE .. TABLE */
	bool is_temporary;                  /* one session's own */
	bool has_key;                       /* id is the primary key */
	const char *zone;                   /* with a transition near the times */
	long long n_given;                  /* ids given so far */
};

/* Adds the statements that make the table t, a view v of it, and indexes. Rows come by query_table_change(). */
void query_table_make(struct query_table *table, struct random *dice, struct text *sql);

/* Reads values to compare columns with. */
void query_table_sample(struct query_table *table, PGconn *pg);

/* A statement that may stand in a transaction: an insert, or else an update or delete. */
void query_table_insert(struct query_table *table, long long n, struct text *sql);
void query_table_change(struct query_table *table, struct text *sql);

/* Its columns but id and note. */
struct query_column *query_table_column(struct query_table *table, unsigned i);
unsigned query_table_n_columns(const struct query_table *table);

/* A statement that may not. */
void query_table_maintain(struct query_table *table, struct text *sql);

/* A time zone's name; often one that has a transition near the table's times. */
const char *query_zone(const struct query_table *table, struct random *dice);

/* Chooses the bounds of histograms; writes histograms and products as parameters of an index. */
void query_bounds_choose(struct query_table *table);
void query_bounds_write(struct query_table *table, struct text *sql);

/* ---- queries ---- */

struct query_list {
	unsigned n;
	char at[QUERY_PIECES][QUERY_PIECE];
};

enum query_shape {
	PLAIN, DISTINCT_KEYS, WRAPPED, COMPUTED_BELOW, THROUGH_VIEW, THROUGH_CTE, UNION_ABOVE, UNION_BELOW, SCALARS,
	LATERAL_BOUNDS, CORRELATED, AGGREGATED_AGAIN, FILTERED_ABOVE, JOINED, GROUPING, FIRST_ROWS, DIMENSION,
	ELEMENTS, OUTER_ROWS,
	QUERY_SHAPES
};

struct query {
	struct query_table *table;
	struct random *dice;
	enum query_shape shape;
	unsigned variant;                   /* what a shape does with it is its own business */
	struct query_list keys, aggregates, conditions, having, windows;
	char bounds[QUERY_PIECE];           /* VALUES of (n, lo, hi), for LATERAL and the like */
	char dimension[QUERY_PIECE];        /* VALUES of (dk, dname, dn), to be joined on by column number dimension_by */
	unsigned dimension_by;
	char order[QUERY_PIECE];
	bool is_ordered;                    /* so that rows come in one order only */
	bool is_prepared;
	struct query_list parameters, later;
	unsigned n_earlier;                 /* executed so often before, with `parameters`; then once with `later` */
	char parameter_types[QUERY_PIECES][24];
};

void query_make(struct query *query, struct query_table *table);

/* The statement, and how it is executed if it has parameters: first, or at last. */
void query_write(const struct query *query, struct text *sql);
void query_write_prepare(const struct query *query, struct text *sql);
void query_write_execute(const struct query *query, bool is_last, struct text *sql);

/* Leaves the n-th removable piece out. False: there are less than that. */
bool query_leave_out(struct query *query, unsigned n);

/* ---- terms: for query_make() ---- */

/* Takes a piece of SQL as printf does; "1" in place of one that is too long. */
FORMAT(2) void query_piece(char piece[QUERY_PIECE], const char *format, ...);

/* 'value'::type, or a parameter of that, which may have the other value later. */
void term_value_of(struct query *query, const char *value, const char *later, const char *type, struct text *sql);

/* Its own type's name, or that of the index's expression of it. */
const char *term_type_of(const struct query_column *column);

/* What a query has in the column's place: mostly what the index has. */
const char *term_operand(struct query *query, const struct query_column *column);

/* Some value of the type, likewise. */
void term_literal(struct query *query, enum term_type type, struct text *sql);

/* The text with a random choice for each {word}, and `operand` for each @. */
void term_fill(struct query *query, const char *form, const char *operand, struct text *sql);

/* A random expression of the operand, of type `from`. Returns its type. */
enum term_type term_step(struct query *query, enum term_type from, const char *operand, struct text *sql);

/* As many steps from a column; returns the type. */
enum term_type term_make(struct query *query, const struct query_column *column, unsigned n_steps, struct text *sql);

/* A condition on indexed columns: also on values, if `with_values`; `depth`: of ANDs, ORs and NOTs. */
void term_condition(struct query *query, bool with_values, unsigned depth, struct text *sql);

/* One on values alone, most often on one column: of ranges, lists and NULL. False, and nothing is added: the table has none. */
bool term_values_condition(struct query *query, struct text *sql);

/* One on a coarse expression of the time. */
void term_coarse_condition(struct query *query, struct text *sql);

/* An aggregate, with FILTER or not; also something computed of one, or a function that no index answers. */
void term_aggregate(struct query *query, struct text *sql);
void term_output(struct query *query, struct text *sql);

/* A condition, group key or aggregate that the bounds of a histogram answer, or nearly. False, and nothing is added: the chosen
 * column has none. */
bool term_bounds_condition(struct query *query, struct text *sql);
bool term_bounds_key(struct query *query, struct text *sql);
bool term_bounds_aggregate(struct query *query, struct text *sql);

const struct query_column *term_time(const struct query *query);
const struct query_column *term_by(struct query *query);    /* one of them, or NULL */
const struct query_column *term_value(struct query *query); /* likewise */

#endif
