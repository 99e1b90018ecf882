/* storage/temp_store.h -- Temporary page store of a build: runs waiting to be merged, in temporary files.
 *
 * The file is private to the process, or several processes build an index together: each writes its own file and exports it
 * when it is done, and the leader reads all of them.
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
	BufFile **files; /* n_files files of consecutive runs, a page in each block; NULL until written or read */
	uint64 n_pages;	 /* written */
	uint64 n_read;
};

/* Starts a store that writes file `number` of n_files and can read all of them. It must not be moved. Files live as long as the
 * current resource owner and memory context, shared ones as long as their set. */
void ifp_temp_store_start(struct ifp_temp_store *temp_store, SharedFileSet *shared, uint32 number, uint32 n_files);

/* Makes the file readable for other processes; nothing may be written afterwards. Requires  the files are shared. */
void ifp_temp_store_export(struct ifp_temp_store *temp_store);

void ifp_temp_store_end(struct ifp_temp_store *temp_store);

#endif
