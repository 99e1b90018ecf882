/* question.h -- one query level over one table, as it is asked of an index.
 *
 * The planner makes it (match.h), and the executor answers it (answer.h). All expressions are over a row of the index's
 * columns: Vars of varno 1, numbered from 1: by columns, the time column, value columns. A plan carries it as a list that can
 * be copied and sent to workers.
 *
 * Conditions are sorted by what they need to be known:
 *
 *   gates    nothing but parameters: asked once
 *   keys     a column of the index's key against parameters: a list of series and ranges of time (scan_keys.h)
 *   series   by columns, and will hardly raise an error: asked once a series, before anything of it is read
 *   runs     also the time, by expressions that change seldom (monotone.h): asked once for each range of times in which they
 *            do not change, and series
 *   late     as series, but may raise errors, or as runs, but calls functions of others: asked for buckets in which there are
 *            visible rows
 *   values   one value column, monotone: a range of it, by which nodes are judged
 */
#ifndef IFOREST_PG_QUESTION_H
#define IFOREST_PG_QUESTION_H

#include "pg_ext/types/definition_slice.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "pg_ext/planner/monotone.h"

struct iforest_question {
	Oid table;         /* that the query names: the parent of partitions */
	List *tables;      /* of OidLists: table, index. All indexes have the same columns */
	int n_by;
	uint32 squares;    /* bit v: all indexes keep the squares of value column v */
	/* the index's columns as expressions over the table, varno 1: what Var i stands for is element i - 1 */
	List *columns;
	List *groups;      /* group keys */
	List *operators;   /* their equality operators, OidList */
	List *aggregates;  /* Aggrefs, each once */
	List *gates, *keys, *series, *runs, *late, *values;
};

static inline AttrNumber iforest_time_attribute(const struct iforest_question *question)
{
	return (AttrNumber)(question->n_by + 1);
}

/* Sorts a condition, over the index's columns, to where it belongs. Returns NULL, or why it cannot be answered. `index`
 * gives operator families and collations of the keys. */
struct IndexOptInfo;
const char *iforest_question_add(struct iforest_question *question, const struct IndexOptInfo *index, Node *condition);

/* What decides between which times the conditions `runs` hold; and what decides where buckets end: all that depends on the
 * time in groups, aggregates and late conditions. */
void iforest_question_range_keys(const struct iforest_question *question, struct iforest_run_keys *keys);
void iforest_question_bucket_keys(const struct iforest_question *question, struct iforest_run_keys *keys);

/* The operator of a condition "column operator parameters", as a scan key has it. The column is 1 .. n_by + 1. */
struct iforest_key_condition {
	AttrNumber column;
	Oid function, collation, right_type;
	Expr *comparand;      /* NULL: of IS [NOT] NULL */
	bool is_array, is_null_test, wants_null;
};

void iforest_key_condition_read(Node *condition, struct iforest_key_condition *result);

/* An expression over the index's columns, over the table again: what Var i stands for is element i - 1. */
Node *iforest_over_columns(Node *expression, List *columns);

/* To and from what a plan carries. */
List *iforest_question_write(const struct iforest_question *question);
void iforest_question_read(struct iforest_question *question, List *list);

#endif
