/* tail_internal.h -- what tail.c (reading what is new), tail_runs.c (keeping it) and tail_filter.c (old keys) share. Not for
 * others. */
#ifndef IFOREST_SQLITE_TAIL_INTERNAL_H
#define IFOREST_SQLITE_TAIL_INTERNAL_H

#include "sqlite_ext/tail.h"

struct iforest_keys {
	struct iforest_key *keys;
	size_t n, n_reserved;
};

/* What comes into the runs in memory, and what goes out of them; in any order. */
struct iforest_tail_news {
	struct iforest_entry *entries;
	size_t n_entries, n_entries_reserved;
	struct iforest_keys outdated;
};

/* False without memory. */
bool iforest_keys_push(struct iforest_keys *list, const struct iforest_key *key);

/* Puts the news into the runs in memory; there are none afterwards. What is outdated goes first: a row may come back under the
 * same key. */
enum iforest_status iforest_tail_settle(struct iforest_tail *tail, struct iforest_tail_news *news);

/* Adds the keys to those that the filter takes out of the index's runs; there are none afterwards. */
enum iforest_status iforest_tail_remove(struct iforest_tail *tail, struct iforest_keys *keys);

/* Fills in tail->filter. */
void iforest_tail_filter_init(struct iforest_tail *tail);

#endif
