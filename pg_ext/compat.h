/* compat.h -- the only place that knows how PostgreSQL's versions differ (15 to 18). Nothing else looks at PG_VERSION_NUM. */
#ifndef IFOREST_PG_COMPAT_H
#define IFOREST_PG_COMPAT_H

#include "access/amapi.h"
#include "access/genam.h"
#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/tuplesort.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000
#error iforest needs PostgreSQL 15 or later
#endif

#if PG_VERSION_NUM >= 180000
#define iforest_vacuum_delay_point() vacuum_delay_point(false)
#else
#define iforest_vacuum_delay_point() vacuum_delay_point()
#endif

#if PG_VERSION_NUM >= 180000
#define iforest_conditional_lock_tuple(relation, tid, mode) ConditionalLockTuple(relation, tid, mode, false)
#else
#define iforest_conditional_lock_tuple(relation, tid, mode) ConditionalLockTuple(relation, tid, mode)
#endif

/* the next datum of a sort, palloc'd where it is passed by reference */
#if PG_VERSION_NUM >= 160000
#define iforest_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, true, datum, is_null, NULL)
#else
#define iforest_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, datum, is_null, NULL)
#endif

/* of code that is run with another's rights; before 17 the search path was left as it is */
#if PG_VERSION_NUM >= 170000
#define iforest_restrict_search_path() RestrictSearchPath()
#else
#define iforest_restrict_search_path() ((void)0)
#endif

/* may this user act as the owner of the relation? */
#if PG_VERSION_NUM >= 160000
#define iforest_owns_class(oid) object_ownercheck(RelationRelationId, oid, GetUserId())
#else
#define iforest_owns_class(oid) pg_class_ownercheck(oid, GetUserId())
#endif

/* Strategies are those of btree: 18 asks for that in words before it believes that a scan is ordered. */
#if PG_VERSION_NUM >= 180000
static inline CompareType iforest_compare_type(StrategyNumber strategy, Oid family)
{
	(void)family;
	return strategy >= COMPARE_LT && strategy <= COMPARE_GT ? (CompareType)strategy : COMPARE_INVALID;
}

static inline StrategyNumber iforest_strategy(CompareType type, Oid family)
{
	(void)family;
	return type >= COMPARE_LT && type <= COMPARE_GT ? (StrategyNumber)type : InvalidStrategy;
}
#endif

static inline void iforest_handler_complete(IndexAmRoutine *routine)
{
#if PG_VERSION_NUM >= 180000
	routine->amconsistentequality = true;
	routine->amconsistentordering = true;
	routine->amtranslatestrategy = iforest_compare_type;
	routine->amtranslatecmptype = iforest_strategy;
#else
	(void)routine;
#endif
}

#endif
