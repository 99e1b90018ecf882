/* storage/definition.h -- Definition of an index: the arguments of CREATE VIRTUAL TABLE, and the resulting SQL columns. */
#ifndef IFS_STORAGE_DEFINITION_H
#define IFS_STORAGE_DEFINITION_H

#include "core/page/node.h"
#include "sqlite_ext/storage/engine.h"
#include "sqlite_ext/storage/time_kind.h"

#define IFS_MAX_BY 16
#define IFS_MOST_CONDITION_BYTES 100000
#define IFS_MAX_TEXTS (13 + IFOREST_N_KINDS) /* each argument once */

/* How the index finds out about changes of its base table. */
enum ifs_sync {
	IFS_SYNC_LOG,	 /* triggers write the changes to a log */
	IFS_SYNC_APPEND, /* rows are only ever added, with greater rowids; those above the last one flushed are pending */
	IFS_SYNC_MANUAL, /* it does not: queries see the table as of the last rebuild */
	IFS_N_SYNCS
};

/* A column of the base table (source), and its name in the index. */
struct ifs_column_name {
	char *source;
	char *name;
};

struct ifs_definition {
	char *content;
	char *time;
	enum ifs_sync sync;
	int64_t per_second;	      /* units per second of unit=..., in which times are counted; 0 if not given */
	int64_t durations_per_second; /* likewise of duration_unit=..., in which the duration column counts */
	char *duration;		      /* NULL if there is none; otherwise also one of the values */
	struct ifs_column_name end;   /* likewise: a column of ends, and the name of the duration, which is end - time */
	/* condition on the rows of the index, in parentheses, as storage/pure_condition.h rewrites it; NULL: all rows */
	char *where;
	bool where_has_like;  /* the condition as given has a LIKE */
	bool where_is_judged; /* it may become part of a statement (follow/condition.h) */
	unsigned n_values, n_by;
	struct ifs_column_name values[IFOREST_MAX_VALUES];
	struct ifs_column_name by[IFS_MAX_BY];
	unsigned n_sketches; /* value columns with sketches, and their numbers */
	struct ifs_column_name sketches[IFOREST_MAX_VALUES];
	uint8_t sketch_values[IFOREST_MAX_VALUES];
	unsigned n_distincts; /* columns with distinct sketches, and their fields: value columns or hashed columns */
	struct ifs_column_name distincts[IFOREST_MAX_VALUES];
	uint8_t distinct_fields[IFOREST_MAX_VALUES];
	unsigned n_hashed; /* columns that are no values: a field each, with keys of core/model/distinct.h */
	const char *hashed[IFOREST_MAX_VALUES]; /* in the table; owned by distincts */
	unsigned n_counters;			/* value columns with counter summaries, and their numbers */
	struct ifs_column_name counters[IFOREST_MAX_VALUES];
	uint8_t counter_values[IFOREST_MAX_VALUES];
	const char *by_types[IFS_MAX_BY];  /* static: TEXT INTEGER REAL NUMERIC or BLOB; NULL where unknown */
	enum ifs_time_kind time_kind;	   /* as of the last build: determines the declared type of time columns */
	char *kind_texts[IFOREST_N_KINDS]; /* the arguments that list accumulators, as written; NULL if not given */
	struct iforest_accumulators accumulators;
	uint8_t duration_value;	    /* its number among the values, or IFOREST_NO_VALUE */
	char *texts[IFS_MAX_TEXTS]; /* the arguments as written */
	unsigned n_texts;
	bool is_overlap;   /* the table has the columns of iforest_overlap */
	bool is_counter;   /* the table has the columns of iforest_counter */
	unsigned n_hidden; /* columns before all others, as declared */
};

/* The base table of an index, as found in the schema. */
struct ifs_base_table {
	char *name;	     /* as the schema spells it */
	char *rowid_column;  /* its INTEGER PRIMARY KEY; if it has none, rowid, _rowid_ or oid */
	bool is_keyed;	     /* it has an INTEGER PRIMARY KEY */
	bool has_constraint; /* its schema has UNIQUE, or a PRIMARY KEY that is not the rowid */
};

/* Columns of the virtual table: the hidden arguments (without fill for iforest_counter), the hidden command of an index,
 * and then
 *
 *   by columns | bucket bucket_start bucket_end count first_ts last_ts | 11 for each value |
 *   those of accumulators (storage/accumulator_columns.h) | sketches | 4 for each value: row and time of its first and last |
 *   distinct sketches
 *
 * of iforest_overlap: by columns | bucket bucket_start bucket_end overlaps | clipped and longest duration | peak peak_ts
 * of iforest_counter: by columns | bucket .. last_ts | 7 for each value
 *
 * The hidden columns come first, because SQLite reports the use of each of the first 63 columns, but of all others only
 * together. The column numbers below do not count hidden columns. */
enum ifs_fixed_column {
	IFS_COLUMN_BUCKET,
	IFS_COLUMN_BUCKET_START,
	IFS_COLUMN_BUCKET_END,
	IFS_COLUMN_COUNT,
	IFS_COLUMN_FIRST_TS,
	IFS_COLUMN_LAST_TS,
	IFS_N_FIXED
};

/* Those before IFS_N_OF_VALUE are adjacent; the others were added later, and follow all earlier columns of the table. */
enum ifs_value_column {
	IFS_OF_COUNT,
	IFS_OF_SUM,
	IFS_OF_MIN,
	IFS_OF_MAX,
	IFS_OF_AVG,
	IFS_OF_FIRST,
	IFS_OF_LAST,
	IFS_OF_MIN_ID,
	IFS_OF_MAX_ID,
	IFS_OF_MIN_TS,
	IFS_OF_MAX_TS,
	IFS_N_OF_VALUE,
	IFS_OF_FIRST_ID = IFS_N_OF_VALUE,
	IFS_OF_LAST_ID,
	IFS_OF_FIRST_TS,
	IFS_OF_LAST_TS,
	IFS_END_OF_VALUE
};

enum { IFS_N_OF_ENDS = IFS_END_OF_VALUE - IFS_N_OF_VALUE };

/* Columns after the first three fixed ones. IFS_OVERLAPS takes the place of IFS_COLUMN_COUNT. */
enum ifs_overlap_column {
	IFS_OVERLAPS = IFS_COLUMN_COUNT,
	IFS_OF_CLIPPED,
	IFS_OF_LONGEST,
	IFS_OF_LONGEST_ID,
	IFS_OF_LONGEST_TS,
	IFS_OF_PEAK,
	IFS_OF_PEAK_TS,
	IFS_N_OVERLAP
};

enum ifs_counter_column {
	IFS_COUNTER_COUNT,
	IFS_COUNTER_START,
	IFS_COUNTER_END,
	IFS_COUNTER_MEAN,
	IFS_COUNTER_INCREASE,
	IFS_COUNTER_RATE,
	IFS_COUNTER_RESETS,
	IFS_N_OF_COUNTER
};

enum ifs_argument {
	IFS_ARGUMENT_T0,
	IFS_ARGUMENT_T1,
	IFS_ARGUMENT_N,
	IFS_ARGUMENT_STEP,
	IFS_ARGUMENT_ORIGIN,
	IFS_ARGUMENT_FILL,
	IFS_N_ARGUMENTS
};

extern const char *const ifs_argument_names[IFS_N_ARGUMENTS];
extern const char *const ifs_sync_names[IFS_N_SYNCS];

/* Returns the number of the first column of accumulators. */
static inline unsigned ifs_first_of_accumulators(const struct ifs_definition *definition)
{
	return definition->n_by + IFS_N_FIXED + IFS_N_OF_VALUE * definition->n_values;
}

/* Returns the time conversion of an index with this definition; texts have the format of datetime(). */
static inline struct ifs_times ifs_times_of(const struct ifs_definition *definition, enum ifs_time_kind kind)
{
	int64_t per_second = definition->per_second ? definition->per_second : 1000000000;
	bool has_duration_unit = definition->durations_per_second != 0;

	return (struct ifs_times){ .kind = kind,
				   .per_second = per_second,
				   .is_unit_known = definition->per_second != 0,
				   .has_duration_unit = has_duration_unit,
				   .durations_per_second = has_duration_unit ? definition->durations_per_second : per_second };
}

/* Core's values of the index are its value columns, then its hashed columns. If times are reals, so is the duration, which core
 * cannot add to a mapped time. Then there is one more value: the end of the span, mapped like times. These return the number of
 * values, the value that determines the end of a span (or IFOREST_NO_VALUE), and in which way it does. */
static inline uint8_t ifs_n_fields(const struct ifs_definition *definition, enum ifs_time_kind kind)
{
	return (uint8_t)(definition->n_values + definition->n_hashed +
			 (kind == IFS_TIMES_REAL && definition->duration_value != IFOREST_NO_VALUE));
}

static inline uint8_t ifs_duration_field(const struct ifs_definition *definition, enum ifs_time_kind kind)
{
	bool is_apart = kind == IFS_TIMES_REAL && definition->duration_value != IFOREST_NO_VALUE;

	return is_apart ? (uint8_t)(definition->n_values + definition->n_hashed) : definition->duration_value;
}

static inline uint8_t ifs_end_rule(const struct ifs_definition *definition, enum ifs_time_kind kind)
{
	return ifs_duration_field(definition, kind) == definition->duration_value ? IFOREST_END_DURATION : IFOREST_END_COLUMN;
}

/* Returns the number of the first sketch column. */
unsigned ifs_first_sketch(const struct ifs_definition *definition);

/* Returns the number of the first column from IFS_OF_FIRST_ID on. */
unsigned ifs_first_of_ends(const struct ifs_definition *definition);

/* Returns the number of the first column of distinct sketches. */
unsigned ifs_first_distinct(const struct ifs_definition *definition);

/* Returns n if the table has the first n hidden arguments of enum ifs_argument. The command column follows them. */
static inline int ifs_n_arguments(const struct ifs_definition *definition)
{
	return definition->is_counter ? IFS_ARGUMENT_FILL : IFS_N_ARGUMENTS;
}

/* Returns the kind of an accumulator that requires the value column to have integers; NULL if there is none. */
const struct iforest_kind *ifs_kind_of_integers(const struct ifs_definition *definition, unsigned value);

/* Parses arguments such as "by=(track, depth AS level)". The definition owns all names, also after an error: call
 * ifs_definition_release() in either case. by_types stay NULL. */
int ifs_definition_parse(struct ifs_definition *definition, int n_arguments, const char *const *arguments,
			 struct ifs_error *error);
void ifs_definition_release(struct ifs_definition *definition);

/* Parses a text that is one name, quoted or not. Free *name with sqlite3_free(). */
int ifs_definition_parse_name(const char *text, char **name, struct ifs_error *error);

/* Parses a text that is `column` or `column AS name`. Free both names with sqlite3_free(), also after an error. */
int ifs_definition_parse_column(const char *text, struct ifs_column_name *column, struct ifs_error *error);

/* Reduces the by columns to those named, in that order. kept[i] receives the number that the i-th one has in the index. module
 * is the name of the table's module, for messages. */
int ifs_definition_keep_by(struct ifs_definition *definition, const char *module, int n_names, const char *const *names,
			   unsigned *kept, struct ifs_error *error);

/* Returns the CREATE TABLE text for sqlite3_declare_vtab(), to be freed with sqlite3_free(), and sets
 * definition->n_hidden. Returns NULL and sets the error if two columns have the same name, or if memory runs out. command
 * is the name of the command column, NULL for none. */
char *ifs_definition_declare(struct ifs_definition *definition, const char *command, struct ifs_error *error);

/* Returns the index's condition as part of a statement, in parentheses, in which its column names must refer to only one table
 * with any alias; NULL if it has none. Before it is judged (follow/condition.h) it is text that a stranger may have written: then
 * returns what SQLite refuses in its place. */
const char *ifs_definition_condition(const struct ifs_definition *definition);

/* Appends that condition after a word: WHERE or AND. */
void ifs_definition_append_where(const struct ifs_definition *definition, const char *word, sqlite3_str *sql);

void ifs_base_table_release(struct ifs_base_table *base_table);

#endif
