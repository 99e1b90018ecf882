#include "tests/support/pager_maxima.h"

#include <stdlib.h>
#include <string.h>

struct kept_peaks {
	struct iforest_place place;
	uint64_t index;
	struct iforest_page_maxima room;
	bool is_checked;
	struct kept_peaks *next;
};

static struct kept_peaks *find(const struct pager_peaks *peaks, const struct iforest_place *place, uint64_t index)
{
	struct kept_peaks *kept = peaks->kept;

	while (kept && !(kept->place.run_id == place->run_id && kept->place.generation == place->generation &&
			 kept->index == index))
		kept = kept->next;
	return kept;
}

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t index, struct iforest_page *page)
{
	struct pager_peaks *peaks = context;
	struct kept_peaks *kept = find(peaks, place, index);
	enum iforest_status status = peaks->inner->get(peaks->inner->context, place, index, page);

	if (status)
		return status;
	if (!kept) {
		kept = calloc(1, sizeof *kept);
		if (!kept)
			abort();
		kept->place = *place;
		kept->index = index;
		kept->next = peaks->kept;
		peaks->kept = kept;
	}
	page->peaks = &kept->room;
	page->is_checked = &kept->is_checked;
	return IFOREST_OK;
}

static void release(void *context, struct iforest_page *page)
{
	const struct pager_peaks *peaks = context;

	peaks->inner->release(peaks->inner->context, page);
}

static void expect(void *context, const struct iforest_place *place, uint64_t index, bool of_peaks)
{
	(void)of_peaks;
	(void)context;
	(void)place;
	(void)index;
}

static const uint8_t *glance(void *context, const struct iforest_place *place, uint64_t index, uint32_t *n_bytes)
{
	struct pager_peaks *peaks = context;
	const struct kept_peaks *kept = find(peaks, place, index);
	struct iforest_page page;

	if (!kept || !kept->is_checked || peaks->inner->get(peaks->inner->context, place, index, &page))
		return NULL;
	*n_bytes = page.n_bytes;
	memcpy(peaks->glanced, page.bytes, page.n_bytes);
	peaks->inner->release(peaks->inner->context, &page);
	return peaks->glanced;
}

void pager_peaks_start(struct pager_peaks *peaks, const struct iforest_pager *inner)
{
	*peaks = (struct pager_peaks){ .pager = *inner, .inner = inner };
	peaks->pager.context = peaks;
	peaks->pager.get = get;
	peaks->pager.release = release;
	peaks->pager.expect = expect;
	peaks->pager.glance = glance;
	peaks->pager.borrow = NULL;
	peaks->pager.give_back = NULL;
}

void pager_peaks_stop(struct pager_peaks *peaks)
{
	while (peaks->kept) {
		struct kept_peaks *next = peaks->kept->next;

		free(peaks->kept);
		peaks->kept = next;
	}
}

unsigned pager_peaks_made(const struct pager_peaks *peaks)
{
	unsigned n = 0;

	for (const struct kept_peaks *kept = peaks->kept; kept; kept = kept->next)
		n += iforest_page_maxima_are_there(&kept->room);
	return n;
}
