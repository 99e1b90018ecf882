/* compat.h -- the only place that knows how PostgreSQL's versions differ (15 to 18). Nothing else looks at PG_VERSION_NUM. */
#ifndef IFOREST_PG_COMPAT_H
#define IFOREST_PG_COMPAT_H

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

/* the next datum of a sort, palloc'd where it is passed by reference */
#if PG_VERSION_NUM >= 160000
#define iforest_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, true, datum, is_null, NULL)
#else
#define iforest_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, datum, is_null, NULL)
#endif

/* may this user act as the owner of the relation? */
#if PG_VERSION_NUM >= 160000
#define iforest_owns_class(oid) object_ownercheck(RelationRelationId, oid, GetUserId())
#else
#define iforest_owns_class(oid) pg_class_ownercheck(oid, GetUserId())
#endif

#endif
