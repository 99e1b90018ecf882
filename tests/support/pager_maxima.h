/* tests/support/pager_maxima.h -- Pager around another that has room for the maxima of each page (core/page/page_maxima.h), as
 * SQLite's page cache does.
 *
 * It can only read.
 */
#ifndef TESTS_PAGER_MAXIMA_H
#define TESTS_PAGER_MAXIMA_H

#include "core/page/page_maxima.h"
#include "core/page/page.h"
#include "core/run/pager.h"

struct kept_maxima;

struct pager_maxima {
	struct iforest_pager pager;
	const struct iforest_pager *inner;
	struct kept_maxima *kept;
	uint8_t glanced[IFOREST_MAX_PAGE_BYTES]; /* the page that was looked at last */
};

void pager_maxima_start(struct pager_maxima *maxima, const struct iforest_pager *inner);
void pager_maxima_stop(struct pager_maxima *maxima);

/* Returns for how many pages maxima were computed. */
unsigned pager_maxima_made(const struct pager_maxima *maxima);

#endif
