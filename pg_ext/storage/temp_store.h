/* storage/temp_store.h -- Temporary page store of a build: runs that wait to be merged, in files that go with it.
 *
 * The files are private to the process, or those of several processes that build an index together: each writes one of its own,
 * exports it once it is done, and the leader reads all of them.
 */
#ifndef IFP_STORAGE_TEMP_STORE_H
#define IFP_STORAGE_TEMP_STORE_H

#include "pg_ext/base/engine.h"

#include "storage/buffile.h"
#include "storage/sharedfileset.h"

struct ifp_temp_store {
	struct iforest_store store;
	struct iforest_pager pager;
	SharedFileSet *shared; /* NULL: one private file */
	uint32 number, n_files;
	BufFile **files; /* n_files; NULL until they are written or read. Run after run, a page in every block */
	uint64 n_pages;	 /* written */
	uint64 n_read;
};

/* Starts a store that writes file `number` of n_files, and can read them all. It must stay in place. Files live as long as the
 * current resource owner and memory context, shared ones as long as their set. */
void ifp_temp_store_start(struct ifp_temp_store *temp_store, SharedFileSet *shared, uint32 number, uint32 n_files);

/* Makes what was written readable for others; nothing is written from then on. Requires  the files are shared. */
void ifp_temp_store_export(struct ifp_temp_store *temp_store);

void ifp_temp_store_end(struct ifp_temp_store *temp_store);

#endif
