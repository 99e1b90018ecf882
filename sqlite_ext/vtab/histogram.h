/* vtab/histogram.h -- Virtual table iforest_histogram(sketch [, bounds]): the counts of a sketch's numbers, bin by bin.
 *
 *   lower, upper   the ends of the bin
 *   count          how many numbers are in it
 *   sketch         hidden argument, required: a blob. NULL is the sketch of no numbers
 *   bounds         hidden argument: a JSON array of ascending numbers; n of them separate n + 1 bins, and empty bins are rows,
 *                  too. NULL gives no rows. Not given: the sketch's own non-empty buckets
 */
#ifndef IFS_VTAB_HISTOGRAM_H
#define IFS_VTAB_HISTOGRAM_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_histogram_module;

#endif
