/* tail_internal.h -- what tail.c (reading what is new), tail_state.c (how far it goes), tail_runs.c (keeping it) and
 * tail_filter.c (old keys) share. Not for others. */
#ifndef IFOREST_SQLITE_TAIL_INTERNAL_H
#define IFOREST_SQLITE_TAIL_INTERNAL_H

#include "sqlite_ext/follow/tail.h"

/* How far what is pending goes in the database: a tail that goes as far has all of it, but for changes in the front. */
struct iforest_tail_state {
	sqlite3_int64 last_seq, followed, last_rowid; /* as in iforest_tail */
};

int iforest_tail_read_state(struct iforest_index *index, const struct iforest_tail *tail, struct iforest_tail_state *state,
			    struct iforest_error *error);

struct iforest_keys {
	struct iforest_key *keys;
	size_t n, n_reserved;
};

/* What comes into the runs in memory, and what goes out of them; in any order. */
struct iforest_tail_news {
	struct iforest_entry_list rows;
	struct iforest_keys outdated;
};

/* False without memory. */
bool iforest_keys_push(struct iforest_keys *list, const struct iforest_key *key);
bool iforest_entry_list_push(struct iforest_entry_list *list, const struct iforest_entry *entry);

/* Puts the news into the runs in memory; there are none afterwards. What is outdated goes first: a row may come back under the
 * same key. */
enum iforest_status iforest_tail_settle(struct iforest_tail *tail, struct iforest_tail_news *news);

/* Adds the keys to those that the filter takes out of the index's runs; there are none afterwards. */
enum iforest_status iforest_tail_remove(struct iforest_tail *tail, struct iforest_keys *keys);

/* Fills in tail->filter. */
void iforest_tail_filter_init(struct iforest_tail *tail);

#endif
