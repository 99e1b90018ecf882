/* vtab.h -- the virtual table modules. */
#ifndef IFOREST_SQLITE_VTAB_H
#define IFOREST_SQLITE_VTAB_H

#include "sqlite_ext/vtab/borrow.h"

struct iforest_module {
	const char *name;
	const sqlite3_module *methods;
	iforest_open_borrowed *open;      /* of those whose tables stand over an index; else NULL */
};

#endif
