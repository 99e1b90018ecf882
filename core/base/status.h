/* base/status.h -- Status codes of every core function, and the sentence for each.
 *
 * Every function that can fail returns one of these; 0 is success, so `if (status)` reads as "if it failed".
 * A failed call leaves its out-parameters unchanged unless its header says otherwise.
 */
#ifndef IFOREST_BASE_STATUS_H
#define IFOREST_BASE_STATUS_H

enum iforest_status {
	IFOREST_OK = 0,
	IFOREST_NO_MEMORY, /* the passed allocator returned NULL */
	IFOREST_IO,	   /* the pager could not read or write; the engine knows why */
	IFOREST_CORRUPT,   /* stored bytes are inconsistent; the store's fault names run and page */
	IFOREST_FORMAT,	   /* stored bytes have a format version that this build does not know */
	IFOREST_UNORDERED, /* entries were given out of key order, or one of them twice */
	IFOREST_NOT_FOUND, /* no live entry has that key */
	IFOREST_ARGUMENT,  /* an argument lies outside what the header requires */
	IFOREST_RANGE,	   /* an exact result does not fit the requested type */
	IFOREST_TOO_LARGE, /* a page, run or key would exceed the format's limits */
	IFOREST_STATUS_END /* sentinel: the number of codes */
};

/* Returns one sentence for a status, never NULL, in static storage. */
const char *iforest_status_text(enum iforest_status status);

#endif
