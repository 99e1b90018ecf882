/* base/interrupt.h -- Interruption of long work: a callback of the engine, called between units of work.
 *
 * Work that reads or writes pages is interrupted by the pager, which is called for each page (run/pager.h). This callback is for
 * long work in memory, such as sorting. At most IFOREST_UNIT_OF_WORK entries are moved or compared between two calls.
 *
 * Requires  check(context) returns IFOREST_OK if the work may go on, or an error that the function then returns. It may longjmp
 *           (PostgreSQL). Whatever was being sorted is then in no order, and entries may be lost: only release is allowed.
 */
#ifndef IFOREST_BASE_INTERRUPT_H
#define IFOREST_BASE_INTERRUPT_H

#include <stddef.h>

#include "core/base/status.h"

struct iforest_interrupt {
	enum iforest_status (*check)(void *context); /* NULL: the work is never interrupted */
	void *context;
};

enum { IFOREST_UNIT_OF_WORK = 1 << 16 };

/* `interrupt` may be NULL, too. */
static inline enum iforest_status iforest_interrupt_check(const struct iforest_interrupt *interrupt)
{
	return interrupt && interrupt->check ? interrupt->check(interrupt->context) : IFOREST_OK;
}

#endif
