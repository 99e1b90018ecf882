#include "pg_ext/base/engine.h"

#include "pg_ext/base/test_points.h"

#ifdef IFOREST_PAUSES

#include "access/xact.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/guc.h"

static char *pause_at;
static int pause_lock = 1;

static bool is_named(const char *place)
{
	size_t n = strlen(place);

	for (const char *at = pause_at; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, place, n) == 0 && (at[n] == ',' || at[n] == 0))
			return true;
	}
	return false;
}

void ifp_test_point(const char *place)
{
	LOCKTAG tag;

	if (!is_named(place))
		return;
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, (uint32)pause_lock, 1);
	(void)LockAcquire(&tag, ShareLock, true, false);
	(void)LockRelease(&tag, ShareLock, true);
}

/* A point between commit and cache invalidation: others see the changes, but their caches do not know of them yet. */
static void at_commit(XactEvent event, void *argument)
{
	(void)argument;
	if (event == XACT_EVENT_COMMIT && TransactionIdIsValid(GetTopTransactionIdIfAny()))
		ifp_test_point("committed");
}

void ifp_test_points_register(void)
{
	RegisterXactCallback(at_commit, NULL);
	DefineCustomStringVariable("iforest.pause_at", "Where to wait for the advisory lock iforest.pause_lock.", NULL,
				   &pause_at, "", PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("iforest.pause_lock", "Number of the advisory lock to wait for.", NULL, &pause_lock, 1, 1,
				INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
}

#endif
