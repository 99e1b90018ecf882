/* tests/support/rival.h -- Pager of a host with several writers: whenever core begins to publish, another writer has been
 * faster. */
#ifndef TESTS_RIVAL_H
#define TESTS_RIVAL_H

#include "tests/support/sample_index.h"

struct rival {
	struct iforest_pager pager;            /* put into index->store.pager */
	const struct iforest_pager *inner;
	struct sample_index *index;
	/* What the rival does each time, with index->manifest the newest and a pager of its own; NULL: nothing, it rests. */
	void (*act)(struct rival *rival);
	unsigned n_acts;
	bool is_locked;                        /* between begin_publish and publish */
};

/* Must stay in place. From now on index publishes beside a rival. */
void rival_start(struct rival *rival, struct sample_index *index, void (*act)(struct rival *rival));
void rival_stop(struct rival *rival);

#endif
