/* am_scan_keys_own.h -- Not for others. */
#ifndef IFOREST_PG_AM_SCAN_KEYS_OWN_H
#define IFOREST_PG_AM_SCAN_KEYS_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/am/scan_keys.h"

/* The elements of a key's array that are not NULL: their number, and in *elements they themselves. */
int iforest_scan_key_elements(ScanKey key, Datum **elements);

#endif
