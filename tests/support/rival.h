/* tests/support/rival.h -- Pager of an engine with several writers: whenever core begins to publish, a rival has published
 * before. */
#ifndef TESTS_RIVAL_H
#define TESTS_RIVAL_H

#include "tests/support/sample_index.h"

struct rival {
	struct iforest_pager pager;            /* becomes index->store.pager */
	const struct iforest_pager *inner;
	struct sample_index *index;
	/* what the rival does each time, with the newest manifest in index->manifest and a pager of its own; NULL: nothing */
	void (*act)(struct rival *rival);
	unsigned n_acts;
	bool is_locked;                        /* between begin_publish and publish */
};

/* Makes the index publish beside a rival from now on. The struct must stay in place. */
void rival_start(struct rival *rival, struct sample_index *index, void (*act)(struct rival *rival));
void rival_stop(struct rival *rival);

#endif
