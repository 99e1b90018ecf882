/* snapshot.h -- the snapshot of an index. */
#ifndef IFOREST_SQLITE_SNAPSHOT_H
#define IFOREST_SQLITE_SNAPSHOT_H

#include "core/run/manifest.h"
#include "sqlite_ext/storage/shadow_tables.h"
#include "sqlite_ext/follow/tail.h"

/* What the handles of a connection share. */
struct iforest_connection {
	unsigned n_refs;                    /* modules and handles */
	uint64_t n_changes;                 /* commands and rollbacks so far: indexes may be others than before */
	struct iforest_index *indexes;      /* all handles (transaction.h) */
	unsigned n_joined;                  /* tables that take part in the transaction */
	int n_savepoints;                   /* open in it, where there are such tables */
};

/* One state of the index, shared by the cursors that read it. */
struct iforest_snapshot {
	unsigned n_refs;
	struct iforest_manifest manifest;
	struct iforest_dictionary dictionary; /* series of the index, and those of pending rows alone */
	struct iforest_tail tail;
	int depth;                            /* of what was read last in the connection's transaction (transaction.h) */
	bool is_passing;                      /* read of what does not stay: to be read anew */
};

void iforest_connection_release(struct iforest_connection *connection);

/* A handle that holds nothing but names yet. index must stay in place. */
int iforest_index_init(struct iforest_index *index, sqlite3 *db, struct iforest_connection *connection, const char *schema,
		       const char *name, struct iforest_error *error);

void iforest_index_release(struct iforest_index *index);

/* Takes down what the index is made of, with all its by columns. Once, before its state is read. */
int iforest_index_describe(struct iforest_index *index, const struct iforest_definition *definition,
			   struct iforest_error *error);

/* Finds the table as it is today. With sync=log its triggers must be those that we would write. */
int iforest_index_find_source(struct iforest_index *index, struct iforest_error *error);

/* Gives the state to read now, with all that is pending. Release it with iforest_snapshot_release(). */
int iforest_index_open(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error);

/* The same without regard to the table, and without what is pending: for integrity-check. */
int iforest_index_open_unguarded(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error);

void iforest_snapshot_release(struct iforest_snapshot *snapshot);

/* May the table be ahead of what the state to read has of it, for a row is being written? */
bool iforest_index_is_passing(struct iforest_index *index);

/* Is the snapshot still the state that is stored? */
int iforest_index_check_snapshot(struct iforest_index *index, const struct iforest_snapshot *snapshot,
				 struct iforest_error *error);

/* Turns what core returned while reading the snapshot into an error. */
int iforest_index_error(struct iforest_index *index, const struct iforest_snapshot *snapshot, enum iforest_status status,
			struct iforest_error *error);

/* Forgets state and pages in memory: the next reader reads all anew. */
void iforest_index_forget(struct iforest_index *index);

#endif
