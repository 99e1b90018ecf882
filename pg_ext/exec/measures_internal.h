/* measures_internal.h -- what measures_begin.c (preparing), measures.c (gathering) and results.c share. Not for others. */
#ifndef IFOREST_PG_MEASURES_INTERNAL_H
#define IFOREST_PG_MEASURES_INTERNAL_H

#include "pg_ext/exec/agg_state.h"
#include "pg_ext/planner/affine.h"

struct measure {
	enum iforest_measure_kind kind;
	List *conditions, *wanted;        /* ExprStates; IntList (aggregates.h) */
	int value;                        /* of VALUE, ..._ROW and SKETCH */
	bool has_squares;                 /* of VALUE: its sum of squares is needed */
	bool has_min, has_max;            /* of VALUE: its extremes are */
	/* of CONSTANT */
	ExprState *expression;
	enum iforest_function function;   /* whose constant it is */
	Oid type, collation;
	int16 type_length;
	bool type_by_value;
	FmgrInfo better;                  /* of extremes: better(new, old) */
};

/* An arm of an aggregate: its measure, and what is made of it. */
struct arm {
	int measure;
	Node *expression;
	ExprState *state;                 /* of VALUE and TIME: the expression over the column */
	bool is_plain;                    /* the column as it is, or converted without error */
	AttrNumber attribute;
	struct iforest_affine affine;     /* of sums over a value column */
	bool has_affine;                  /* false: a factor is NULL, and so is each value */
	bool is_read;                     /* affine has been read since the last rescan */
};

struct result {
	enum iforest_function function;
	Oid type, argument_type;
	struct arm *arms;
	int n_arms;
	FmgrInfo better;
	Oid collation;
};

struct iforest_measures {
	MemoryContext parameters;         /* affine lives here */
	const struct iforest_question *question;
	const struct iforest_definition *definition;
	ExprContext *econtext;
	struct measure *measures;
	List *written;                    /* what each measure stands for, to find it again */
	int n_measures;
	struct result *results;
	int n_results;
	Relation heap;                    /* NULL: there are several */
	Snapshot snapshot;
};

#endif
