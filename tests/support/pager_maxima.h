/* pager_peaks.h -- a pager that keeps room for the peaks of each page (core/page/page_maxima.h), as SQLite's cache does, and gives
 * what another one gives. Reads only. */
#ifndef TESTS_PAGER_PEAKS_H
#define TESTS_PAGER_PEAKS_H

#include "core/page/page_maxima.h"
#include "core/page/page.h"
#include "core/run/pager.h"

struct kept_peaks;

struct pager_peaks {
	struct iforest_pager pager;
	const struct iforest_pager *inner;
	struct kept_peaks *kept;
	uint8_t glanced[IFOREST_MAX_PAGE_BYTES]; /* the page that was looked at last */
};

void pager_peaks_start(struct pager_peaks *maxima, const struct iforest_pager *inner);
void pager_peaks_stop(struct pager_peaks *maxima);

/* Pages of which peaks were made. */
unsigned pager_peaks_made(const struct pager_peaks *maxima);

#endif
