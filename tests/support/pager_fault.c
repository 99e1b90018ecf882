#include "tests/support/pager_fault.h"

#include <stdlib.h>
#include <string.h>

/* True if this is the call that fails. */
static bool breaks(struct pager_fault *fault, uint64_t call, uint64_t fail_at)
{
	bool is_it = fail_at && call == fail_at;

	fault->is_down = fault->is_down || (is_it && fault->stays_down);
	return is_it;
}

static enum iforest_status fault_get(void *context, const struct iforest_place *place, uint64_t index,
				     struct iforest_page *page)
{
	struct pager_fault *fault = context;

	if (fault->is_down || fault->is_lent || breaks(fault, ++fault->n_gets, fault->fail_get_at))
		return IFOREST_IO;
	return fault->inner->get(fault->inner->context, place, index, page);
}

static void fault_release(void *context, struct iforest_page *page)
{
	struct pager_fault *fault = context;

	if (fault->is_lent)
		abort();
	fault->inner->release(fault->inner->context, page);
}

static enum iforest_status fault_pin_briefly(void *context, const struct iforest_place *place, uint64_t index,
					struct iforest_page *page)
{
	struct pager_fault *fault = context;
	enum iforest_status status = fault_get(context, place, index, page);

	fault->is_lent = fault->is_lent || !status;
	return status;
}

static void fault_unpin_brief(void *context, struct iforest_page *page)
{
	struct pager_fault *fault = context;

	fault->is_lent = false;
	memset((uint8_t *)page->bytes, 0xA5, page->n_bytes);
	fault->inner->release(fault->inner->context, page);
}

static enum iforest_status fault_create_run(void *context, struct iforest_place *place)
{
	struct pager_fault *fault = context;

	return fault->is_down || fault->is_lent ? IFOREST_IO : fault->inner->create_run(fault->inner->context, place);
}

/* Writes the first half of the page; the second half stays what it was before, or zeros. */
static void tear(struct pager_fault *fault, const struct iforest_place *place, const struct iforest_page_write *page,
		 uint8_t *torn)
{
	uint32_t half = page->n_bytes / 2, n_old;
	struct iforest_page old;

	memset(torn, 0, page->n_bytes);
	if (!fault->inner->get(fault->inner->context, place, page->index, &old)) {
		n_old = old.n_bytes < page->n_bytes ? old.n_bytes : page->n_bytes;
		memcpy(torn, old.bytes, n_old);
		fault->inner->release(fault->inner->context, &old);
	}
	memcpy(torn, page->bytes, half);
}

static enum iforest_status fault_write(void *context, const struct iforest_place *place,
				       const struct iforest_page_write *pages, uint32_t n_pages)
{
	struct pager_fault *fault = context;
	struct iforest_page_write *batch;
	uint8_t *torn;

	if (fault->is_down || fault->is_lent)
		return IFOREST_IO;
	if (!breaks(fault, ++fault->n_writes, fault->fail_write_at))
		return fault->inner->write(fault->inner->context, place, pages, n_pages);
	if (fault->mode == PAGER_FAULT_TEARS) {
		batch = malloc(n_pages * sizeof *batch);
		torn = malloc(pages[n_pages - 1].n_bytes);
		if (batch && torn) {
			memcpy(batch, pages, n_pages * sizeof *batch);
			tear(fault, place, &pages[n_pages - 1], torn);
			batch[n_pages - 1].bytes = torn;
			(void)fault->inner->write(fault->inner->context, place, batch, n_pages);
		}
		free(torn);
		free(batch);
	}
	return IFOREST_IO;
}

static enum iforest_status fault_drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct pager_fault *fault = context;

	return fault->is_down || fault->is_lent ? IFOREST_IO : fault->inner->drop_run(fault->inner->context, place, n_pages);
}

static enum iforest_status fault_publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct pager_fault *fault = context;

	if (fault->is_down || fault->is_lent)
		return IFOREST_IO;
	if (!breaks(fault, ++fault->n_writes, fault->fail_write_at))
		return fault->inner->publish(fault->inner->context, bytes, n_bytes);
	if (fault->mode == PAGER_FAULT_TEARS)
		(void)fault->inner->publish(fault->inner->context, bytes, n_bytes / 2);
	return IFOREST_IO;
}

static uint64_t fault_random(void *context)
{
	struct pager_fault *fault = context;

	return fault->inner->random(fault->inner->context);
}

void pager_fault_init(struct pager_fault *fault, const struct iforest_pager *inner)
{
	*fault = (struct pager_fault){
		.pager = { .context = fault, .page_bytes = inner->page_bytes, .max_batch_pages = inner->max_batch_pages,
			   .get = fault_get, .release = fault_release, .create_run = fault_create_run,
			   .write = fault_write, .drop_run = fault_drop_run, .publish = fault_publish,
			   .random = fault_random },
		.inner = inner,
	};
}

void pager_fault_lend(struct pager_fault *fault)
{
	fault->pager.pin_briefly = fault_pin_briefly;
	fault->pager.unpin_brief = fault_unpin_brief;
}
