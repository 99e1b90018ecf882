/* storage/definition.h -- Definition of an index: the arguments of CREATE VIRTUAL TABLE, and the SQL columns they yield. */
#ifndef IFS_STORAGE_DEFINITION_H
#define IFS_STORAGE_DEFINITION_H

#include "core/page/node.h"
#include "sqlite_ext/storage/engine.h"

#define IFOREST_MAX_BY 16
#define IFOREST_MAX_TEXTS 9

/* How the index learns of changes of its table. */
enum iforest_sync {
	IFOREST_SYNC_LOG,       /* triggers write what changes to a log */
	IFOREST_SYNC_APPEND,    /* rows are only ever added, with greater rowids; those above the last one sealed are pending */
	IFOREST_SYNC_MANUAL,    /* not at all: it answers as of its last rebuild */
	IFOREST_N_SYNCS
};

/* A column of the table, and what it is called in the index. */
struct iforest_column_name {
	char *source;
	char *name;
};

struct iforest_definition {
	char *content;
	char *time;
	enum iforest_sync sync;
	char *duration;                                      /* NULL: none; else also among the values */
	unsigned n_values, n_by;
	struct iforest_column_name values[IFOREST_MAX_VALUES];
	struct iforest_column_name by[IFOREST_MAX_BY];
	unsigned n_sketches;                                 /* value columns of which sketches are kept, and their numbers */
	struct iforest_column_name sketches[IFOREST_MAX_VALUES];
	uint8_t sketch_values[IFOREST_MAX_VALUES];
	unsigned n_counters;                                 /* the same of counters */
	struct iforest_column_name counters[IFOREST_MAX_VALUES];
	uint8_t counter_values[IFOREST_MAX_VALUES];
	const char *by_types[IFOREST_MAX_BY];                /* static: TEXT INTEGER REAL NUMERIC or BLOB; NULL where unknown */
	struct iforest_column_name variances[IFOREST_MAX_VALUES];
	unsigned n_variances;
	/* bit v: the variance of value column v is kept, as variances say */
	uint8_t squares;
	uint8_t duration_value;                              /* its number in values, or IFOREST_NO_VALUE */
	char *texts[IFOREST_MAX_TEXTS];                      /* the arguments as they were written */
	unsigned n_texts;
	bool is_overlap;                                     /* the table has the columns of iforest_overlap */
	bool is_counter;                                     /* or those of iforest_counter */
	unsigned n_hidden;                                   /* columns before all others, as declared */
};

/* The base table, on which the index is built, as it stands today. */
struct iforest_source {
	char *name;          /* as the schema spells it */
	char *rowid_column;  /* its INTEGER PRIMARY KEY */
};

/* Columns of the virtual table: the hidden arguments (without fill for iforest_counter), the hidden command of an index, and
 * then
 *
 *   by columns | bucket bucket_start bucket_end count first_ts last_ts | 11 for each value |
 *   2 for each value whose variance is kept | sketches
 *
 * of iforest_overlap: by columns | bucket bucket_start bucket_end overlaps | clipped and longest duration
 * of iforest_counter: by columns | bucket .. last_ts | 7 for each value
 *
 * The hidden ones come first because SQLite tells which of the first 63 columns a query uses, and of all others together.
 * Numbers of columns below are those without the hidden ones.
 */
enum iforest_fixed_column {
	IFOREST_COLUMN_BUCKET, IFOREST_COLUMN_BUCKET_START, IFOREST_COLUMN_BUCKET_END, IFOREST_COLUMN_COUNT,
	IFOREST_COLUMN_FIRST_TS, IFOREST_COLUMN_LAST_TS, IFOREST_N_FIXED
};

enum iforest_value_column {
	IFOREST_OF_COUNT, IFOREST_OF_SUM, IFOREST_OF_MIN, IFOREST_OF_MAX, IFOREST_OF_AVG, IFOREST_OF_FIRST,
	IFOREST_OF_LAST, IFOREST_OF_MIN_ID, IFOREST_OF_MAX_ID, IFOREST_OF_MIN_TS, IFOREST_OF_MAX_TS, IFOREST_N_OF_VALUE
};

/* The first of them take the place of the fixed ones, IFOREST_OVERLAPS that of IFOREST_COLUMN_COUNT. */
enum iforest_overlap_column {
	IFOREST_OVERLAPS = IFOREST_COLUMN_COUNT,
	IFOREST_OF_CLIPPED,
	IFOREST_OF_LONGEST,
	IFOREST_OF_LONGEST_ID,
	IFOREST_OF_LONGEST_TS,
	IFOREST_N_OVERLAP
};

enum iforest_variance_column { IFOREST_OF_VAR, IFOREST_OF_STDDEV, IFOREST_N_OF_VARIANCE };

enum iforest_counter_column {
	IFOREST_COUNTER_COUNT, IFOREST_COUNTER_START, IFOREST_COUNTER_END, IFOREST_COUNTER_MEAN, IFOREST_COUNTER_INCREASE,
	IFOREST_COUNTER_RATE, IFOREST_COUNTER_RESETS, IFOREST_N_OF_COUNTER
};

enum iforest_argument {
	IFOREST_ARGUMENT_T0, IFOREST_ARGUMENT_T1, IFOREST_ARGUMENT_N, IFOREST_ARGUMENT_STEP, IFOREST_ARGUMENT_ORIGIN,
	IFOREST_ARGUMENT_FILL, IFOREST_N_ARGUMENTS
};

extern const char *const iforest_argument_names[IFOREST_N_ARGUMENTS];
extern const char *const iforest_sync_names[IFOREST_N_SYNCS];

/* Number of the first column of variances. */
static inline unsigned iforest_first_variance(const struct iforest_definition *definition)
{
	return definition->n_by + IFOREST_N_FIXED + IFOREST_N_OF_VALUE * definition->n_values;
}

/* Number of the first column of a sketch. */
static inline unsigned iforest_first_sketch(const struct iforest_definition *definition)
{
	return iforest_first_variance(definition) + IFOREST_N_OF_VARIANCE * definition->n_variances;
}

/* How many of enum iforest_argument the table takes, the first of them; the command column follows. */
static inline int iforest_n_arguments(const struct iforest_definition *definition)
{
	return definition->is_counter ? IFOREST_ARGUMENT_FILL : IFOREST_N_ARGUMENTS;
}

/* The value column of the i-th of the variances, in the order of value columns. */
unsigned iforest_variance_value(const struct iforest_definition *definition, unsigned i);

/* Reads arguments such as "by=(track, depth AS level)". Ends with all names owned by the definition, also on error:
 * iforest_definition_release() in either case. by_types stay NULL. */
int iforest_definition_parse(struct iforest_definition *definition, int n_arguments, const char *const *arguments,
			     struct iforest_error *error);
void iforest_definition_release(struct iforest_definition *definition);

/* Reads a text that is one name, quoted or not; *name is to be freed with sqlite3_free(). */
int iforest_definition_parse_name(const char *text, char **name, struct iforest_error *error);

/* Reads a text that is `column` or `column AS name`; both names are to be freed with sqlite3_free(), also on error. */
int iforest_definition_parse_column(const char *text, struct iforest_column_name *column, struct iforest_error *error);

/* Keeps only the named by columns, in the order named. kept[i] is the number of the i-th in the index. module is the name of
 * the table's module, for messages. */
int iforest_definition_keep_by(struct iforest_definition *definition, const char *module, int n_names, const char *const *names,
			       unsigned *kept, struct iforest_error *error);

/* The CREATE TABLE text for sqlite3_declare_vtab(), to be freed with sqlite3_free(), and definition->n_hidden; NULL with an
 * error, among them two columns of one name. command is the name of the command column, NULL for none. */
char *iforest_definition_declare(struct iforest_definition *definition, const char *command, struct iforest_error *error);

void iforest_source_release(struct iforest_source *source);

#endif
