#include "tests/support/pager_maxima.h"

#include <stdlib.h>
#include <string.h>

struct kept_maxima {
	struct iforest_place place;
	uint64_t index;
	struct iforest_page_maxima room;
	bool is_checked;
	struct kept_maxima *next;
};

static struct kept_maxima *find(const struct pager_maxima *maxima, const struct iforest_place *place, uint64_t index)
{
	struct kept_maxima *kept = maxima->kept;

	while (kept && !(kept->place.run_id == place->run_id && kept->place.generation == place->generation &&
			 kept->index == index))
		kept = kept->next;
	return kept;
}

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t index, struct iforest_page *page)
{
	struct pager_maxima *maxima = context;
	struct kept_maxima *kept = find(maxima, place, index);
	enum iforest_status status = maxima->inner->get(maxima->inner->context, place, index, page);

	if (status)
		return status;
	if (!kept) {
		kept = calloc(1, sizeof *kept);
		if (!kept)
			abort();
		kept->place = *place;
		kept->index = index;
		kept->next = maxima->kept;
		maxima->kept = kept;
	}
	page->maxima = &kept->room;
	page->is_checked = &kept->is_checked;
	return IFOREST_OK;
}

static void release(void *context, struct iforest_page *page)
{
	const struct pager_maxima *maxima = context;

	maxima->inner->release(maxima->inner->context, page);
}

static void expect(void *context, const struct iforest_place *place, uint64_t index, bool of_maxima)
{
	(void)of_maxima;
	(void)context;
	(void)place;
	(void)index;
}

static const uint8_t *peek(void *context, const struct iforest_place *place, uint64_t index, uint32_t *n_bytes)
{
	struct pager_maxima *maxima = context;
	const struct kept_maxima *kept = find(maxima, place, index);
	struct iforest_page page;

	if (!kept || !kept->is_checked || maxima->inner->get(maxima->inner->context, place, index, &page))
		return NULL;
	*n_bytes = page.n_bytes;
	memcpy(maxima->glanced, page.bytes, page.n_bytes);
	maxima->inner->release(maxima->inner->context, &page);
	return maxima->glanced;
}

void pager_maxima_start(struct pager_maxima *maxima, const struct iforest_pager *inner)
{
	*maxima = (struct pager_maxima){ .pager = *inner, .inner = inner };
	maxima->pager.context = maxima;
	maxima->pager.get = get;
	maxima->pager.release = release;
	maxima->pager.prefetch = expect;
	maxima->pager.peek = peek;
	maxima->pager.borrow = NULL;
	maxima->pager.give_back = NULL;
}

void pager_maxima_stop(struct pager_maxima *maxima)
{
	while (maxima->kept) {
		struct kept_maxima *next = maxima->kept->next;

		free(maxima->kept);
		maxima->kept = next;
	}
}

unsigned pager_maxima_made(const struct pager_maxima *maxima)
{
	unsigned n = 0;

	for (const struct kept_maxima *kept = maxima->kept; kept; kept = kept->next)
		n += iforest_page_maxima_are_there(&kept->room);
	return n;
}
