#include "pg_ext/host.h"

#include "pg_ext/pause.h"

#ifdef IFOREST_PAUSES

#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/guc.h"

static char *pause_at;

/* pg_advisory_lock(1) of another session stops the reader. */
void iforest_pause(const char *place)
{
	LOCKTAG tag;

	if (!pause_at || strcmp(pause_at, place) != 0)
		return;
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 1, 1);
	(void)LockAcquire(&tag, ShareLock, true, false);
	(void)LockRelease(&tag, ShareLock, true);
}

void iforest_pause_register(void)
{
	DefineCustomStringVariable("iforest.pause_at", "Where a reader waits for advisory lock 1.", NULL, &pause_at, "",
				   PGC_USERSET, 0, NULL, NULL, NULL);
}

#endif
