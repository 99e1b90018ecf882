/* am/build_sort.h -- Sort of a table's rows into the entries of a new index, by one process or several.
 *
 * Several processes share the blocks of the table. Each sorts the rows of the block ranges that it claims, and packs them as
 * runs in its own file. The leader merges these into the index; rows in time order make long stretches, which are copied. So
 * only the merge is done by one process.
 */
#ifndef IFP_AM_BUILD_SORT_H
#define IFP_AM_BUILD_SORT_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"

#include "core/run/sorter.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/temp_store.h"
#include "pg_ext/types/definition.h"

struct ifp_build_sort {
	Relation index;
	struct ifp_index *opened;
	struct ifp_definition definition;
	MemoryContext row_context;
	struct ifp_temp_store waiting;
	struct iforest_run_sorter sorter;
	uint64 n_rows;	 /* formed */
	uint64 n_sorted; /* added */
};

/* Starts a sort in at most most_bytes of memory. `shared`, `number` and n_files are those of ifp_temp_store_start().
 * Requires  opened is refreshed and outlives the sort. */
void ifp_build_sort_start(struct ifp_build_sort *sort, struct ifp_index *opened, Size most_bytes, SharedFileSet *shared,
			  uint32 number, uint32 n_files);

/* Forms the entry of a row, and assigns its series an id. */
void ifp_build_sort_form(struct ifp_build_sort *sort, ItemPointer tid, Datum *values, const bool *are_null,
			 struct iforest_entry *entry);

/* Adds an entry. */
void ifp_build_sort_add(struct ifp_build_sort *sort, const struct iforest_entry *entry);

/* Frees memory and files. */
void ifp_build_sort_end(struct ifp_build_sort *sort);

/* ---- several processes ---- */

/* Numbers of rows found in the table. */
struct ifp_build_totals {
	double n_heap_rows;
	uint64 n_rows; /* rows in the index */
};

/* Called with the runs of all processes, which can be read from the store until it returns. */
typedef void (*ifp_build_merge)(void *context, struct iforest_store *store, const struct iforest_run *runs, uint32 n_runs);

/* Builds with this process and at most n_workers workers, then calls merge. Returns false without doing anything if no worker
 * could be started.
 * Requires  the first pages of the index are logged. */
bool ifp_build_together(Relation heap, struct ifp_index *opened, IndexInfo *info, int n_workers, ifp_build_merge merge,
			void *context, struct ifp_build_totals *totals);

#endif
